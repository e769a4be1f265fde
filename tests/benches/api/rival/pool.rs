//! The rival's database: as ours, a file or a server.

use std::sync::Arc;

use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};
use tempfile::TempDir;

use super::rows::{ON_POSTGRES, ON_SQLITE};
use crate::Data;

/// A pool of connections, as many as ours has.
#[derive(Clone)]
pub(super) enum Pool {
    Sqlite(SqlitePool, #[expect(dead_code, reason = "the file is there as long as the pool")] Arc<TempDir>),
    Postgres(PgPool),
}

/// A transaction.
pub(super) enum Connection {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// Runs a query on a pool: `on!(pool, |pool| query.fetch_one(pool))`.
macro_rules! on {
    ($on:expr, |$pool:ident| $run:expr) => {
        match $on {
            $crate::rival::pool::Pool::Sqlite($pool, _) => $run.await,
            $crate::rival::pool::Pool::Postgres($pool) => $run.await,
        }
    };
}

/// The same within a transaction.
macro_rules! on_connection {
    ($on:expr, |$connection:ident| $run:expr) => {
        match $on {
            $crate::rival::pool::Connection::Sqlite(tx) => {
                let $connection = &mut **tx;
                $run.await.map(drop)
            }
            $crate::rival::pool::Connection::Postgres(tx) => {
                let $connection = &mut **tx;
                $run.await.map(drop)
            }
        }
    };
}

pub(super) use {on, on_connection};

impl Pool {
    /// On an empty database of the same server as ours, or on a file of its own.
    pub(super) async fn open(data: &Data) -> Self {
        if let Some(url) = &data.url_of_rival {
            let pool = PgPoolOptions::new().max_connections(10).connect(url).await.expect("a pool");
            sqlx::raw_sql(ON_POSTGRES).execute(&pool).await.expect("the tables");
            return Self::Postgres(pool);
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("rival.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal);
        let pool = SqlitePoolOptions::new().connect_with(options).await.expect("a pool");
        sqlx::raw_sql(ON_SQLITE).execute(&pool).await.expect("the tables");
        Self::Sqlite(pool, Arc::new(folder))
    }

    pub(super) async fn begin(&self) -> Result<Connection, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool, _) => Connection::Sqlite(pool.begin().await?),
            Self::Postgres(pool) => Connection::Postgres(pool.begin().await?),
        })
    }
}

impl Connection {
    pub(super) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        }
    }
}
