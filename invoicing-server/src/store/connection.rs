//! A connection to either database. The set of databases is closed, so this is an enum and a `match`, not a trait.

use sqlx::SqliteConnection;

use super::arguments::Argument;
use super::query::{Query, Sql};
use super::reader::Reader;
#[cfg(feature = "postgres")]
use super::session::Session;
use super::write_cache::WriteCache;

/// A connection.
pub(crate) enum Connection {
    /// The one that writes, and what it remembers.
    SqliteWriter(SqliteConnection, WriteCache),
    /// One of those that read.
    SqliteReader(Reader),
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
            Self::SqliteReader(reader) => reader.connection(),
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

    /// Lets the statements up to [`Self::end_transaction`] read one snapshot.
    pub(super) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        match self {
            // It sees nothing but its own changes.
            Self::SqliteWriter(..) => Ok(()),
            Self::SqliteReader(reader) => reader.begin().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.begin_snapshot().await,
        }
    }

    /// Ends a transaction that has changed nothing.
    pub(super) async fn end_transaction(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::SqliteWriter(..) => Ok(()),
            Self::SqliteReader(reader) => reader.roll_back().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.roll_back().await,
        }
    }
}
