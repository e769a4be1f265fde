//! A session on PostgreSQL: a connection of the pool, within a transaction or not.
//!
//! One call begins a transaction with its limits and its row in `commit_status`. A session that is
//! dropped in the middle of a transaction or of a statement closes its connection, which the server
//! answers with a rollback. So no other caller ever gets a connection with an open transaction, or
//! waits for an answer that does not come.

pub(crate) mod locks;
mod rows;

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use invoicing_core::CompanyId;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Decode, PgConnection, Postgres, Row as _, Type};
use tokio::time::timeout;
use uuid::Uuid;

use super::arguments::Cell;
use super::prefetch::Find;
use super::write::{ReadSet, Write};
use crate::error::Error;
use crate::store::versions::newer;
use rows::{Rows, id_of};

/// A PostgreSQL connection of the pool, with its transaction and the writes that are not sent yet.
pub(crate) struct Session {
    connection: PoolConnection<Postgres>,
    answer_limit: Duration,
    in_transaction: bool,
    /// True while a statement was sent and its answer has not come. It stays true after the limit,
    /// and the session sends nothing more.
    is_waiting: bool,
    /// True if a statement has failed, so that a commit would be a rollback.
    pub(crate) failed: bool,
    writes: Writes,
    /// The rows that were prefetched with the beginning of the transaction, without those that it
    /// has changed.
    prefetched: Prefetched,
}

/// Prefetched rows by the name of their part, their company and their id.
pub(crate) type Prefetched = HashMap<(String, CompanyId, Uuid), PgRow>;

/// The writes of a transaction.
#[derive(Default)]
struct Writes {
    /// Rows that are not sent yet.
    waiting: Rows,
    /// A table with a record that was not replaced, as a newer version wrote it.
    outdated: Option<&'static str>,
    /// True if the current operation has executed a write, which only a rollback undoes.
    is_write: bool,
}

impl Session {
    pub(crate) fn new(connection: PoolConnection<Postgres>, answer_limit: Duration) -> Self {
        Self {
            connection,
            answer_limit,
            in_transaction: false,
            is_waiting: false,
            failed: false,
            writes: Writes::default(),
            prefetched: Prefetched::new(),
        }
    }

    /// True if another transaction can begin on the session.
    pub(crate) fn is_free(&self) -> bool {
        !self.in_transaction && !self.is_waiting
    }

    /// Sends statements and waits for the answer, for at most `answer_limit`.
    ///
    /// A late answer must not be taken for the answer to another statement, so the session sends no
    /// other statement after the limit. After an error the transaction cannot be committed.
    pub(crate) async fn ask<T>(
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

    /// Must be called before a statement. Sends the waiting writes if the statement may read their
    /// rows.
    pub(crate) async fn before(&mut self, reads: ReadSet, is_write: bool) -> Result<(), sqlx::Error> {
        if self.writes.waiting.concern(reads) {
            self.send_deferred().await?;
        }
        self.is_write(is_write);
        Ok(())
    }

    /// Records that a statement has changed rows, if it has.
    pub(crate) fn is_write(&mut self, is_write: bool) {
        self.writes.is_write |= is_write;
    }

    /// Makes a write wait. If no row can wait beside the present ones, they are sent first.
    pub(crate) async fn defer(
        &mut self,
        write: &'static Write,
        cells: &[&dyn Cell],
    ) -> Result<(), sqlx::Error> {
        if !self.writes.waiting.have_room_for(write, cells) {
            self.send_deferred().await?;
        }
        self.writes.waiting.push(write, cells);
        // The prefetched row of the same record is outdated from now on.
        let written = id_of(cells);
        self.prefetched.retain(|(_, _, id), _| Some(*id) != written);
        Ok(())
    }

    /// Keeps the prefetched rows.
    pub(crate) fn keep_prefetched(&mut self, rows: Prefetched) {
        self.prefetched = rows;
    }

    /// Drops the prefetched rows, before a statement that may change them.
    pub(crate) fn drop_prefetched(&mut self) {
        self.prefetched.clear();
    }

    /// The row of a record, if it was prefetched.
    pub(crate) fn prefetched(&self, find: &'static Find, company: CompanyId, id: Uuid) -> Option<&PgRow> {
        self.prefetched.get(&(find.part.to_owned(), company, id))
    }

    /// Sends the waiting writes.
    pub(crate) async fn send_deferred(&mut self) -> Result<(), sqlx::Error> {
        // Once sent, the rows of the present operation can be undone by a rollback only.
        self.writes.is_write |= self.writes.waiting.has_own();
        for batch in self.writes.waiting.take() {
            let query = batch.query();
            let done = self.ask(async move |connection| query.execute(connection).await).await?;
            self.writes.outdated = self.writes.outdated.or(batch.outdated(done.rows_affected()));
        }
        Ok(())
    }

    /// Sends the waiting writes, at the end of a transaction.
    ///
    /// # Errors
    /// If the transaction must not be committed.
    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        self.send_deferred().await?;
        match self.writes.outdated {
            _ if self.failed => Err(Error::internal("an operation continued after a statement had failed")),
            Some(table) => Err(newer(table)),
            None => Ok(()),
        }
    }

    pub(crate) fn begin_operation(&mut self) {
        self.writes.waiting.begin_operation();
        self.writes.is_write = false;
    }

    /// Undoes the present operation, if that takes no statement. Returns true if it is undone.
    pub(crate) fn roll_back_operation(&mut self) -> bool {
        self.writes.waiting.roll_back_operation();
        // After a failed or unanswered statement only a rollback of the transaction helps.
        !self.writes.is_write && !self.failed && !self.is_waiting
    }

    /// Begins a transaction with statements that this crate has built. Returns their rows.
    pub(crate) async fn begin(&mut self, statements: String) -> Result<Vec<PgRow>, sqlx::Error> {
        (self.in_transaction, self.failed) = (true, false);
        (self.writes, self.prefetched) = (Writes::default(), Prefetched::new());
        self.run(statements).await
    }

    /// As [`Self::begin`]. Returns the value of the only row.
    pub(crate) async fn begin_with<T>(&mut self, statements: String) -> Result<T, sqlx::Error>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        let rows = self.begin(statements).await?;
        rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
    }

    /// Begins a transaction that reads one snapshot, taken by its first statement, unless one is
    /// open.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        if self.in_transaction {
            return Ok(());
        }
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT true";
        self.begin(begin.to_owned()).await.map(drop)
    }

    pub(crate) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.end("COMMIT").await
    }

    /// Ends the transaction, if one is open.
    pub(crate) async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        if !self.in_transaction {
            return Ok(());
        }
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, statement: &str) -> Result<(), sqlx::Error> {
        self.run(statement.to_owned()).await?;
        self.in_transaction = false;
        Ok(())
    }

    async fn run(&mut self, statements: String) -> Result<Vec<PgRow>, sqlx::Error> {
        let statements = sqlx::raw_sql(AssertSqlSafe(statements));
        self.ask(async move |connection| statements.fetch_all(connection).await).await
    }
}

/// The error of a statement that is not answered in time.
pub(crate) fn no_answer() -> sqlx::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the database does not answer").into()
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.in_transaction || self.is_waiting {
            self.connection.close_on_drop();
        }
    }
}
