//! API keys as their owners see them.

use invoicing_core::{KeyId, Timestamp};

/// An API key as its owner sees it. The key itself was shown once, when it was issued.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRecord {
    /// Identifies the key for revoking it.
    pub id: KeyId,
    /// The last four characters of the key.
    pub last4: String,
    /// The name that the owner gave it.
    pub label: String,
    /// Instant of the issue.
    pub created_at: Timestamp,
    /// Instant of the last use; may lag by up to a minute.
    pub last_used_at: Option<Timestamp>,
    /// Instant of the revocation, by hand or because the key was idle.
    pub revoked_at: Option<Timestamp>,
}
