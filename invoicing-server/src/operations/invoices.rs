//! Invoices: converted from quotes, issued, paid, reversed, credited, cancelled.

mod crediting;
mod issuing;
mod payments;

use chrono::NaiveDate;
#[cfg(feature = "console")]
use invoicing_core::InvoiceSummary;
use invoicing_core::{
    Changed, DocumentFormat, DocumentLink, Invoice, InvoiceId, InvoiceItem, InvoiceStatus, NewQuote, Page,
    PaymentSource, QuoteId,
};

pub use self::issuing::IssueOptions;
use self::issuing::Purpose;
use self::payments::insert_payment;
pub use self::payments::{NewPayment, RecordedPayment};
use super::CompanyHandle;
use super::conversion::{check_unconverted, convert_noted};
use super::frozen_files::OpenedDocument;
use crate::error::Error;
use crate::list_query::InvoiceQuery;
use crate::records::{HistoryAction, ReadinessGap};
use crate::store::{CompanyTx, Prefetch, Tables};

/// The invoices of a company.
///
/// ```
/// # use invoicing_server::{CompanyIdentity, Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// use invoicing_server::{InvoiceStatus, NewPayment, PaymentMethod, PaymentSource, money};
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
/// let invoices = company.invoices();
/// let draft = invoices.convert(quote.summary.id).await?;
/// assert_eq!(draft.summary.number, None);
/// let invoice = invoices.issue(draft.summary.id, None).await?;
/// assert_eq!(invoice.summary.amount_due, money!(1_100));
///
/// // The bank's identifier of the movement makes it safe to enter a payment twice.
/// let id = invoice.summary.id;
/// let cheque = NewPayment::new(300, PaymentSource::Bank)
///     .method(PaymentMethod::Cheque)
///     .reference("CHQ 0412")
///     .movement_id("2026-09-14/7781");
/// let entered = invoices.pay(id, &cheque).await?;
/// assert!(!invoices.pay(id, &cheque).await?.created);
///
/// // The cheque bounces; later the client pays everything.
/// invoices.reverse_payment(id, entered.payment.id).await?;
/// let paid = invoices.mark_paid(id).await?;
/// assert_eq!((paid.summary.status, paid.summary.amount_paid), (InvoiceStatus::Paid, money!(1_100)));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Invoices<'a>(pub(super) &'a CompanyHandle);

impl CompanyHandle {
    /// The invoices of the company.
    pub fn invoices(&self) -> Invoices<'_> {
        Invoices(self)
    }
}

