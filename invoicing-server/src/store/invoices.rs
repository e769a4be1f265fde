//! Invoices and their payments.

use chrono::NaiveDate;
use invoicing_core::{Invoice, InvoiceDetail, InvoiceId, InvoiceSummary, PaymentId, QuoteId};
use uuid::Uuid;

use super::connection::{Cell, ReadSet, Write, prefetch};
use super::detail::SizedParts;
use super::due::DueRecord;
use super::page_query::PageStatements;
use super::rows::{JsonParts, detail_to_json, summary_to_json, to_json};
use super::scope::Scope;
use super::versions::{self, RecordRow, StoredRecord};
use crate::error::Error;
use crate::records::{Payment, StoredJson};

/// The lists of invoices.
pub(crate) const INVOICE_PAGES: PageStatements = PageStatements {
    newest: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    newest_in_status: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1 AND status = $5
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    changed: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// The invoices of a company, with their payments.
pub(crate) struct InvoiceTable<'c>(pub(super) Scope<'c>);

impl InvoiceTable<'_> {
    /// The invoice as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        Ok(self.parts(id).await?.detail())
    }

    /// As [`Self::detail`], unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&mut self, id: InvoiceId) -> Result<StoredJson, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
            FROM invoice_item WHERE company_id = $1 AND id = $2";
        let found: Option<SizedParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        Ok(found.ok_or(Error::NotFound)?.detail())
    }

    pub(crate) async fn find(&mut self, id: InvoiceId) -> Result<Invoice, Error> {
        let parts = self.parts(id).await?;
        versions::read(&parts.detail(), parts.version, id)
    }

    async fn parts(&mut self, id: InvoiceId) -> Result<JsonParts, Error> {
        let parts: Option<JsonParts> = self.0.find(&prefetch::INVOICE, id.0).await?;
        parts.ok_or(Error::NotFound)
    }

    /// The invoice without lines and detail.
    pub(crate) async fn find_summary(&mut self, id: InvoiceId) -> Result<InvoiceSummary, Error> {
        let row: Option<RecordRow> = self.0.find(&prefetch::INVOICE_SUMMARY, id.0).await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// The invoice as it stands. `known` is an earlier state. If the invoice has not changed, its
    /// lines are not read again: that takes long if they are large.
    pub(crate) async fn reload_if_changed(
        &mut self,
        id: InvoiceId,
        known: Option<Invoice>,
    ) -> Result<Invoice, Error> {
        let Some(known) = known else { return self.find(id).await };
        let summary = self.find_summary(id).await?;
        if summary.updated_at == known.summary.updated_at {
            return Ok(Invoice { summary, ..known });
        }
        self.find(id).await
    }

    /// The invoice of a quote that is not cancelled.
    pub(crate) async fn find_live(&mut self, quote: QuoteId) -> Result<Option<InvoiceId>, Error> {
        const FIND_LIVE: &str = "
            SELECT id FROM invoice WHERE company_id = $1 AND quote_id = $2 AND status <> 'CANCELED'";
        let find = self.0.query_of(ReadSet::Table("invoice"), FIND_LIVE, &[&quote]);
        let id: Option<Uuid> = find.optional_scalar().await?;
        Ok(id.map(InvoiceId))
    }

    pub(crate) async fn insert(&mut self, invoice: &Invoice) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "invoice",
            sqlite: "
                INSERT INTO invoice
                    (company_id, id, quote_id, status, due_date, created_at, updated_at, total_ht_cents,
                    total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, retention_due_cents,
                    amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents,
                    amount_written_off_cents, summary, lines, lines_bytes, detail, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                    CASE WHEN octet_length($20) <= 8192 THEN $20 END, octet_length($20), $21, $22);
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $20 WHERE octet_length($20) > 8192",
            postgres: "
                    INSERT INTO invoice
                        (company_id, id, quote_id, status, due_date, created_at, updated_at, total_ht_cents,
                        total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, retention_due_cents,
                        amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents,
                        amount_written_off_cents, summary, lines, detail, version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::date[], $6::bigint[], $7::bigint[],
                        $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                        $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[],
                        $20::text[], $21::text[], $22::bigint[]
                    )",
            first: 0,
            requires_current_version: false,
        };
        let (summary, detail) = (summary_to_json(&invoice.summary)?, detail_to_json(&invoice.detail)?);
        let lines = to_json(&invoice.lines)?;
        let InvoiceSummary {
            id,
            quote_id,
            status,
            due_date,
            created_at,
            updated_at,
            total_ht,
            total_ttc,
            tva_rate,
            retention_rate,
            retention_amount,
            retention_due,
            amount_paid,
            amount_due,
            amount_overpaid,
            amount_credited,
            amount_written_off,
            ..
        } = &invoice.summary;
        let cells: [&dyn Cell; 21] = [
            id,
            quote_id,
            status,
            due_date,
            created_at,
            updated_at,
            total_ht,
            total_ttc,
            tva_rate,
            retention_rate,
            retention_amount,
            retention_due,
            amount_paid,
            amount_due,
            amount_overpaid,
            amount_credited,
            amount_written_off,
            &summary,
            &lines,
            &detail,
            &Invoice::VERSION,
        ];
        self.0.write(&INSERT, &cells).await
    }

    /// Stores the summary, and the detail if it changes. The lines never do.
    pub(crate) async fn update(
        &mut self,
        summary: &InvoiceSummary,
        detail: Option<&InvoiceDetail>,
    ) -> Result<(), Error> {
        static UPDATE: Write = Write {
            table: "invoice",
            sqlite: "
                UPDATE invoice SET
                    status = $3, due_date = $4, updated_at = $5, retention_amount_cents = $6, retention_due_cents = $7,
                    amount_paid_cents = $8, amount_due_cents = $9, amount_overpaid_cents = $10,
                    amount_credited_cents = $11, amount_written_off_cents = $12, summary = $13,
                    detail = coalesce($14, detail), version = $15
                WHERE company_id = $1 AND id = $2 AND version <= $15",
            postgres: "
                    UPDATE invoice SET
                        status = new.status, due_date = new.due_date, updated_at = new.updated_at,
                        retention_amount_cents = new.retention_amount_cents,
                        retention_due_cents = new.retention_due_cents, amount_paid_cents = new.amount_paid_cents,
                        amount_due_cents = new.amount_due_cents, amount_overpaid_cents = new.amount_overpaid_cents,
                        amount_credited_cents = new.amount_credited_cents,
                        amount_written_off_cents = new.amount_written_off_cents, summary = new.summary,
                        detail = coalesce(new.detail, invoice.detail), version = new.version
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::bigint[], $7::bigint[],
                        $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[],
                        $14::text[], $15::bigint[]
                    ) AS new (
                        company_id, id, status, due_date, updated_at, retention_amount_cents, retention_due_cents,
                        amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents,
                        amount_written_off_cents, summary, detail, version
                    )
                    WHERE invoice.company_id = new.company_id AND invoice.id = new.id
                        AND invoice.version <= new.version",
            first: 0,
            requires_current_version: true,
        };
        let json = summary_to_json(summary)?;
        let detail = detail.map(detail_to_json).transpose()?;
        let InvoiceSummary {
            id,
            status,
            due_date,
            updated_at,
            retention_amount,
            retention_due,
            amount_paid,
            amount_due,
            amount_overpaid,
            amount_credited,
            amount_written_off,
            ..
        } = summary;
        let cells: [&dyn Cell; 14] = [
            id,
            status,
            due_date,
            updated_at,
            retention_amount,
            retention_due,
            amount_paid,
            amount_due,
            amount_overpaid,
            amount_credited,
            amount_written_off,
            &json,
            &detail,
            &Invoice::VERSION,
        ];
        self.0.write(&UPDATE, &cells).await
    }

    /// Issued invoices that were due before `today`, with something still due, in the order of
    /// their due dates.
    pub(crate) async fn due_before(
        &mut self,
        today: NaiveDate,
        after: DueRecord,
        limit: u32,
    ) -> Result<Vec<DueRecord>, Error> {
        const DUE_BEFORE: &str = "
            SELECT due_date AS day, id FROM invoice
            WHERE company_id = $1 AND status = 'SENT' AND amount_due_cents > 0 AND due_date < $2
                AND (due_date, id) > ($3, $4)
            ORDER BY due_date, id LIMIT $5";
        Ok(self.0.query(DUE_BEFORE, &[&today, &after.day, &after.id, &limit]).fetch_all().await?)
    }

    pub(crate) async fn insert_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "payment",
            sqlite: "
                INSERT INTO payment (company_id, id, invoice_id, amount_cents, movement_id, record, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7)",
            postgres: "
                    INSERT INTO payment (company_id, id, invoice_id, amount_cents, movement_id, record, version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::bigint[]
                    )",
            first: 0,
            requires_current_version: false,
        };
        let Payment { invoice_id, id, amount, movement_id, .. } = payment;
        let record = to_json(payment)?;
        let cells: [&dyn Cell; 6] = [id, invoice_id, amount, movement_id, &record, &Payment::VERSION];
        self.0.write(&INSERT, &cells).await
    }

    pub(crate) async fn find_payment(&mut self, invoice: InvoiceId, id: PaymentId) -> Result<Payment, Error> {
        const FIND: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 AND id = $3";
        let row: Option<RecordRow> = self.0.query(FIND, &[&invoice, &id]).fetch_optional().await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// The payment of a movement, unless it was reversed.
    pub(crate) async fn find_payment_of_movement(
        &mut self,
        invoice: InvoiceId,
        movement_id: &str,
    ) -> Result<Option<Payment>, Error> {
        const FIND: &str = "
            SELECT record, version FROM payment
            WHERE company_id = $1 AND invoice_id = $2 AND movement_id = $3 AND reversed_at IS NULL";
        let find = self.0.query_of(ReadSet::Table("payment"), FIND, &[&invoice, &movement_id]);
        let row: Option<RecordRow> = find.fetch_optional().await?;
        row.map(|row| row.read(invoice)).transpose()
    }

    /// The payments on an invoice, oldest first.
    pub(crate) async fn payments(&mut self, invoice: InvoiceId) -> Result<Vec<Payment>, Error> {
        const LIST: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<RecordRow> = self.0.query(LIST, &[&invoice]).fetch_all().await?;
        rows.iter().map(|row| row.read(invoice)).collect()
    }

    /// Stores the reversal of a payment, at `payment.reversed_at`.
    pub(crate) async fn reverse_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        const REVERSE: &str = "
            UPDATE payment SET reversed_at = $4, record = $5, version = $6
            WHERE company_id = $1 AND invoice_id = $2 AND id = $3 AND version <= $6 AND reversed_at IS NULL";
        let Payment { invoice_id, id, reversed_at, .. } = payment;
        let record = to_json(payment)?;
        let reverse = self.0.query(REVERSE, &[invoice_id, id, reversed_at, &record, &Payment::VERSION]);
        reverse.replace_record::<Payment>().await
    }
}
