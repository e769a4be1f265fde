//! Invoices and their payments.

use invoicing_core::{
    Invoice, InvoiceId, InvoiceStatus, InvoiceSummary, Money, PaymentId, QuoteId, Timestamp,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::page::{PageStatements, Reserve};
use super::query::Sql;
#[cfg(feature = "postgres")]
use super::rows::Detail;
use super::rows::{JsonParts, detail_to_json, from_json, summary_from_json, summary_to_json, to_json};
use super::scope::Scope;
use crate::Error;
use crate::page::PageQuery;

const FIND: Sql = Sql {
    sqlite: "
        SELECT d.summary, coalesce(l.lines, d.lines) AS lines, d.detail FROM invoice d
        LEFT JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
        WHERE d.company_id = $1 AND d.id = $2",
    postgres: "SELECT summary, lines, detail FROM invoice WHERE company_id = $1 AND id = $2",
};

/// The lines of a version of a record, where they are large.
const LARGE_LINES: Sql = Sql {
    sqlite: "
        SELECT l.lines FROM invoice d JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
        WHERE d.company_id = $1 AND d.id = $2 AND d.updated_at = $3",
    postgres: "SELECT lines FROM invoice WHERE company_id = $1 AND id = $2 AND updated_at = $3",
};

/// See [`PageStatements`].
const PAGES: PageStatements = PageStatements {
    newest: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary || CASE WHEN $6 THEN ',\"lines\":' || CASE
                WHEN octet_length(lines) <= 8192 THEN lines ELSE CAST(octet_length(lines) AS TEXT)
            END ELSE '' END || '}' AS item FROM invoice
            WHERE company_id = $1
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    newest_in_status: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary || CASE WHEN $6 THEN ',\"lines\":' || CASE
                WHEN octet_length(lines) <= 8192 THEN lines ELSE CAST(octet_length(lines) AS TEXT)
            END ELSE '' END || '}' AS item FROM invoice
            WHERE company_id = $1 AND status = $5
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    changed: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary || CASE WHEN $6 THEN ',\"lines\":' || CASE
                WHEN octet_length(lines) <= 8192 THEN lines ELSE CAST(octet_length(lines) AS TEXT)
            END ELSE '' END || '}' AS item FROM invoice
            WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    large_lines: LARGE_LINES,
};

/// A payment on an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Payment {
    /// Identifier on the service's side.
    pub id: PaymentId,
    /// The invoice.
    pub invoice_id: InvoiceId,
    /// How much, above 0.
    pub amount: Money,
    /// How it came in.
    pub method: PaymentMethod,
    /// The payer's or the bank's reference; the same one twice on one invoice is one payment,
    /// unless the first was reversed.
    pub reference: Option<String>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it was taken back.
    pub reversed_at: Option<Timestamp>,
}

/// How a payment came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
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

/// The invoices of a company, with their payments.
pub(crate) struct InvoiceTable<'c>(pub(super) Scope<'c>);

