//! The frozen document of a quote: its link, and the check that its bytes are the linked ones.

use bytes::Bytes;
use invoicing_core::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::call::Call;
use crate::client::Shared;
use crate::{Error, ErrorKind};

const OPERATION: &str = "quotes.download";

/// Where a frozen document can be downloaded, and how to recognise it: the answer of `GET /quotes/:id/document`.
///
/// Whoever has the URL can read the document until it expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentLink {
    /// The URL. It carries its own proof: no key is needed.
    pub url: String,
    /// When the URL ceases to work, 5 minutes after it was made.
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
    /// SHA-256 of the document, 64 hex digits.
    pub sha256: String,
}

/// A document whose bytes were checked against its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The link that it was downloaded from.
    pub link: DocumentLink,
    /// The document.
    pub bytes: Bytes,
}

impl DocumentLink {
    /// Whether these bytes are the linked document: same size, same SHA-256.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.size_bytes && hex(bytes).eq_ignore_ascii_case(&self.sha256)
    }

    pub(crate) async fn download(&self, shared: &Shared) -> Result<Bytes, Error> {
        let Some(url) = shared.endpoint.document_url(&self.url) else {
            return Err(Error::new(OPERATION, ErrorKind::Request)
                .with(|details| details.message = Some("the link is not a web address".to_owned())));
        };
        if self.size_bytes > shared.limits.max_response_bytes as u64 {
            return Err(Error::new(OPERATION, ErrorKind::TooLarge));
        }
        let answer = shared.send(&Call::document(OPERATION, url)).await?;
        if self.matches(&answer.body) {
            return Ok(answer.body);
        }
        let message = format!(
            "expected {} bytes with SHA-256 {:.64}, got {} with {}",
            self.size_bytes,
            self.sha256,
            answer.body.len(),
            hex(&answer.body)
        );
        Err(answer.fail(ErrorKind::DocumentMismatch).with(|details| details.message = Some(message)))
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing into a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
