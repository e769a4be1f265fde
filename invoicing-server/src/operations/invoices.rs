//! Invoices: converted from quotes, issued, paid, reversed, credited, cancelled.

mod crediting;
mod document;
mod issuing;

use chrono::NaiveDate;
#[cfg(feature = "console")]
use invoicing_core::InvoiceSummary;
use invoicing_core::{
    Changed, Conflict, DocumentFormat, IntoExact, Invoice, InvoiceId, InvoiceItem, InvoiceStatus, Money,
    NewQuote, Page, PaymentId, PaymentMethod, PaymentSource, Quote, QuoteId, SHORT_TEXT, exact_number,
    optional_text,
};
use serde::Deserialize;

pub use self::issuing::IssueOptions;
use self::issuing::Purpose;
use super::{CompanyHandle, whole_page};
use crate::error::Error;
use crate::list_query::PageQuery;
use crate::records::{HistoryAction, Lines, Missing, Payment, StoredJson, StoredPage};
use crate::store::invoices::INVOICE_PAGES;
use crate::store::rows::from_json;
use crate::store::{CompanyTx, Prefetch, Tables};

/// The invoices of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// use invoicing_server::{InvoiceStatus, NewPayment, PaymentMethod, PaymentSource, money};
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
/// invoices.reverse(id, entered.payment.id).await?;
/// let paid = invoices.mark_paid(id).await?;
/// assert_eq!((paid.summary.status, paid.summary.amount_paid), (InvoiceStatus::Paid, money!(1_100)));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Invoices<'a>(pub(super) &'a CompanyHandle);

/// A payment as it is entered.
///
/// ```
/// use invoicing_server::{NewPayment, PaymentMethod, PaymentSource, money};
///
/// let deposit = NewPayment::new(money!(1_200.50), PaymentSource::Entered)
///     .method(PaymentMethod::Cheque)
///     .reference("CHQ 0412");
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPayment {
    /// The amount, above 0.
    #[serde(deserialize_with = "exact_number")]
    pub amount: Money,
    /// The origin of the entry.
    pub source: PaymentSource,
    /// The method of the payment, if known.
    #[serde(default)]
    pub method: Option<PaymentMethod>,
    /// The payer's reference, at most 255 characters. Payments may have the same one, such as that
    /// which the document asks for.
    #[serde(default)]
    pub reference: Option<String>,
    /// The identifier of the movement at the bank or the processor, at most 255 characters. The same
    /// one twice on one invoice is one payment, unless the first was reversed. With another amount
    /// it is a conflict.
    #[serde(default)]
    pub movement_id: Option<String>,
}

impl NewPayment {
    /// A payment without method, reference and movement.
    pub fn new(amount: impl IntoExact<Money>, source: PaymentSource) -> Self {
        Self { amount: amount.into(), source, method: None, reference: None, movement_id: None }
    }

    /// Sets [`method`](Self#structfield.method).
    pub fn method(mut self, method: PaymentMethod) -> Self {
        self.method = Some(method);
        self
    }

    /// Sets [`reference`](Self#structfield.reference).
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Sets [`movement_id`](Self#structfield.movement_id).
    pub fn movement_id(mut self, id: impl Into<String>) -> Self {
        self.movement_id = Some(id.into());
        self
    }
}

/// A payment and the invoice as it stands with it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedPayment {
    /// The payment: the new one, or the one of the same movement.
    pub payment: Payment,
    /// The invoice.
    pub invoice: Invoice,
    /// True if the call has recorded the payment.
    pub created: bool,
}

