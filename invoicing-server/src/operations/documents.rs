//! Frozen documents: rendered, stored, and handed out.

use bytes::Bytes;
use invoicing_core::{CompanyId, DocumentLink, Quote, QuoteId, QuoteStatus, Timestamp};

use super::{Quotes, Services};
use crate::Error;
use crate::documents::{
    BoundedStore, CONTENT_TYPE, ContentHash, DOCUMENT_URL_VALID_MS, DocumentKey, Frozen, Particulars,
    StoredCopy, StoredDocument,
};
use crate::store::documents::DocumentRow;
use crate::store::{Tables, UNAUDITED};

/// A frozen document.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// # let new = NewQuote::empty(client.id).line(NewLine::new("Two coats of matt paint", 40, 25, 10));
/// # let id = company.quotes().create(&new).await?.summary.id;
/// # company.quotes().send(id, None).await?;
/// let opened = company.quotes().open_document(id).await?;
/// assert!(opened.bytes.starts_with(b"%PDF"));
/// // For a browser: a URL that is good for 5 minutes, to the same bytes.
/// let link = company.quotes().document(id).await?;
/// assert_eq!(link.sha256, opened.sha256);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedDocument {
    /// The exact bytes that were frozen.
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
    /// [`Error::DocumentUnavailable`] for a quote that was never sent or accepted,
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        self.0.operation("quotes.document", self.document_link(id)).await
    }

    async fn document_link(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        let services = &self.0.services;
        let (document, size_bytes) = services.latest_document(self.0.id, id).await?;
        let mut store = services.documents.bounded_store();
        store.check_available(document.key, size_bytes).await?;
        let (url, expires_at) = services.document_url(&document, &mut store).await?;
        Ok(DocumentLink {
            url,
            expires_at,
            document_type: "pdf".to_owned(),
            file_name: document.file_name,
            content_type: CONTENT_TYPE.to_owned(),
            size_bytes,
            sha256: document.sha256.to_string(),
        })
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        self.0.operation("quotes.open_document", self.open_latest(id)).await
    }

    pub(super) async fn open_latest(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        let services = &self.0.services;
        let latest = services.latest_copy(self.0.id, id, &mut services.documents.bounded_store()).await?;
        let StoredCopy { document: StoredDocument { sha256, file_name, .. }, bytes } = latest;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }

    /// One of the frozen documents of a quote, by the hash with which
    /// [`documents`](Self::documents) lists it: the last one or an earlier one.
    ///
    /// # Errors
    /// [`Error::NotFound`] if none of them has this hash, [`Error::StorageUnavailable`] when the
    /// store does not have the document or does not answer.
    pub async fn open_copy(&self, id: QuoteId, sha256: &str) -> Result<OpenedDocument, Error> {
        let opened = async {
            let (document, _) = self.find_copy(id, sha256).await?;
            self.fetch(document).await
        };
        self.0.operation("quotes.open_copy", opened).await
    }

    /// One of the frozen documents of a quote, not read yet, and its size in bytes.
    async fn find_copy(&self, id: QuoteId, sha256: &str) -> Result<(StoredDocument, u64), Error> {
        let hash: ContentHash = sha256.parse().map_err(|_| Error::NotFound)?;
        let company = self.0.id();
        let row = self.0.read(async move |mut tx| tx.documents().find(id, &hash.to_string()).await).await?;
        stored(company, id, row)
    }

    async fn fetch(&self, document: StoredDocument) -> Result<OpenedDocument, Error> {
        let bytes = self.0.services.documents.bounded_store().fetch(&document).await?;
        let StoredDocument { sha256, file_name, .. } = document;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }
}

#[cfg(feature = "console")]
impl Quotes<'_> {
    /// The last frozen document, not read yet, and its size in bytes.
    pub(crate) async fn stored_document(&self, id: QuoteId) -> Result<(StoredDocument, u64), Error> {
        let latest = self.0.services.latest_document(self.0.id, id);
        self.0.operation("quotes.stored_document", latest).await
    }

    /// One of the frozen documents of a quote, not read yet, and its size in bytes: see
    /// [`open_copy`](Self::open_copy).
    pub(crate) async fn stored_copy(
        &self,
        id: QuoteId,
        sha256: &str,
    ) -> Result<(StoredDocument, u64), Error> {
        self.0.operation("quotes.stored_document", self.find_copy(id, sha256)).await
    }

    /// Reads a frozen document.
    pub(crate) async fn open_stored(&self, document: StoredDocument) -> Result<OpenedDocument, Error> {
        self.0.operation("quotes.open_copy", self.fetch(document)).await
    }
}

