//! A connection to either database. The set of databases is closed, so this is an enum and a `match`, not a trait.

use sqlx::{Sqlite, SqliteConnection, pool::PoolConnection};

use super::arguments::Argument;
use super::query::{Query, Sql};
#[cfg(feature = "postgres")]
use super::session::Session;
use super::write_cache::WriteCache;

/// A connection.
pub(crate) enum Connection {
    /// The one that writes, and what it remembers.
    SqliteWriter(SqliteConnection, WriteCache),
    /// One of those that read.
    SqliteReader(PoolConnection<Sqlite>),
    /// In a transaction or not.
    #[cfg(feature = "postgres")]
    Postgres(Session),
}

impl Connection {
    /// Whether other processes write to the database too.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => false,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
        }
    }

    /// A statement and its arguments: `$1` is the first of them.
    pub(super) fn query(&mut self, statement: impl Into<Sql>, arguments: &[&dyn Argument]) -> Query<'_> {
        self.bind(statement.into(), arguments.iter().copied())
    }

    pub(super) fn bind<'a>(
        &mut self,
        sql: Sql,
        arguments: impl Iterator<Item = &'a dyn Argument>,
    ) -> Query<'_> {
        let connection = match self {
            Self::SqliteWriter(connection, _) => connection,
            Self::SqliteReader(connection) => &mut **connection,
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => {
                let query =
                    arguments.fold(sqlx::query(sql.postgres), |query, value| value.bind_postgres(query));
                return Query::Postgres(session, query);
            }
        };
        let query = arguments.fold(sqlx::query(sql.sqlite), |query, value| value.bind_sqlite(query));
        Query::Sqlite(connection, query)
    }

    /// What this connection remembers of the companies that it writes for.
    pub(super) fn write_cache(&mut self) -> Option<&mut WriteCache> {
        match self {
            Self::SqliteWriter(_, cache) => Some(cache),
            Self::SqliteReader(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Ends a transaction that has changed nothing.
    pub(super) async fn end_transaction(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.roll_back().await,
        }
    }
}