/// The direction of a payment.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Payment,
    /// Recorded with its amount negated.
    Refund,
}

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
                    let quote = tx.quote_to_change(quote, known).await?;
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
    pub async fn direct(&self, content: &NewQuote) -> Result<Invoice, Error> {
        self.0.operation("invoices.direct", self.0.quotes().create_direct(content)).await
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
    /// [`Error::Invalid`] about a text that the document cannot show, or with e-invoicing ON about
    /// legal data that it lacks: see [`readiness`](Self::readiness). [`Error::Conflict`] when it is
    /// not a draft; [`Error::StorageUnavailable`] when the document cannot be stored, or other nodes
    /// keep taking the number.
    pub async fn issue_with(&self, id: InvoiceId, options: &IssueOptions) -> Result<Invoice, Error> {
        self.0.operation("invoices.issue", self.issue_for(id, *options, Purpose::Issue)).await
    }

    /// Everything that an issue of this draft would refuse, each with its field, its rule and a
    /// sentence in both languages. Empty when it can be issued as it stands.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the invoice is not a draft.
    pub async fn readiness(&self, id: InvoiceId) -> Result<Vec<Missing>, Error> {
        Ok(self.readiness_and_format(id).await?.0)
    }

    /// As [`readiness`](Self::readiness), with the format that the document would have.
    pub(crate) async fn readiness_and_format(
        &self,
        id: InvoiceId,
    ) -> Result<(Vec<Missing>, DocumentFormat), Error> {
        self.0.operation("invoices.readiness", self.missing(id)).await
    }

    /// Records a payment. When nothing is due any more: PAID and `invoice.paid`. A payment of a
    /// [movement](NewPayment::movement_id) that the invoice already has changes nothing, unless that
    /// payment was reversed. Without a movement each call records a payment, so that equal
    /// instalments are as many payments. An amount above the one due is accepted: it pays the retention, and the part above
    /// `totalTTC` is shown as `amountOverpaid`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the invoice has a payment of another amount of this movement, or takes
    /// no payment.
    pub async fn pay(&self, id: InvoiceId, payment: &NewPayment) -> Result<RecordedPayment, Error> {
        self.0.operation("invoices.pay", self.enter(id, payment, Entry::Payment)).await
    }

    async fn enter(
        &self,
        id: InvoiceId,
        entered: &NewPayment,
        entry: Entry,
    ) -> Result<RecordedPayment, Error> {
        let reference = optional_text("reference", entered.reference.as_deref(), SHORT_TEXT)?;
        let movement_id = optional_text("movementId", entered.movement_id.as_deref(), SHORT_TEXT)?;
        let entered = NewPayment { reference, movement_id, ..*entered };
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Invoice(id)], async move |mut tx| {
                let invoice = tx.invoice_to_change(id, known).await?;
                let amount = match entry {
                    Entry::Payment => entered.amount,
                    Entry::Refund => Money::ZERO.minus(entered.amount)?,
                };
                if let Some(movement_id) = &entered.movement_id
                    && let Some(known) = tx.invoices().find_payment_of_movement(id, movement_id).await?
                {
                    same_amount(&known, amount, movement_id)?;
                    return Ok(RecordedPayment { payment: known, invoice, created: false });
                }
                let (changed, action) = match entry {
                    Entry::Payment => {
                        let paid = invoice.record_payment(entered.amount, tx.change.at())?;
                        (paid, HistoryAction::InvoicePaymentEntered)
                    }
                    Entry::Refund => {
                        let refunded = invoice.refund(entered.amount, tx.change.at())?;
                        (refunded, HistoryAction::InvoiceRefunded)
                    }
                };
                let new = NewPayment { amount, ..entered };
                let payment = insert_payment(&mut tx, id, new).await?;
                tx.note(action, id.0, &entered.amount).await?;
                let invoice = update(&mut tx, changed).await?;
                Ok(RecordedPayment { payment, invoice, created: true })
            })
            .await
    }

    /// Marks an invoice paid by hand: enters the remaining amount as a payment. A draft is issued
    /// first, in the same transaction.
    ///
    /// # Errors
    /// As [`issue_with`](Self::issue_with) for a draft; [`Error::Conflict`] when it is paid, credited
    /// in full or cancelled.
    pub async fn mark_paid(&self, id: InvoiceId) -> Result<Invoice, Error> {
        let paid = async {
            match self.mark_issued_paid(id).await? {
                Some(paid) => Ok(paid),
                None => match self.issue_for(id, IssueOptions::default(), Purpose::MarkPaid).await {
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
                let invoice = tx.invoice_to_change(id, known).await?;
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

    /// Reverses a payment or a refund. A PAID invoice on which something is due again goes to SENT or
    /// OVERDUE. One that is credited in full and on which no payment stands any more is CANCELED.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the payment has been reversed already, or refunded since.
    pub async fn reverse(&self, id: InvoiceId, payment: PaymentId) -> Result<Invoice, Error> {
        let changed = async {
            let known = self.preload(id).await?;
            self.0
                .write([Prefetch::Invoice(id)], async move |mut tx| {
                    let invoice = tx.invoice_to_change(id, known).await?;
                    let mut payment = tx.invoices().find_payment(id, payment).await?;
                    if payment.reversed_at.is_some() {
                        return Err(Conflict::new("the payment has been reversed already").into());
                    }
                    let reversed =
                        invoice.reverse_payment(payment.amount, tx.change.at(), tx.change.today())?;
                    payment.reversed_at = Some(tx.change.now);
                    tx.invoices().reverse_payment(&payment).await?;
                    tx.note(HistoryAction::InvoicePaymentReversed, id.0, &payment.amount).await?;
                    update(&mut tx, reversed).await
                })
                .await
        };
        self.0.operation("invoices.reverse", changed).await
    }

    /// Preloads the invoice on SQLite, before the transaction; `None` on PostgreSQL.
    async fn preload(&self, id: InvoiceId) -> Result<Option<Invoice>, Error> {
        if self.0.services.store.has_one_writer() { self.find(id).await.map(Some) } else { Ok(None) }
    }

    async fn find(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.0.read(async move |mut tx| tx.invoices().find(id).await).await
    }

    /// One invoice.
    pub async fn get(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.0.operation("invoices.get", self.0.read(async move |mut tx| tx.invoices().find(id).await)).await
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

    /// The payments on an invoice, oldest first, reversed ones included.
    pub async fn payments(&self, id: InvoiceId) -> Result<Vec<Payment>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.invoices().find_summary(id).await?;
            tx.invoices().payments(id).await
        });
        self.0.operation("invoices.payments", found).await
    }

    /// One invoice as the JSON of the API.
    pub async fn detail(&self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        let detail = self.0.read(async move |mut tx| tx.invoices().detail(id).await);
        self.0.operation("invoices.detail", detail).await
    }

    /// As [`detail`](Self::detail), unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&self, id: InvoiceId) -> Result<StoredJson, Error> {
        let detail = self.0.read(async move |mut tx| tx.invoices().small_detail(id).await);
        self.0.operation("invoices.detail", detail).await
    }

    /// A page of invoices.
    ///
    /// # Errors
    /// As [`Self::page`].
    pub async fn list(&self, query: &PageQuery<InvoiceStatus>) -> Result<Page<InvoiceItem>, Error> {
        from_json(&self.page(query).await?, "invoice", self.0.id)
    }

    /// A page of invoices as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the lines make a page of several invoices larger than 16
    /// MiB. The error names the largest limit that works: see
    /// [`page_limit`](invoicing_core::page_limit).
    pub async fn page(&self, query: &PageQuery<InvoiceStatus>) -> Result<Vec<u8>, Error> {
        whole_page(|lines| self.page_with(query, lines)).await
    }

    /// A page of a list for people, newest first, and the invoice behind which the next one begins.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an `after` that is no invoice of the company.
    #[cfg(feature = "console")]
    pub(crate) async fn newest(
        &self,
        status: Option<InvoiceStatus>,
        after: Option<InvoiceId>,
        limit: u32,
    ) -> Result<(Vec<InvoiceSummary>, Option<InvoiceId>), Error> {
        let found = self.0.read(async move |mut tx| tx.invoices().newest(status, after, limit).await);
        self.0.operation("invoices.newest", found).await
    }

    /// A page with these lines.
    pub(crate) async fn page_with(
        &self,
        query: &PageQuery<InvoiceStatus>,
        lines: Lines,
    ) -> Result<StoredPage, Error> {
        let query = *query;
        let page =
            self.0.read_page(async move |mut tx| tx.document_page(&INVOICE_PAGES, &query, lines).await);
        self.0.operation("invoices.page", page).await
    }
}

