//! The frozen document of a quote: its signed URL, and the file behind one.

use bytes::Bytes;
use invoicing_core::{DocumentLink, QuoteId, QuoteStatus, Timestamp};

use super::Quotes;
use crate::Error;
use crate::documents::{
    CONTENT_TYPE, DOCUMENT_URL_VALID_MS, Frozen, Grant, Particulars, Patience, Rendered, SentCopy,
    StoredDocument,
};
use crate::invoicing::Inner;
use crate::store::quotes::{last_document, last_particulars};
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
        let StoredDocument { key, sha256, size_bytes, file_name } = self.latest_document(id).await?;
        let inner = &self.0.inner;
        let mut patience = Patience::new();
        inner.documents.check_available(key, size_bytes, &mut patience).await?;
        let grant = Grant { key, sha256, file_name };
        let (url, expires_at) = inner.document_url(&grant, &mut patience).await?;
        Ok(DocumentLink {
            url,
            expires_at,
            document_type: "pdf".to_owned(),
            file_name: grant.file_name,
            content_type: CONTENT_TYPE.to_owned(),
            size_bytes,
            sha256: sha256.to_string(),
        })
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        let StoredDocument { key, sha256, file_name, .. } = self.latest_document(id).await?;
        let bytes = self.0.inner.documents.fetch(key, sha256, &mut Patience::new()).await?;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }

    /// The last frozen copy, read and checked, and what it says besides the quote.
    ///
    /// A signature is about these bytes: a quote whose copy cannot be read cannot be signed.
    pub(super) async fn sent_copy(
        &self,
        id: QuoteId,
        patience: &mut Patience,
    ) -> Result<(SentCopy, Particulars), Error> {
        let StoredDocument { key, sha256, file_name, .. } = self.latest_document(id).await?;
        let particulars = reading!(self.0.inner.store, |c| last_particulars(c, self.0.id, id))?;
        let bytes = self.0.inner.documents.fetch(key, sha256, patience).await?;
        Ok((SentCopy { file_name, sha256, bytes }, particulars))
    }

    async fn latest_document(&self, id: QuoteId) -> Result<StoredDocument, Error> {
        match reading!(self.0.inner.store, |c| last_document(c, self.0.id, id))? {
            (QuoteStatus::Draft, _) => Err(Error::DocumentUnavailable),
            (_, Some(document)) => Ok(document),
            (status, None) => {
                Err(Error::bad_row("document", "sha256", id, format!("{status} without a frozen document")))
            }
        }
    }
}

impl Inner {
    /// Stores a document for a transaction that is about to refer to it.
    ///
    /// The upload is on disk before the first byte is put. So documents that a crash, a failure or a refusal leaves in
    /// the store are known, and the sweep deletes them.
    pub(crate) async fn upload(&self, rendered: Rendered, patience: &mut Patience) -> Result<Frozen, Error> {
        let key = rendered.key(self.env.uuid());
        let begin = self.store.write(move |tx| {
            Box::pin(async move {
                let now = tx.env().now();
                uploads::begin(tx.connection(), key, now).await
            })
        });
        begin.await?;
        Ok(self.documents.put(key, rendered, patience).await?)
    }

    /// A URL that gives access to a document without a key, and the instant at which it expires.
    async fn document_url(
        &self,
        grant: &Grant,
        patience: &mut Patience,
    ) -> Result<(String, Timestamp), Error> {
        let now = self.env.now();
        if self.settings.documents.presigned_urls
            && let Some(url) = self.documents.presign(grant.key, &grant.file_name, patience).await?
        {
            // Stores count from the whole second in which they sign.
            let second = Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000);
            return Ok((url, second.plus_millis(DOCUMENT_URL_VALID_MS)));
        }
        let expires_at = now.plus_millis(DOCUMENT_URL_VALID_MS);
        let path = self.documents.signer().sign(grant, expires_at);
        Ok((format!("{}{path}", self.settings.base_url.trim_end_matches('/')), expires_at))
    }

    /// What a signed URL gives access to. Not found unless it is exactly as it was signed and has not expired.
    pub(crate) fn document_grant(&self, company: &str, upload: &str, query: &str) -> Result<Grant, Error> {
        self.documents.signer().verify(company, upload, query, self.env.now()).ok_or(Error::NotFound)
    }

    /// The document behind a signed URL.
    pub(crate) async fn open_granted(&self, grant: &Grant) -> Result<Bytes, Error> {
        Ok(self.documents.fetch(grant.key, grant.sha256, &mut Patience::new()).await?)
    }
}
