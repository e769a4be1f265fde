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
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it was last used; may lag by up to a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked, by hand or because it was idle.
    pub revoked_at: Option<Timestamp>,
}
