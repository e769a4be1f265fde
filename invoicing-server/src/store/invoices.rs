//! The part of an invoice that no other document has: its quote, its due date and its payments.

use chrono::NaiveDate;
use invoicing_core::{Invoice, InvoiceId, PaymentId, QuoteId};
use uuid::Uuid;

use super::connection::{Cell, ReadSet, Write};
use super::documents::DocumentTable;
use super::due::DueRecord;
use super::rows::to_json;
use super::versions::{RecordRow, StoredRecord};
use crate::error::Error;
use crate::records::Payment;

/// The invoices of a company, with their payments.
pub(crate) type InvoiceTable<'c> = DocumentTable<'c, Invoice>;

impl InvoiceTable<'_> {
    /// The invoice of a quote that is not cancelled.
    pub(crate) async fn find_live(&mut self, quote: QuoteId) -> Result<Option<InvoiceId>, Error> {
        const FIND_LIVE: &str = "
            SELECT id FROM invoice WHERE company_id = $1 AND quote_id = $2 AND status <> 'CANCELED'";
        let find = self.scope.query_of(ReadSet::Table("invoice"), FIND_LIVE, &[&quote]);
        let id: Option<Uuid> = find.optional_scalar().await?;
        Ok(id.map(InvoiceId))
    }

    pub(crate) async fn insert(&mut self, invoice: &Invoice) -> Result<(), Error> {
        self.insert_with(invoice, &[]).await
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
        Ok(self.scope.query(DUE_BEFORE, &[&today, &after.day, &after.id, &limit]).fetch_all().await?)
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
            refuses_newer_format: false,
        };
        let Payment { invoice_id, id, amount, movement_id, .. } = payment;
        let record = to_json(payment)?;
        let cells: [&dyn Cell; 6] = [id, invoice_id, amount, movement_id, &record, &Payment::VERSION];
        self.scope.write(&INSERT, &cells).await
    }

    pub(crate) async fn find_payment(&mut self, invoice: InvoiceId, id: PaymentId) -> Result<Payment, Error> {
        const FIND: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 AND id = $3";
        let row: Option<RecordRow> = self.scope.query(FIND, &[&invoice, &id]).fetch_optional().await?;
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
        let find = self.scope.query_of(ReadSet::Table("payment"), FIND, &[&invoice, &movement_id]);
        let row: Option<RecordRow> = find.fetch_optional().await?;
        row.map(|row| row.read(invoice)).transpose()
    }

    /// The payments on an invoice, oldest first.
    pub(crate) async fn payments(&mut self, invoice: InvoiceId) -> Result<Vec<Payment>, Error> {
        const LIST: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<RecordRow> = self.scope.query(LIST, &[&invoice]).fetch_all().await?;
        rows.iter().map(|row| row.read(invoice)).collect()
    }

    /// Stores the reversal of a payment, at `payment.reversed_at`.
    pub(crate) async fn reverse_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        const REVERSE: &str = "
            UPDATE payment SET reversed_at = $4, record = $5, version = $6
            WHERE company_id = $1 AND invoice_id = $2 AND id = $3 AND version <= $6 AND reversed_at IS NULL";
        let Payment { invoice_id, id, reversed_at, .. } = payment;
        let record = to_json(payment)?;
        let reverse = self.scope.query(REVERSE, &[invoice_id, id, reversed_at, &record, &Payment::VERSION]);
        reverse.replace_record::<Payment>().await
    }
}
