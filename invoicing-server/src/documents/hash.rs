//! The hash of a document's bytes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// SHA-256 of a document's bytes. Written as 64 lowercase hex digits, the only form that is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// The text is not 64 lowercase hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 lowercase hex digits")]
#[non_exhaustive]
pub struct ParseHashError;

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The raw digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).map_err(|_| ParseHashError)?;
        let hash = Self(digest);
        // Capitals are read as well, but never written.
        if hash.to_string() == text { Ok(hash) } else { Err(ParseHashError) }
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_is_sha_256() {
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(ContentHash::of(b"").to_string(), expected);
    }

    #[test]
    fn only_lowercase_hex_is_read() {
        let text = ContentHash::of(b"a").to_string();
        assert_eq!(text.parse(), Ok(ContentHash::of(b"a")));
        let bad =
            [text.to_uppercase(), text[..63].into(), format!("{text}0"), format!("{text}00"), "é".repeat(32)];
        for bad in bad.iter().map(String::as_str).chain(["", "zz"]) {
            assert_eq!(bad.parse::<ContentHash>(), Err(ParseHashError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_hash_reads_back_as_itself(digest: [u8; 32]) {
            prop_assert_eq!(ContentHash(digest).to_string().parse(), Ok(ContentHash(digest)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = text.parse::<ContentHash>();
        }
    }
}