impl InvoiceTable<'_> {
    /// The invoice as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        let parts: Option<JsonParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        Ok(parts.ok_or(Error::NotFound)?.detail())
    }

    /// As [`Self::detail`], but only where the lines are not large.
    #[cfg(feature = "postgres")]
    pub(crate) async fn detail_unless_large(&mut self, id: InvoiceId) -> Result<Detail, Error> {
        const FIND: &str = "
            SELECT summary, detail,
                CASE WHEN octet_length(lines) <= 8192 THEN lines ELSE octet_length(lines)::text END AS lines
            FROM invoice WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        Ok(parts.ok_or(Error::NotFound)?.detail_unless_large())
    }

    pub(crate) async fn find(&mut self, id: InvoiceId) -> Result<Invoice, Error> {
        let mut invoice: Invoice = from_json(self.detail(id).await?, "invoice", id)?;
        // The row may be of before `retentionDue` existed.
        invoice.summary.update_amounts()?;
        Ok(invoice)
    }

    /// The invoice without lines and detail.
    pub(crate) async fn find_summary(&mut self, id: InvoiceId) -> Result<InvoiceSummary, Error> {
        const FIND: &str = "SELECT summary FROM invoice WHERE company_id = $1 AND id = $2";
        let json: Option<String> = self.0.query(FIND, &[&id]).optional_scalar().await?;
        let mut summary: InvoiceSummary = summary_from_json(json.ok_or(Error::NotFound)?, "invoice", id)?;
        // As in `find`.
        summary.update_amounts()?;
        Ok(summary)
    }

    /// The invoice as it stands. `known` is an earlier state: lines and detail never change, so they are not read again.
    /// That takes long for large lines and would delay every other writer.
    pub(crate) async fn refresh(&mut self, known: Invoice) -> Result<Invoice, Error> {
        let summary = self.find_summary(known.summary.id).await?;
        Ok(Invoice { summary, ..known })
    }

    /// The invoice of a quote that is not cancelled.
    pub(crate) async fn find_live(&mut self, quote: QuoteId) -> Result<Option<InvoiceId>, Error> {
        const FIND_LIVE: &str = "
            SELECT id FROM invoice WHERE company_id = $1 AND quote_id = $2 AND status <> 'CANCELED'";
        let id: Option<Uuid> = self.0.query(FIND_LIVE, &[&quote]).optional_scalar().await?;
        Ok(id.map(InvoiceId))
    }

    /// `reserve` is asked before a page with large lines is built.
    pub(crate) async fn page(
        &mut self,
        query: &PageQuery<InvoiceStatus>,
        reserve: Reserve<'_>,
    ) -> Result<Vec<u8>, Error> {
        self.0.document_page(query, &PAGES, InvoiceStatus::as_str, reserve).await
    }

    pub(crate) async fn insert(&mut self, invoice: &Invoice) -> Result<(), Error> {
        const INSERT: Sql = Sql {
            sqlite: "
                INSERT INTO invoice
                    (company_id, id, quote_id, status, due_date, created_at, updated_at, summary, lines, detail)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
                    CASE WHEN octet_length($9) <= 8192 THEN $9 ELSE octet_length($9) END, $10);
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $9 WHERE octet_length($9) > 8192",
            postgres: "
                INSERT INTO invoice
                    (company_id, id, quote_id, status, due_date, created_at, updated_at, summary, lines, detail)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        };
        let (summary, detail) = (summary_to_json(&invoice.summary)?, detail_to_json(&invoice.detail)?);
        let lines = to_json(&invoice.lines)?;
        let InvoiceSummary { id, quote_id, status, created_at, updated_at, .. } = &invoice.summary;
        let due = overdue_after(&invoice.summary);
        self.0
            .query(INSERT, &[id, quote_id, status, &due, created_at, updated_at, &summary, &lines, &detail])
            .execute()
            .await?;
        Ok(())
    }

    /// Stores the summary; nothing else of an invoice ever changes.
    pub(crate) async fn update(&mut self, summary: &InvoiceSummary) -> Result<(), Error> {
        const UPDATE: &str = "
            UPDATE invoice SET status = $3, due_date = $4, updated_at = $5, summary = $6
            WHERE company_id = $1 AND id = $2";
        let json = summary_to_json(summary)?;
        let InvoiceSummary { id, status, updated_at, .. } = summary;
        let update = self.0.query(UPDATE, &[id, status, &overdue_after(summary), updated_at, &json]);
        update.change_one("invoice").await
    }

    /// Issued invoices that were due before `today`, with something still due.
    pub(crate) async fn due_before(&mut self, today: chrono::NaiveDate) -> Result<Vec<InvoiceId>, Error> {
        const DUE_BEFORE: &str = "
            SELECT id FROM invoice WHERE company_id = $1 AND status = 'SENT' AND due_date < $2
            ORDER BY due_date";
        let ids: Vec<Uuid> = self.0.query(DUE_BEFORE, &[&today]).all_scalars().await?;
        Ok(ids.into_iter().map(InvoiceId).collect())
    }

    pub(crate) async fn insert_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO payment (company_id, invoice_id, id, reference, record) VALUES ($1, $2, $3, $4, $5)";
        self.0
            .query(INSERT, &[&payment.invoice_id, &payment.id, &payment.reference, &to_json(payment)?])
            .execute()
            .await?;
        Ok(())
    }

    pub(crate) async fn find_payment(&mut self, invoice: InvoiceId, id: PaymentId) -> Result<Payment, Error> {
        const FIND: &str = "SELECT record FROM payment WHERE company_id = $1 AND invoice_id = $2 AND id = $3";
        let json: Option<String> = self.0.query(FIND, &[&invoice, &id]).optional_scalar().await?;
        from_json(&json.ok_or(Error::NotFound)?, "payment", id)
    }

    /// The payment with a reference that was not reversed.
    pub(crate) async fn find_payment_by_reference(
        &mut self,
        invoice: InvoiceId,
        reference: &str,
    ) -> Result<Option<Payment>, Error> {
        const FIND: &str = "
            SELECT record FROM payment
            WHERE company_id = $1 AND invoice_id = $2 AND reference = $3 AND reversed_at IS NULL";
        let json: Option<String> = self.0.query(FIND, &[&invoice, &reference]).optional_scalar().await?;
        json.map(|json| from_json(&json, "payment", invoice)).transpose()
    }

    /// The payments on an invoice, oldest first.
    pub(crate) async fn payments(&mut self, invoice: InvoiceId) -> Result<Vec<Payment>, Error> {
        const LIST: &str = "
            SELECT record FROM payment WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<String> = self.0.query(LIST, &[&invoice]).all_scalars().await?;
        rows.iter().map(|json| from_json(json, "payment", invoice)).collect()
    }

    /// Stores that a payment was reversed, at `payment.reversed_at`.
    pub(crate) async fn reverse_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        const REVERSE: &str = "
            UPDATE payment SET reversed_at = $4, record = $5
            WHERE company_id = $1 AND invoice_id = $2 AND id = $3 AND reversed_at IS NULL";
        self.0
            .query(REVERSE, &[&payment.invoice_id, &payment.id, &payment.reversed_at, &to_json(payment)?])
            .change_one("payment")
            .await
    }
}

/// The day after which the invoice is overdue: only where something is due.
fn overdue_after(invoice: &InvoiceSummary) -> Option<chrono::NaiveDate> {
    invoice.due_date.filter(|_| !invoice.amount_due.is_zero())
}
