//! Deliveries that a receiver must refuse with a 400.

use bytes::Bytes;

use super::rng::Rng;
use crate::Signer;

/// A difference beyond the tolerance, in seconds, even for a request that arrives up to 5 s later.
const FAR: i64 = 306;

/// A way in which a delivery is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgery {
    /// Signed with another secret.
    OtherSecret,
    /// One bit of the body was changed after it was signed.
    ChangedBody,
    /// Signed with the right secret for a time in the past.
    FromThePast,
    /// Signed with the right secret for a time in the future.
    FromTheFuture,
    /// A genuine attempt, sent again once its signature is too old.
    Replay,
    /// Another `t` put before a genuine `v1`.
    ChangedTime,
    /// No signature header.
    Unsigned,
    /// The signature header twice.
    SignedTwice,
    /// A header that is no signature of this scheme.
    Malformed,
}

impl Forgery {
    /// All forgeries that can be made from a body alone. A [`Replay`](Self::Replay) also needs
    /// time.
    const MADE: [Self; 8] = [
        Self::OtherSecret,
        Self::ChangedBody,
        Self::FromThePast,
        Self::FromTheFuture,
        Self::ChangedTime,
        Self::Unsigned,
        Self::SignedTwice,
        Self::Malformed,
    ];

    pub(super) fn any(rng: &mut Rng) -> Self {
        let index = rng.below(8);
        Self::MADE[usize::try_from(index).unwrap_or(0)]
    }

    /// Signature headers and a body that are this forgery at `now`, in Unix seconds.
    pub(super) fn of(self, signer: &Signer, body: &Bytes, now: i64, rng: &mut Rng) -> (Vec<String>, Bytes) {
        let genuine = |t| signer.sign(t, body).to_string();
        let signatures = match self {
            Self::OtherSecret => match Signer::new(b"not the secret") {
                Ok(other) => vec![other.sign(now, body).to_string()],
                Err(_) => vec![],
            },
            Self::ChangedBody => return (vec![genuine(now)], changed(body, rng)),
            Self::FromThePast => vec![genuine(now - FAR - rng.between(0, 1_000_000_000))],
            Self::FromTheFuture => vec![genuine(now + FAR + rng.between(0, 1_000_000_000))],
            Self::Replay => vec![genuine(now - FAR)],
            Self::ChangedTime => {
                let text = genuine(now - FAR);
                vec![format!("t={now},{}", text.split_once(',').map_or("", |(_, v1)| v1))]
            }
            Self::Unsigned => vec![],
            Self::SignedTwice => vec![genuine(now), genuine(now)],
            Self::Malformed => {
                const TEXTS: [&str; 5] = ["", "v1=", "t=now,v1=00", "sha256=00", "t=1;v1=00"];
                let index = rng.below(5);
                vec![TEXTS[usize::try_from(index).unwrap_or(0)].to_owned()]
            }
        };
        (signatures, body.clone())
    }
}

fn changed(body: &Bytes, rng: &mut Rng) -> Bytes {
    let mut bytes = body.to_vec();
    if bytes.is_empty() {
        return Bytes::from_static(b" ");
    }
    let at = usize::try_from(rng.below(bytes.len() as u64)).unwrap_or(0);
    bytes[at] ^= 1 << rng.below(8);
    bytes.into()
}
