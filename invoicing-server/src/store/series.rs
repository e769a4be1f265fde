//! Number series: one per company, kind of document and year, without gaps.

use invoicing_core::CompanyId;

use super::connection::{Connection, on};
use crate::Error;

const TAKE: &str = "INSERT INTO series (company_id, kind, year, last) VALUES ($1, $2, $3, 1) \
     ON CONFLICT (company_id, kind, year) DO UPDATE SET last = series.last + 1 RETURNING last";
const LAST: &str = "SELECT last FROM series WHERE company_id = $1 AND kind = $2 AND year = $3";

/// A series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series {
    company: CompanyId,
    kind: &'static str,
    year: i32,
}

impl Series {
    pub(crate) const fn of_quotes(company: CompanyId, year: i32) -> Self {
        Self { company, kind: "DEV", year }
    }

    pub(crate) const fn of_invoices(company: CompanyId, year: i32) -> Self {
        Self { company, kind: "FAC", year }
    }

    /// `DEV-2026-0042`; more than 9,999 documents a year make it longer.
    fn format(self, number: i64) -> String {
        format!("{}-{}-{number:04}", self.kind, self.year)
    }

    /// Allocates the next number. A rollback gives it back, so there are no gaps.
    pub(crate) async fn take(self, connection: &mut Connection) -> Result<String, Error> {
        let number: i64 = on!(connection, |c| sqlx::query_scalar(TAKE)
            .bind(self.company.0)
            .bind(self.kind)
            .bind(self.year)
            .fetch_one(c))?;
        Ok(self.format(number))
    }

    /// The number that [`Self::take`] would allocate. Nothing is allocated.
    pub(crate) async fn next(self, connection: &mut Connection) -> Result<String, Error> {
        let last: Option<i64> = on!(connection, |c| sqlx::query_scalar(LAST)
            .bind(self.company.0)
            .bind(self.kind)
            .bind(self.year)
            .fetch_optional(c))?;
        Ok(self.format(last.unwrap_or(0) + 1))
    }
}
