//! Frozen documents: made, stored, and handed out.

use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::{CompanyId, DocumentLink, Quote, QuoteId, QuoteStatus, Timestamp};

use super::Quotes;
use crate::Error;
use crate::config::Settings;
use crate::documents::{
    CONTENT_TYPE, DOCUMENT_URL_VALID_MS, Deadline, DocumentKey, Documents, Frozen, Grant, Particulars,
    SentCopy, StoredDocument,
};
use crate::env::Env;
use crate::store::{Store, Tables};

/// A frozen document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
        self.0.services.documents.link(self.0.id, id).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        self.0.services.documents.open(self.0.id, id).await
    }
}

/// Freezes documents for transactions that refer to them, and hands out frozen ones.
pub(crate) struct DocumentService {
    store: Arc<Store>,
    env: Env,
    documents: Documents,
    /// What URLs begin with, without a slash at the end.
    base_url: String,
    /// Whether URLs lead to the document store itself, where it can sign them.
    presigned_urls: bool,
}

impl DocumentService {
    pub(crate) fn new(store: Arc<Store>, env: Env, documents: Documents, settings: &Settings) -> Self {
        let base_url = settings.base_url.trim_end_matches('/').to_owned();
        Self { store, env, documents, base_url, presigned_urls: settings.documents.presigned_urls }
    }

    /// Renders and stores a document for a transaction that is about to refer to it.
    ///
    /// The upload is on disk before the first byte is put. So documents that a crash, a failure or a refusal leaves in
    /// the store are known, and the sweep deletes them.
    pub(super) async fn freeze(
        &self,
        particulars: Particulars,
        quote: &Quote,
        signed: Option<SentCopy>,
        deadline: &mut Deadline,
    ) -> Result<Frozen, Error> {
        let rendered = self.documents.render(particulars, quote.clone(), signed).await?;
        let key = rendered.key(self.env.uuid());
        let began = self.store.write_company(key.company, async move |mut tx| {
            let now = tx.now();
            tx.uploads().begin(key.upload, now).await
        });
        began.await?;
        Ok(self.documents.put(key, rendered, deadline).await?)
    }

    /// The latest frozen copy, read and checked, and what it says besides the quote.
    ///
    /// A signature is about these bytes: a quote whose copy cannot be read cannot be signed.
    pub(super) async fn sent_copy(
        &self,
        company: CompanyId,
        quote: QuoteId,
        deadline: &mut Deadline,
    ) -> Result<(SentCopy, Particulars), Error> {
        let StoredDocument { key, sha256, file_name, .. } = self.latest_document(company, quote).await?;
        let particulars = self
            .store
            .read(company, async move |mut tx| tx.documents().latest_particulars(quote).await)
            .await?;
        let bytes = self.documents.fetch(key, sha256, deadline).await?;
        Ok((SentCopy { file_name, sha256, bytes }, particulars))
    }

    async fn link(&self, company: CompanyId, quote: QuoteId) -> Result<DocumentLink, Error> {
        let StoredDocument { key, sha256, size_bytes, file_name } =
            self.latest_document(company, quote).await?;
        let mut deadline = Deadline::new();
        self.documents.check_available(key, size_bytes, &mut deadline).await?;
        let grant = Grant { key, sha256, file_name };
        let (url, expires_at) = self.url(&grant, &mut deadline).await?;
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

    async fn open(&self, company: CompanyId, quote: QuoteId) -> Result<OpenedDocument, Error> {
        let StoredDocument { key, sha256, file_name, .. } = self.latest_document(company, quote).await?;
        let bytes = self.documents.fetch(key, sha256, &mut Deadline::new()).await?;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }

    async fn latest_document(&self, company: CompanyId, quote: QuoteId) -> Result<StoredDocument, Error> {
        let latest = self.store.read(company, async move |mut tx| tx.documents().latest(quote).await).await?;
        let document = match latest {
            (QuoteStatus::Draft, _) => return Err(Error::DocumentUnavailable),
            (_, Some(document)) => document,
            (status, None) => {
                let cause = format!("{status} without a frozen document");
                return Err(Error::bad_row("document", "sha256", quote, cause));
            }
        };
        let sha256 = document.sha256.parse();
        Ok(StoredDocument {
            key: DocumentKey { company, upload: document.upload },
            sha256: sha256.map_err(|cause| Error::bad_row("document", "sha256", quote, cause))?,
            size_bytes: document.size_bytes,
            file_name: document.file_name,
        })
    }

    /// A URL that gives access to a document without a key, and the instant at which it expires.
    async fn url(&self, grant: &Grant, deadline: &mut Deadline) -> Result<(String, Timestamp), Error> {
        let now = self.env.now();
        if self.presigned_urls
            && let Some(url) = self.documents.presign(grant.key, &grant.file_name, deadline).await?
        {
            // Stores count from the whole second in which they sign.
            let second = Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000);
            return Ok((url, second.plus_millis(DOCUMENT_URL_VALID_MS)));
        }
        let expires_at = now.plus_millis(DOCUMENT_URL_VALID_MS);
        let path = self.documents.signer().sign(grant, expires_at);
        Ok((format!("{}{path}", self.base_url), expires_at))
    }

    /// What a signed URL gives access to. Not found unless it is exactly as it was signed and has not expired.
    pub(crate) fn verify_url(&self, company: &str, upload: &str, query: &str) -> Result<Grant, Error> {
        self.documents.signer().verify(company, upload, query, self.env.now()).ok_or(Error::NotFound)
    }

    /// The document behind a signed URL.
    pub(crate) async fn fetch(&self, grant: &Grant) -> Result<Bytes, Error> {
        Ok(self.documents.fetch(grant.key, grant.sha256, &mut Deadline::new()).await?)
    }

    /// Deletes a document that no record refers to.
    pub(super) async fn delete(&self, key: DocumentKey) -> Result<(), crate::documents::StoreError> {
        self.documents.delete(key).await
    }
}
