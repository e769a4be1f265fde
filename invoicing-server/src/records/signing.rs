//! Signing links, and the evidence of signatures.

use invoicing_core::Timestamp;

/// The evidence of a signature. Internal: no API shows it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProofRecord {
    /// SHA-256 of the link's token.
    pub token_hash: Vec<u8>,
    /// The signer's address, as the host saw it.
    pub ip: Option<String>,
    /// The signer's browser, as it identified itself.
    pub user_agent: Option<String>,
    /// SHA-256 of the document that was signed, 64 lowercase hex digits.
    pub document_sha256: String,
    /// The fingerprint of the proof: see [`proof_fingerprint`](invoicing_core::proof_fingerprint).
    pub proof_fingerprint: String,
    /// Instant of the signature.
    pub signed_at: Timestamp,
}

impl std::fmt::Debug for ProofRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProofRecord")
            .field("proof_fingerprint", &self.proof_fingerprint)
            .finish_non_exhaustive()
    }
}

/// A signing link as its company sees it: only its holder has the token itself.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SigningLinkRecord {
    /// SHA-256 of the token; [`ProofRecord::token_hash`] of a signature that was made with it.
    pub token_hash: Vec<u8>,
    /// Instant at which it was made.
    pub created_at: Timestamp,
    /// The instant from which on the link is answered like an unknown one.
    pub ends_at: Timestamp,
    /// Instant of the revocation.
    pub revoked_at: Option<Timestamp>,
}

impl std::fmt::Debug for SigningLinkRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { created_at, ends_at, revoked_at, .. } = self;
        f.debug_struct("SigningLinkRecord")
            .field("created_at", created_at)
            .field("ends_at", ends_at)
            .field("revoked_at", revoked_at)
            .finish_non_exhaustive()
    }
}
