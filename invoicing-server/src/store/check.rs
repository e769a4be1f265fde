//! Whether the database can be used now.

use super::Store;
use crate::Error;

/// The database, as far as [`Invoicing::health`](crate::Invoicing::health) asks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum StoreHealth {
    /// It answers, takes changes, and its schema is that of this version, or a newer one during an upgrade.
    Reachable,
    /// It did not answer within 0.8 s, or the service is closed.
    Unreachable,
    /// It answers, but takes no changes: a standby, or a SQLite file whose writer has failed.
    ReadOnly,
    /// Its schema lacks migrations of this version: an older backup was restored.
    OldSchema,
}

impl StoreHealth {
    pub(super) fn of(is_complete: bool, takes_changes: bool) -> Self {
        match (is_complete, takes_changes) {
            (false, _) => Self::OldSchema,
            (true, false) => Self::ReadOnly,
            (true, true) => Self::Reachable,
        }
    }
}

impl Store {
    /// One statement, on a connection that load does not occupy where the database is a server.
    pub(crate) async fn check(&self) -> Result<StoreHealth, Error> {
        match self {
            Self::Sqlite(database) => database.check().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.check().await,
        }
    }
}
