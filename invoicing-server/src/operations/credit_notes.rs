//! Credit notes, read: [`Invoices::credit`](super::Invoices::credit) and
//! [`cancel`](super::Invoices::cancel) issue them.

use invoicing_core::{CreditNote, CreditNoteId, CreditNoteItem, DocumentLink, Page};

use super::CompanyHandle;
use super::frozen_files::OpenedDocument;
use crate::error::Error;
use crate::list_query::CreditNoteQuery;

/// The credit notes of a company.
///
/// ```
/// # use invoicing_server::{CompanyIdentity, Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// use invoicing_server::{NewCreditNote, money};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let identity = CompanyIdentity::default().address("8 impasse des Tanneurs\n69007 Lyon");
/// # let identity = identity.siret("732 829 320 00074").vat_number("FR44732829320");
/// # let new = NewCompany::named("Martin Peinture", Plan::Team).identity(identity);
/// # let company = invoicing.companies().create(&new).await?;
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
        self.0.documents().get(id).await
    }

    /// One credit note as the JSON of the API.
    pub async fn get_json(&self, id: CreditNoteId) -> Result<Vec<u8>, Error> {
        self.0.documents::<CreditNote>().detail(id).await
    }

    /// A page of credit notes.
    ///
    /// # Errors
    /// As [`Self::list_json`].
    pub async fn list(&self, query: &CreditNoteQuery) -> Result<Page<CreditNoteItem>, Error> {
        self.0.documents::<CreditNote>().list(&query.into()).await
    }

    /// A page of credit notes as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the lines make a page of several credit notes larger
    /// than 16 MiB. The error names the largest limit that works: see
    /// [`Rule::PageTooLarge`](crate::Rule::PageTooLarge).
    pub async fn list_json(&self, query: &CreditNoteQuery) -> Result<Vec<u8>, Error> {
        self.0.documents::<CreditNote>().whole_page(&query.into()).await
    }

    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] if it was issued without a renderer for it,
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: CreditNoteId) -> Result<DocumentLink, Error> {
        self.0.documents::<CreditNote>().link(id).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: CreditNoteId) -> Result<OpenedDocument, Error> {
        self.0.documents::<CreditNote>().open(id).await
    }
}
