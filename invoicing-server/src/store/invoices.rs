//! Invoices and their payments.

use chrono::NaiveDate;
use invoicing_core::{
    Invoice, InvoiceId, InvoiceSummary, Money, PaymentId, PaymentMethod, PaymentSource, QuoteId, Timestamp,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::connection::{Argument, Cell, Many, ReadSet, Sql, Type, Write, prefetch};
use super::detail::SizedParts;
use super::due::DueRecord;
use super::page_query::PageStatements;
use super::rows::{JsonParts, detail_to_json, summary_to_json, to_json};
use super::scope::Scope;
use super::versions::{self, RecordRow, StoredRecord, in_todays_shape};
use crate::Error;
use crate::records::{Payment, StoredJson};

/// The lists of invoices.
pub(crate) const INVOICE_PAGES: PageStatements = PageStatements {
    newest: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(version AS TEXT), ',') AS versions,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, version, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    newest_in_status: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(version AS TEXT), ',') AS versions,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, version, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1 AND status = $5
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    changed: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(version AS TEXT), ',') AS versions,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, version, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM invoice_item
            WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// The stored shape of a [`Payment`]. The source keeps the name that it had in the first release,
/// so that nodes of that release read the row during a rolling upgrade.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Payment")]
struct PaymentShape {
    id: PaymentId,
    invoice_id: InvoiceId,
    amount: Money,
    #[serde(rename = "method")]
    source: PaymentSource,
    #[serde(rename = "paidBy", default)]
    method: Option<PaymentMethod>,
    reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    movement_id: Option<String>,
    recorded_at: Timestamp,
    reversed_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct StoredPayment(#[serde(with = "PaymentShape")] Payment);

impl StoredRecord for StoredPayment {
    const TABLE: &'static str = "payment";
    /// Version 2 adds the method of the payment, version 3 the movement.
    const VERSION: i64 = 3;
}

/// The invoices of a company, with their payments.
pub(crate) struct InvoiceTable<'c>(pub(super) Scope<'c>);

impl InvoiceTable<'_> {
    /// The invoice as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: InvoiceId) -> Result<Vec<u8>, Error> {
        let parts = self.parts(id).await?;
        in_todays_shape::<InvoiceSummary>(parts.detail(), parts.version, id)
    }

    /// As [`Self::detail`], unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&mut self, id: InvoiceId) -> Result<StoredJson, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
            FROM invoice_item WHERE company_id = $1 AND id = $2";
        let found: Option<SizedParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        found.ok_or(Error::NotFound)?.completed(completed).detail::<InvoiceSummary>(id)
    }

    pub(crate) async fn find(&mut self, id: InvoiceId) -> Result<Invoice, Error> {
        let parts = self.parts(id).await?;
        versions::read(&parts.detail(), parts.version, id)
    }

    async fn parts(&mut self, id: InvoiceId) -> Result<JsonParts, Error> {
        let parts: Option<JsonParts> = self.0.find(&prefetch::INVOICE, id.0).await?;
        parts.map(completed).ok_or(Error::NotFound)
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
                    (company_id, id, quote_id, status, due_date, created_at, updated_at, summary, lines, detail,
                    version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
                    CASE WHEN octet_length($9) <= 8192 THEN $9 ELSE octet_length($9) END, $10, $11);
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $9 WHERE octet_length($9) > 8192",
            postgres: &Many {
                text: "
                    INSERT INTO invoice
                        (company_id, id, quote_id, status, due_date, created_at, updated_at, summary, lines, detail,
                        version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::date[], $6::bigint[], $7::bigint[],
                        $8::text[], $9::text[], $10::text[], $11::bigint[]
                    )",
                columns: &[
                    Type::Uuid,
                    Type::Uuid,
                    Type::Uuid,
                    Type::Text,
                    Type::Date,
                    Type::Int,
                    Type::Int,
                    Type::Text,
                    Type::Text,
                    Type::Text,
                    Type::Int,
                ],
            },
            first: 0,
            requires_current_version: false,
        };
        let (summary, detail) = (summary_to_json(&invoice.summary)?, detail_to_json(&invoice.detail)?);
        let lines = to_json(&invoice.lines)?;
        let InvoiceSummary { id, quote_id, status, created_at, updated_at, .. } = &invoice.summary;
        let due = overdue_after(&invoice.summary);
        let version = &Invoice::VERSION;
        let cells: [&dyn Cell; 10] =
            [id, quote_id, status, &due, created_at, updated_at, &summary, &lines, &detail, version];
        self.0.write(&INSERT, &cells).await
    }

    /// Stores the summary. The detail of an older row gets the members that it lacks.
    pub(crate) async fn update(&mut self, summary: &InvoiceSummary) -> Result<(), Error> {
        static UPDATE: Write = Write {
            table: "invoice",
            sqlite: "
                UPDATE invoice SET
                    status = $3, due_date = $4, updated_at = $5, summary = $6, version = $7,
                    detail = CASE WHEN version < 3
                        THEN substr(detail, 1, length(detail) - 1) || ',\"deductions\":[],\"creditNotes\":[]}'
                        ELSE detail
                    END
                WHERE company_id = $1 AND id = $2 AND version <= $7",
            postgres: &Many {
                text: "
                    UPDATE invoice SET
                        status = new.status, due_date = new.due_date, updated_at = new.updated_at,
                        summary = new.summary, version = new.version,
                        detail = CASE WHEN invoice.version < 3
                            THEN substr(detail, 1, length(detail) - 1) || ',\"deductions\":[],\"creditNotes\":[]}'
                            ELSE detail
                        END
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::text[], $7::bigint[]
                    ) AS new (company_id, id, status, due_date, updated_at, summary, version)
                    WHERE invoice.company_id = new.company_id AND invoice.id = new.id
                        AND invoice.version <= new.version",
                columns: &[Type::Uuid, Type::Uuid, Type::Text, Type::Date, Type::Int, Type::Text, Type::Int],
            },
            first: 0,
            requires_current_version: true,
        };
        let json = summary_to_json(summary)?;
        let InvoiceSummary { id, status, updated_at, .. } = summary;
        let due = overdue_after(summary);
        self.0.write(&UPDATE, &[id, status, &due, updated_at, &json, &Invoice::VERSION]).await
    }

    /// As [`Self::update`], with the detail, in which an invoice names its credit notes.
    pub(crate) async fn update_with_detail(&mut self, invoice: &Invoice) -> Result<(), Error> {
        const UPDATE: &str = "
            UPDATE invoice SET
                status = $3, due_date = $4, updated_at = $5, summary = $6, detail = $7, version = $8
            WHERE company_id = $1 AND id = $2 AND version <= $8";
        let (summary, detail) = (summary_to_json(&invoice.summary)?, detail_to_json(&invoice.detail)?);
        let InvoiceSummary { id, status, updated_at, .. } = &invoice.summary;
        let due = overdue_after(&invoice.summary);
        let cells: [&dyn Argument; 7] = [id, status, &due, updated_at, &summary, &detail, &Invoice::VERSION];
        self.0.query(UPDATE, &cells).replace_record::<Invoice>().await
    }

    /// Rewrites an invoice of an older version in today's shape. `updatedAt` stays.
    pub(super) async fn rewrite(&mut self, id: InvoiceId) -> Result<(), Error> {
        let summary = self.find_summary(id).await?;
        self.update(&summary).await
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
            WHERE company_id = $1 AND status = 'SENT' AND due_date < $2 AND (due_date, id) > ($3, $4)
            ORDER BY due_date, id LIMIT $5";
        Ok(self.0.query(DUE_BEFORE, &[&today, &after.day, &after.id, &limit]).fetch_all().await?)
    }

    /// Cancelled invoices that still owe something, as earlier versions stored them, by id.
    pub(crate) async fn canceled_owing(
        &mut self,
        after: DueRecord,
        limit: u32,
    ) -> Result<Vec<DueRecord>, Error> {
        const CANCELED_OWING: Sql = Sql {
            sqlite: "
                SELECT id FROM invoice
                WHERE company_id = $1 AND status = 'CANCELED' AND instr(summary, '\"amountDue\":0,') = 0 AND id > $2
                ORDER BY id LIMIT $3",
            postgres: "
                SELECT id FROM invoice
                WHERE company_id = $1 AND status = 'CANCELED' AND strpos(summary, '\"amountDue\":0,') = 0 AND id > $2
                ORDER BY id LIMIT $3",
        };
        let ids: Vec<Uuid> = self.0.query(CANCELED_OWING, &[&after.id, &limit]).all_scalars().await?;
        Ok(ids.into_iter().map(|id| DueRecord { id, ..after }).collect())
    }

    pub(crate) async fn insert_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "payment",
            sqlite: "
                INSERT INTO payment (company_id, id, invoice_id, reference, movement_id, record, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7)",
            postgres: &Many {
                text: "
                    INSERT INTO payment (company_id, id, invoice_id, reference, movement_id, record, version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[]
                    )",
                columns: &[Type::Uuid, Type::Uuid, Type::Uuid, Type::Text, Type::Text, Type::Text, Type::Int],
            },
            first: 0,
            requires_current_version: false,
        };
        let Payment { invoice_id, id, reference, movement_id, .. } = payment;
        let record = to_json(&StoredPayment(payment.clone()))?;
        let cells: [&dyn Cell; 6] =
            [id, invoice_id, reference, movement_id, &record, &StoredPayment::VERSION];
        self.0.write(&INSERT, &cells).await
    }

    pub(crate) async fn find_payment(&mut self, invoice: InvoiceId, id: PaymentId) -> Result<Payment, Error> {
        const FIND: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 AND id = $3";
        let row: Option<RecordRow> = self.0.query(FIND, &[&invoice, &id]).fetch_optional().await?;
        let StoredPayment(payment) = row.ok_or(Error::NotFound)?.read(id)?;
        Ok(payment)
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
        row.map(|row| row.read(invoice).map(|StoredPayment(payment)| payment)).transpose()
    }

    /// The payments on an invoice, oldest first.
    pub(crate) async fn payments(&mut self, invoice: InvoiceId) -> Result<Vec<Payment>, Error> {
        const LIST: &str = "
            SELECT record, version FROM payment WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<RecordRow> = self.0.query(LIST, &[&invoice]).fetch_all().await?;
        rows.iter().map(|row| row.read(invoice).map(|StoredPayment(payment)| payment)).collect()
    }

    /// Stores the reversal of a payment, at `payment.reversed_at`.
    pub(crate) async fn reverse_payment(&mut self, payment: &Payment) -> Result<(), Error> {
        const REVERSE: &str = "
            UPDATE payment SET reversed_at = $4, record = $5, version = $6
            WHERE company_id = $1 AND invoice_id = $2 AND id = $3 AND version <= $6 AND reversed_at IS NULL";
        let Payment { invoice_id, id, reversed_at, .. } = payment;
        let record = to_json(&StoredPayment(payment.clone()))?;
        let reverse = self.0.query(REVERSE, &[invoice_id, id, reversed_at, &record, &StoredPayment::VERSION]);
        reverse.replace_record::<StoredPayment>().await
    }
}

/// The version since which the detail of a row has its last two members.
const DETAIL_SINCE: i64 = 3;

/// The parts of a row of any version, with every member of the detail: the JSON is handed out
/// without being read, so the members are added to its text.
fn completed(mut parts: JsonParts) -> JsonParts {
    if parts.version < DETAIL_SINCE {
        parts.detail.pop();
        parts.detail.push_str(",\"deductions\":[],\"creditNotes\":[]}");
    }
    parts
}

/// The last day before the invoice is overdue; `None` if nothing is due.
fn overdue_after(invoice: &InvoiceSummary) -> Option<NaiveDate> {
    invoice.due_date.filter(|_| !invoice.amount_due.is_zero())
}
