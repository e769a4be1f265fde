//! The verdict on a delivery. Does not allocate, keeps no state between calls, and reads no clock
//! except in `verify_now`.

use alloc::vec::Vec;
use core::fmt;
use core::slice;

use subtle::Choice;

use crate::error::{SecretError, VerifyError};
use crate::header::Header;
use crate::key::Key;

/// Largest difference between `t` and now, in either direction, in seconds.
pub const TOLERANCE_SECONDS: u64 = 300;

/// Verifies deliveries, with one secret or, during a rotation, several.
///
/// Make it once and share it: it keeps the keyed HMAC state, so a verification costs little more
/// than the hash of the message.
///
/// ```
/// use webhook_verify::{Signer, Verifier};
///
/// // During a rotation both secrets are good.
/// let verifier = Verifier::with_secrets(["whsec_new", "whsec_old"])?;
/// let header = Signer::new("whsec_old")?.sign(1_000, b"{}");
/// assert!(verifier.verify(header, b"{}", 1_300).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Verifier {
    keys: Vec<Key>,
    tolerance_seconds: u64,
}

/// A delivery that was signed with one of the secrets, about now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// `t`: the time at which this attempt was signed, Unix seconds. It is not the time of the
    /// event, which is in the body.
    pub timestamp: i64,
}

impl Verifier {
    /// A verifier for one secret: the bytes as they were shown, `whsec_` included. A host that has
    /// the secret as a `Secret` passes `secret.reveal()`.
    ///
    /// # Errors
    ///
    /// The secret is empty, or an API key was given in its place.
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self, SecretError> {
        Self::with_secrets([secret])
    }

    /// A verifier for which any of the secrets is good enough. None at all is refused like an empty
    /// one.
    ///
    /// Every secret costs a hash of each message, so drop the old one when the rotation is over.
    pub fn with_secrets(secrets: impl IntoIterator<Item: AsRef<[u8]>>) -> Result<Self, SecretError> {
        let keys =
            secrets.into_iter().map(|secret| Key::new(secret.as_ref())).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err(SecretError::Empty);
        }
        Ok(Self { keys, tolerance_seconds: TOLERANCE_SECONDS })
    }

    /// The same verifier with another tolerance than [`TOLERANCE_SECONDS`].
    ///
    /// A delivery can be replayed for this time, so keep the [`DedupKey`](crate::DedupKey)s at
    /// least as long.
    #[must_use]
    pub fn tolerance_seconds(self, tolerance_seconds: u64) -> Self {
        Self { tolerance_seconds, ..self }
    }

    /// Checks a delivery: `header` as received, the raw `body`, and `now` in Unix seconds.
    ///
    /// The form of the header is checked first, then the MAC, then the time.
    pub fn verify(&self, header: impl AsRef<[u8]>, body: &[u8], now: i64) -> Result<Verified, VerifyError> {
        judge(&self.keys, header.as_ref(), body, now, self.tolerance_seconds)
    }

    /// Like [`verify`](Self::verify), with the system clock's time.
    #[cfg(feature = "std")]
    pub fn verify_now(&self, header: impl AsRef<[u8]>, body: &[u8]) -> Result<Verified, VerifyError> {
        self.verify(header, body, crate::clock::unix_seconds())
    }
}

/// Leaves out the secret.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("secrets", &self.keys.len())
            .field("tolerance_seconds", &self.tolerance_seconds)
            .finish_non_exhaustive()
    }
}

/// Checks one delivery with one secret and [`TOLERANCE_SECONDS`].
///
/// Prepares the key each time; a receiver of many deliveries keeps a [`Verifier`].
///
/// ```
/// let header = webhook_verify::sign("whsec_example", 1_000, b"{}")?;
/// let verified = webhook_verify::verify("whsec_example", header, b"{}", 1_300)?;
/// assert_eq!(verified.timestamp, 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    secret: impl AsRef<[u8]>,
    header: impl AsRef<[u8]>,
    body: &[u8],
    now: i64,
) -> Result<Verified, VerifyError> {
    let key = Key::new(secret.as_ref())?;
    judge(slice::from_ref(&key), header.as_ref(), body, now, TOLERANCE_SECONDS)
}

pub(crate) fn judge(
    keys: &[Key],
    header: &[u8],
    body: &[u8],
    now: i64,
    tolerance_seconds: u64,
) -> Result<Verified, VerifyError> {
    let header = Header::parse(header)?;
    if !is_genuine(keys, &header, body) {
        return Err(VerifyError::NoMatch { candidates: header.candidates, secrets: keys.len() });
    }
    let seconds = now.abs_diff(header.t);
    if seconds <= tolerance_seconds {
        Ok(Verified { timestamp: header.t })
    } else if header.t < now {
        Err(VerifyError::TooOld { age_seconds: seconds, tolerance_seconds })
    } else {
        Err(VerifyError::TooNew { ahead_seconds: seconds, tolerance_seconds })
    }
}

/// True if any `v1` is the MAC under any key. Tries all, so that the time does not reveal which one
/// matched.
pub(crate) fn is_genuine(keys: &[Key], header: &Header<'_>, body: &[u8]) -> bool {
    let mut genuine = Choice::from(0);
    for key in keys {
        let mac = key.mac(header.t_text, body);
        for v1 in header.v1() {
            genuine |= mac.matches(v1);
        }
    }
    genuine.into()
}
