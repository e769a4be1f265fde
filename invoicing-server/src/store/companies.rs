//! Companies and their stamps.

use invoicing_core::{Company, CompanyId, Timestamp};

use super::Tx;
use super::connection::{Connection, Sql, locked, on, run};
use super::rows::{from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT record, last_stamp FROM company WHERE id = $1";
const LOCK: Sql = locked!("SELECT record, last_stamp FROM company WHERE id = $1");
const LIST: &str = "SELECT id, record FROM company ORDER BY id";
const INSERT: &str = "INSERT INTO company (id, last_stamp, record) VALUES ($1, $2, $3)";
const SET_RECORD: &str = "UPDATE company SET record = $2 WHERE id = $1";
const SET_STAMP: &str = "UPDATE company SET last_stamp = $2 WHERE id = $1";

/// The company and its last stamp.
pub(crate) async fn find(
    connection: &mut Connection,
    id: CompanyId,
) -> Result<Option<(Company, i64)>, Error> {
    let row: Option<(String, i64)> = on!(connection, |c| sqlx::query_as(FIND).bind(id.0).fetch_optional(c))?;
    row.map(|(record, stamp)| Ok((from_json(&record, "company", id)?, stamp))).transpose()
}

/// The company and its last stamp, which nobody else changes before the end of the transaction.
pub(super) async fn lock(
    connection: &mut Connection,
    id: CompanyId,
) -> Result<Option<(Company, i64)>, Error> {
    let row: Option<(String, i64)> =
        on!(connection, |c, dialect| sqlx::query_as(LOCK.of(dialect)).bind(id.0).fetch_optional(c))?;
    row.map(|(record, stamp)| Ok((from_json(&record, "company", id)?, stamp))).transpose()
}

pub(crate) async fn list(connection: &mut Connection) -> Result<Vec<Company>, Error> {
    let rows: Vec<(uuid::Uuid, String)> = on!(connection, |c| sqlx::query_as(LIST).fetch_all(c))?;
    rows.into_iter().map(|(id, record)| from_json(&record, "company", id)).collect()
}

pub(crate) async fn insert(connection: &mut Connection, company: &Company) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT)
        .bind(company.id.0)
        .bind(company.created_at.as_millis())
        .bind(to_json(company)?)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn set_record(tx: &mut Tx, company: &Company) -> Result<(), Error> {
    tx.forget(company.id);
    let record = to_json(company)?;
    let done =
        run!(tx.connection(), |c| sqlx::query(SET_RECORD).bind(company.id.0).bind(&record).execute(c))?;
    one_row(done, "company")
}

pub(crate) async fn set_stamp(
    connection: &mut Connection,
    id: CompanyId,
    at: Timestamp,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(SET_STAMP).bind(id.0).bind(at.as_millis()).execute(c))?;
    one_row(done, "company")
}

/// An UPDATE that was to change one row must have done so.
pub(crate) fn one_row(affected: u64, table: &'static str) -> Result<(), Error> {
    if affected == 1 {
        return Ok(());
    }
    Err(Error::internal(format!("table {table}: an update of one row changed {affected}")))
}
