//! Frozen documents: rendered, stored, and handed out.

use std::fmt::Display;

use bytes::Bytes;
use invoicing_core::{Client, Company, CompanyId, DocumentLink, Timestamp};

use super::{CompanyHandle, Services};
use crate::documents::{
    BoundedStore, Buyer, CONTENT_TYPE, DOCUMENT_URL_VALID_MS, DocumentContent, DocumentFacts, DocumentKey,
    DocumentLogo, Frozen, Parties, StoredFile,
};
use crate::error::Error;
use crate::store::documents::StoredDocument;
use crate::store::frozen_files::FrozenFileRow;
use crate::store::quotes::DocumentTerms;
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

#[cfg(feature = "console")]
impl CompanyHandle {
    /// Reads a frozen document.
    pub(crate) async fn open_stored(&self, document: StoredFile) -> Result<OpenedDocument, Error> {
        self.operation("documents.open", self.services.open(document)).await
    }
}

impl Services {
    /// A signed URL to a frozen document, once it is known to be in the store.
    pub(super) async fn link(&self, document: StoredFile, size_bytes: u64) -> Result<DocumentLink, Error> {
        let mut store = self.documents.bounded_store();
        store.check_available(document.key, size_bytes).await?;
        let (url, expires_at) = self.document_url(&document, &mut store).await?;
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

    /// A frozen document, read and checked.
    pub(super) async fn open(&self, document: StoredFile) -> Result<OpenedDocument, Error> {
        let bytes = self.documents.bounded_store().fetch(&document).await?;
        let StoredFile { sha256, file_name, .. } = document;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }

    /// Renders and stores a document for a transaction that is about to refer to it.
    ///
    /// The row of the upload is on disk before the first byte is put. So the sweep finds and
    /// deletes every document that a crash, a failure or a refusal leaves in the store.
    pub(super) async fn freeze_document(
        &self,
        content: DocumentContent,
        store: &mut BoundedStore<'_>,
    ) -> Result<Frozen, Error> {
        let (frozen, bytes) = self.documents.render(self.env.uuid(), content).await?;
        self.upload(&frozen.document, bytes, store).await?;
        Ok(frozen)
    }

    async fn upload(
        &self,
        document: &StoredFile,
        bytes: Bytes,
        store: &mut BoundedStore<'_>,
    ) -> Result<(), Error> {
        let DocumentKey { company, upload } = document.key;
        let began = self.store.write(company, UNAUDITED, [], async move |mut tx| {
            let now = tx.change.now;
            tx.uploads().begin(upload, now).await
        });
        began.await?;
        Ok(store.put(document, bytes).await?)
    }

    /// A URL that gives access to a document without a key, and the instant at which it expires.
    async fn document_url(
        &self,
        document: &StoredFile,
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
    pub(crate) fn verify_document_url(&self, url: &str) -> Result<StoredFile, Error> {
        self.url_signer.verify(url, self.env.now()).ok_or(Error::NotFound)
    }
}

impl CompanyHandle {
    /// The latest frozen file of a document, and its size in bytes.
    pub(super) async fn frozen_file<D: StoredDocument>(&self, id: D::Id) -> Result<(StoredFile, u64), Error> {
        let row = self.read(async move |mut tx| tx.documents::<D>().latest_file(id).await).await?;
        stored(self.id, id, row.ok_or(Error::DocumentUnavailable)?)
    }

    /// A signed URL to a document that an operation finds.
    pub(super) async fn link_to(
        &self,
        operation: &'static str,
        found: impl Future<Output = Result<(StoredFile, u64), Error>>,
    ) -> Result<DocumentLink, Error> {
        let link = async {
            let (document, size_bytes) = found.await?;
            self.services.link(document, size_bytes).await
        };
        self.operation(operation, link).await
    }

    /// A document that an operation finds, read and checked.
    pub(super) async fn open_found(
        &self,
        operation: &'static str,
        found: impl Future<Output = Result<(StoredFile, u64), Error>>,
    ) -> Result<OpenedDocument, Error> {
        let opened = async { self.services.open(found.await?.0).await };
        self.operation(operation, opened).await
    }
}

/// The row of a frozen file.
pub(super) fn file_row(frozen: &Frozen) -> FrozenFileRow {
    let Frozen { document, size_bytes, .. } = frozen;
    FrozenFileRow {
        upload: document.key.upload,
        sha256: document.sha256.to_string(),
        size_bytes: *size_bytes,
        file_name: document.file_name.clone(),
    }
}

/// The facts that documents of every kind show if they are frozen now.
pub(super) fn current_facts(company: &Company, client: &Client, terms: DocumentTerms) -> DocumentFacts {
    let buyer = Buyer::of(client);
    DocumentFacts {
        housing_works: terms.housing_works.unwrap_or(!buyer.is_business()),
        parties: Parties { seller: company.clone(), buyer },
        quote_date: None,
        quote_number: None,
        work_site: terms.work_site,
        operations: terms.operations.unwrap_or(company.identity.operations),
        reverse_charge: terms.reverse_charge,
    }
}

/// The logo that documents of the company show.
pub(super) async fn find_logo(
    tx: &mut impl Tables,
    company: &Company,
) -> Result<Option<DocumentLogo>, Error> {
    let Some(sha256) = &company.logo else { return Ok(None) };
    let bytes = tx.logos().find(sha256).await?;
    match bytes.and_then(|bytes| DocumentLogo::checked_before(bytes.into())) {
        Some(logo) => Ok(Some(logo)),
        None => Err(Error::bad_row("logo", "bytes", company.id, "no PNG or JPEG with this hash")),
    }
}

/// The document of a row, and its size in bytes.
pub(super) fn stored(
    company: CompanyId,
    record: impl Display,
    row: FrozenFileRow,
) -> Result<(StoredFile, u64), Error> {
    let FrozenFileRow { upload, sha256, size_bytes, file_name } = row;
    let sha256 = sha256.parse().map_err(|cause| Error::bad_row("frozen_file", "sha256", record, cause))?;
    Ok((StoredFile { key: DocumentKey { company, upload }, sha256, file_name }, size_bytes))
}
