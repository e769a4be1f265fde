//! Errors of a copy that cannot be made, or cannot be trusted.

use std::path::PathBuf;

use crate::store::DatabaseError;

/// The reason why a database was not copied. Unless noted otherwise, the rows that were copied
/// stay, and the same call continues behind them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There is no such file.
    #[error("there is no database {}", .0.display())]
    NoSource(PathBuf),
    /// The SQLite database cannot be had for this process alone: a service has it open, for
    /// instance.
    #[error("the SQLite database cannot be copied")]
    Locked(#[source] DatabaseError),
    /// The SQLite database cannot be read.
    #[error("the SQLite database cannot be read")]
    Source(#[source] sqlx::Error),
    /// The SQLite database has another schema than the one that this version copies.
    #[error(
        "the SQLite database has schema {found}, this version copies schema {known}: open it once with this version"
    )]
    Schema {
        /// Schema version of the file; 0 if it is no database of the service.
        found: i64,
        /// The schema version that this code copies.
        known: i64,
    },
    /// A table of the SQLite database that PostgreSQL does not have in the same form, such as one of
    /// the host's own: move it out of the file first. Nothing was changed.
    #[error("table {table} cannot be copied: {cause}")]
    Unmatched {
        /// The table.
        table: String,
        /// The difference.
        cause: String,
    },
    /// A value that PostgreSQL cannot hold. Nothing was copied.
    #[error("table {table}, column {column}, row {key}: {cause}")]
    Value {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row's key as a JSON array.
        key: String,
        /// The fault of the value.
        cause: String,
    },
    /// The PostgreSQL database cannot be reached, or brought up to the schema of this version.
    #[error("the PostgreSQL database cannot be prepared")]
    Target(#[source] DatabaseError),
    /// PostgreSQL has failed, or did not answer. The same call continues the copy.
    #[error("PostgreSQL failed or did not answer; the same call continues the copy")]
    Postgres(#[from] sqlx::Error),
    /// The PostgreSQL database has records that are not of a copy of this source: at least one in
    /// this table. A copy needs a database that no service was opened on yet. Nothing was changed.
    #[error("the PostgreSQL database is not empty: table {0} has rows")]
    NotEmpty(String),
    /// A copy was begun or finished there, of another database, or of this one before it was
    /// changed. Nothing was changed; to begin anew, empty the PostgreSQL database.
    #[error(
        "the PostgreSQL database has a copy of something else, or of this database before it was changed: to begin \
         anew, empty it"
    )]
    OtherSource,
    /// Another copy into the same database was faster with the next rows.
    #[error("another copy into the same PostgreSQL database is running")]
    AnotherCopy,
    /// The two databases do not hold the same in this table: the copy was changed. No service opens
    /// it; to begin anew, empty the PostgreSQL database.
    #[error(
        "the copy of table {table} is not what the SQLite database holds ({found} rows, expected {expected}): to begin \
         anew, empty the PostgreSQL database"
    )]
    Differs {
        /// The table.
        table: String,
        /// Rows in PostgreSQL.
        found: u64,
        /// Rows in SQLite. If the numbers are the same, the rows differ.
        expected: u64,
    },
}
