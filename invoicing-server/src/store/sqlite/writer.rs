//! The connection that writes: only one, as a SQLite file has one writer at a time.

use std::sync::Arc;

use sqlx::{Connection as _, SqlitePool};

use super::DatabaseLock;
use crate::error::Error;
use crate::store::call::{Group, answer_all, shared_error};
use crate::store::connection::Connection;
use crate::store::group_commit::{Executed, Failure, Transactions, attempt};
use crate::store::tx::Tx;

/// Begins a transaction and the savepoint of its first call. Undoing a call rolls back to its
/// savepoint; COMMIT releases it.
const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT operation";
const NEXT: &str = "RELEASE operation; SAVEPOINT operation";
const UNDO: &str = "ROLLBACK TO operation";

/// Transactions in a row that fail before the remaining calls are answered with the last error: on
/// a full disk, each of them would fail after another sync.
const FAILURES: usize = 2;

/// The writer of a file, with the lock of the database, which it holds until it has closed all
/// connections.
pub(super) struct Writer {
    tx: Tx,
    /// True if the present savepoint is the one of the next call, so that it needs no new one.
    is_at_savepoint: bool,
    readers: SqlitePool,
    lock: DatabaseLock,
}

impl Writer {
    pub(super) fn new(tx: Tx, readers: SqlitePool, lock: DatabaseLock) -> Self {
        Self { tx, is_at_savepoint: false, readers, lock }
    }

    /// Runs a statement that begins or ends a transaction or a savepoint.
    async fn control(&mut self, statement: &'static str) -> Result<(), Error> {
        self.tx.connection().query(statement, &[]).execute().await?;
        Ok(())
    }
}

