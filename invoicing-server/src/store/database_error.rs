//! Why a database cannot be opened.

use std::path::PathBuf;

use crate::config::SettingError;

/// Why a database cannot be opened. Hosts see it as [`OpenError`](crate::OpenError).
#[derive(Debug)]
pub(crate) enum DatabaseError {
    /// Another process holds the SQLite file's lock.
    InUse(PathBuf),
    /// The lock file beside the SQLite file cannot be created or locked.
    Lock { path: PathBuf, source: std::io::Error },
    /// A statement or the connection failed.
    Sql(sqlx::Error),
    /// A copy from SQLite has begun and not ended.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is copied into"))]
    Copying,
    /// The PostgreSQL database is not in UTF-8.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite always stores UTF-8"))]
    Encoding(String),
    /// The schema is of a development state before the first release.
    BeforeRelease { found: i64 },
    /// The schema is newer than this code.
    TooNew { found: i64, known: i64 },
    /// The URL cannot be read.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no settings"))]
    Setting(SettingError),
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

#[cfg(feature = "postgres")]
impl From<SettingError> for DatabaseError {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}