/// Checks that the quote has no invoice that is not cancelled.
async fn check_unconverted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<(), Error> {
    match tx.invoices().find_live(quote.summary.id).await? {
        None => Ok(()),
        Some(live) => Err(Conflict::new(format!("the quote has been converted to invoice {live}")).into()),
    }
}

/// Converts a quote by hand, and notes it in the history.
pub(super) async fn convert_noted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<Invoice, Error> {
    let invoice = convert_accepted(tx, quote).await?;
    tx.note(HistoryAction::InvoiceCreated, invoice.summary.id.0, &quote.summary.number).await?;
    Ok(invoice)
}

/// Converts a quote that has no invoice yet, such as one that is being accepted.
pub(super) async fn convert_accepted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<Invoice, Error> {
    let converted = Invoice::from_quote(InvoiceId(tx.env().uuid()), quote, tx.change.at())?;
    tx.invoices().insert(&converted.record).await?;
    tx.record_events(&converted.events).await?;
    Ok(converted.record)
}

/// Checks that a payment of a known movement has the amount of the recorded one. Otherwise one of
/// the two would be lost.
fn same_amount(known: &Payment, amount: Money, movement_id: &str) -> Result<(), Conflict> {
    if known.amount == amount {
        return Ok(());
    }
    let known = known.amount;
    Err(Conflict::new(format!(
        "the movement {movement_id:?} is that of a payment of {known}; a payment of {amount} needs another one"
    )))
}

async fn insert_payment(
    tx: &mut CompanyTx<'_>,
    invoice_id: InvoiceId,
    new: NewPayment,
) -> Result<Payment, Error> {
    let (id, recorded_at) = (PaymentId(tx.env().uuid()), tx.change.now);
    let NewPayment { amount, source, method, reference, movement_id } = new;
    let payment = Payment {
        id,
        invoice_id,
        amount,
        source,
        method,
        reference,
        movement_id,
        recorded_at,
        reversed_at: None,
    };
    tx.invoices().insert_payment(&payment).await?;
    Ok(payment)
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
