//! Quotes, and their internal details.

use chrono::NaiveDate;
use invoicing_core::{Costing, OperationNature, Quote, QuoteDetail, QuoteId, QuoteSummary};
use sqlx::FromRow;

use super::connection::{Cell, ReadSet, Sql, Write, prefetch};
use super::detail::SizedParts;
use super::due::DueRecord;
use super::page_query::PageStatements;
use super::rows::{JsonParts, detail_to_json, from_json, summary_to_json, to_json};
use super::scope::Scope;
use super::versions::{self, RecordRow, StoredRecord};
use crate::error::Error;
use crate::records::StoredJson;

/// The lists of quotes.
pub(crate) const QUOTE_PAGES: PageStatements = PageStatements {
    newest: "
        SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
            string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT summary, lines_bytes,
                CASE
                    WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
                END AS lines
            FROM quote_item
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
            FROM quote_item
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
            FROM quote_item
            WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// The data of a quote that its public record does not hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InternalDetails {
    /// Internal costs of the lines, in the order of the lines.
    pub(crate) costings: Vec<Costing>,
    /// The facts that its documents show.
    pub(crate) terms: DocumentTerms,
}

/// The facts that the documents of a quote show and its public record does not hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DocumentTerms {
    /// The place of the work.
    pub(crate) work_site: Option<String>,
    /// The nature of the operations; `None` for that of the company.
    pub(crate) operations: Option<OperationNature>,
    /// True if the client owes the VAT.
    pub(crate) reverse_charge: bool,
}

#[derive(FromRow)]
struct TermsRow {
    work_site: Option<String>,
    operations: Option<String>,
    reverse_charge: i64,
}

/// The quotes of a company.
pub(crate) struct QuoteTable<'c>(pub(super) Scope<'c>);

