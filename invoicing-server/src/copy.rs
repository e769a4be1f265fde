//! Moving a host from SQLite to PostgreSQL: everything in the file is copied into an empty database, checked by counts
//! and hashes, and only then can a service open it.
//!
//! The source is read only, under the service's own lock, as one snapshot. It is read twice: first all of it, to learn
//! whether PostgreSQL can hold it and what the copy has to be; then table by table in batches, each of them a
//! transaction that also counts the rows so far. After any interruption the same call goes on there. The first reading
//! also tells whether what was begun is a copy of this source.
//!
//! Documents are not in the database, and stay where they are.

mod binary;
mod error;
mod quota;
mod source;
mod tables;
mod target;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::PostgresSettings;
use crate::env::Env;
pub use error::CopyError;
use source::{Source, Survey};
use tables::TABLES;
use target::{Earlier, Target};

/// When a copy was begun, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// By the clock of this machine.
    at: i64,
    /// How far the clock of the database is ahead of it.
    ahead: i64,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyReport {
    /// The tables and how many rows each has, in both databases.
    pub tables: Vec<(&'static str, u64)>,
    /// SHA-256 over what the tables hold, 64 lowercase hex digits.
    pub sha256: String,
    /// Rows that this call has copied: fewer than there are where it went on with an earlier copy.
    pub copied: u64,
    /// Whether an earlier call had finished the copy already: then this one has changed nothing.
    pub was_complete: bool,
}

impl CopyReport {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    fn new(survey: &Survey, copied: u64, was_complete: bool) -> Self {
        let tables =
            TABLES.iter().zip(&survey.tables).map(|(table, (rows, _))| (table.name, *rows)).collect();
        Self { tables, sha256: hex::encode(survey.fingerprint()), copied, was_complete }
    }
}

/// Copies the SQLite database `from` into the empty PostgreSQL database `to`.
///
/// The service must not have the file open, and must not be opened on it again: the copy is where it goes on, with the
/// same keys, links, numbers, secrets and quotas, and what was to be delivered is. What was frozen stays in the document
/// store: give the service on PostgreSQL the same one ([`Builder::document_store`](crate::Builder::document_store)),
/// which on SQLite is the folder `<database>.documents` if none was given. It needs the same sealing keys, too.
///
/// Broken off at any point, also by the death of the process, the same call goes on where the last one was. Called again
/// after it has finished, it says so and changes nothing. Until it has finished, no service opens the PostgreSQL database.
/// At the end the counts and the SHA-256 of all rows of both databases are compared. The file stays as it is.
///
/// To be called on the machine where the service was running: the quotas are carried over from its clock to that of the
/// database.
///
/// # Errors
/// [`CopyError`]; each tells what to do.
pub async fn copy_to_postgres(from: &Path, to: &PostgresSettings) -> Result<CopyReport, CopyError> {
    let mut source = Source::open(from).await?;
    let mut target = Target::connect(to).await?;
    let earlier = target.earlier_copy().await?;
    let moment = match &earlier {
        Some(earlier) => earlier.moment,
        None => target.moment(&Env::system()).await?,
    };
    let survey = source.survey(moment).await?;
    let before = match earlier {
        Some(earlier) if earlier.source != survey.fingerprint() => return Err(CopyError::OtherSource),
        Some(Earlier { rows: None, .. }) => return Ok(CopyReport::new(&survey, 0, true)),
        Some(Earlier { rows: Some(rows), .. }) => rows,
        None => {
            target.begin_copy(moment, &survey).await?;
            0
        }
    };
    let mut rows = before;
    let mut start = 0;
    for (table, (in_table, _)) in TABLES.iter().zip(&survey.tables) {
        let end = start + in_table;
        if rows < end {
            let mut missing = source.rows(table, moment, rows - start);
            while let Some(batch) = missing.next().await? {
                target.copy(table, &batch, rows).await?;
                rows += batch.rows;
                tracing::info!(table = table.name, rows = batch.rows, copied = rows - before, "copied");
            }
        }
        start = end;
    }
    target.finish(moment, &survey).await?;
    target.close().await;
    Ok(CopyReport::new(&survey, rows - before, false))
}
