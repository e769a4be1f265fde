//! Invoices and their payments.

use invoicing_core::{CompanyId, Invoice, InvoiceId, InvoiceStatus, Money, PaymentId, QuoteId, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::companies::one_row;
use super::connection::{Connection, Sql, on, run};
use super::page::{PageQuery, PageRow, page_statement, page_statements};
use super::rows::{Pieces, from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT head, lines, terms FROM invoice WHERE company_id = $1 AND id = $2";
const FIND_LIVE: &str =
    "SELECT id FROM invoice WHERE company_id = $1 AND quote_id = $2 AND status <> 'CANCELED'";
const INSERT: &str = "INSERT INTO invoice \
     (company_id, id, quote_id, status, due_date, created_at, updated_at, head, lines, terms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const UPDATE: &str = "UPDATE invoice SET status = $3, due_date = $4, updated_at = $5, head = $6 \
     WHERE company_id = $1 AND id = $2";
const INSERT_PAYMENT: &str = "INSERT INTO payment (company_id, invoice_id, id, reference, record) \
     VALUES ($1, $2, $3, $4, $5)";
const FIND_PAYMENT: &str = "SELECT record FROM payment WHERE company_id = $1 AND invoice_id = $2 AND id = $3";
const FIND_BY_REFERENCE: &str =
    "SELECT record FROM payment WHERE company_id = $1 AND invoice_id = $2 AND reference = $3";
const LIST_PAYMENTS: &str =
    "SELECT record FROM payment WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
const REVERSE_PAYMENT: &str = "UPDATE payment SET reversed_at = $4, record = $5 \
     WHERE company_id = $1 AND invoice_id = $2 AND id = $3 AND reversed_at IS NULL";

const PAGES: [[Sql; 4]; 2] = page_statements!("invoice");

pub(crate) async fn find_pieces(
    connection: &mut Connection,
    company: CompanyId,
    id: InvoiceId,
) -> Result<Pieces, Error> {
    Pieces::find(connection, FIND, company, id.0).await
}

pub(crate) async fn find(
    connection: &mut Connection,
    company: CompanyId,
    id: InvoiceId,
) -> Result<Invoice, Error> {
    from_json(find_pieces(connection, company, id).await?.detail(), "invoice", id)
}

/// The invoice of a quote that is not cancelled.
pub(crate) async fn find_live(
    connection: &mut Connection,
    company: CompanyId,
    quote: QuoteId,
) -> Result<Option<InvoiceId>, Error> {
    let id: Option<Uuid> =
        on!(connection, |c| sqlx::query_scalar(FIND_LIVE).bind(company.0).bind(quote.0).fetch_optional(c))?;
    Ok(id.map(InvoiceId))
}

pub(crate) async fn page(
    connection: &mut Connection,
    company: CompanyId,
    query: &PageQuery<InvoiceStatus>,
) -> Result<PageRow, Error> {
    query.fetch(connection, &PAGES, company, InvoiceStatus::as_str).await
}

pub(crate) async fn insert(
    connection: &mut Connection,
    company: CompanyId,
    invoice: &Invoice,
) -> Result<(), Error> {
    let Pieces { head, lines, terms } = Pieces::of_invoice(invoice)?;
    run!(connection, |c| sqlx::query(INSERT)
        .bind(company.0)
        .bind(invoice.summary.id.0)
        .bind(invoice.summary.quote_id.0)
        .bind(invoice.summary.status.as_str())
        .bind(last_day(invoice))
        .bind(invoice.summary.created_at.as_millis())
        .bind(invoice.summary.updated_at.as_millis())
        .bind(head)
        .bind(lines)
        .bind(terms)
        .execute(c))?;
    Ok(())
}

/// The day after which the invoice is overdue: only where something is due.
fn last_day(invoice: &Invoice) -> Option<chrono::NaiveDate> {
    invoice.summary.due_date.filter(|_| !invoice.summary.amount_due.is_zero())
}

/// Stores the head; nothing else of an invoice ever changes.
pub(crate) async fn update(
    connection: &mut Connection,
    company: CompanyId,
    invoice: &Invoice,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(UPDATE)
        .bind(company.0)
        .bind(invoice.summary.id.0)
        .bind(invoice.summary.status.as_str())
        .bind(last_day(invoice))
        .bind(invoice.summary.updated_at.as_millis())
        .bind(Pieces::of_invoice(invoice)?.head)
        .execute(c))?;
    one_row(done, "invoice")
}

/// A payment on an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    /// Identifier on the service's side.
    pub id: PaymentId,
    /// The invoice.
    pub invoice_id: InvoiceId,
    /// How much, above 0.
    pub amount: Money,
    /// How it came in.
    pub method: PaymentMethod,
    /// The payer's or the bank's reference; the same one twice on one invoice is one payment.
    pub reference: Option<String>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it was taken back.
    pub reversed_at: Option<Timestamp>,
}

/// How a payment came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentMethod {
    /// Marked paid by hand: the remaining amount.
    Manual,
    /// Entered by hand.
    Entered,
    /// Paid online.
    Online,
    /// Found by bank reconciliation.
    Bank,
}

pub(crate) async fn insert_payment(
    connection: &mut Connection,
    company: CompanyId,
    payment: &Payment,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT_PAYMENT)
        .bind(company.0)
        .bind(payment.invoice_id.0)
        .bind(payment.id.0)
        .bind(&payment.reference)
        .bind(to_json(payment)?)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn find_payment(
    connection: &mut Connection,
    company: CompanyId,
    invoice: InvoiceId,
    id: PaymentId,
) -> Result<Payment, Error> {
    let json: Option<String> = on!(connection, |c| sqlx::query_scalar(FIND_PAYMENT)
        .bind(company.0)
        .bind(invoice.0)
        .bind(id.0)
        .fetch_optional(c))?;
    from_json(&json.ok_or(Error::NotFound)?, "payment", id)
}

pub(crate) async fn find_by_reference(
    connection: &mut Connection,
    company: CompanyId,
    invoice: InvoiceId,
    reference: &str,
) -> Result<Option<Payment>, Error> {
    let json: Option<String> = on!(connection, |c| sqlx::query_scalar(FIND_BY_REFERENCE)
        .bind(company.0)
        .bind(invoice.0)
        .bind(reference)
        .fetch_optional(c))?;
    json.map(|json| from_json(&json, "payment", invoice)).transpose()
}

pub(crate) async fn payments(
    connection: &mut Connection,
    company: CompanyId,
    invoice: InvoiceId,
) -> Result<Vec<Payment>, Error> {
    let rows: Vec<String> =
        on!(connection, |c| sqlx::query_scalar(LIST_PAYMENTS).bind(company.0).bind(invoice.0).fetch_all(c))?;
    rows.iter().map(|json| from_json(json, "payment", invoice)).collect()
}

/// Stores that a payment was taken back, at `payment.reversed_at`.
pub(crate) async fn reverse_payment(
    connection: &mut Connection,
    company: CompanyId,
    payment: &Payment,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(REVERSE_PAYMENT)
        .bind(company.0)
        .bind(payment.invoice_id.0)
        .bind(payment.id.0)
        .bind(payment.reversed_at.map(Timestamp::as_millis))
        .bind(to_json(payment)?)
        .execute(c))?;
    one_row(done, "payment")
}
