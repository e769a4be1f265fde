//! A connection of the pool, within a transaction or not.
//!
//! A transaction is begun in one call with its limits and its row in `commit_status`. A session that is dropped in the middle
//! of one, or in the middle of a statement, closes its connection, which the server answers with a rollback: no other
//! caller ever gets a connection with something left open on it, or waits for an answer that does not come.

use std::io;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Decode, PgConnection, Postgres, Row as _, Type};
use tokio::time::timeout;

/// See the module's text.
pub(crate) struct Session {
    connection: PoolConnection<Postgres>,
    answer_limit: Duration,
    in_transaction: bool,
    /// A statement was sent, and its answer has not come. After the limit this stays set, and the session sends nothing
    /// more.
    is_waiting: bool,
    /// A statement has failed, so that a commit would be a rollback.
    pub(super) failed: bool,
}

impl Session {
    pub(super) fn new(connection: PoolConnection<Postgres>, answer_limit: Duration) -> Self {
        Self { connection, answer_limit, in_transaction: false, is_waiting: false, failed: false }
    }

    /// Sends statements and waits for the answer, but not without end.
    ///
    /// An answer that comes too late must not be taken for the answer to another statement, so the session
    /// sends no other then. After an error the transaction cannot be committed.
    pub(super) async fn ask<T>(
        &mut self,
        statements: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if self.is_waiting {
            // The late answer would be taken for that of this statement.
            return Err(sqlx::Error::PoolClosed);
        }
        self.is_waiting = true;
        let answer = timeout(self.answer_limit, statements(&mut self.connection)).await;
        self.is_waiting = answer.is_err();
        let answer = answer.unwrap_or_else(|_| Err(no_answer()));
        self.failed |= answer.is_err();
        answer
    }

    /// Begins a transaction with statements of our own making; the value that the last one returns.
    pub(super) async fn begin<T>(&mut self, statements: String) -> Result<T, sqlx::Error>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.in_transaction = true;
        let rows = self.run(statements).await?;
        rows.last().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
    }

    /// Begins a transaction that reads what was committed before its first statement.
    pub(super) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT true";
        self.begin::<bool>(begin.to_owned()).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.end("COMMIT").await
    }

    pub(super) async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, statement: &str) -> Result<(), sqlx::Error> {
        self.run(statement.to_owned()).await?;
        self.in_transaction = false;
        Ok(())
    }

    async fn run(&mut self, statements: String) -> Result<Vec<PgRow>, sqlx::Error> {
        self.ask(async move |connection| sqlx::raw_sql(AssertSqlSafe(statements)).fetch_all(connection).await)
            .await
    }
}

/// The error of a statement that is not answered in time.
pub(super) fn no_answer() -> sqlx::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the database does not answer").into()
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.in_transaction || self.is_waiting {
            self.connection.close_on_drop();
        }
    }
}
