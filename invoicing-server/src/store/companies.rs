//! Companies and their stamps.

use invoicing_core::{Company, CompanyId, Timestamp};
use sqlx::FromRow;

use super::connection::{Connection, Sql, Write};
use super::enqueue::{AFTER_RECORDS, BEFORE_STAMPS};
use super::rows::to_json;
use super::scope::Scope;
use super::versions::{self, RecordRow, StoredRecord};
use crate::error::Error;

/// The row of one company.
pub(crate) struct CompanyRow<'c>(pub(super) Scope<'c>);

/// Reads a company and its last stamp. No other transaction changes the company or its records
/// before the end of this one.
pub(super) const LOCK: Sql = Sql {
    sqlite: "SELECT id, record, version, last_stamp FROM company WHERE id = $1",
    postgres: "SELECT id, record, version, last_stamp FROM company WHERE id = $1 FOR UPDATE",
};

/// A company as it is stored.
#[derive(FromRow)]
pub(super) struct StoredCompany {
    record: String,
    version: i64,
    last_stamp: i64,
}

impl StoredCompany {
    pub(super) fn read(&self, id: CompanyId) -> Result<(Company, Timestamp), Error> {
        let company = versions::read(self.record.as_bytes(), self.version, id)?;
        Ok((company, Timestamp::from_millis(self.last_stamp)))
    }
}

impl CompanyRow<'_> {
    /// The company and its last stamp.
    pub(crate) async fn find(&mut self) -> Result<(Company, Timestamp), Error> {
        const FIND: &str = "SELECT record, version, last_stamp FROM company WHERE id = $1";
        self.read(FIND.into()).await
    }

    /// As [`Self::find`], with the [lock](LOCK).
    pub(super) async fn lock(&mut self) -> Result<(Company, Timestamp), Error> {
        self.read(LOCK).await
    }

    async fn read(&mut self, statement: Sql) -> Result<(Company, Timestamp), Error> {
        let row: Option<StoredCompany> = self.0.query(statement, &[]).fetch_optional().await?;
        row.ok_or(Error::NotFound)?.read(self.0.company)
    }

    pub(crate) async fn set_record(&mut self, record: &Company) -> Result<(), Error> {
        const SET_RECORD: &str = "
            UPDATE company SET record = $2, version = $3 WHERE id = $1 AND version <= $3";
        self.0.forget();
        let set = self.0.query(SET_RECORD, &[&to_json(record)?, &Company::VERSION]);
        set.replace_record::<Company>().await
    }

    pub(super) async fn set_stamp(&mut self, stamp: Timestamp) -> Result<(), Error> {
        static SET_STAMP: Write = Write {
            table: "company",
            sqlite: "UPDATE company SET last_stamp = $2 WHERE id = $1",
            postgres: AFTER_RECORDS,
            first: BEFORE_STAMPS,
            refuses_newer_format: false,
        };
        self.0.write(&SET_STAMP, &[&stamp]).await
    }
}

/// All companies.
pub(crate) struct CompanyTable<'c>(pub(super) &'c mut Connection);

impl CompanyTable<'_> {
    /// All companies, oldest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Company>, Error> {
        const LIST: &str = "SELECT record, version FROM company ORDER BY id";
        let rows: Vec<RecordRow> = self.0.query(LIST, &[]).fetch_all().await?;
        rows.iter().map(|row| row.read("of the list")).collect()
    }

    pub(crate) async fn ids(&mut self) -> Result<Vec<CompanyId>, Error> {
        const IDS: &str = "SELECT id FROM company ORDER BY id";
        let ids: Vec<uuid::Uuid> = self.0.query(IDS, &[]).all_scalars().await?;
        Ok(ids.into_iter().map(CompanyId).collect())
    }

    pub(crate) async fn insert(&mut self, company: &Company) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO company (id, last_stamp, record, version) VALUES ($1, $2, $3, $4)";
        let Company { id, created_at, .. } = company;
        self.0.query(INSERT, &[id, created_at, &to_json(company)?, &Company::VERSION]).execute().await?;
        Ok(())
    }
}
