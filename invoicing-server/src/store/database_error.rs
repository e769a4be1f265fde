//! The reasons why a database cannot be opened.

use std::path::PathBuf;

use crate::config::SettingError;

/// The reason why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// This SQLite file is open already. It belongs to one process at a time, which opens it once:
    /// an [`Invoicing`](crate::Invoicing) is cloned instead.
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
    /// The path of the SQLite database is not one of a file that can be made.
    #[error("the database {path:?} cannot be opened: {problem}")]
    Path {
        /// The path as it was given.
        path: PathBuf,
        /// The problem of the path.
        problem: String,
    },
    /// The SQLite file is on a file system of a network, such as NFS or SMB. The locks that it
    /// needs do not hold there.
    #[error("the database {} is on a network file system ({kind}): SQLite needs a local disk", path.display())]
    NetworkFileSystem {
        /// The database.
        path: PathBuf,
        /// The type of the file system.
        kind: String,
    },
    /// The SQLite file has several names (hard links). Its write-ahead log lies beside one of them,
    /// so a process that comes by another one would miss changes and damage the database.
    #[error(
        "the database {} has {names} names (hard links): remove all but the one that is used",
        path.display()
    )]
    SeveralNames {
        /// The database.
        path: PathBuf,
        /// Number of the file's names.
        names: u64,
    },
    /// The SQLite file is mounted without its folder, as a container's `-v ./inv.db:/app/inv.db`
    /// does. The write-ahead log would lie outside of the mount, and be lost with the container.
    #[error(
        "the database {} is mounted without its folder, which holds the latest changes: mount the folder {}",
        .0.display(),
        .0.parent().unwrap_or(std::path::Path::new("/")).display()
    )]
    MountedAlone(PathBuf),
    /// The SQLite file cannot have a write-ahead log, as its file system does not support one.
    #[error("the database {} has the journal mode {mode} and needs wal: is it on a local disk?", path.display())]
    JournalMode {
        /// The database.
        path: PathBuf,
        /// The mode of the file.
        mode: String,
    },
    /// SQLite cannot open or read the file.
    #[error("the database {} cannot be opened: {cause}", path.display())]
    File {
        /// The database.
        path: PathBuf,
        /// SQLite's error.
        cause: sqlx::Error,
    },
    /// PostgreSQL cannot be reached, or admits no connection.
    #[error("PostgreSQL at {address} cannot be used: {cause}")]
    Connect {
        /// Host, or folder of the socket, and port.
        address: String,
        /// The cause, and the setting that mends it if known.
        cause: String,
    },
    /// The database cannot be read or migrated. The text holds the cause, so it is no source.
    #[error("the database cannot be opened: {0}")]
    Sql(sqlx::Error),
    /// A copy into this database has begun and not ended. See `copy_to_postgres`.
    #[error("the copy into the database is not complete")]
    Copying,
    /// The PostgreSQL database does not store text in UTF-8, so it cannot hold every name.
    #[error("the database's encoding is {0}, and must be UTF8")]
    Encoding(String),
    /// The database was written by a newer version.
    #[error("the database has schema {found}, this version supports up to {known}")]
    TooNew {
        /// Schema version of the database.
        found: i64,
        /// Newest schema version of this code.
        known: i64,
    },
    /// The database was written by a snapshot of before the first release. No migration leads from it
    /// to a released schema: the service needs a new database.
    #[error("the database has schema {found} of a snapshot before the first release; create a new database")]
    BeforeRelease {
        /// Schema version of the database.
        found: i64,
    },
    /// The URL of the database cannot be read.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}
