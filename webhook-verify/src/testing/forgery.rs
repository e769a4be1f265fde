//! Deliveries that a receiver must refuse with a 400.

use bytes::Bytes;

use super::chance::Chance;
use crate::Signer;

/// Beyond the tolerance, in seconds, also for what arrives up to 5 s later.
const FAR: i64 = 306;

/// A way in which a delivery is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgery {
    /// Signed with another secret.
    OtherSecret,
    /// One bit of the body was changed after it was signed.
    ChangedBody,
    /// Signed with the right secret for a time long gone.
    FromThePast,
    /// Signed with the right secret for a time to come.
    FromTheFuture,
    /// A genuine attempt, caught and sent again when its time is over.
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
    /// All that can be made of a body; a [`Replay`](Self::Replay) is made of time.
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

    pub(super) fn any(chance: &mut Chance) -> Self {
        let index = chance.below(8);
        Self::MADE[usize::try_from(index).unwrap_or(0)]
    }

    /// Signature headers and a body that are this forgery at `now`, in Unix seconds.
    pub(super) fn of(
        self,
        signer: &Signer,
        body: &Bytes,
        now: i64,
        chance: &mut Chance,
    ) -> (Vec<String>, Bytes) {
        let genuine = |t| signer.sign(t, body).to_string();
        let signatures = match self {
            Self::OtherSecret => match Signer::new(b"not the secret") {
                Ok(other) => vec![other.sign(now, body).to_string()],
                Err(_) => vec![],
            },
            Self::ChangedBody => return (vec![genuine(now)], changed(body, chance)),
            Self::FromThePast => vec![genuine(now - FAR - chance.between(0, 1_000_000_000))],
            Self::FromTheFuture => vec![genuine(now + FAR + chance.between(0, 1_000_000_000))],
            Self::Replay => vec![genuine(now - FAR)],
            Self::ChangedTime => {
                let text = genuine(now - FAR);
                vec![format!("t={now},{}", text.split_once(',').map_or("", |(_, v1)| v1))]
            }
            Self::Unsigned => vec![],
            Self::SignedTwice => vec![genuine(now), genuine(now)],
            Self::Malformed => {
                const TEXTS: [&str; 5] = ["", "v1=", "t=now,v1=00", "sha256=00", "t=1;v1=00"];
                let index = chance.below(5);
                vec![TEXTS[usize::try_from(index).unwrap_or(0)].to_owned()]
            }
        };
        (signatures, body.clone())
    }
}

fn changed(body: &Bytes, chance: &mut Chance) -> Bytes {
    let mut bytes = body.to_vec();
    if bytes.is_empty() {
        return Bytes::from_static(b" ");
    }
    let at = usize::try_from(chance.below(bytes.len() as u64)).unwrap_or(0);
    bytes[at] ^= 1 << chance.below(8);
    bytes.into()
}
