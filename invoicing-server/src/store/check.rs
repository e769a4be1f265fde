//! The health check of the database.

use super::Store;
use crate::error::Error;

/// The state of the database for [`Invoicing::health`](crate::Invoicing::health).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DatabaseHealth {
    /// The database answers, takes changes, and its schema is that of this version, or a newer one
    /// during an upgrade.
    Reachable,
    /// The database did not answer within 0.8 s, its SQLite file was moved or replaced, or the
    /// service is closed.
    Unreachable,
    /// The database answers, but takes no changes: a standby, or a SQLite file whose writer has
    /// failed.
    ReadOnly,
    /// The schema lacks migrations of this version: an older backup was restored.
    OldSchema,
}

impl DatabaseHealth {
    pub(super) fn of(is_complete: bool, takes_changes: bool) -> Self {
        match (is_complete, takes_changes) {
            (false, _) => Self::OldSchema,
            (true, false) => Self::ReadOnly,
            (true, true) => Self::Reachable,
        }
    }
}

impl Store {
    /// Checks with one statement. A database that is a server has a connection for it that load
    /// does not occupy.
    pub(crate) async fn check(&self) -> Result<DatabaseHealth, Error> {
        match self {
            Self::Sqlite(database) => database.check().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.check().await,
        }
    }
}
