//! Frozen files.

use invoicing_core::Timestamp;

/// The frozen PDF of a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrozenFile {
    /// SHA-256 of the file, 64 lowercase hex digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Name under which it is offered.
    pub file_name: String,
    /// Instant of the freezing.
    pub created_at: Timestamp,
}
