//! Moving a host from SQLite to PostgreSQL: everything in the file is copied into an empty
//! database, checked by counts and hashes, and only then can a service open it.
//!
//! The source is read only, under the service's own lock, as one snapshot. It is read twice. The
//! first reading checks that PostgreSQL can hold every value, and computes the counts and hashes of
//! the copy. The second one copies table by table in batches, each of them a transaction that also
//! counts the rows so far. After any interruption the same call continues behind the last batch. By
//! the hashes of the first reading, a copy that was begun before is recognised as one of this
//! source. The catalogues of both databases list the tables and columns; [`tables`] has the few
//! exceptions.
//!
//! Documents are not in the database, and stay in their store.

mod binary;
mod error;
mod quota;
mod source;
mod tables;
mod target;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::config::PostgresSettings;
use crate::env::Env;
pub use error::CopyError;
use source::{SqliteSource, Survey, SurveyedTable};
use target::{EarlierCopy, PostgresTarget};

/// The instant at which a copy was begun, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// By the clock of this machine.
    at: i64,
    /// The time by which the clock of the database is ahead of it.
    ahead: i64,
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyReport {
    /// The tables by name, each with its number of rows in both databases.
    pub tables: Vec<(String, u64)>,
    /// SHA-256 over the rows of all tables, 64 lowercase hex digits.
    pub sha256: String,
    /// Rows that this call has copied: fewer than all rows if it has continued an earlier copy.
    pub copied: u64,
    /// True if an earlier call had finished the copy. Then this call has changed nothing.
    pub was_complete: bool,
}

impl CopyReport {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    fn new(survey: &Survey<'_>, copied: u64, was_complete: bool) -> Self {
        let tables =
            survey.tables.iter().map(|surveyed| (surveyed.table.name.clone(), surveyed.rows)).collect();
        Self { tables, sha256: hex::encode(survey.fingerprint()), copied, was_complete }
    }
}

/// Copies the SQLite database `from` into the empty PostgreSQL database `to`.
///
/// No service may have the file open, and none may open it again. The service continues on the
/// copy, with the same keys, links, numbers, secrets and quotas, and delivers the pending
/// deliveries. Frozen documents stay in the document store: give the service on PostgreSQL the same
/// one ([`InvoicingBuilder::document_store`](crate::InvoicingBuilder::document_store)), which on SQLite is the folder
/// `<database>.documents` if none was given. The service needs the same sealing keys, too.
///
/// After an interruption at any point, even by the death of the process, the same call continues
/// the copy. A call after the end changes nothing, and its report has
/// [`was_complete`](CopyReport::was_complete). Until the end, no service opens the PostgreSQL
/// database. At the end the counts and the SHA-256 of all rows of both databases are compared. The
/// file stays as it is.
///
/// Call it on the machine of the stopped service: the quotas are carried over from its clock to
/// that of the database.
///
/// ```no_run
/// use std::path::Path;
///
/// use invoicing_server::{PostgresSettings, copy_to_postgres};
///
/// # async fn host() -> Result<(), Box<dyn std::error::Error>> {
/// let target = PostgresSettings::new("postgres://invoicing@db.example.com/invoicing");
/// let report = copy_to_postgres(Path::new("/var/lib/invoicing/invoicing.db"), &target).await?;
/// println!("{} rows, equal by SHA-256 {}", report.rows(), report.sha256);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`CopyError`]; each variant names the remedy.
pub async fn copy_to_postgres(from: &Path, to: &PostgresSettings) -> Result<CopyReport, CopyError> {
    let mut source = SqliteSource::open(from).await?;
    let mut target = PostgresTarget::connect(to).await?;
    let sqlite = source.catalogue().await?;
    let earlier = target.earlier_copy(&sqlite).await?;
    let tables = tables::paired(&sqlite, &target.catalogue(earlier.is_some()).await?)?;
    let moment = match &earlier {
        Some(earlier) => earlier.moment,
        None => target.moment(&Env::system()).await?,
    };
    let survey = source.survey(&tables, moment).await?;
    let before = match earlier {
        Some(earlier) if earlier.source != survey.fingerprint() => return Err(CopyError::OtherSource),
        Some(EarlierCopy { rows: None, .. }) => return Ok(CopyReport::new(&survey, 0, true)),
        Some(EarlierCopy { rows: Some(rows), .. }) => {
            tracing::info!(rows, "earlier copy found; it continues");
            rows
        }
        None => {
            target.begin_copy(&sqlite, moment, &survey).await?;
            0
        }
    };
    let mut rows = before;
    let mut start = 0;
    for SurveyedTable { table, rows: in_table, .. } in &survey.tables {
        let end = start + in_table;
        if rows < end {
            let mut missing = source.rows(table, moment, rows - start);
            while let Some(batch) = missing.next().await? {
                target.copy(table, &batch, rows).await?;
                rows += batch.rows;
                tracing::info!(table = &*table.name, rows = batch.rows, copied = rows - before, "copied");
            }
        }
        start = end;
    }
    target.finish(moment, &survey).await?;
    target.close().await;
    Ok(CopyReport::new(&survey, rows - before, false))
}
