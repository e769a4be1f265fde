//! Companies and their stamps.

use invoicing_core::{Company, CompanyId, Timestamp};
use sqlx::FromRow;

use super::connection::{Connection, Sql, execute, query};
use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::Error;

/// The row of one company.
pub(crate) struct CompanyRow<'c>(pub(super) Scope<'c>);

/// A company as it is stored.
#[derive(FromRow)]
struct Stored {
    record: String,
    last_stamp: i64,
}

impl CompanyRow<'_> {
    /// The company and its last stamp.
    pub(crate) async fn find(&mut self) -> Result<(Company, Timestamp), Error> {
        const FIND: Sql = Sql::same("SELECT record, last_stamp FROM company WHERE id = $1");
        self.read(FIND).await
    }

    /// As [`Self::find`]; no other transaction changes the company or its records before the end of this one.
    pub(super) async fn lock(&mut self) -> Result<(Company, Timestamp), Error> {
        const LOCK: Sql = Sql {
            sqlite: "SELECT record, last_stamp FROM company WHERE id = $1",
            postgres: "SELECT record, last_stamp FROM company WHERE id = $1 FOR UPDATE",
        };
        self.read(LOCK).await
    }

    async fn read(&mut self, statement: Sql) -> Result<(Company, Timestamp), Error> {
        let Scope { connection, company } = &mut self.0;
        let row: Option<Stored> = query!(connection, |c, dialect| sqlx::query_as(statement.of(dialect))
            .bind(company.0)
            .fetch_optional(c))?;
        let Stored { record, last_stamp } = row.ok_or(Error::NotFound)?;
        Ok((from_json(&record, "company", *company)?, Timestamp::from_millis(last_stamp)))
    }

    pub(crate) async fn set_record(&mut self, record: &Company) -> Result<(), Error> {
        const SET_RECORD: &str = "UPDATE company SET record = $2 WHERE id = $1";
        let Scope { connection, company } = &mut self.0;
        connection.forget(*company);
        let record = to_json(record)?;
        let done =
            execute!(connection, |c| sqlx::query(SET_RECORD).bind(company.0).bind(&record).execute(c))?;
        one_row(done, "company")
    }

    pub(super) async fn set_stamp(&mut self, stamp: Timestamp) -> Result<(), Error> {
        const SET_STAMP: &str = "UPDATE company SET last_stamp = $2 WHERE id = $1";
        let Scope { connection, company } = &mut self.0;
        let done = execute!(connection, |c| sqlx::query(SET_STAMP)
            .bind(company.0)
            .bind(stamp.as_millis())
            .execute(c))?;
        one_row(done, "company")
    }
}

/// All companies.
pub(crate) struct CompanyTable<'c>(pub(super) &'c mut Connection);

impl CompanyTable<'_> {
    /// All companies, oldest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Company>, Error> {
        const LIST: &str = "SELECT record FROM company ORDER BY id";
        let rows: Vec<String> = query!(self.0, |c| sqlx::query_scalar(LIST).fetch_all(c))?;
        rows.iter().map(|record| from_json(record, "company", "of the list")).collect()
    }

    pub(crate) async fn ids(&mut self) -> Result<Vec<CompanyId>, Error> {
        const IDS: &str = "SELECT id FROM company ORDER BY id";
        let ids: Vec<uuid::Uuid> = query!(self.0, |c| sqlx::query_scalar(IDS).fetch_all(c))?;
        Ok(ids.into_iter().map(CompanyId).collect())
    }

    pub(crate) async fn insert(&mut self, company: &Company) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO company (id, last_stamp, record) VALUES ($1, $2, $3)";
        execute!(self.0, |c| sqlx::query(INSERT)
            .bind(company.id.0)
            .bind(company.created_at.as_millis())
            .bind(to_json(company)?)
            .execute(c))?;
        Ok(())
    }
}

/// An UPDATE of one row must have changed one row.
pub(crate) fn one_row(affected: u64, table: &'static str) -> Result<(), Error> {
    if affected == 1 {
        return Ok(());
    }
    Err(Error::internal(format!("table {table}: an update of one row changed {affected}")))
}
