//! The keys that a host supplies.

use std::collections::HashSet;
use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

/// Longest id of a key, in characters.
const MAX_ID: usize = 32;

/// Accepts base64 with or without padding.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// A key that secrets are sealed with: 32 random bytes, and an id that is stored beside each sealed
/// value.
///
/// `Debug` shows the id only, and the memory is wiped on drop.
///
/// ```
/// use invoicing_server::{SealingKey, SealingKeys};
///
/// // 32 bytes from the host's key management or its environment: `openssl rand -base64 32`.
/// let new = SealingKey::from_base64("2026-09", "YPVSqZPFO0RRnlS0obR1j+zoUx+IR0U6uK0tPUl/5SU=")?;
/// let old = SealingKey::from_base64("2025-01", "zs7IkuWzqFjT1mYVmcVFRjNDVPeCwf6wbu5S4bS5l6I=")?;
/// let keys = SealingKeys::new(new).older(old);
/// assert_eq!(format!("{keys:?}"), r#"SealingKeys { current: "2026-09", older: ["2025-01"], lost: [] }"#);
/// # Ok::<(), invoicing_server::SealingKeyError>(())
/// ```
#[derive(Clone)]
pub struct SealingKey {
    id: String,
    pub(super) bytes: Zeroizing<[u8; 32]>,
}

/// The reason why a value is not a sealing key. The text never quotes the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealingKeyError {
    /// The id is not 1 to 32 letters, digits, `-` and `_`.
    #[error("the id of a sealing key must be 1 to {MAX_ID} letters, digits, hyphens or underscores")]
    Id,
    /// The text is not base64.
    #[error("the sealing key is not base64")]
    Encoding,
    /// The text does not decode to 32 bytes.
    #[error("a sealing key has 32 bytes, not {0}")]
    Length(usize),
}

impl SealingKey {
    /// A key from its bytes. The id is not secret, and must never be used for a second key.
    ///
    /// # Errors
    /// [`SealingKeyError::Id`].
    pub fn new(id: &str, bytes: [u8; 32]) -> Result<Self, SealingKeyError> {
        let bytes = Zeroizing::new(bytes);
        if !is_id(id) {
            return Err(SealingKeyError::Id);
        }
        Ok(Self { id: id.to_owned(), bytes })
    }

    /// A key from the base64 of its 32 bytes, in either alphabet, padded or not. White space around
    /// the text is ignored, as files end with a line break.
    ///
    /// # Errors
    /// The fault of the id or of the text.
    pub fn from_base64(id: &str, text: &str) -> Result<Self, SealingKeyError> {
        let text = text.trim();
        let alphabet = if text.contains(['-', '_']) { alphabet::URL_SAFE } else { alphabet::STANDARD };
        let decoded = GeneralPurpose::new(&alphabet, LENIENT).decode(text);
        // The decoder's own error would quote a character of the key.
        let decoded = Zeroizing::new(decoded.map_err(|_| SealingKeyError::Encoding)?);
        let bytes = decoded.as_slice().try_into().map_err(|_| SealingKeyError::Length(decoded.len()))?;
        Self::new(id, bytes)
    }

    /// The id of the key.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// True if a text can be the id of a key.
pub(crate) fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(allowed)
}

/// The keys of a service: one to seal with, and older ones to read the values that were sealed
/// before.
///
/// To change to a new key: open the service with the new one as current and the old one as
/// [`older`](Self::older) (or hand both to [`use_sealing_keys`](crate::Invoicing::use_sealing_keys)
/// while it runs), call [`reseal`](crate::Invoicing::reseal), and drop the old one once
/// [`sealed_with`](crate::Invoicing::sealed_with) no longer lists it.
#[derive(Clone)]
pub struct SealingKeys {
    /// The current key, then the older ones.
    keys: Vec<SealingKey>,
    lost: Vec<String>,
}

impl SealingKeys {
    /// Seals with this key.
    pub fn new(current: SealingKey) -> Self {
        Self { keys: vec![current], lost: Vec::new() }
    }

    /// Reads with this key as well.
    #[must_use]
    pub fn older(mut self, key: SealingKey) -> Self {
        self.keys.push(key);
        self
    }

    /// Declares a key permanently lost, so that the service opens without it. Webhooks whose
    /// secrets are sealed with it fail until their secrets are rotated, and document URLs that are
    /// still valid stop working.
    #[must_use]
    pub fn lost(mut self, id: &str) -> Self {
        self.lost.push(id.to_owned());
        self
    }

    pub(crate) fn current(&self) -> &SealingKey {
        // Never empty: `new` puts the current key first.
        &self.keys[0]
    }

    pub(crate) fn all(&self) -> &[SealingKey] {
        &self.keys
    }

    pub(crate) fn find(&self, id: &str) -> Option<&SealingKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    pub(crate) fn is_lost(&self, id: &str) -> bool {
        self.lost.iter().any(|lost| lost == id)
    }

    /// An id that occurs more than once.
    pub(crate) fn repeated_id(&self) -> Option<&str> {
        let mut ids = self.keys.iter().map(SealingKey::id).chain(self.lost.iter().map(String::as_str));
        let mut seen = HashSet::new();
        ids.find(|id| !seen.insert(*id))
    }
}

impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<&str> = self.keys[1..].iter().map(SealingKey::id).collect();
        f.debug_struct("SealingKeys")
            .field("current", &self.current().id())
            .field("older", &older)
            .field("lost", &self.lost)
            .finish()
    }
}
