//! The one task that writes.
//!
//! Operations queue up as closures. The writer runs each in a savepoint of one transaction, commits when nothing is
//! waiting (or the group is large), and answers all callers at once: 16 writers cost one fsync. A refused operation
//! rolls back to its savepoint and leaves no trace; a failed commit fails the whole group.

use std::fs::File;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use tokio::sync::{mpsc, oneshot};

use super::super::Tx;
use super::super::connection::Connection;
use super::worker::Worker;
use crate::Error;

/// Most operations in one commit. Bounds how long the first one waits for the last.
const GROUP: usize = 64;
/// Each operation begins at the savepoint. Undoing it rolls back to there; COMMIT releases it.
const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT operation";
const NEXT: &str = "RELEASE operation; SAVEPOINT operation";
const UNDO: &str = "ROLLBACK TO operation";

/// Answers the caller of an operation with the result of the commit.
type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;
/// Runs an operation. `None` where it is to be rolled back; then it is already answered.
pub(in crate::store) type QueuedOperation =
    Box<dyn for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Option<Reply>> + Send>;

/// Hands operations to the task.
pub(in crate::store) type Writer = Worker<QueuedOperation>;

/// Starts the task.
pub(super) fn start(tx: Tx, lock: File) -> Writer {
    Worker::start("writer", |queued| work(tx, queued, lock))
}

impl Worker<QueuedOperation> {
    pub(in crate::store) async fn run<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(move |tx| Box::pin(attempt(tx, operation, reply)))).await?;
        answer.await.map_err(|_| Error::unavailable("the database did not take the operation"))?
    }
}

/// Runs one operation; see [`QueuedOperation`].
async fn attempt<T, F>(tx: &mut Tx, operation: F, reply: oneshot::Sender<Result<T, Error>>) -> Option<Reply>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send,
{
    if reply.is_closed() {
        return None;
    }
    let result = AssertUnwindSafe(operation(tx)).catch_unwind().await;
    let error = match result {
        // The caller has gone away meanwhile: as if it had never asked.
        Ok(Ok(_)) if reply.is_closed() => return None,
        Ok(Ok(value)) => {
            return Some(Box::new(move |committed| {
                // A caller that has gone away needs no answer.
                let _ = reply.send(committed.map(|()| value));
            }));
        }
        Ok(Err(error)) => error,
        Err(_panic) => Error::internal("an operation panicked"),
    };
    let _ = reply.send(Err(error));
    None
}

/// Holds the database's lock for as long as it writes.
async fn work(mut tx: Tx, mut queued: mpsc::Receiver<QueuedOperation>, lock: File) {
    let mut group = Vec::with_capacity(GROUP);
    while queued.recv_many(&mut group, GROUP).await > 0 {
        run_group(&mut tx, &mut group, &mut queued).await;
    }
    if let Connection::SqliteWriter(connection, _) = tx.into_connection()
        && let Err(error) = connection.close().await
    {
        tracing::warn!(%error, "the database did not close cleanly");
    }
    drop(lock);
}

async fn run_group(
    tx: &mut Tx,
    group: &mut Vec<QueuedOperation>,
    queued: &mut mpsc::Receiver<QueuedOperation>,
) {
    if let Err(error) = control(tx, BEGIN).await {
        // The operations are dropped unanswered, which their callers see as unavailability.
        tracing::error!(%error, "no transaction can be begun");
        // Should one have been left open, the next begins afresh.
        let _ = control(tx, "ROLLBACK").await;
        group.clear();
        return;
    }
    let mut kept = Vec::with_capacity(group.len());
    let outcome = match run_operations(tx, group, queued, &mut kept).await {
        Err(error) => Err(error),
        Ok(()) if kept.is_empty() => control(tx, "ROLLBACK").await,
        Ok(()) => {
            let timer = tx.env().metrics().start();
            let committed = control(tx, "COMMIT").await;
            tx.env().metrics().committed(timer);
            committed
        }
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
            tracing::error!(%error, operations = kept.len(), "a group of operations could not be committed");
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

/// Runs the group, and the operations that arrive meanwhile, which can share the commit. Fails where the transaction is
/// of no use any more; what is left of the group has not run then.
async fn run_operations(
    tx: &mut Tx,
    group: &mut Vec<QueuedOperation>,
    queued: &mut mpsc::Receiver<QueuedOperation>,
    kept: &mut Vec<Reply>,
) -> Result<(), sqlx::Error> {
    let mut taken = group.len();
    let mut at_savepoint = true;
    while !group.is_empty() {
        for operation in group.drain(..) {
            if !at_savepoint {
                control(tx, NEXT).await?;
            }
            let savepoint = tx.savepoint();
            let reply = operation(tx).await;
            at_savepoint = reply.is_none();
            if at_savepoint {
                tx.undo_to(savepoint);
                control(tx, UNDO).await?;
            }
            kept.extend(reply);
        }
        while taken < GROUP
            && let Ok(operation) = queued.try_recv()
        {
            group.push(operation);
            taken += 1;
        }
    }
    Ok(())
}
