//! Number series: one per company, kind of document and year, without gaps and in the order of their dates.

use chrono::NaiveDate;
use sqlx::FromRow;

use super::scope::Scope;
use crate::Error;

/// A series of a company.
pub(crate) struct Series<'c> {
    pub(super) scope: Scope<'c>,
    pub(super) kind: &'static str,
    pub(super) year: i32,
}

/// A number that was allocated, and its date.
#[derive(FromRow)]
struct Allocated {
    last: i64,
    last_date: NaiveDate,
}

impl Series<'_> {
    /// Kind of quotes.
    pub(super) const QUOTES: &'static str = "DEV";
    /// Kind of invoices.
    pub(super) const INVOICES: &'static str = "FAC";

    /// Allocates the next number. A rollback gives it back, so there are no gaps.
    pub(crate) async fn allocate(&mut self) -> Result<String, Error> {
        const ALLOCATE: &str = "
            INSERT INTO series (company_id, kind, year, last) VALUES ($1, $2, $3, 1)
            ON CONFLICT (company_id, kind, year) DO UPDATE SET last = series.last + 1 RETURNING last";
        let number: i64 = self.scope.query(ALLOCATE, &[&self.kind, &self.year]).scalar().await?;
        Ok(self.format(number))
    }

    /// As [`Self::allocate`], for a document that is dated `today`, or as the last one of the series if that is later.
    pub(crate) async fn allocate_dated(&mut self, today: NaiveDate) -> Result<(String, NaiveDate), Error> {
        const ALLOCATE: &str = "
            INSERT INTO series (company_id, kind, year, last, last_date) VALUES ($1, $2, $3, 1, $4)
            ON CONFLICT (company_id, kind, year) DO UPDATE SET last = series.last + 1,
                last_date = CASE WHEN series.last_date > $4 THEN series.last_date ELSE $4 END
            RETURNING last, last_date";
        let allocate = self.scope.query(ALLOCATE, &[&self.kind, &self.year, &today]);
        let Allocated { last, last_date } = allocate.fetch_one().await?;
        Ok((self.format(last), last_date))
    }

    /// The number that [`Self::allocate`] would allocate.
    pub(crate) async fn next(&mut self) -> Result<String, Error> {
        const LAST: &str = "SELECT last FROM series WHERE company_id = $1 AND kind = $2 AND year = $3";
        let last: Option<i64> = self.scope.query(LAST, &[&self.kind, &self.year]).optional_scalar().await?;
        Ok(self.format(last.unwrap_or(0) + 1))
    }

    /// `DEV-2026-0042`; more than 9,999 documents a year make it longer.
    fn format(&self, number: i64) -> String {
        format!("{}-{}-{number:04}", self.kind, self.year)
    }
}
