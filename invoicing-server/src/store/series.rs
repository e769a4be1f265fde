//! Number series: one per company, kind of document and year, without gaps.

use super::scope::Scope;
use crate::Error;

/// A series of a company.
pub(crate) struct Series<'c> {
    pub(super) scope: Scope<'c>,
    pub(super) kind: &'static str,
    pub(super) year: i32,
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
