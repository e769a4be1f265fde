//! Credit notes. Their rows never change.

use invoicing_core::{
    CreditNote, CreditNoteDetail, CreditNoteId, CreditNoteSummary, CreditedPart, InvoiceId,
};
use sqlx::FromRow;

use super::connection::Sql;
use super::detail::SizedParts;
use super::page_query::PageStatements;
use super::rows::{JsonParts, detail_to_json, from_json, summary_to_json, to_json};
use super::scope::Scope;
use super::versions::{self, StoredRecord};
use crate::error::Error;
use crate::records::StoredJson;

/// The list of credit notes. `$5` is the status that a query asks for, and credit notes have none,
/// so it is always NULL.
pub(crate) const CREDIT_NOTE_PAGES: PageStatements = PageStatements {
    newest: NEWEST,
    newest_in_status: NEWEST,
    changed: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM credit_note_item
            WHERE company_id = $1 AND updated_at >= $4 AND $5 IS NULL
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};

const NEWEST: &str = "
    SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM credit_note_item
        WHERE company_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items";

#[derive(FromRow)]
struct CreditedRow {
    parts: String,
    detail: String,
}

/// The credit notes of a company.
pub(crate) struct CreditNoteTable<'c>(pub(super) Scope<'c>);

impl CreditNoteTable<'_> {
    /// The credit note as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: CreditNoteId) -> Result<Vec<u8>, Error> {
        Ok(self.parts(id).await?.detail())
    }

    /// As [`Self::detail`], unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&mut self, id: CreditNoteId) -> Result<StoredJson, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
            FROM credit_note_item WHERE company_id = $1 AND id = $2";
        let found: Option<SizedParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        Ok(found.ok_or(Error::NotFound)?.detail())
    }

    pub(crate) async fn find(&mut self, id: CreditNoteId) -> Result<CreditNote, Error> {
        let parts = self.parts(id).await?;
        versions::read(&parts.detail(), parts.version, id)
    }

    /// [`Error::NotFound`] if there is no such credit note.
    pub(crate) async fn check_exists(&mut self, id: CreditNoteId) -> Result<(), Error> {
        const EXISTS: &str = "SELECT CAST(1 AS BIGINT) FROM credit_note WHERE company_id = $1 AND id = $2";
        let found: Option<i64> = self.0.query(EXISTS, &[&id]).optional_scalar().await?;
        found.map(drop).ok_or(Error::NotFound)
    }

    async fn parts(&mut self, id: CreditNoteId) -> Result<JsonParts, Error> {
        const FIND: &str = "
            SELECT summary, lines, detail, version FROM credit_note_item WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        parts.ok_or(Error::NotFound)
    }

    /// The parts of lines and the VAT shares that the credit notes on an invoice have taken back,
    /// oldest first.
    pub(crate) async fn credited(
        &mut self,
        invoice: InvoiceId,
    ) -> Result<Vec<(Vec<CreditedPart>, CreditNoteDetail)>, Error> {
        const CREDITED: &str = "
            SELECT parts, '{' || detail AS detail FROM credit_note
            WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<CreditedRow> = self.0.query(CREDITED, &[&invoice]).fetch_all().await?;
        let read = |row: CreditedRow| {
            Ok((
                from_json(row.parts, "credit_note", invoice)?,
                from_json(row.detail, "credit_note", invoice)?,
            ))
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) async fn insert(&mut self, note: &CreditNote, parts: &[CreditedPart]) -> Result<(), Error> {
        const INSERT: Sql = Sql {
            sqlite: "
                INSERT INTO credit_note
                    (company_id, id, invoice_id, created_at, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp,
                    summary, lines, lines_bytes, detail, parts, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
                    CASE WHEN octet_length($10) <= 8192 THEN $10 END, octet_length($10), $11, $12, $13);
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $10 WHERE octet_length($10) > 8192",
            postgres: "
                INSERT INTO credit_note
                    (company_id, id, invoice_id, created_at, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp,
                    summary, lines, detail, parts, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        };
        let (summary, detail) = (summary_to_json(&note.summary)?, detail_to_json(&note.detail)?);
        let (lines, parts) = (to_json(&note.lines)?, to_json(&parts)?);
        let CreditNoteSummary {
            id, invoice_id, created_at, updated_at, total_ht, total_ttc, tva_rate, ..
        } = &note.summary;
        let insert = self.0.query(
            INSERT,
            &[
                id,
                invoice_id,
                created_at,
                updated_at,
                total_ht,
                total_ttc,
                tva_rate,
                &summary,
                &lines,
                &detail,
                &parts,
                &CreditNote::VERSION,
            ],
        );
        insert.execute().await?;
        Ok(())
    }
}
