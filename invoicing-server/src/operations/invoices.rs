//! Invoices: converted from quotes, issued, paid, reversed, cancelled.

use chrono::{Datelike, NaiveDate};
use futures_util::future::BoxFuture;
use invoicing_core::{
    Changed, Conflict, Invoice, InvoiceId, InvoiceIssue, InvoiceItem, InvoiceStatus, Money, Page, PaymentId,
    Quote, QuoteId, SHORT_TEXT, optional_text,
};

use super::CompanyHandle;
use crate::Error;
use crate::store::invoices::{self, Payment, PaymentMethod};
use crate::store::page::PageQuery;
use crate::store::rows::from_json;
use crate::store::series::Series;
use crate::store::{Tx, Unit, quotes, reading};

/// The invoices of a company.
#[derive(Debug, Clone, Copy)]
pub struct Invoices<'a>(pub(super) &'a CompanyHandle);

/// A payment as it is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPayment {
    /// How much, above 0.
    pub amount: Money,
    /// How it came in.
    pub method: PaymentMethod,
    /// The payer's or the bank's reference, at most 255 characters. The same one twice on one invoice is one payment.
    pub reference: Option<String>,
}

/// A payment and the invoice as it stands with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The payment: the new one, or the one that already had the reference.
    pub payment: Payment,
    /// The invoice.
    pub invoice: Invoice,
    /// Whether the payment is new.
    pub created: bool,
}

impl Invoices<'_> {
    /// Converts an accepted quote: a draft invoice and `invoice.created`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the quote is not ACCEPTED or has an invoice that is not cancelled.
    pub async fn convert(&self, quote: QuoteId) -> Result<Invoice, Error> {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let quote = quotes::find(tx.connection(), company, quote).await?;
                    convert_in(tx, &unit, &quote).await
                })
            })
            .await
    }

    /// Issues a draft: allocates the number. `due_date` defaults to 30 days from today.
    pub async fn issue(&self, id: InvoiceId, due_date: Option<NaiveDate>) -> Result<Invoice, Error> {
        self.change(id, move |tx, unit, invoice| {
            Box::pin(async move { issue_in(tx, unit, &invoice, due_date).await })
        })
        .await
    }

    /// Records a payment. When nothing is due any more: PAID and `invoice.paid`. A payment whose reference the
    /// invoice already has, also on a payment that was reversed, changes nothing.
    pub async fn pay(&self, id: InvoiceId, payment: &NewPayment) -> Result<Recorded, Error> {
        let reference = optional_text("reference", payment.reference.as_deref(), SHORT_TEXT)?;
        let (company, amount, method) = (self.0.id, payment.amount, payment.method);
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let invoice = invoices::find(tx.connection(), company, id).await?;
                    if let Some(reference) = &reference
                        && let Some(payment) =
                            invoices::find_by_reference(tx.connection(), company, id, reference).await?
                    {
                        return Ok(Recorded { payment, invoice, created: false });
                    }
                    let changed = invoice.record_payment(amount, unit.at)?;
                    let payment = new_payment(tx, &unit, id, amount, method, reference).await?;
                    store(tx, &unit, &changed).await?;
                    Ok(Recorded { payment, invoice: changed.record, created: true })
                })
            })
            .await
    }

    /// Marks an invoice paid by hand: enters the remaining amount as a payment. A draft is issued first, in the same
    /// transaction.
    pub async fn mark_paid(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.change(id, move |tx, unit, mut invoice| {
            Box::pin(async move {
                if invoice.summary.status == InvoiceStatus::Draft {
                    invoice = issue_in(tx, unit, &invoice, None).await?.record;
                }
                let changed = invoice.mark_paid(unit.at)?;
                if !invoice.summary.amount_due.is_zero() {
                    new_payment(tx, unit, id, invoice.summary.amount_due, PaymentMethod::Manual, None)
                        .await?;
                }
                Ok(changed)
            })
        })
        .await
    }

    /// Takes a payment back. A PAID invoice on which something is due again goes to SENT or OVERDUE.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the payment has been reversed already.
    pub async fn reverse(&self, id: InvoiceId, payment: PaymentId) -> Result<Invoice, Error> {
        self.change(id, move |tx, unit, invoice| {
            Box::pin(async move {
                let mut payment = invoices::find_payment(tx.connection(), unit.id(), id, payment).await?;
                if payment.reversed_at.is_some() {
                    return Err(Conflict::new("the payment has been reversed already").into());
                }
                let changed = invoice.reverse_payment(payment.amount, unit.at, unit.today())?;
                payment.reversed_at = Some(unit.at);
                invoices::reverse_payment(tx.connection(), unit.id(), &payment).await?;
                Ok(changed)
            })
        })
        .await
    }

    /// Cancels an invoice on which nothing has been paid. It keeps its number; its quote can be converted again.
    pub async fn cancel(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.change(id, |_, unit, invoice| Box::pin(async move { Ok(invoice.cancel(unit.at)?) })).await
    }

    /// One invoice.
    pub async fn get(&self, id: InvoiceId) -> Result<Invoice, Error> {
        reading!(self.0.inner.store, |c| invoices::find(c, self.0.id, id))
    }

    /// The payments on an invoice, oldest first, reversed ones included.
    pub async fn payments(&self, id: InvoiceId) -> Result<Vec<Payment>, Error> {
        reading!(self.0.inner.store, |c| async {
            invoices::find_pieces(c, self.0.id, id).await?;
            invoices::payments(c, self.0.id, id).await
        })
    }

    /// One invoice as the JSON of the API.
    pub async fn detail(&self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        self.0.inner.store.invoice_detail(self.0.id, id).await
    }

    /// A page of invoices.
    pub async fn list(&self, query: &PageQuery<InvoiceStatus>) -> Result<Page<InvoiceItem>, Error> {
        from_json(&self.page(query).await?, "invoice", self.0.id)
    }

    /// A page of invoices as the JSON envelope of the API.
    pub async fn page(&self, query: &PageQuery<InvoiceStatus>) -> Result<Vec<u8>, Error> {
        let page = reading!(self.0.inner.store, |c| invoices::page(c, self.0.id, query))?;
        query.window.envelope(&page)
    }

    async fn change<F>(&self, id: InvoiceId, decide: F) -> Result<Invoice, Error>
    where
        F: for<'t> FnOnce(&'t mut Tx, &'t Unit, Invoice) -> BoxFuture<'t, Result<Changed<Invoice>, Error>>,
        F: Clone,
        F: Send + 'static,
    {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let invoice = invoices::find(tx.connection(), company, id).await?;
                    let changed = decide(tx, &unit, invoice).await?;
                    store(tx, &unit, &changed).await?;
                    Ok(changed.record)
                })
            })
            .await
    }
}

