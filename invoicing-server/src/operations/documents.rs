//! The frozen document of a quote: the signed URL to it, and the file behind one.

use bytes::Bytes;
use invoicing_core::{DocumentLink, QuoteId, QuoteStatus};

use super::Quotes;
use crate::Error;
use crate::documents::{ContentHash, DOCUMENT_URL_VALID_MS, Particulars, SentCopy};
use crate::invoicing::Inner;
use crate::store::quotes::{DocumentRow, last_document, last_particulars};

/// A frozen document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedDocument {
    /// The very bytes that were frozen.
    pub bytes: Bytes,
    /// Name under which the file is offered.
    pub file_name: String,
    /// SHA-256 of the file, 64 lowercase hex digits.
    pub sha256: String,
}

impl Quotes<'_> {
    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] while the quote is in DRAFT, [`Error::StorageUnavailable`] when the store does
    /// not have the document or does not answer.
    pub async fn document(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        let (hash, (sha256, size_bytes, file_name)) = self.frozen(id).await?;
        let inner = &self.0.inner;
        let size_bytes = u64::try_from(size_bytes).unwrap_or(0);
        inner.documents.available(hash, size_bytes).await?;
        let expires_at = inner.env.now().plus_millis(DOCUMENT_URL_VALID_MS);
        let path = inner.documents.signer().sign(self.0.id, &hash, &file_name, expires_at);
        Ok(DocumentLink {
            url: format!("{}{path}", inner.settings.base_url.trim_end_matches('/')),
            expires_at,
            document_type: "pdf".to_owned(),
            file_name,
            content_type: "application/pdf".to_owned(),
            size_bytes,
            sha256,
        })
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        let (hash, (sha256, _, file_name)) = self.frozen(id).await?;
        let bytes = self.0.inner.documents.fetch(hash).await?;
        Ok(OpenedDocument { bytes, file_name, sha256 })
    }

    /// The last frozen copy, read and checked, and what it says besides the quote.
    ///
    /// A signature is about these bytes: where they cannot be had, nobody can sign.
    pub(super) async fn sent_copy(&self, id: QuoteId) -> Result<(SentCopy, Option<Particulars>), Error> {
        let (sha256, (.., file_name)) = self.frozen(id).await?;
        let particulars = last_particulars(&mut *self.0.inner.store.read().await?, self.0.id, id).await?;
        let bytes = self.0.inner.documents.fetch(sha256).await?;
        Ok((SentCopy { file_name, sha256, bytes }, particulars))
    }

    async fn frozen(&self, id: QuoteId) -> Result<(ContentHash, DocumentRow), Error> {
        let found = last_document(&mut *self.0.inner.store.read().await?, self.0.id, id).await?;
        let document = match found {
            (QuoteStatus::Draft, _) => return Err(Error::DocumentUnavailable),
            (_, Some(document)) => document,
            (status, None) => {
                return Err(Error::bad_row(
                    "document",
                    "sha256",
                    id,
                    format!("{status} but nothing is frozen"),
                ));
            }
        };
        let hash = document.0.parse().map_err(|cause| Error::bad_row("document", "sha256", id, cause))?;
        Ok((hash, document))
    }
}

impl Inner {
    /// The document behind a signed URL. Anything that is not exactly a URL of ours in its time is not found.
    pub(crate) async fn open_document(
        &self,
        company: &str,
        sha256: &str,
        query: &str,
    ) -> Result<OpenedDocument, Error> {
        let signer = self.documents.signer();
        let grant = signer.verify(company, sha256, query, self.env.now()).ok_or(Error::NotFound)?;
        let bytes = self.documents.fetch(grant.hash).await?;
        Ok(OpenedDocument { bytes, file_name: grant.file_name, sha256: grant.hash.to_string() })
    }
}
