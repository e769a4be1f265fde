//! A statement with its arguments, and its execution on either database.

use futures_util::{FutureExt as _, TryFutureExt as _};
use sqlx::FromRow;
#[cfg(feature = "postgres")]
use sqlx::PgConnection;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

#[cfg(feature = "postgres")]
use super::arguments::PostgresQuery;
use super::arguments::SqliteQuery;
#[cfg(feature = "postgres")]
use super::postgres::Session;
#[cfg(feature = "postgres")]
use super::write::ReadSet;
use crate::error::Error;
use crate::store::versions::{StoredRecord, newer};

/// Counts the calls that lead to the driver, for a test.
fn at_driver() {
    #[cfg(all(test, feature = "console", feature = "postgres", debug_assertions))]
    crate::tests::walks::note();
}

/// A row of either database, by the names of its columns.
pub(crate) trait Row: for<'r> FromRow<'r, SqliteRow> + PostgresRow + Send + Unpin {}
impl<R: for<'r> FromRow<'r, SqliteRow> + PostgresRow + Send + Unpin> Row for R {}

#[cfg(feature = "postgres")]
pub(crate) trait PostgresRow: for<'r> FromRow<'r, sqlx::postgres::PgRow> {}
#[cfg(feature = "postgres")]
impl<R: for<'r> FromRow<'r, sqlx::postgres::PgRow>> PostgresRow for R {}
#[cfg(not(feature = "postgres"))]
pub(crate) trait PostgresRow {}
#[cfg(not(feature = "postgres"))]
impl<R> PostgresRow for R {}

/// A statement on its connection.
///
/// On PostgreSQL the wait for an answer is bounded: a statement that is not answered is given up
/// together with its connection.
pub(crate) enum Query<'c> {
    Sqlite(&'c mut SqliteConnection, SqliteQuery),
    #[cfg(feature = "postgres")]
    Postgres {
        session: &'c mut Session,
        query: PostgresQuery,
        reads: ReadSet,
        is_write: bool,
    },
}

impl Query<'_> {
    /// Executes the statement. Returns the number of rows that it changed.
    pub(crate) async fn execute(self) -> Result<u64, sqlx::Error> {
        match self {
            Self::Sqlite(connection, query) => {
                at_driver();
                Ok(query.execute(connection).await?.rows_affected())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres { session, query, reads, is_write } => {
                session.before(reads, false).await?;
                let run = async move |connection: &mut PgConnection| {
                    at_driver();
                    query.execute(connection).await
                };
                let done = session.ask(run).await?;
                // A write that changed no row leaves nothing to undo.
                session.is_write(is_write && done.rows_affected() > 0);
                Ok(done.rows_affected())
            }
        }
    }

    /// Executes a statement that must change one row.
    pub(crate) async fn change_one(self, table: &'static str) -> Result<(), Error> {
        match self.execute().await? {
            1 => Ok(()),
            changed => Err(Error::internal(format!("table {table}: an update of one row changed {changed}"))),
        }
    }

    /// Executes a statement that replaces the record of one row, unless a newer version wrote it.
    pub(crate) async fn replace_record<T: StoredRecord>(self) -> Result<(), Error> {
        match self.execute().await? {
            0 => Err(newer(T::TABLE)),
            _ => Ok(()),
        }
    }

    pub(crate) async fn fetch_all<R: Row>(self) -> Result<Vec<R>, sqlx::Error> {
        match self {
            Self::Sqlite(connection, query) => {
                at_driver();
                query.try_map(|row| R::from_row(&row)).fetch_all(connection).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres { session, query, reads, is_write } => {
                session.before(reads, is_write).await?;
                let query = query.try_map(|row| R::from_row(&row));
                let run = async move |connection: &mut PgConnection| {
                    at_driver();
                    query.fetch_all(connection).await
                };
                session.ask(run).await
            }
        }
    }

    /// The row of a statement that returns at most one.
    pub(crate) fn fetch_optional<R: Row>(self) -> impl Future<Output = Result<Option<R>, sqlx::Error>> {
        self.fetch_all().map_ok(|mut rows| rows.pop())
    }

    pub(crate) fn fetch_one<R: Row>(self) -> impl Future<Output = Result<R, sqlx::Error>> {
        self.fetch_all().map(|rows| rows?.pop().ok_or(sqlx::Error::RowNotFound))
    }

    /// The only column of each row.
    pub(crate) fn all_scalars<T>(self) -> impl Future<Output = Result<Vec<T>, sqlx::Error>>
    where
        (T,): Row,
    {
        self.fetch_all().map_ok(|rows| rows.into_iter().map(|(value,)| value).collect())
    }

    /// The only column of the row, if there is a row.
    pub(crate) fn optional_scalar<T>(self) -> impl Future<Output = Result<Option<T>, sqlx::Error>>
    where
        (T,): Row,
    {
        self.fetch_all().map_ok(|mut rows| rows.pop().map(|(value,)| value))
    }

    /// The only column of the row.
    pub(crate) fn scalar<T>(self) -> impl Future<Output = Result<T, sqlx::Error>>
    where
        (T,): Row,
    {
        self.fetch_all().map(|rows| rows?.pop().map(|(value,)| value).ok_or(sqlx::Error::RowNotFound))
    }
}
