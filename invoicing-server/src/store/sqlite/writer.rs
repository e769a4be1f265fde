//! The one task that writes.
//!
//! Operations queue up as closures. The writer runs each in a savepoint of one transaction, commits when nothing is
//! waiting (or the group is large), and answers all callers at once: 16 writers cost one fsync. A refused operation
//! rolls back to its savepoint and leaves no trace; a failed commit fails the whole group.

use std::fs::File;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::Connection as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::super::Tx;
use super::super::connection::Connection;
use crate::Error;

/// Most operations in one commit. Bounds how long the first one waits for the last.
const GROUP: usize = 64;
/// Most operations that wait; behind them callers wait for a place.
const QUEUE: usize = 1_024;

/// Each operation begins at the savepoint. Taking one back leads there, and committing needs no release.
const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT operation";
const NEXT: &str = "RELEASE operation; SAVEPOINT operation";
const UNDO: &str = "ROLLBACK TO operation";

/// What became of an operation inside the transaction.
pub(super) enum Ran {
    /// To be committed; the answer waits for that.
    Kept(Box<dyn FnOnce(Result<(), Error>) + Send>),
    /// To be rolled back; already answered.
    Undone,
}

type Job = Box<dyn for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Ran> + Send>;

/// The sending side: hands operations to the task.
pub(super) struct Writer {
    /// `None` once closed.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    #[expect(clippy::disallowed_methods, reason = "the task ends with its queue, and `close` waits for it")]
    pub(super) fn start(tx: Tx, lock: File) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let task = tokio::spawn(work(tx, receiver, lock));
        Self { jobs: Mutex::new(Some(sender)), task: tokio::sync::Mutex::new(Some(task)) }
    }

    pub(super) async fn run<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static,
    {
        let closed = || Error::unavailable("the database is closed");
        let sender = self.jobs.lock().clone().ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |tx| Box::pin(attempt(tx, operation, reply)));
        sender.send(job).await.map_err(|_| closed())?;
        drop(sender);
        answer.await.map_err(|_| Error::unavailable("the database did not take the operation"))?
    }

    pub(super) async fn close(&self) {
        self.jobs.lock().take();
        if let Some(task) = self.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer ended badly");
        }
    }
}

/// Runs one operation and says what is to become of it.
async fn attempt<T, F>(tx: &mut Tx, operation: F, reply: oneshot::Sender<Result<T, Error>>) -> Ran
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send,
{
    if reply.is_closed() {
        return Ran::Undone;
    }
    let result = AssertUnwindSafe(operation(tx)).catch_unwind().await;
    let error = match result {
        // The caller has gone away meanwhile: as if it had never asked.
        Ok(Ok(_)) if reply.is_closed() => return Ran::Undone,
        Ok(Ok(value)) => {
            return Ran::Kept(Box::new(move |committed| {
                // A caller that has gone away needs no answer.
                let _ = reply.send(committed.map(|()| value));
            }));
        }
        Ok(Err(error)) => error,
        Err(_panic) => Error::internal("an operation panicked"),
    };
    let _ = reply.send(Err(error));
    Ran::Undone
}

/// Holds the database's lock for as long as it writes.
async fn work(mut tx: Tx, mut jobs: mpsc::Receiver<Job>, lock: File) {
    let mut group = Vec::with_capacity(GROUP);
    while jobs.recv_many(&mut group, GROUP).await > 0 {
        run_group(&mut tx, &mut group, &mut jobs).await;
    }
    if let Connection::SqliteWriter(connection, _) = tx.into_connection()
        && let Err(error) = connection.close().await
    {
        tracing::warn!(%error, "the database did not close cleanly");
    }
    drop(lock);
}

async fn run_group(tx: &mut Tx, group: &mut Vec<Job>, jobs: &mut mpsc::Receiver<Job>) {
    if let Err(error) = control(tx, BEGIN).await {
        // The jobs are dropped unanswered, which their callers see as unavailability.
        tracing::error!(%error, "no transaction can be begun");
        // Should one have been left open, the next begins afresh.
        let _ = control(tx, "ROLLBACK").await;
        group.clear();
        return;
    }
    let mut kept = Vec::with_capacity(group.len());
    let outcome = match run_jobs(tx, group, jobs, &mut kept).await {
        Err(error) => Err(error),
        Ok(()) if kept.is_empty() => control(tx, "ROLLBACK").await,
        Ok(()) => control(tx, "COMMIT").await,
    };
    match outcome {
        Ok(()) => {
            // SQLite has no other node to notify, and the start of a dispatcher releases what an earlier one held.
            drop(tx.committed());
            for reply in kept {
                reply(Ok(()));
            }
        }
        Err(error) => {
            tracing::error!(%error, "a group of {} operations could not be committed", kept.len());
            group.clear();
            // Fails where SQLite has rolled back by itself, which is as good.
            let _ = control(tx, "ROLLBACK").await;
            tx.rolled_back();
            for reply in kept {
                reply(Err(Error::unavailable("the transaction failed")));
            }
        }
    }
}

/// Runs a statement that begins or ends something.
async fn control(tx: &mut Tx, statement: &'static str) -> Result<(), sqlx::Error> {
    tx.connection().query(statement, &[]).execute().await.map(drop)
}

type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// Runs the group, and the jobs that arrive in the meantime, which can share the commit. Fails where the transaction is
/// of no use any more; what is left of the group has not run then.
async fn run_jobs(
    tx: &mut Tx,
    group: &mut Vec<Job>,
    jobs: &mut mpsc::Receiver<Job>,
    kept: &mut Vec<Reply>,
) -> Result<(), sqlx::Error> {
    let mut taken = group.len();
    let mut at_savepoint = true;
    while !group.is_empty() {
        for job in group.drain(..) {
            if !at_savepoint {
                control(tx, NEXT).await?;
            }
            let savepoint = tx.savepoint();
            at_savepoint = match job(tx).await {
                Ran::Kept(reply) => {
                    kept.push(reply);
                    false
                }
                Ran::Undone => {
                    tx.undo_to(savepoint);
                    control(tx, UNDO).await?;
                    true
                }
            };
        }
        while taken < GROUP
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
            taken += 1;
        }
    }
    Ok(())
}
