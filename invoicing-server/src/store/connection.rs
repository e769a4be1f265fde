//! A connection to either database, and how one statement is run on both.
//!
//! A statement is written once, with `$1…$n`, wherever both databases understand it; where they do not, [`Sql`] holds
//! the two forms side by side. The set of databases is closed, so this is an enum and a `match`, not a trait.

#[cfg(feature = "postgres")]
use std::time::Duration;

use invoicing_core::CompanyId;
use sqlx::{Sqlite, SqliteConnection, pool::PoolConnection};

#[cfg(feature = "postgres")]
use super::session::Session;
use super::write_cache::WriteCache;
use crate::Error;

/// Runs a query on a connection to either database: `query!(connection, |c| query.fetch_one(c))`, or with the dialect,
/// `query!(connection, |c, dialect| query(STATEMENT.of(dialect)).fetch_one(c))`. On PostgreSQL no statement is waited for
/// without end: what does not answer is given up together with its connection.
macro_rules! query {
    ($connection:expr, |$c:ident| $run:expr) => {
        $crate::store::connection::query!($connection, |$c, _dialect| $run)
    };
    ($connection:expr, |$c:ident, $dialect:ident| $run:expr) => {{
        let connection: &mut $crate::store::connection::Connection = $connection;
        #[cfg(feature = "postgres")]
        let limit = connection.asks();
        match connection.on() {
            $crate::store::connection::On::Sqlite($c) => {
                let $dialect = $crate::store::connection::Dialect::Sqlite;
                $run.await
            }
            #[cfg(feature = "postgres")]
            $crate::store::connection::On::Postgres($c) => {
                let $dialect = $crate::store::connection::Dialect::Postgres;
                let answered = tokio::time::timeout(limit, $run).await;
                let answer = answered.unwrap_or_else(|_| Err(connection.given_up()));
                connection.answered(answer.is_ok());
                answer
            }
        }
    }};
}

/// As [`query!`] for a statement that only PostgreSQL understands.
#[cfg(feature = "postgres")]
macro_rules! query_postgres {
    ($connection:expr, |$c:ident| $run:expr) => {{
        let connection: &mut $crate::store::connection::Connection = $connection;
        let limit = connection.asks();
        match connection.on() {
            $crate::store::connection::On::Sqlite(_) => {
                return Err($crate::Error::internal("a statement for PostgreSQL reached SQLite"));
            }
            $crate::store::connection::On::Postgres($c) => {
                let answered = tokio::time::timeout(limit, $run).await;
                let answer = answered.unwrap_or_else(|_| Err(connection.given_up()));
                connection.answered(answer.is_ok());
                answer
            }
        }
    }};
}

/// As [`query!`] for a query that ends in `execute`; how many rows it changed.
macro_rules! execute {
    ($connection:expr, |$c:ident| $run:expr) => {
        $crate::store::connection::execute!($connection, |$c, _dialect| $run)
    };
    ($connection:expr, |$c:ident, $dialect:ident| $run:expr) => {
        $crate::store::connection::query!($connection, |$c, $dialect| futures_util::TryFutureExt::map_ok(
            $run,
            |done| done.rows_affected()
        ))
    };
}

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

/// What a statement runs on.
pub(super) enum On<'c> {
    Sqlite(&'c mut SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(&'c mut sqlx::PgConnection),
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

    /// For statements that only SQLite understands.
    pub(crate) fn sqlite(&mut self) -> Result<&mut SqliteConnection, Error> {
        match self.on() {
            On::Sqlite(connection) => Ok(connection),
            #[cfg(feature = "postgres")]
            On::Postgres(_) => Err(Error::internal("a statement for SQLite reached PostgreSQL")),
        }
    }

    /// The connection is not to be used again.
    #[cfg(feature = "postgres")]
    pub(super) fn abandon(&mut self) {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => {}
            Self::Postgres(session) => session.abandon(),
        }
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

    /// To be called when the settings or the webhooks of a company are written.
    pub(super) fn forget(&mut self, company: CompanyId) {
        if let Some(cache) = self.write_cache() {
            cache.forget(company);
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

    /// Gives up waiting for an answer. What comes later must not be taken for the answer to something else, so the
    /// connection is of no use any more.
    #[cfg(feature = "postgres")]
    pub(super) fn given_up(&mut self) -> sqlx::Error {
        self.abandon();
        std::io::Error::new(std::io::ErrorKind::TimedOut, "the database does not answer").into()
    }

    /// To be called before a statement is sent; how long its answer is waited for. What does not answer in that time is
    /// given up together with its connection.
    #[cfg(feature = "postgres")]
    pub(super) fn asks(&mut self) -> Duration {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => Duration::MAX,
            Self::Postgres(session) => session.asks(),
        }
    }

    /// To be called with its answer: after an error the transaction cannot be committed any more.
    #[cfg(feature = "postgres")]
    pub(super) fn answered(&mut self, well: bool) {
        match self {
            Self::SqliteWriter(..) | Self::SqliteReader(_) => {}
            Self::Postgres(session) => session.answered(well),
        }
    }

    /// Locks what the service keeps about itself against other transactions, until the end of this one. It is the first
    /// thing that a service does in a database, so a copy into it, which begins under the same lock, is noticed here.
    pub(super) async fn lock_service(&mut self) -> Result<(), Error> {
        #[cfg(feature = "postgres")]
        if self.is_shared() {
            use super::locks::{COPY, SERVICE_LOCK, TABLE_EXISTS};
            execute!(self, |c| sqlx::query("SELECT pg_advisory_xact_lock($1)")
                .bind(SERVICE_LOCK)
                .execute(c))?;
            if query!(self, |c| sqlx::query_scalar(TABLE_EXISTS).bind(COPY).fetch_one(c))? {
                return Err(Error::unavailable("the database is being copied into"));
            }
        }
        Ok(())
    }

    pub(super) fn on(&mut self) -> On<'_> {
        match self {
            Self::SqliteWriter(connection, _) => On::Sqlite(connection),
            Self::SqliteReader(connection) => On::Sqlite(connection),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => On::Postgres(session.connection()),
        }
    }
}

/// Which form of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Dialect {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

/// A statement that the databases spell differently.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub(super) sqlite: &'static str,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the form of a database that is left out")
    )]
    pub(super) postgres: &'static str,
}

impl Sql {
    /// A statement that both databases understand.
    pub(super) const fn same(statement: &'static str) -> Self {
        Self { sqlite: statement, postgres: statement }
    }

    pub(super) const fn of(self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            #[cfg(feature = "postgres")]
            Dialect::Postgres => self.postgres,
        }
    }
}

#[cfg(feature = "postgres")]
pub(super) use query_postgres;
pub(super) use {execute, query};
