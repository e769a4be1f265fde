//! The fingerprint that binds a signature to the document that was signed.

use serde::Serialize;

use crate::document::sha256_hex;
use crate::{Quote, QuoteId, SignatureBlock, Timestamp};

/// The parts of a signature's fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
// The order of the fields is the order of the canonical form (RFC 8785: by name).
pub struct ProofParts<'a> {
    /// The text that the signer agreed to.
    pub accepted_text: &'a str,
    /// SHA-256 of the sent document, 64 lowercase hex digits.
    pub document_sha256: &'a str,
    /// Number of the quote.
    pub number: &'a str,
    /// The quote.
    pub quote_id: QuoteId,
    /// Instant of the signature.
    pub signed_at: Timestamp,
    /// The signer's e-mail.
    pub signed_by_email: &'a str,
    /// The signer's name.
    pub signed_by_name: &'a str,
}

impl<'a> ProofParts<'a> {
    /// The parts of a signature on this quote and the document that was sent (SHA-256, 64 lowercase
    /// hex digits).
    pub fn of(
        quote_id: QuoteId,
        number: &'a str,
        signature: &'a SignatureBlock,
        document_sha256: &'a str,
    ) -> Self {
        Self {
            accepted_text: &signature.accepted_text,
            document_sha256,
            number,
            quote_id,
            signed_at: signature.signed_at,
            signed_by_email: &signature.signed_by_email,
            signed_by_name: &signature.signed_by_name,
        }
    }
}

impl<S> Quote<S> {
    /// The parts of the signature's fingerprint, from the detail and the SHA-256 of the document that was sent (64
    /// lowercase hex digits). `None` before the signature.
    pub fn proof_parts<'a>(&'a self, document_sha256: &'a str) -> Option<ProofParts<'a>> {
        let signature = self.detail.signature.as_ref()?;
        Some(ProofParts::of(self.summary.id, &self.summary.number, signature, document_sha256))
    }
}

/// `sha256:` and the SHA-256 of the parts as canonical JSON (RFC 8785), in lowercase hex.
///
/// It can be recomputed from the detail of a quote and the PDF that was sent.
pub fn proof_fingerprint(parts: &ProofParts<'_>) -> String {
    // Strings only, in order: serde_json's compact form is the canonical one. Writing to memory cannot fail.
    let json = serde_json::to_vec(parts).unwrap_or_default();
    format!("sha256:{}", sha256_hex(&json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuoteStatus;
    use crate::fixtures::quote_in;

    /// Rules: EVIDENCE-1
    #[test]
    fn the_fingerprint_is_the_hash_of_canonical_json() {
        let parts = ProofParts {
            accepted_text: "Bon pour accord\n\"é\" \u{7f}\u{1}",
            document_sha256: &"ab".repeat(32),
            number: "DEV-2026-0042",
            quote_id: QuoteId(uuid::Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001)),
            signed_at: Timestamp::from_millis(1_789_378_867_123),
            signed_by_email: "lea@exemple.fr",
            signed_by_name: "Léa Martin",
        };
        // Computed with Python: hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":"),
        // ensure_ascii=False).encode()).hexdigest()
        let expected = "sha256:51ae762051be78c28e30745c1056b80376f2de2a0f1deaaf87b641d72bf11f9c";
        assert_eq!(proof_fingerprint(&parts), expected);
    }

    /// Rules: EVIDENCE-3
    #[test]
    fn a_detail_has_the_parts_once_it_is_signed() {
        assert_eq!(quote_in(QuoteStatus::Sent).proof_parts(""), None);
        let quote = quote_in(QuoteStatus::Accepted);
        let signature = quote.detail.signature.clone().unwrap();
        let parts = quote.proof_parts("cd").unwrap();
        assert_eq!(
            (parts.quote_id, parts.number, parts.document_sha256),
            (quote.summary.id, &*quote.summary.number, "cd")
        );
        assert_eq!((parts.accepted_text, parts.signed_at), (&*signature.accepted_text, signature.signed_at));
        assert_eq!(
            (parts.signed_by_name, parts.signed_by_email),
            (&*signature.signed_by_name, &*signature.signed_by_email)
        );
    }
}
