//! Frozen documents: their formats, and the links to them in the answers of the API.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use strum::{Display, IntoStaticStr, VariantArray};

use crate::Timestamp;

/// The format of the document of an invoice or a credit note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DocumentFormat {
    /// A PDF for people only (PDF/A-3).
    Pdf,
    /// A PDF with the same invoice as XML inside (Factur-X, profile EN 16931).
    FacturX,
}

/// A link to a frozen document, with its size and hash: the answer of `GET /quotes/:id/document`,
/// and of the same for an invoice and a credit note.
///
/// The URL alone gives access to the document until it expires, so `Debug` shows it without its
/// query.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentLink {
    /// The URL. It carries its own proof: it needs no key and counts in no quota.
    pub url: String,
    /// Instant at which the URL ceases to work, 5 minutes after it was made.
    pub expires_at: Timestamp,
    /// The kind of document: `pdf`.
    #[serde(rename = "type")]
    pub document_type: String,
    /// A name for the file, such as `DEV-2026-0042.pdf`.
    pub file_name: String,
    /// The media type: `application/pdf`.
    pub content_type: String,
    /// The document's size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the document, 64 lowercase hex digits.
    pub sha256: String,
}

impl fmt::Debug for DocumentLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, expires_at, document_type, file_name, content_type, size_bytes, sha256 } = self;
        f.debug_struct("DocumentLink")
            .field("url", &format_args!("{}?..", url.split('?').next().unwrap_or_default()))
            .field("expires_at", expires_at)
            .field("document_type", document_type)
            .field("file_name", file_name)
            .field("content_type", content_type)
            .field("size_bytes", size_bytes)
            .field("sha256", sha256)
            .finish()
    }
}

impl DocumentLink {
    /// True if these bytes are the linked document: same size, same SHA-256.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.size_bytes && sha256_hex(bytes).eq_ignore_ascii_case(&self.sha256)
    }
}

/// SHA-256 in 64 lowercase hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
