//! A connection to either database, and the statements that run on it.
//!
//! The set of databases is closed, so a connection is an enum and a `match`, not a trait.
//! [`statement`] executes one statement. [`postgres`] is a session on PostgreSQL with the writes
//! that wait in it; [`sqlite`] is a reading connection to a file.

pub(crate) mod arguments;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod prefetch;
mod sql;
mod sqlite;
mod statement;
mod write;

use sqlx::SqliteConnection;

use super::versions::newer;
use super::write_cache::WriteCache;
use crate::error::Error;
pub(crate) use arguments::{Argument, Cell};
#[cfg(feature = "postgres")]
pub(crate) use postgres::Session;
pub(crate) use prefetch::Prefetch;
pub(crate) use sql::Sql;
pub(crate) use sqlite::Reader;
pub(crate) use statement::{Query, Row};
pub(crate) use write::{ReadSet, Write};

/// A connection.
pub(crate) enum Connection {
    /// The only writing connection, with its cache.
    SqliteWriter(SqliteConnection, WriteCache),
    /// A reading connection.
    SqliteReader(Reader),
    /// A connection in a transaction or not, with the cache of the companies that its transaction
    /// has locked.
    #[cfg(feature = "postgres")]
    Postgres(Session, WriteCache),
}

impl Connection {
    /// A connection to PostgreSQL with an empty cache.
    #[cfg(feature = "postgres")]
    pub(super) fn of(session: Session) -> Self {
        Self::Postgres(session, WriteCache::default())
    }

    /// True if other processes write to the database too.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => false,
            #[cfg(feature = "postgres")]
            Self::Postgres(..) => true,
        }
    }

    /// A statement and its arguments: `$1` is the first of them.
    pub(super) fn query(&mut self, statement: impl Into<Sql>, arguments: &[&dyn Argument]) -> Query<'_> {
        self.query_of(ReadSet::Anything, statement, arguments)
    }

    /// As [`Self::query`], for a statement that reads only `reads`.
    pub(super) fn query_of(
        &mut self,
        reads: ReadSet,
        statement: impl Into<Sql>,
        arguments: &[&dyn Argument],
    ) -> Query<'_> {
        self.bind(statement.into(), arguments.iter().copied(), reads)
    }

    /// A write that may wait for the end of the operation, unless an earlier waiting write must be
    /// sent first. `arguments` are at least the company and the id of the record.
    pub(super) async fn write(
        &mut self,
        write: &'static Write,
        arguments: &[&dyn Cell],
    ) -> Result<(), Error> {
        #[cfg(feature = "postgres")]
        if let Self::Postgres(session, _) = self {
            return Ok(session.defer(write, arguments).await?);
        }
        let arguments = arguments.iter().map(|cell| *cell as &dyn Argument);
        let written = self.bind(write.sqlite.into(), arguments, ReadSet::Anything).execute().await?;
        if written == 0 && write.refuses_newer_format { Err(newer(write.table)) } else { Ok(()) }
    }

    pub(super) fn bind<'a>(
        &mut self,
        sql: Sql,
        arguments: impl Iterator<Item = &'a dyn Argument>,
        #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "no write waits on SQLite"))]
        reads: ReadSet,
    ) -> Query<'_> {
        let connection = match self {
            Self::SqliteWriter(connection, _) => connection,
            Self::SqliteReader(reader) => reader.connection(),
            #[cfg(feature = "postgres")]
            Self::Postgres(session, _) => {
                let query =
                    arguments.fold(sqlx::query(sql.postgres), |query, value| value.bind_postgres(query));
                // Any statement but a SELECT may change rows, prefetched ones included.
                let is_write = !sql.postgres.trim_start().starts_with("SELECT");
                if is_write {
                    session.drop_prefetched();
                }
                return Query::Postgres { session, query, reads, is_write };
            }
        };
        let query = arguments.fold(sqlx::query(sql.sqlite), |query, value| value.bind_sqlite(query));
        Query::Sqlite(connection, query)
    }

    /// The cache of the companies that this connection writes for.
    pub(super) fn write_cache(&mut self) -> Option<&mut WriteCache> {
        match self {
            Self::SqliteWriter(_, cache) => Some(cache),
            Self::SqliteReader(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(_, cache) => Some(cache),
        }
    }

    /// Marks the beginning of an operation of a transaction that writes.
    pub(super) fn begin_operation(&mut self) {
        if let Some(cache) = self.write_cache() {
            cache.begin_operation();
        }
        #[cfg(feature = "postgres")]
        if let Self::Postgres(session, _) = self {
            session.begin_operation();
        }
    }

    /// Undoes the present operation without a statement. Returns true if nothing is left of it in
    /// the database; false on SQLite, which has a savepoint for that.
    pub(super) fn roll_back_operation(&mut self) -> bool {
        if let Some(cache) = self.write_cache() {
            cache.roll_back_operation();
        }
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => false,
            #[cfg(feature = "postgres")]
            Self::Postgres(session, _) => session.roll_back_operation(),
        }
    }

    /// Makes the statements up to [`Self::end_transaction`] read one snapshot.
    pub(super) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        match self {
            // The only writer sees no changes but its own.
            Self::SqliteWriter(..) => Ok(()),
            Self::SqliteReader(reader) => reader.begin().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(session, _) => session.begin_snapshot().await,
        }
    }

    /// Ends a transaction that has changed nothing.
    pub(super) async fn end_transaction(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::SqliteWriter(..) => Ok(()),
            Self::SqliteReader(reader) => reader.roll_back().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(session, _) => session.roll_back().await,
        }
    }
}