impl Invoices<'_> {
    /// Converts an accepted quote: a draft invoice and `invoice.created`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the quote is not ACCEPTED or has an invoice that is not cancelled.
    pub async fn convert(&self, quote: QuoteId) -> Result<Invoice, Error> {
        let changed = async {
            let known = self.0.quotes().preload(quote).await?;
            self.0
                .write([Prefetch::Quote(quote)], async move |mut tx| {
                    let quote = tx.document_to_change(quote, known).await?;
                    check_unconverted(&mut tx, &quote).await?;
                    convert_noted(&mut tx, &quote).await
                })
                .await
        };
        self.0.operation("invoices.convert", changed).await
    }

    /// Makes the draft of an invoice without an offer, such as for a small repair: a quote, its
    /// acceptance by hand and its conversion in one transaction, with `quote.created`,
    /// `quote.accepted` and `invoice.created`.
    ///
    /// # Errors
    /// As [`Quotes::import`](super::Quotes::import), and [`Error::Conflict`] without a line.
    pub async fn create_direct(&self, content: &NewQuote) -> Result<Invoice, Error> {
        self.0.operation("invoices.create_direct", self.0.quotes().create_direct(content)).await
    }

    /// Issues a draft: allocates the number and freezes the document; `invoice.issued`. Its
    /// `issueDate` is today, or the date of the last invoice of its series if the clock is behind
    /// that. `due_date` defaults to 30 days later. An invoice with nothing due is PAID at once:
    /// `invoice.paid`.
    ///
    /// # Errors
    /// As [`issue_with`](Self::issue_with).
    pub async fn issue(&self, id: InvoiceId, due_date: Option<NaiveDate>) -> Result<Invoice, Error> {
        self.issue_with(id, &IssueOptions { due_date, ..IssueOptions::default() }).await
    }

    /// As [`issue`](Self::issue), with further facts.
    ///
    /// # Errors
    /// [`Error::Invalid`] about a text that the document cannot show, or about legal data that it
    /// lacks: see [`readiness`](Self::readiness). [`Error::Conflict`] when it is not a draft; [`Error::StorageUnavailable`] when the document cannot be stored, or other
    /// nodes keep taking the number.
    pub async fn issue_with(&self, id: InvoiceId, options: &IssueOptions) -> Result<Invoice, Error> {
        self.0.operation("invoices.issue", self.issue_for(id, Purpose::Issue(options.clone()))).await
    }

    /// Marks an invoice paid by hand: enters the remaining amount as a payment. A draft is issued
    /// first, in the same transaction. Without a retention the invoice is due on that day, and its
    /// document shows the payment and asks for none.
    ///
    /// # Errors
    /// As [`issue_with`](Self::issue_with) for a draft; [`Error::Conflict`] when it is paid,
    /// credited in full or cancelled.
    pub async fn mark_paid(&self, id: InvoiceId) -> Result<Invoice, Error> {
        let paid = async {
            match self.mark_issued_paid(id).await? {
                Some(paid) => Ok(paid),
                None => match self.issue_for(id, Purpose::MarkPaid).await {
                    // Another caller has issued the draft meanwhile.
                    Err(Error::Conflict(conflict)) => {
                        self.mark_issued_paid(id).await?.ok_or(Error::Conflict(conflict))
                    }
                    paid => paid,
                },
            }
        };
        self.0.operation("invoices.mark_paid", paid).await
    }

    /// Marks an issued invoice paid; `None` for a draft.
    async fn mark_issued_paid(&self, id: InvoiceId) -> Result<Option<Invoice>, Error> {
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Invoice(id)], async move |mut tx| {
                let invoice = tx.document_to_change(id, known).await?;
                if invoice.summary.status == InvoiceStatus::Draft {
                    return Ok(None);
                }
                let paid = invoice.mark_paid(tx.change.at())?;
                let amount = invoice.summary.amount_due;
                if !amount.is_zero() {
                    insert_payment(&mut tx, id, NewPayment::new(amount, PaymentSource::Manual)).await?;
                }
                let invoice = update(&mut tx, paid).await?;
                note(&mut tx, HistoryAction::InvoiceMarkedPaid, &invoice).await?;
                Ok(Some(invoice))
            })
            .await
    }

    /// All that an issue of this draft would refuse or advise, each with its field, its rule and a
    /// sentence in both languages.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the invoice is not a draft.
    pub async fn readiness(&self, id: InvoiceId) -> Result<Vec<ReadinessGap>, Error> {
        Ok(self.readiness_with(id, &IssueOptions::default()).await?.0)
    }

    /// As [`readiness`](Self::readiness) for an issue with these facts, with the format that the
    /// document would have.
    ///
    /// # Errors
    /// As [`readiness`](Self::readiness).
    pub async fn readiness_with(
        &self,
        id: InvoiceId,
        options: &IssueOptions,
    ) -> Result<(Vec<ReadinessGap>, DocumentFormat), Error> {
        self.0.operation("invoices.readiness", self.gaps(id, options.clone())).await
    }

    /// Preloads the invoice on SQLite, before the transaction; `None` on PostgreSQL.
    async fn preload(&self, id: InvoiceId) -> Result<Option<Invoice>, Error> {
        self.0.documents().preload(id).await
    }

    /// One invoice.
    pub async fn get(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.0.documents().get(id).await
    }

    /// The invoice of a quote that is not cancelled, if there is one.
    #[cfg(feature = "console")]
    pub(crate) async fn of_quote(&self, quote: QuoteId) -> Result<Option<InvoiceSummary>, Error> {
        let found = self.0.read(async move |mut tx| match tx.invoices().find_live(quote).await? {
            Some(id) => tx.invoices().find_summary(id).await.map(Some),
            None => Ok(None),
        });
        self.0.operation("invoices.of_quote", found).await
    }

    /// One invoice as the JSON of the API.
    pub async fn get_json(&self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        self.0.documents::<Invoice>().detail(id).await
    }

    /// A page of invoices.
    ///
    /// # Errors
    /// As [`Self::list_json`].
    pub async fn list(&self, query: &InvoiceQuery) -> Result<Page<InvoiceItem>, Error> {
        self.0.documents::<Invoice>().list(query).await
    }

    /// A page of invoices as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the lines make a page of several invoices larger than 16
    /// MiB. The error names the largest limit that works: see
    /// [`Rule::PageTooLarge`](crate::Rule::PageTooLarge).
    pub async fn list_json(&self, query: &InvoiceQuery) -> Result<Vec<u8>, Error> {
        self.0.documents::<Invoice>().whole_page(query).await
    }

    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a draft, for one that was cancelled, and for an invoice
    /// that was issued without a renderer of invoices;
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: InvoiceId) -> Result<DocumentLink, Error> {
        self.0.documents::<Invoice>().link(id).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: InvoiceId) -> Result<OpenedDocument, Error> {
        self.0.documents::<Invoice>().open(id).await
    }
}

/// Notes a change of an invoice in the history.
async fn note(tx: &mut CompanyTx<'_>, action: HistoryAction, invoice: &Invoice) -> Result<(), Error> {
    let number = invoice.summary.number.as_deref().unwrap_or_default();
    tx.note(action, invoice.summary.id.0, &number).await
}

/// Stores a changed invoice with its events.
async fn update(tx: &mut CompanyTx<'_>, changed: Changed<Invoice>) -> Result<Invoice, Error> {
    tx.invoices().update(&changed.record.summary, None).await?;
    tx.record_events(&changed.events).await?;
    Ok(changed.record)
}
