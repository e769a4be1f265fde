//! The frozen document of a quote: its link, and the check that its bytes are the linked ones.

use bytes::Bytes;
use invoicing_core::{DocumentLink, sha256_hex};

use crate::call::Call;
use crate::client::Shared;
use crate::{Error, ErrorKind};

const OPERATION: &str = "quotes.download";

/// A document whose bytes were checked against its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The link that it was downloaded from.
    pub link: DocumentLink,
    /// The document.
    pub bytes: Bytes,
}

/// Downloads the linked document and checks it.
pub(crate) async fn download(link: &DocumentLink, shared: &Shared) -> Result<Bytes, Error> {
    let Some(url) = shared.endpoint.document_url(&link.url) else {
        return Err(Error::new(OPERATION, ErrorKind::Request)
            .with(|details| details.message = Some("the link is not a web address".to_owned())));
    };
    if link.size_bytes > shared.limits.max_response_bytes as u64 {
        return Err(Error::new(OPERATION, ErrorKind::TooLarge));
    }
    let answer = shared.send(&Call::document(OPERATION, url)).await?;
    if link.matches(&answer.body) {
        return Ok(answer.body);
    }
    let message = format!(
        "expected {} bytes with SHA-256 {:.64}, got {} with {}",
        link.size_bytes,
        link.sha256,
        answer.body.len(),
        sha256_hex(&answer.body)
    );
    Err(answer.fail(ErrorKind::DocumentMismatch).with(|details| details.message = Some(message)))
}