impl Transactions for Writer {
    async fn begin(&mut self, _calls: &mut Group) -> Result<(), Failure> {
        self.is_at_savepoint = true;
        let begun = match self.lock.file().check_in_place() {
            Ok(()) => self.control(BEGIN).await,
            moved => moved,
        };
        begun.map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "transaction not begun; its operations fail"
            );
            Failure::Final(error)
        })
    }

    fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    fn takes_more(&self) -> bool {
        true
    }

    async fn mark(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_at_savepoint) {
            self.control(NEXT).await?;
        }
        Ok(())
    }

    async fn undo(&mut self) -> bool {
        self.is_at_savepoint = true;
        self.control(UNDO).await.is_ok()
    }

    async fn commit(&mut self, ran: Executed) -> Result<(), (Group, Failure)> {
        let timer = self.tx.env().metrics().start();
        let committed = self.control("COMMIT").await;
        self.tx.env().metrics().committed(timer);
        if let Err(error) = committed {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "transaction not committed; its changes are rolled back"
            );
            self.roll_back().await;
            return Err((ran.into_calls(), Failure::Permanent(error)));
        }
        // There is no other node to notify, and the start of a dispatcher releases the claims of an
        // earlier one.
        drop(self.tx.committed());
        ran.answer();
        Ok(())
    }

    async fn end_without_changes(&mut self) -> Result<(), Error> {
        self.control("ROLLBACK").await
    }

    async fn roll_back(&mut self) {
        // A failure means that SQLite has rolled back by itself, which is as good.
        let _ = self.control("ROLLBACK").await;
        self.tx.rolled_back();
    }

    /// No failure is transient: no other process has the file.
    fn classify(&self, error: Error) -> Failure {
        Failure::Permanent(error)
    }

    async fn run_apart(&mut self, calls: Group, error: Error) {
        let operations = calls.len();
        tracing::error!(
            error = &error as &dyn std::error::Error,
            operations,
            "transaction failed; its operations run again one by one"
        );
        let (mut failures, mut last) = (0, Arc::new(error));
        for call in calls {
            if failures == FAILURES {
                call.answer(Err(shared_error(&last)));
                continue;
            }
            failures += 1;
            match attempt(self, vec![call], None).await {
                Ok(_answered) => failures = 0,
                Err((calls, failure)) => {
                    last = Arc::new(failure.into_error());
                    answer_all(calls, shared_error(&last));
                }
            }
        }
    }

    async fn close(self) {
        if let Connection::SqliteWriter(connection, _) = self.tx.into_connection()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "database not closed cleanly; committed changes are kept");
        }
        self.readers.close().await;
        drop(self.lock);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use sqlx::SqliteConnection;

    use super::*;
    use crate::config::DispatchSettings;
    use crate::env::Env;
    use crate::queue::Queue;
    use crate::store::group_commit::{GROUP, GroupCommit};
    use crate::store::sqlite::lock;
    use crate::store::tx::StoreContext;
    use crate::store::write_cache::WriteCache;

    /// Only the commit refuses a child without its parent.
    const SCHEMA: &str = "
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE child (id INTEGER PRIMARY KEY REFERENCES parent DEFERRABLE INITIALLY DEFERRED)";
    const PARENT: &str = "INSERT INTO parent DEFAULT VALUES";
    const ORPHAN: &str = "INSERT INTO child VALUES (1000)";

    /// A writer, and the folder of the file that it holds.
    async fn writer() -> (GroupCommit, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(&folder.path().join("invoicing.db")).await.unwrap();
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(SCHEMA).execute(&mut connection).await.unwrap();
        let env = Env::system();
        let queue = Arc::new(Queue::new(&env, &DispatchSettings::default()));
        let connection = Connection::SqliteWriter(connection, WriteCache::default());
        let tx = Tx::new(connection, StoreContext::new(env, queue), 1..i64::MAX);
        let readers = SqlitePool::connect_lazy("sqlite::memory:").unwrap();
        (GroupCommit::start([Writer::new(tx, readers, lock)]), folder)
    }

    async fn insert(
        writer: &GroupCommit,
        statement: &'static str,
        runs: &Arc<AtomicUsize>,
    ) -> Result<(), Error> {
        let runs = Arc::clone(runs);
        let insert = writer.run(None, Vec::new(), move |tx| {
            Box::pin(async move {
                runs.fetch_add(1, Ordering::Relaxed);
                tx.connection().query(statement, &[]).execute().await?;
                Ok(())
            })
        });
        insert.await
    }

    #[tokio::test]
    async fn a_group_that_fails_commits_its_good_calls() {
        let ((writer, _folder), runs) = (&writer().await, &Arc::default());
        let statements = [PARENT, ORPHAN, PARENT, ORPHAN, PARENT];
        let inserted = join_all(statements.map(|statement| insert(writer, statement, runs))).await;
        let is_ok: Vec<bool> = inserted.iter().map(Result::is_ok).collect();
        assert_eq!(is_ok, statements.map(|statement| statement == PARENT));
        assert_eq!(runs.load(Ordering::Relaxed), 2 * statements.len(), "together, then each by itself");
        let count = writer.run(None, Vec::new(), |tx| {
            Box::pin(async move {
                let count: i64 = tx.connection().query("SELECT count(*) FROM parent", &[]).scalar().await?;
                Ok(count)
            })
        });
        assert_eq!(count.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn when_every_commit_fails_few_are_tried() {
        let ((writer, _folder), runs) = (&writer().await, &Arc::default());
        let inserted = join_all((0..GROUP).map(|_| insert(writer, ORPHAN, runs))).await;
        assert!(inserted.iter().all(Result::is_err));
        // Fewer, if the writer has begun before all calls were made.
        assert!(runs.load(Ordering::Relaxed) <= GROUP + FAILURES);
    }

    #[tokio::test]
    async fn a_closed_writer_refuses_operations() {
        let (writer, _folder) = writer().await;
        writer.close().await;
        let refused = insert(&writer, PARENT, &Arc::default()).await;
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))) && !writer.is_running());
    }
}