/// Converts a quote within a transaction that may have accepted it just now.
pub(super) async fn convert_in(tx: &mut Tx, unit: &Unit, quote: &Quote) -> Result<Invoice, Error> {
    if let Some(live) = invoices::find_live(tx.connection(), unit.id(), quote.summary.id).await? {
        return Err(Conflict::new(format!("the quote has been converted to invoice {live}")).into());
    }
    let changed = Invoice::from_quote(InvoiceId(tx.env().uuid()), quote, unit.at)?;
    invoices::insert(tx.connection(), unit.id(), &changed.record).await?;
    tx.finish(unit, &changed.events).await?;
    Ok(changed.record)
}

async fn issue_in(
    tx: &mut Tx,
    unit: &Unit,
    invoice: &Invoice,
    due_date: Option<NaiveDate>,
) -> Result<Changed<Invoice>, Error> {
    let issue_date = unit.today();
    let (series, now) = (Series::of_invoices(unit.id(), issue_date.year()), tx.env().now());
    let number = series.take(tx.connection(), None, now).await?;
    let number = number.ok_or_else(|| Error::internal("somebody holds the numbers of invoices"))?;
    Ok(invoice.issue(InvoiceIssue { number: &number, issue_date, due_date }, unit.at)?)
}

async fn new_payment(
    tx: &mut Tx,
    unit: &Unit,
    invoice_id: InvoiceId,
    amount: Money,
    method: PaymentMethod,
    reference: Option<String>,
) -> Result<Payment, Error> {
    let id = PaymentId(tx.env().uuid());
    let payment =
        Payment { id, invoice_id, amount, method, reference, recorded_at: unit.at, reversed_at: None };
    invoices::insert_payment(tx.connection(), unit.id(), &payment).await?;
    Ok(payment)
}

async fn store(tx: &mut Tx, unit: &Unit, changed: &Changed<Invoice>) -> Result<(), Error> {
    invoices::update(tx.connection(), unit.id(), &changed.record).await?;
    tx.finish(unit, &changed.events).await
}
