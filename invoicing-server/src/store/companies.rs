//! Companies, their stamps, and their number series.

use invoicing_core::{Company, CompanyId, Timestamp};
use sqlx::SqliteConnection;

use super::Tx;
use super::rows::{from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT record, last_stamp FROM company WHERE id = $1";
const LIST: &str = "SELECT id, record FROM company ORDER BY id";
const INSERT: &str = "INSERT INTO company (id, last_stamp, record) VALUES ($1, $2, $3)";
const SET_RECORD: &str = "UPDATE company SET record = $2 WHERE id = $1";
const SET_STAMP: &str = "UPDATE company SET last_stamp = $2 WHERE id = $1";
const NEXT_NUMBER: &str = "INSERT INTO series (company_id, kind, year, last) VALUES ($1, $2, $3, 1) \
     ON CONFLICT (company_id, kind, year) DO UPDATE SET last = series.last + 1 RETURNING last";
const LAST_NUMBER: &str = "SELECT last FROM series WHERE company_id = $1 AND kind = $2 AND year = $3";

/// The company and its last stamp.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    id: CompanyId,
) -> Result<Option<(Company, i64)>, Error> {
    let row: Option<(String, i64)> = sqlx::query_as(FIND).bind(id.0).fetch_optional(connection).await?;
    row.map(|(record, stamp)| Ok((from_json(&record, "company", id)?, stamp))).transpose()
}

pub(crate) async fn list(connection: &mut SqliteConnection) -> Result<Vec<Company>, Error> {
    let rows: Vec<(uuid::Uuid, String)> = sqlx::query_as(LIST).fetch_all(connection).await?;
    rows.into_iter().map(|(id, record)| from_json(&record, "company", id)).collect()
}

pub(crate) async fn insert(connection: &mut SqliteConnection, company: &Company) -> Result<(), Error> {
    sqlx::query(INSERT)
        .bind(company.id.0)
        .bind(company.created_at.as_millis())
        .bind(to_json(company)?)
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn set_record(tx: &mut Tx, company: &Company) -> Result<(), Error> {
    tx.forget(company.id);
    let set = sqlx::query(SET_RECORD).bind(company.id.0).bind(to_json(company)?);
    let done = set.execute(tx.connection()).await?;
    one_row(done.rows_affected(), "company")
}

pub(crate) async fn set_stamp(
    connection: &mut SqliteConnection,
    id: CompanyId,
    at: Timestamp,
) -> Result<(), Error> {
    let done = sqlx::query(SET_STAMP).bind(id.0).bind(at.as_millis()).execute(connection).await?;
    one_row(done.rows_affected(), "company")
}

/// Which series a number belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Series {
    Quote,
    Invoice,
}

impl Series {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Quote => "DEV",
            Self::Invoice => "FAC",
        }
    }

    /// `DEV-2026-0042`; more than 9,999 documents a year make it longer.
    pub(crate) fn format(self, year: i32, number: i64) -> String {
        format!("{}-{year}-{number:04}", self.prefix())
    }
}

/// Allocates the next number. A rollback gives it back, so there are no gaps.
pub(crate) async fn next_number(
    connection: &mut SqliteConnection,
    company: CompanyId,
    series: Series,
    year: i32,
) -> Result<String, Error> {
    let number: i64 = sqlx::query_scalar(NEXT_NUMBER)
        .bind(company.0)
        .bind(series.prefix())
        .bind(year)
        .fetch_one(connection)
        .await?;
    Ok(series.format(year, number))
}

/// The number that [`next_number`] would give now. Nothing is allocated.
pub(crate) async fn peek_number(
    connection: &mut SqliteConnection,
    company: CompanyId,
    series: Series,
    year: i32,
) -> Result<String, Error> {
    let last: Option<i64> = sqlx::query_scalar(LAST_NUMBER)
        .bind(company.0)
        .bind(series.prefix())
        .bind(year)
        .fetch_optional(connection)
        .await?;
    Ok(series.format(year, last.unwrap_or(0) + 1))
}

/// An UPDATE that was to change one row must have done so.
pub(crate) fn one_row(affected: u64, table: &'static str) -> Result<(), Error> {
    if affected == 1 {
        return Ok(());
    }
    Err(Error::internal(format!("table {table}: an update of one row changed {affected}")))
}
