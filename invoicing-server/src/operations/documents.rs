//! The frozen document of a quote: the signed URL to it, and the file behind one.

use bytes::Bytes;
use invoicing_core::{DocumentLink, QuoteId, QuoteStatus, Timestamp};

use super::Quotes;
use crate::Error;
use crate::documents::{
    CONTENT_TYPE, DOCUMENT_URL_VALID_MS, DocumentKey, Frozen, Grant, Particulars, Patience, Rendered,
    SentCopy,
};
use crate::invoicing::Inner;
use crate::store::quotes::{DocumentRow, last_document, last_particulars};
use crate::store::{reading, uploads};

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
        let (key, (sha256, size_bytes, file_name)) = self.frozen(id).await?;
        let inner = &self.0.inner;
        let size_bytes = u64::try_from(size_bytes).unwrap_or(0);
        let mut patience = Patience::new();
        inner.documents.available(key, size_bytes, &mut patience).await?;
        let (url, expires_at) = inner.document_url(key, &file_name, &mut patience).await?;
        Ok(DocumentLink {
            url,
            expires_at,
            document_type: "pdf".to_owned(),
            file_name,
            content_type: CONTENT_TYPE.to_owned(),
            size_bytes,
            sha256,
        })
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        let (key, (.., file_name)) = self.frozen(id).await?;
        let bytes = self.0.inner.documents.fetch(key, &mut Patience::new()).await?;
        Ok(OpenedDocument { bytes, file_name, sha256: key.sha256.to_string() })
    }

    /// The last frozen copy, read and checked, and what it says besides the quote.
    ///
    /// A signature is about these bytes: where they cannot be had, nobody can sign.
    pub(super) async fn sent_copy(
        &self,
        id: QuoteId,
        patience: &mut Patience,
    ) -> Result<(SentCopy, Option<Particulars>), Error> {
        let (key, (.., file_name)) = self.frozen(id).await?;
        let particulars = reading!(self.0.inner.store, |c| last_particulars(c, self.0.id, id))?;
        let bytes = self.0.inner.documents.fetch(key, patience).await?;
        Ok((SentCopy { file_name, sha256: key.sha256, bytes }, particulars))
    }

    async fn frozen(&self, id: QuoteId) -> Result<(DocumentKey, DocumentRow), Error> {
        let found = reading!(self.0.inner.store, |c| last_document(c, self.0.id, id))?;
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
        let sha256 = document.0.parse().map_err(|cause| Error::bad_row("document", "sha256", id, cause))?;
        Ok((DocumentKey { company: self.0.id, sha256 }, document))
    }
}

impl Inner {
    /// Stores a document for a transaction that is about to refer to it.
    ///
    /// That it is coming is on disk before its first byte. So what a crash, a failure or a refusal leaves in the store
    /// is known, and the sweep deletes it.
    pub(crate) async fn keep(&self, rendered: Rendered, patience: &mut Patience) -> Result<Frozen, Error> {
        let (id, key) = (self.env.uuid(), rendered.key);
        let upload = self.store.write(move |tx| {
            Box::pin(async move {
                let now = tx.env().now();
                // Not while a sweep decides what may be deleted.
                tx.lock(key.company).await?;
                uploads::begin(tx.connection(), id, key, now).await
            })
        });
        let upload = upload.await?.ok_or_else(|| Error::unavailable("the same document is being deleted"))?;
        Ok(self.documents.keep(rendered, upload, patience).await?)
    }

    /// A URL under which anybody may download the document, and until when.
    async fn document_url(
        &self,
        key: DocumentKey,
        file_name: &str,
        patience: &mut Patience,
    ) -> Result<(String, Timestamp), Error> {
        let now = self.env.now();
        if self.settings.documents.presigned_urls
            && let Some(url) = self.documents.presign(key, file_name, patience).await?
        {
            // Stores count from the whole second in which they sign.
            let second = Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000);
            return Ok((url, second.plus_millis(DOCUMENT_URL_VALID_MS)));
        }
        let expires_at = now.plus_millis(DOCUMENT_URL_VALID_MS);
        let path = self.documents.signer().sign(key, file_name, expires_at);
        Ok((format!("{}{path}", self.settings.base_url.trim_end_matches('/')), expires_at))
    }

    /// What a signed URL gives access to. Anything that is not exactly a URL of ours in its time is not found.
    pub(crate) fn document_grant(&self, company: &str, sha256: &str, query: &str) -> Result<Grant, Error> {
        self.documents.signer().verify(company, sha256, query, self.env.now()).ok_or(Error::NotFound)
    }

    /// The document behind a signed URL.
    pub(crate) async fn open_granted(&self, grant: &Grant) -> Result<Bytes, Error> {
        Ok(self.documents.fetch(grant.key, &mut Patience::new()).await?)
    }
}
