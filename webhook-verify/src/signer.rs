//! Makes the header of a delivery. Does not allocate, and reads no clock except in `sign_now`.

use core::fmt;

use crate::error::SecretError;
use crate::key::{HEX_LENGTH, Key};

/// Characters of the longest `t`, `-9223372036854775808`.
const DECIMAL_LENGTH: usize = 20;
const LONGEST: usize = "t=".len() + DECIMAL_LENGTH + ",v1=".len() + HEX_LENGTH;

/// Signs deliveries with one secret.
///
/// Keep one per webhook: it holds the keyed HMAC state, so that a signature costs little more than
/// the hash of the message. Each attempt needs a new signature, as a late retry would otherwise
/// carry an old `t`.
///
/// ```
/// let signer = webhook_verify::Signer::new("whsec_example")?;
/// let header = signer.sign(1_789_378_867, br#"{"event":"ping"}"#);
/// assert_eq!(
///     header.as_str(),
///     "t=1789378867,v1=a2a4082dca824958c350e4fb5ce9c4636073c2478ba39f696ef333742cb5c610",
/// );
/// # Ok::<(), webhook_verify::SecretError>(())
/// ```
#[derive(Clone)]
pub struct Signer {
    key: Key,
}

/// The value of a signature header: `t=<unix seconds>,v1=<64 lowercase hex characters>`.
///
/// It is kept in place, without allocating, and is ASCII. It has no `==`: signatures are compared
/// in constant time, by a [`Verifier`](crate::Verifier).
#[derive(Clone, Copy)]
pub struct Signature {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Signer {
    /// A signer for a secret: all bytes of it are the key, `whsec_` included.
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self, SecretError> {
        Key::new(secret.as_ref()).map(|key| Self { key })
    }

    /// Signs the bytes of a body that will be sent, at `t` in Unix seconds.
    pub fn sign(&self, t: i64, body: &[u8]) -> Signature {
        let mut value = Signature { bytes: [0; LONGEST], length: 0 };
        value.push(b"t=");
        let start = value.length;
        value.push_decimal(t);
        let mac = self.key.mac(&value.bytes[start..value.length], body);
        value.push(b",v1=");
        value.push(mac.as_bytes());
        value
    }

    /// Like [`sign`](Self::sign), at the system clock's time.
    #[cfg(feature = "std")]
    pub fn sign_now(&self, body: &[u8]) -> Signature {
        self.sign(crate::clock::unix_seconds(), body)
    }
}

/// Leaves out the secret.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

/// Signs one body; a sender of many keeps a [`Signer`].
pub fn sign(secret: impl AsRef<[u8]>, t: i64, body: &[u8]) -> Result<Signature, SecretError> {
    Signer::new(secret).map(|signer| signer.sign(t, body))
}

impl Signature {
    /// The header's value.
    pub fn as_str(&self) -> &str {
        // Only ASCII was pushed, so the default is never taken.
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The hex characters of its `v1`. During a rotation a header has one for each secret:
    ///
    /// ```
    /// # use webhook_verify::Signer;
    /// # let (new, old) = (Signer::new("whsec_new")?, Signer::new("whsec_old")?);
    /// # let (t, body) = (1_789_378_867, b"{}");
    /// let header = format!("{},v1={}", new.sign(t, body), old.sign(t, body).v1());
    /// # for secret in ["whsec_new", "whsec_old"] {
    /// #     webhook_verify::Verifier::new(secret)?.verify(&header, body, t).expect("either matches");
    /// # }
    /// # Ok::<(), webhook_verify::SecretError>(())
    /// ```
    pub fn v1(&self) -> &str {
        let (_, v1) = self.as_str().split_at(self.length - HEX_LENGTH);
        v1
    }

    /// The header's value, for HTTP libraries that take bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        self.bytes[self.length..end].copy_from_slice(part);
        self.length = end;
    }

    fn push_decimal(&mut self, number: i64) {
        let mut digits = [0; DECIMAL_LENGTH];
        let mut at = DECIMAL_LENGTH;
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            self.push(b"-");
        }
        self.push(&digits[at..]);
    }
}

impl AsRef<str> for Signature {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<[u8]> for Signature {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signature").field(&self.as_str()).finish()
    }
}
