//! The part of a quote that no other document has: its terms and costs, its end and its signing.

use chrono::NaiveDate;
use invoicing_core::{Costing, Line, OperationNature, Quote, QuoteId};
use sqlx::FromRow;

use super::connection::Sql;
use super::documents::DocumentTable;
use super::due::DueRecord;
use super::rows::{JsonParts, from_json, to_json};
use super::versions::{self, StoredRecord};
use crate::error::Error;

/// The data of a quote that its public record does not hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuoteExtras {
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
    /// True for works in housing; `None` for those for a private client.
    pub(crate) housing_works: Option<bool>,
}

impl DocumentTerms {
    /// The values of the columns, in their order.
    fn columns(&self) -> (&Option<String>, Option<&'static str>, i64, Option<i64>) {
        let Self { work_site, operations, reverse_charge, housing_works } = self;
        let operations = operations.map(OperationNature::as_str);
        (work_site, operations, i64::from(*reverse_charge), housing_works.map(i64::from))
    }
}

#[derive(FromRow)]
struct TermsRow {
    work_site: Option<String>,
    operations: Option<String>,
    reverse_charge: i64,
    housing_works: Option<i64>,
}

/// The quotes of a company.
pub(crate) type QuoteTable<'c> = DocumentTable<'c, Quote>;

impl QuoteTable<'_> {
    /// The quote with its lines if it is SENT or EXPIRED: no other can be signed, and the holder of a
    /// link may ask at any time. An EXPIRED one can, if the form was submitted before its end.
    pub(crate) async fn find_to_sign(&mut self, id: QuoteId) -> Result<Quote, Error> {
        const FIND: &str = "
            SELECT summary, CASE WHEN status IN ('SENT', 'EXPIRED') THEN lines ELSE '[]' END AS lines, detail, version
            FROM quote_item WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.scope.query(FIND, &[&id]).fetch_optional().await?;
        let parts = parts.ok_or(Error::NotFound)?;
        versions::read(&parts.detail(), parts.version, id)
    }

    /// The quote without its lines, which may be large.
    #[cfg(feature = "console")]
    pub(crate) async fn find_without_lines(&mut self, id: QuoteId) -> Result<Quote, Error> {
        const FIND: &str = "
            SELECT summary, '[]' AS lines, detail, version FROM quote WHERE company_id = $1 AND id = $2";
        let parts: Option<JsonParts> = self.scope.query(FIND, &[&id]).fetch_optional().await?;
        let parts = parts.ok_or(Error::NotFound)?;
        versions::read(&parts.detail(), parts.version, id)
    }

    pub(crate) async fn insert(&mut self, quote: &Quote, internal: &QuoteExtras) -> Result<(), Error> {
        let costings = to_json(&internal.costings)?;
        let (work_site, operations, reverse_charge, housing_works) = internal.terms.columns();
        self.insert_with(quote, &[work_site, &operations, &reverse_charge, &housing_works, &costings]).await
    }

    /// Stores the lines. [`Self::update`] checks that there is such a quote.
    pub(crate) async fn update_lines(&mut self, id: QuoteId, lines: &[Line]) -> Result<(), Error> {
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
        self.scope.query(UPDATE_LINES, &[&id, &to_json(&lines)?]).execute().await?;
        Ok(())
    }

    pub(crate) async fn set_internal_details(
        &mut self,
        id: QuoteId,
        internal: &QuoteExtras,
    ) -> Result<(), Error> {
        const SET_COSTINGS: &str =
            "UPDATE quote_costing SET costings = $3 WHERE company_id = $1 AND quote_id = $2";
        const SET_TERMS: &str = "
            UPDATE quote SET work_site = $3, operations = $4, reverse_charge = $5, housing_works = $6
            WHERE company_id = $1 AND id = $2 AND version <= $7";
        let costings = to_json(&internal.costings)?;
        self.scope.query(SET_COSTINGS, &[&id, &costings]).change_one("quote_costing").await?;
        let (work_site, operations, reverse_charge, housing_works) = internal.terms.columns();
        let set = self.scope.query(
            SET_TERMS,
            &[&id, work_site, &operations, &reverse_charge, &housing_works, &Quote::VERSION],
        );
        set.replace_record::<Quote>().await
    }

    pub(crate) async fn find_internal_details(&mut self, id: QuoteId) -> Result<QuoteExtras, Error> {
        let (costings, terms) = (self.find_costings(id).await?, self.find_terms(id).await?);
        Ok(QuoteExtras { costings, terms })
    }

    pub(crate) async fn find_costings(&mut self, id: QuoteId) -> Result<Vec<Costing>, Error> {
        const FIND: &str = "SELECT costings FROM quote_costing WHERE company_id = $1 AND quote_id = $2";
        let json: Option<String> = self.scope.query(FIND, &[&id]).optional_scalar().await?;
        from_json(&json.ok_or(Error::NotFound)?, "quote_costing", id)
    }

    /// The facts that the documents of the quote show besides its record.
    pub(crate) async fn find_terms(&mut self, id: QuoteId) -> Result<DocumentTerms, Error> {
        const FIND: &str = "
            SELECT work_site, operations, reverse_charge, housing_works
            FROM quote WHERE company_id = $1 AND id = $2";
        let row: Option<TermsRow> = self.scope.query(FIND, &[&id]).fetch_optional().await?;
        let TermsRow { work_site, operations, reverse_charge, housing_works } = row.ok_or(Error::NotFound)?;
        let operations = operations.as_deref().map(str::parse).transpose();
        let operations = operations.map_err(|cause| Error::bad_row("quote", "operations", id, cause))?;
        let (reverse_charge, housing_works) = (reverse_charge != 0, housing_works.map(|works| works != 0));
        Ok(DocumentTerms { work_site, operations, reverse_charge, housing_works })
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
        Ok(self.scope.query(ENDED_BEFORE, &[&today, &after.day, &after.id, &limit]).fetch_all().await?)
    }
}
