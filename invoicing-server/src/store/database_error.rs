//! Why a database cannot be opened.

use std::path::PathBuf;

use crate::config::SettingError;

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// This SQLite file is open already. It belongs to one process at a time, which opens it once: an
    /// [`Invoicing`](crate::Invoicing) is cloned instead.
    #[error("{} is open already, in another process or in this one", .0.display())]
    InUse(PathBuf),
    /// The lock file beside the database cannot be created or locked.
    #[error("the lock file {} cannot be used", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The database cannot be reached, read or migrated.
    #[error("the database cannot be opened")]
    Sql(#[from] sqlx::Error),
    /// A copy into this database has begun and not ended. See `copy_to_postgres`.
    #[error("the database is being copied into, and the copy is not complete")]
    Copying,
    /// The PostgreSQL database does not store text in UTF-8, so it cannot hold every name.
    #[error("the database's encoding is {0}, and must be UTF8")]
    Encoding(String),
    /// The database was written by a newer version.
    #[error("the database has schema {found}, this version knows up to {known}")]
    TooNew {
        /// Schema version of the database.
        found: i64,
        /// Newest schema version that this code knows.
        known: i64,
    },
    /// The database was written by a development state before the first release. No migration leads from it to a
    /// released schema: the service needs a new database.
    #[error(
        "the database has schema {found} of a development state before the first release; create a new database"
    )]
    BeforeRelease {
        /// Schema version of the database.
        found: i64,
    },
    /// The URL of the database cannot be read.
    #[error(transparent)]
    Setting(#[from] SettingError),
}
