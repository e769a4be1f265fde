//! Credit notes, read: [`Invoices::credit`](super::Invoices::credit) and
//! [`cancel`](super::Invoices::cancel) issue them.

#[cfg(feature = "console")]
use invoicing_core::CreditNoteSummary;
use invoicing_core::{CreditNote, CreditNoteId, CreditNoteItem, DocumentLink, Page};

use super::documents::OpenedDocument;
use super::{CompanyHandle, whole_page};
use crate::documents::StoredDocument;
use crate::error::Error;
use crate::list_query::{CreditNoteQuery, PageQuery};
use crate::records::{Lines, StoredJson, StoredPage};
use crate::store::Tables;
use crate::store::credit_notes::CREDIT_NOTE_PAGES;
use crate::store::rows::from_json;

/// The credit notes of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// use invoicing_server::{NewCreditNote, money};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// # let new = NewQuote::empty(client.id).line(NewLine::new("Two coats of matt paint", 40, 25, 10));
/// # let quote = company.quotes().create(&new).await?;
/// # company.quotes().accept(quote.summary.id).await?;
/// # let invoice = company.invoices().convert(quote.summary.id).await?;
/// # let invoice = company.invoices().issue(invoice.summary.id, None).await?.summary;
/// // Ten of the forty square metres were not painted.
/// let new = NewCreditNote::new("10 m² non peints").quantity(0, 10);
/// let note = company.invoices().credit(invoice.id, &new).await?;
/// assert_eq!(note.summary.total_ttc, money!(275));
/// assert_eq!(company.credit_notes().get(note.summary.id).await?, note);
/// let document = company.credit_notes().open_document(note.summary.id).await?;
/// assert!(document.bytes.starts_with(b"%PDF"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CreditNotes<'a>(&'a CompanyHandle);

impl CompanyHandle {
    /// The credit notes of the company.
    pub fn credit_notes(&self) -> CreditNotes<'_> {
        CreditNotes(self)
    }
}

impl CreditNotes<'_> {
    /// One credit note.
    pub async fn get(&self, id: CreditNoteId) -> Result<CreditNote, Error> {
        let found = self.0.read(async move |mut tx| tx.credit_notes().find(id).await);
        self.0.operation("credit_notes.get", found).await
    }

    /// One credit note as the JSON of the API.
    pub async fn detail(&self, id: CreditNoteId) -> Result<Vec<u8>, Error> {
        let detail = self.0.read(async move |mut tx| tx.credit_notes().detail(id).await);
        self.0.operation("credit_notes.detail", detail).await
    }

    /// As [`detail`](Self::detail), unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&self, id: CreditNoteId) -> Result<StoredJson, Error> {
        let detail = self.0.read(async move |mut tx| tx.credit_notes().small_detail(id).await);
        self.0.operation("credit_notes.detail", detail).await
    }

    /// A page of credit notes.
    ///
    /// # Errors
    /// As [`Self::page`].
    pub async fn list(&self, query: &CreditNoteQuery) -> Result<Page<CreditNoteItem>, Error> {
        from_json(&self.page(query).await?, "credit_note", self.0.id)
    }

    /// A page of credit notes as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the lines make a page of several credit notes larger
    /// than 16 MiB. The error names the largest limit that works: see
    /// [`page_limit`](invoicing_core::page_limit).
    pub async fn page(&self, query: &CreditNoteQuery) -> Result<Vec<u8>, Error> {
        whole_page(|lines| self.page_with(query, lines)).await
    }

    /// A page of a list for people, newest first, and the credit note behind which the next one
    /// begins.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an `after` that is no credit note of the company.
    #[cfg(feature = "console")]
    pub(crate) async fn newest(
        &self,
        after: Option<CreditNoteId>,
        limit: u32,
    ) -> Result<(Vec<CreditNoteSummary>, Option<CreditNoteId>), Error> {
        let found = self.0.read(async move |mut tx| tx.credit_notes().newest(after, limit).await);
        self.0.operation("credit_notes.newest", found).await
    }

    /// A page with these lines.
    pub(crate) async fn page_with(&self, query: &CreditNoteQuery, lines: Lines) -> Result<StoredPage, Error> {
        let CreditNoteQuery { include_lines, window } = *query;
        let query = PageQuery::<&'static str> { status: None, include_lines, window };
        let page =
            self.0.read_page(async move |mut tx| tx.document_page(&CREDIT_NOTE_PAGES, &query, lines).await);
        self.0.operation("credit_notes.page", page).await
    }

    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] if it was issued by a host without a renderer of invoices,
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: CreditNoteId) -> Result<DocumentLink, Error> {
        self.0.link_to("credit_notes.document", self.stored_document(id)).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: CreditNoteId) -> Result<OpenedDocument, Error> {
        self.0.open_found("credit_notes.open_document", self.stored_document(id)).await
    }

    /// The frozen document, not read yet, and its size in bytes.
    pub(crate) async fn stored_document(&self, id: CreditNoteId) -> Result<(StoredDocument, u64), Error> {
        self.0.read(async move |mut tx| tx.credit_notes().check_exists(id).await).await?;
        self.0.issued_document(id.0).await
    }
}