impl QuoteTable<'_> {
    /// The quote as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: QuoteId) -> Result<Vec<u8>, Error> {
        Ok(self.parts(id).await?.detail())
    }

    /// As [`Self::detail`], unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&mut self, id: QuoteId) -> Result<StoredJson, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
            FROM quote_item WHERE company_id = $1 AND id = $2";
        let found: Option<SizedParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        Ok(found.ok_or(Error::NotFound)?.detail())
    }

    /// The size of the lines in bytes.
    #[cfg(feature = "console")]
    pub(crate) async fn lines_bytes(&mut self, id: QuoteId) -> Result<usize, Error> {
        const FIND: &str = "SELECT lines_bytes FROM quote_item WHERE company_id = $1 AND id = $2";
        let bytes: Option<i64> = self.0.query(FIND, &[&id]).optional_scalar().await?;
        Ok(usize::try_from(bytes.ok_or(Error::NotFound)?).unwrap_or(0))
    }

    pub(crate) async fn find(&mut self, id: QuoteId) -> Result<Quote, Error> {
        let parts = self.parts(id).await?;
        versions::read(&parts.detail(), parts.version, id)
    }

    /// The quote with its lines if it is SENT or EXPIRED: no other can be signed, and the holder of a
    /// link may ask at any time. An EXPIRED one can, if the form was submitted before its end.
    pub(crate) async fn find_to_sign(&mut self, id: QuoteId) -> Result<Quote, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN status IN ('SENT', 'EXPIRED') THEN lines ELSE '[]' END AS lines, detail, version
            FROM quote_item WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        let parts = parts.ok_or(Error::NotFound)?;
        versions::read(&parts.detail(), parts.version, id)
    }

    /// The quote without its lines, which may be large.
    #[cfg(feature = "console")]
    pub(crate) async fn find_without_lines(&mut self, id: QuoteId) -> Result<Quote, Error> {
        const FIND: &str = "
            SELECT summary, '[]' AS lines, detail, version FROM quote WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        let parts = parts.ok_or(Error::NotFound)?;
        versions::read(&parts.detail(), parts.version, id)
    }

    async fn parts(&mut self, id: QuoteId) -> Result<JsonParts, Error> {
        let parts: Option<JsonParts> = self.0.find(&prefetch::QUOTE, id.0).await?;
        parts.ok_or(Error::NotFound)
    }

    /// The quote without lines and detail.
    pub(crate) async fn find_summary(&mut self, id: QuoteId) -> Result<QuoteSummary, Error> {
        let row: Option<RecordRow> = self.0.find(&prefetch::QUOTE_SUMMARY, id.0).await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// The quote as it stands. `known` is an earlier state. If the quote has not changed, its lines
    /// are not read again: that takes long if they are large.
    pub(crate) async fn reload_if_changed(
        &mut self,
        id: QuoteId,
        known: Option<Quote>,
    ) -> Result<Quote, Error> {
        const FIND: &str = "SELECT updated_at FROM quote WHERE company_id = $1 AND id = $2";
        let Some(known) = known else { return self.find(id).await };
        let find = self.0.query_of(ReadSet::Record("quote", id.0), FIND, &[&id]);
        let stamp: Option<i64> = find.optional_scalar().await?;
        if stamp.ok_or(Error::NotFound)? == known.summary.updated_at.as_millis() {
            return Ok(known);
        }
        self.find(id).await
    }

    /// [`Error::NotFound`] if there is no such quote.
    pub(crate) async fn check_exists(&mut self, id: QuoteId) -> Result<(), Error> {
        const EXISTS: &str = "SELECT CAST(1 AS BIGINT) FROM quote WHERE company_id = $1 AND id = $2";
        let found: Option<i64> = self.0.query(EXISTS, &[&id]).optional_scalar().await?;
        found.map(drop).ok_or(Error::NotFound)
    }

    pub(crate) async fn insert(&mut self, quote: &Quote, internal: &InternalDetails) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "quote",
            sqlite: "
                INSERT INTO quote
                    (company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents,
                    tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, lines, lines_bytes, detail,
                    work_site, operations, reverse_charge, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                    CASE WHEN octet_length($13) <= 8192 THEN $13 END, octet_length($13), $14, $16, $17, $18, $19);
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $13 WHERE octet_length($13) > 8192;
                INSERT INTO quote_costing (company_id, quote_id, costings) VALUES ($1, $2, $15)",
            postgres: "
                    WITH new AS (
                        SELECT * FROM unnest(
                            $1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::bigint[], $7::bigint[],
                            $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],
                            $14::text[], $15::text[], $16::text[], $17::text[], $18::bigint[], $19::bigint[]
                        ) AS new (
                            company_id, id, status, valid_until, created_at, updated_at, total_ht_cents,
                            total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, lines,
                            detail, costings, work_site, operations, reverse_charge, version
                        )
                    ), costing AS (
                        INSERT INTO quote_costing (company_id, quote_id, costings)
                        SELECT company_id, id, costings FROM new
                    )
                    INSERT INTO quote
                        (company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents,
                        tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, lines, detail, work_site,
                        operations, reverse_charge, version)
                    SELECT company_id, id, status, valid_until, created_at, updated_at, total_ht_cents, total_ttc_cents,
                        tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, lines, detail, work_site,
                        operations, reverse_charge, version
                    FROM new",
            first: 0,
            requires_current_version: false,
        };
        let (summary, detail) = (summary_to_json(&quote.summary)?, detail_to_json(&quote.detail)?);
        let lines = to_json(&quote.lines)?;
        let costings = to_json(&internal.costings)?;
        let QuoteSummary {
            id,
            status,
            valid_until,
            created_at,
            updated_at,
            total_ht,
            total_ttc,
            tva_rate,
            ..
        } = &quote.summary;
        let QuoteDetail { retention_rate, retention_amount, .. } = &quote.detail;
        let DocumentTerms { work_site, operations, reverse_charge } = &internal.terms;
        let (operations, reverse_charge) =
            (operations.map(OperationNature::as_str), i64::from(*reverse_charge));
        let cells: [&dyn Cell; 18] = [
            id,
            status,
            valid_until,
            created_at,
            updated_at,
            total_ht,
            total_ttc,
            tva_rate,
            retention_rate,
            retention_amount,
            &summary,
            &lines,
            &detail,
            &costings,
            work_site,
            &operations,
            &reverse_charge,
            &Quote::VERSION,
        ];
        self.0.write(&INSERT, &cells).await
    }

    /// Stores everything but the lines, which no transition changes.
    pub(crate) async fn update(&mut self, quote: &Quote) -> Result<(), Error> {
        static UPDATE: Write = Write {
            table: "quote",
            sqlite: "
                UPDATE quote SET
                    status = $3, valid_until = $4, updated_at = $5, total_ht_cents = $6, total_ttc_cents = $7,
                    tva_rate_bp = $8, retention_rate_bp = $9, retention_amount_cents = $10, summary = $11, detail = $12,
                    version = $13
                WHERE company_id = $1 AND id = $2 AND version <= $13",
            postgres: "
                    UPDATE quote SET
                        status = new.status, valid_until = new.valid_until, updated_at = new.updated_at,
                        total_ht_cents = new.total_ht_cents, total_ttc_cents = new.total_ttc_cents,
                        tva_rate_bp = new.tva_rate_bp, retention_rate_bp = new.retention_rate_bp,
                        retention_amount_cents = new.retention_amount_cents, summary = new.summary,
                        detail = new.detail, version = new.version
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::bigint[], $7::bigint[],
                        $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[]
                    ) AS new (
                        company_id, id, status, valid_until, updated_at, total_ht_cents, total_ttc_cents, tva_rate_bp,
                        retention_rate_bp, retention_amount_cents, summary, detail, version
                    )
                    WHERE quote.company_id = new.company_id AND quote.id = new.id AND quote.version <= new.version",
            first: 0,
            requires_current_version: true,
        };
        let (summary, detail) = (summary_to_json(&quote.summary)?, detail_to_json(&quote.detail)?);
        let QuoteSummary { id, status, valid_until, updated_at, total_ht, total_ttc, tva_rate, .. } =
            &quote.summary;
        let QuoteDetail { retention_rate, retention_amount, .. } = &quote.detail;
        let cells: [&dyn Cell; 12] = [
            id,
            status,
            valid_until,
            updated_at,
            total_ht,
            total_ttc,
            tva_rate,
            retention_rate,
            retention_amount,
            &summary,
            &detail,
            &Quote::VERSION,
        ];
        self.0.write(&UPDATE, &cells).await
    }

    /// Stores a change of the summary only, which changes no amount.
    pub(crate) async fn update_summary(&mut self, summary: &QuoteSummary) -> Result<(), Error> {
        static UPDATE: Write = Write {
            table: "quote",
            sqlite: "
                UPDATE quote SET status = $3, valid_until = $4, updated_at = $5, summary = $6, version = $7
                WHERE company_id = $1 AND id = $2 AND version <= $7",
            postgres: "
                    UPDATE quote SET
                        status = new.status, valid_until = new.valid_until, updated_at = new.updated_at,
                        summary = new.summary, version = new.version
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::text[], $7::bigint[]
                    ) AS new (company_id, id, status, valid_until, updated_at, summary, version)
                    WHERE quote.company_id = new.company_id AND quote.id = new.id AND quote.version <= new.version",
            first: 0,
            requires_current_version: true,
        };
        let json = summary_to_json(summary)?;
        let QuoteSummary { id, status, valid_until, updated_at, .. } = summary;
        self.0.write(&UPDATE, &[id, status, valid_until, updated_at, &json, &Quote::VERSION]).await
    }

    /// Stores the lines. [`Self::update`] checks that there is such a quote.
    pub(crate) async fn update_lines(&mut self, quote: &Quote) -> Result<(), Error> {
        const UPDATE_LINES: Sql = Sql {
            sqlite: "
                DELETE FROM large_lines WHERE company_id = $1 AND document_id = $2;
                INSERT INTO large_lines (company_id, document_id, lines)
                SELECT $1, $2, $3 WHERE octet_length($3) > 8192;
                UPDATE quote SET
                    lines = CASE WHEN octet_length($3) <= 8192 THEN $3 END, lines_bytes = octet_length($3)
                WHERE company_id = $1 AND id = $2",
            postgres: "UPDATE quote SET lines = $3 WHERE company_id = $1 AND id = $2",
        };
        self.0.query(UPDATE_LINES, &[&quote.summary.id, &to_json(&quote.lines)?]).execute().await?;
        Ok(())
    }

    pub(crate) async fn set_internal_details(
        &mut self,
        id: QuoteId,
        internal: &InternalDetails,
    ) -> Result<(), Error> {
        const SET_COSTINGS: &str =
            "UPDATE quote_costing SET costings = $3 WHERE company_id = $1 AND quote_id = $2";
        const SET_TERMS: &str = "
            UPDATE quote SET work_site = $3, operations = $4, reverse_charge = $5
            WHERE company_id = $1 AND id = $2 AND version <= $6";
        let costings = to_json(&internal.costings)?;
        self.0.query(SET_COSTINGS, &[&id, &costings]).change_one("quote_costing").await?;
        let DocumentTerms { work_site, operations, reverse_charge } = &internal.terms;
        let (operations, reverse_charge) =
            (operations.map(OperationNature::as_str), i64::from(*reverse_charge));
        let set = self.0.query(SET_TERMS, &[&id, work_site, &operations, &reverse_charge, &Quote::VERSION]);
        set.replace_record::<Quote>().await
    }

    pub(crate) async fn find_internal_details(&mut self, id: QuoteId) -> Result<InternalDetails, Error> {
        let (costings, terms) = (self.find_costings(id).await?, self.find_terms(id).await?);
        Ok(InternalDetails { costings, terms })
    }

    pub(crate) async fn find_costings(&mut self, id: QuoteId) -> Result<Vec<Costing>, Error> {
        const FIND: &str = "SELECT costings FROM quote_costing WHERE company_id = $1 AND quote_id = $2";
        let json: Option<String> = self.0.query(FIND, &[&id]).optional_scalar().await?;
        from_json(&json.ok_or(Error::NotFound)?, "quote_costing", id)
    }

    /// The facts that the documents of the quote show besides its record.
    pub(crate) async fn find_terms(&mut self, id: QuoteId) -> Result<DocumentTerms, Error> {
        const FIND: &str =
            "SELECT work_site, operations, reverse_charge FROM quote WHERE company_id = $1 AND id = $2";
        let row: Option<TermsRow> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        let TermsRow { work_site, operations, reverse_charge } = row.ok_or(Error::NotFound)?;
        let operations = operations.as_deref().map(str::parse).transpose();
        let operations = operations.map_err(|cause| Error::bad_row("quote", "operations", id, cause))?;
        Ok(DocumentTerms { work_site, operations, reverse_charge: reverse_charge != 0 })
    }

    /// Sent quotes whose validity ended before `today`, in the order of their last days.
    pub(crate) async fn ended_before(
        &mut self,
        today: NaiveDate,
        after: DueRecord,
        limit: u32,
    ) -> Result<Vec<DueRecord>, Error> {
        const ENDED_BEFORE: &str = "
            SELECT valid_until AS day, id FROM quote
            WHERE company_id = $1 AND status = 'SENT' AND valid_until < $2 AND (valid_until, id) > ($3, $4)
            ORDER BY valid_until, id LIMIT $5";
        Ok(self.0.query(ENDED_BEFORE, &[&today, &after.day, &after.id, &limit]).fetch_all().await?)
    }
}
