//! Number series: one per company, kind of document and year, without gaps.
//!
//! Whoever must know his number before he takes it, as it is printed on a document, holds the series meanwhile: nobody
//! else is given a number until he has taken his, has given the series back, or has held it for 6 s.

use invoicing_core::{CompanyId, Timestamp};
use uuid::Uuid;

use super::connection::{Connection, on, run};
use crate::Error;

/// Somebody holds the series at that time. He does so for 6 s, and the clocks of two nodes may be some milliseconds apart:
/// what lasts beyond 7 s was said before the clock was set back, and does not count.
macro_rules! held {
    ($now:literal) => {
        concat!("series.held_until > ", $now, " AND series.held_until <= ", $now, " + 7000")
    };
}
/// Nobody but `$5` holds it at `$4`.
macro_rules! free {
    () => {
        concat!("(NOT (", held!("$4"), ") OR series.holder = $5)")
    };
}
const TAKE: &str = concat!(
    "INSERT INTO series (company_id, kind, year, last) VALUES ($1, $2, $3, 1) ON CONFLICT (company_id, kind, year) \
     DO UPDATE SET last = series.last + 1, holder = NULL, held_until = 0 WHERE ",
    free!(),
    " RETURNING last"
);
const HOLD: &str = concat!(
    "INSERT INTO series (company_id, kind, year, last, holder, held_until) \
     VALUES ($1, $2, $3, 0, $5, $4 + 6000) ON CONFLICT (company_id, kind, year) \
     DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until WHERE ",
    free!(),
    " RETURNING last + 1"
);
const PEEK: &str = concat!(
    "SELECT last + 1 FROM series WHERE company_id = $1 AND kind = $2 AND year = $3 AND ",
    free!(),
    " UNION ALL SELECT 1 WHERE NOT EXISTS \
     (SELECT 1 FROM series WHERE company_id = $1 AND kind = $2 AND year = $3)"
);
const IS_HELD: &str =
    concat!("SELECT EXISTS (SELECT 1 FROM series WHERE company_id = $1 AND ", held!("$2"), ")");
const GIVE_BACK: &str =
    "UPDATE series SET holder = NULL, held_until = 0 WHERE company_id = $1 AND holder = $2";

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

    /// Allocates the next number, for the holder or for anybody; `None` while somebody else holds the series. A rollback
    /// gives the number back, so there are no gaps.
    pub(crate) async fn take(
        self,
        connection: &mut Connection,
        holder: Option<Uuid>,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        self.ask(connection, TAKE, holder, now).await
    }

    /// The number that [`Self::take`] would give. Nothing is allocated.
    pub(crate) async fn peek(
        self,
        connection: &mut Connection,
        holder: Option<Uuid>,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        self.ask(connection, PEEK, holder, now).await
    }

    /// Holds the series, or holds it for longer; the number that the holder can then take. `None` while somebody else
    /// holds it.
    pub(crate) async fn hold(
        self,
        connection: &mut Connection,
        holder: Uuid,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        self.ask(connection, HOLD, Some(holder), now).await
    }

    async fn ask(
        self,
        connection: &mut Connection,
        statement: &'static str,
        holder: Option<Uuid>,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        let number: Option<i64> = on!(connection, |c| sqlx::query_scalar(statement)
            .bind(self.company.0)
            .bind(self.kind)
            .bind(self.year)
            .bind(now.as_millis())
            .bind(holder)
            .fetch_optional(c))?;
        Ok(number.map(|number| self.format(number)))
    }
}

/// Whether anybody holds a series of the company.
pub(crate) async fn is_held(
    connection: &mut Connection,
    company: CompanyId,
    now: Timestamp,
) -> Result<bool, Error> {
    Ok(on!(connection, |c| sqlx::query_scalar(IS_HELD).bind(company.0).bind(now.as_millis()).fetch_one(c))?)
}

/// Gives back what the holder holds of the company, if anything.
pub(crate) async fn give_back(
    connection: &mut Connection,
    company: CompanyId,
    holder: Uuid,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(GIVE_BACK).bind(company.0).bind(holder).execute(c))?;
    Ok(())
}
