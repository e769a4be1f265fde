//! Number series: one per company, kind of document and year, without gaps and in the order of
//! their dates.

use std::sync::Arc;

use chrono::NaiveDate;

use super::connection::Write;
use super::enqueue::{AFTER_RECORDS, BEFORE_NUMBERS};
use super::scope::Scope;
use super::write_cache::LastNumber;
use crate::error::Error;

pub(super) const LAST_NUMBERS: &str =
    "SELECT company_id, kind, year, last, last_date FROM series WHERE company_id = $1";

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
    /// Kind of credit notes.
    pub(super) const CREDIT_NOTES: &'static str = "AVO";

    /// Allocates the next number. A rollback gives it back, so there are no gaps.
    pub(crate) async fn allocate(&mut self) -> Result<String, Error> {
        let (last, _) = self.last().await?;
        self.set_last(last + 1, None).await
    }

    /// As [`Self::allocate`], for a document that is dated `today`, or like the last one of the
    /// series if that is later.
    pub(crate) async fn allocate_dated(&mut self, today: NaiveDate) -> Result<(String, NaiveDate), Error> {
        let (last, last_date) = self.last().await?;
        let date = not_before(last_date, today);
        Ok((self.set_last(last + 1, Some(date)).await?, date))
    }

    /// The number and the date that [`Self::allocate_dated`] would allocate.
    pub(crate) async fn next_dated(&mut self, today: NaiveDate) -> Result<(String, NaiveDate), Error> {
        let (last, last_date) = self.last().await?;
        Ok((self.format(last + 1), not_before(last_date, today)))
    }

    /// The number that [`Self::allocate`] would allocate.
    pub(crate) async fn next(&mut self) -> Result<String, Error> {
        let (last, _) = self.last().await?;
        Ok(self.format(last + 1))
    }

    /// The last number, and the date of its document.
    async fn last(&mut self) -> Result<(i64, Option<NaiveDate>), Error> {
        let company = self.scope.company;
        let known = self.scope.connection.write_cache().and_then(|cache| cache.numbers(company));
        let numbers = match known {
            Some(known) => known,
            None => self.read_all().await?,
        };
        let is_this = |number: &&LastNumber| number.kind == self.kind && number.year == i64::from(self.year);
        Ok(numbers.iter().find(is_this).map_or((0, None), |number| (number.last, number.last_date)))
    }

    /// The last numbers of all series of the company; there are few.
    async fn read_all(&mut self) -> Result<Arc<[LastNumber]>, Error> {
        let numbers: Vec<LastNumber> = self.scope.query(LAST_NUMBERS, &[]).fetch_all().await?;
        let numbers: Arc<[LastNumber]> = numbers.into();
        if let Some(cache) = self.scope.connection.write_cache() {
            cache.remember_numbers(self.scope.company, Arc::clone(&numbers));
        }
        Ok(numbers)
    }

    async fn set_last(&mut self, last: i64, last_date: Option<NaiveDate>) -> Result<String, Error> {
        static SET_LAST: Write = Write {
            table: "series",
            sqlite: "
                INSERT INTO series (company_id, kind, year, last, last_date) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (company_id, kind, year) DO UPDATE SET last = excluded.last, last_date = excluded.last_date",
            postgres: AFTER_RECORDS,
            first: BEFORE_NUMBERS,
            refuses_newer_format: false,
        };
        self.scope.write(&SET_LAST, &[&self.kind, &self.year, &last, &last_date]).await?;
        if let Some(cache) = self.scope.connection.write_cache() {
            let (kind, year) = (self.kind.to_owned(), self.year.into());
            cache.set_number(self.scope.company, &LastNumber { kind, year, last, last_date });
        }
        Ok(self.format(last))
    }

    /// The text of a number, such as `DEV-2026-0042`; more than 9,999 documents a year make it
    /// longer.
    fn format(&self, number: i64) -> String {
        format!("{}-{}-{number:04}", self.kind, self.year)
    }
}

/// The date of the next document of a series.
fn not_before(last_date: Option<NaiveDate>, today: NaiveDate) -> NaiveDate {
    last_date.map_or(today, |last_date| last_date.max(today))
}