impl Services {
    /// Renders and stores a document for a transaction that is about to refer to it.
    ///
    /// The row of the upload is on disk before the first byte is put. So the sweep finds and
    /// deletes every document that a crash, a failure or a refusal leaves in the store.
    pub(super) async fn freeze_document(
        &self,
        particulars: Particulars,
        quote: &Quote,
        signed: Option<StoredCopy>,
        store: &mut BoundedStore<'_>,
    ) -> Result<Frozen, Error> {
        let upload = self.env.uuid();
        let (frozen, bytes) = self.documents.render(upload, particulars, quote.clone(), signed).await?;
        let began = self.store.write(frozen.document.key.company, UNAUDITED, [], async move |mut tx| {
            let now = tx.change.now;
            tx.uploads().begin(upload, now).await
        });
        began.await?;
        store.put(&frozen.document, bytes).await?;
        Ok(frozen)
    }

    /// The latest frozen copy, read and checked.
    pub(super) async fn latest_copy(
        &self,
        company: CompanyId,
        quote: QuoteId,
        store: &mut BoundedStore<'_>,
    ) -> Result<StoredCopy, Error> {
        let (document, _) = self.latest_document(company, quote).await?;
        let bytes = store.fetch(&document).await?;
        Ok(StoredCopy { document, bytes })
    }

    /// The latest document of a quote, and its size in bytes.
    async fn latest_document(
        &self,
        company: CompanyId,
        quote: QuoteId,
    ) -> Result<(StoredDocument, u64), Error> {
        let latest = self.store.read(company, async move |mut tx| tx.documents().latest(quote).await).await?;
        let (status, row) = latest;
        stored(company, quote, latest_of(quote, status, row)?)
    }

    /// A URL that gives access to a document without a key, and the instant at which it expires.
    async fn document_url(
        &self,
        document: &StoredDocument,
        store: &mut BoundedStore<'_>,
    ) -> Result<(String, Timestamp), Error> {
        let now = self.env.now();
        if self.presigned_urls
            && let Some(url) = store.presign(document).await?
        {
            // Stores count the validity from the whole second in which they sign.
            let second = Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000);
            return Ok((url, second.plus_millis(DOCUMENT_URL_VALID_MS)));
        }
        let expires_at = now.plus_millis(DOCUMENT_URL_VALID_MS);
        let path = self.url_signer.sign(document, expires_at);
        Ok((format!("{}{path}", self.base_url), expires_at))
    }

    /// The document that a signed URL, as path and query, gives access to. Not found unless the URL
    /// is exactly as it was signed and has not expired.
    pub(crate) fn verify_document_url(&self, url: &str) -> Result<StoredDocument, Error> {
        self.url_signer.verify(url, self.env.now()).ok_or(Error::NotFound)
    }
}

/// The latest document of a quote, or the error of a quote in this state without one.
pub(super) fn latest_of<D>(quote: QuoteId, status: QuoteStatus, latest: Option<D>) -> Result<D, Error> {
    match (status, latest) {
        // A draft, or a draft that was discarded.
        (QuoteStatus::Draft, _) | (QuoteStatus::Rejected, None) => Err(Error::DocumentUnavailable),
        (_, Some(document)) => Ok(document),
        (status, None) => {
            let cause = format!("{status} without a frozen document");
            Err(Error::bad_row("document", "sha256", quote, cause))
        }
    }
}

/// The document of a row, and its size in bytes.
pub(super) fn stored(
    company: CompanyId,
    quote: QuoteId,
    row: DocumentRow,
) -> Result<(StoredDocument, u64), Error> {
    let DocumentRow { upload, sha256, size_bytes, file_name } = row;
    let sha256 = sha256.parse().map_err(|cause| Error::bad_row("document", "sha256", quote, cause))?;
    Ok((StoredDocument { key: DocumentKey { company, upload }, sha256, file_name }, size_bytes))
}
