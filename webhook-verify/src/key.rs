//! The keyed HMAC-SHA256 state, and a MAC as hex.
//!
//! The only module with cryptography. The secret itself is not kept.

use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use crate::error::SecretError;

/// Characters of an HMAC-SHA256 in hex.
pub(crate) const HEX_LENGTH: usize = 64;
/// Prefix of the service's API keys.
const API_KEY_PREFIX: &[u8] = b"isk_";
/// Prefix of the service's signing secrets.
const SECRET_PREFIX: &[u8] = b"whsec_";

/// HMAC state after the key went in: cloning it is cheaper than two blocks of SHA-256.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    pub(crate) fn new(secret: &[u8]) -> Result<Self, SecretError> {
        let trimmed = secret.trim_ascii();
        if trimmed.is_empty() {
            return Err(SecretError::Empty);
        }
        if trimmed.starts_with(API_KEY_PREFIX) {
            return Err(SecretError::ApiKey);
        }
        // A secret that is read from a file ends with a line break. A secret of another form may
        // have any bytes.
        let is_ours = trimmed.starts_with(SECRET_PREFIX);
        if is_ours && trimmed.iter().any(u8::is_ascii_whitespace) {
            return Err(SecretError::WhiteSpace);
        }
        let secret = if is_ours { trimmed } else { secret };
        // HMAC takes a key of any length, so this error cannot occur.
        Hmac::new_from_slice(secret).map(Self).map_err(|InvalidLength| SecretError::Empty)
    }

    /// The MAC of `<t>.<body>`.
    pub(crate) fn mac(&self, t_text: &[u8], body: &[u8]) -> HexMac {
        let mut hmac = self.0.clone();
        hmac.update(t_text);
        hmac.update(b".");
        hmac.update(body);
        HexMac::encode(&hmac.finalize().into_bytes().into())
    }
}

/// A MAC as 64 lowercase hex characters.
pub(crate) struct HexMac([u8; HEX_LENGTH]);

impl HexMac {
    fn encode(mac: &[u8; HEX_LENGTH / 2]) -> Self {
        let mut hex = [0; HEX_LENGTH];
        for (pair, byte) in hex.as_chunks_mut::<2>().0.iter_mut().zip(mac) {
            *pair = [digit(byte >> 4), digit(byte & 0xf)];
        }
        Self(hex)
    }

    /// True if `v1` is this MAC. The time it takes depends only on the length of `v1`, which is no
    /// secret to its sender.
    pub(crate) fn matches(&self, v1: &[u8]) -> Choice {
        v1.try_into().map_or(Choice::from(0), |v1: &[u8; HEX_LENGTH]| words(&self.0).ct_eq(&words(v1)))
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; HEX_LENGTH] {
        &self.0
    }
}

/// The hex digit of a value below 16, without a table or a branch that would reveal the value.
const fn digit(nibble: u8) -> u8 {
    // Above 9 the subtraction wraps, and its top bit lets through the distance from `:` to `a`.
    let is_message = 9_u8.wrapping_sub(nibble) >> 7;
    b'0' + nibble + is_message * (b'a' - b':')
}

/// Eight words in place of 64 bytes, as `subtle` guards each comparison against the optimiser, at a
/// cost.
fn words(hex: &[u8; HEX_LENGTH]) -> [u64; HEX_LENGTH / 8] {
    let mut words = [0; HEX_LENGTH / 8];
    for (word, chunk) in words.iter_mut().zip(hex.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*chunk);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{HexMac, digit};

    #[test]
    #[cfg(feature = "zeroize")]
    fn the_state_is_wiped() {
        const fn is_wiped<T: hmac::digest::zeroize::ZeroizeOnDrop>() {}
        // The state of both parts of a keyed `Hmac`. The parts promise to be wiped, but `Hmac` does
        // not.
        is_wiped::<sha2::block_api::Sha256VarCore>();
    }

    #[test]
    fn digits_are_lowercase_hex() {
        assert!((0..16).map(digit).eq(*b"0123456789abcdef"));
    }

    /// Rules: VERIFY-3
    #[test]
    fn each_character_counts() {
        let mac = HexMac::encode(&core::array::from_fn(|i| u8::try_from(i * 8).unwrap_or(0)));
        assert!(bool::from(mac.matches(mac.as_bytes())));
        for at in 0..64 {
            let mut other = *mac.as_bytes();
            other[at] ^= 1;
            assert!(!bool::from(mac.matches(&other)), "{at}");
        }
        assert!(!bool::from(mac.matches(&mac.as_bytes()[..63])));
        assert!(!bool::from(mac.matches(b"")));
    }
}
