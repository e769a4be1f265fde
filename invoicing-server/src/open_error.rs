//! Why [`Builder::open`](crate::Builder::open) fails: the errors of every part that it composes.

use std::path::PathBuf;

use crate::Error;
use crate::config::SettingError;
use crate::documents::StorageSetupError;
use crate::sealing::SealingError;

/// Why the service cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has this database open. A SQLite file belongs to one process at a time.
    #[error("another process has {} open", .0.display())]
    InUse(PathBuf),
    /// The lock file beside the database cannot be created or locked.
    #[error("the lock file {} cannot be used", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The database cannot be opened or migrated.
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
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
    /// The service's own settings in the database cannot be read or written.
    #[error("the service cannot start")]
    Start(#[source] Error),
    /// The folder for documents beside the database cannot be used.
    #[error("the document store cannot be opened")]
    Documents(#[source] StorageSetupError),
    /// The sealing keys are not those that the database needs.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The webhook client cannot be set up.
    #[error("the webhook client cannot be set up")]
    Transport(#[from] TransportError),
    /// A setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Why the HTTP client that delivers webhooks cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A root certificate is not a certificate that can be trusted.
    #[error("a root certificate cannot be used")]
    RootCertificate(#[source] rustls::Error),
    /// No certificate authority of the operating system can be read. The log has the reasons. (Only with the feature
    /// `platform-roots`.)
    #[error("the operating system has no certificate authorities")]
    PlatformRoots,
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}
