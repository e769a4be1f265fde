//! Runs an operation in a transaction, with [retries](super::retry).
//!
//! An operation is a closure that is copied for each try. It has no effect before the commit, so a retry is safe. The
//! commit runs in a task of its own: where the caller is cancelled, committed deliveries are still handed over.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use super::super::connection::Connection;
use super::retry::{Backoff, Failure};
use super::{BEGIN, Shared, commit_status};
use crate::Error;
use crate::error::Unknown;
use crate::queue::{Job, NewDelivery};
use crate::store::claims;
use crate::store::notification::Notification;
use crate::store::tx::{Aftermath, Tx};

/// How long a caller waits for a commit. After that the commit is still resolved, and committed deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);

/// Runs an operation for a call that began then.
pub(super) async fn run<T, F>(shared: &Arc<Shared>, begun: Instant, operation: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    let mut backoff = Backoff::since(begun);
    loop {
        match attempt(shared, backoff.left(), operation.clone()).await {
            Ok(value) => return Ok(value),
            Err(failure) => backoff.wait(&shared.env, failure).await?,
        }
    }
}

async fn attempt<T, F>(shared: &Arc<Shared>, left: Duration, operation: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static,
{
    let (mut unfinished, id) = begin(shared, left).await?;
    let result = AssertUnwindSafe(operation(&mut unfinished.tx)).catch_unwind().await;
    let value = match result {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            unfinished.roll_back().await;
            return Err(Failure::of(error));
        }
        Err(_panic) => return Err(Failure::Permanent(Error::internal("an operation panicked"))),
    };
    let shared = Arc::clone(shared);
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with the commit, for which closing the pool waits"
    )]
    let committing = tokio::spawn(async move { commit(&shared, unfinished, id).await });
    let Ok(committed) = tokio::time::timeout(COMMIT_LIMIT, committing).await else {
        return Err(Failure::Permanent(Error::unavailable(Unknown)));
    };
    committed.map_err(|error| Failure::Permanent(Error::internal(error)))??;
    Ok(value)
}

async fn begin(shared: &Shared, left: Duration) -> Result<(Unfinished, Uuid), Failure> {
    let mut session = shared.session_within(left).await.map_err(Failure::of)?;
    let (id, now) = (shared.env.uuid(), shared.env.now().as_millis());
    let limits = shared.limits();
    let begin = format!(
        "{BEGIN}{limits}; INSERT INTO commit_status (id, at, given_up) VALUES ('{id}', {now}, false)"
    );
    session.begin(begin).await.map_err(Failure::of)?;
    let (env, queue, ids) = (shared.env.clone(), Arc::clone(&shared.queue), Arc::clone(&shared.ids));
    let tx = Tx::new(Connection::Postgres(session), env, queue, ids);
    Ok((Unfinished { tx, committed: false }, id))
}

/// A transaction that discards its work for after the commit when it is dropped, unless it is committed.
struct Unfinished {
    tx: Tx,
    committed: bool,
}

impl Unfinished {
    /// Rolls back explicitly, so that the connection can be used again.
    async fn roll_back(&mut self) {
        if let Err(error) = self.tx.connection().end_transaction().await {
            tracing::debug!(%error, "rolled back by the end of the connection");
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.committed {
            self.tx.rolled_back();
        }
    }
}

async fn commit(shared: &Shared, mut unfinished: Unfinished, id: Uuid) -> Result<(), Failure> {
    let committed = match unfinished.tx.connection() {
        Connection::Postgres(session) if session.has_failed() => {
            let error = "an operation went on after a statement had failed";
            return Err(Failure::Permanent(Error::internal(error)));
        }
        Connection::Postgres(session) => session.commit().await,
        Connection::SqliteWriter(_) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed {
        if is_rolled_back(&error) {
            return Err(Failure::Transient(Error::unavailable(error)));
        }
        unfinished.tx.connection().abandon();
        if !commit_status::was_committed(shared, id).await.map_err(Failure::Permanent)? {
            return Err(Failure::Transient(Error::unavailable(error)));
        }
    }
    unfinished.committed = true;
    let Aftermath { mut notifications, untaken } = unfinished.tx.committed();
    // Frees the connection before the next statement needs one.
    drop(unfinished);
    if !untaken.is_empty() {
        release(shared, &untaken).await;
        notifications.extend(untaken.iter().map(|job| Notification::Due(job.webhook)));
        shared.queue.hand_over(untaken.iter().map(|job| NewDelivery::Pending(job.webhook)).collect());
    }
    shared.notifier.send(notifications);
    Ok(())
}

/// Releases deliveries that were claimed for a run of the dispatcher that has ended. Where that fails, their leases expire.
async fn release(shared: &Shared, jobs: &[Job]) {
    let released = async {
        let mut connection = Connection::Postgres(shared.session().await.map_err(Error::unavailable)?);
        for same in jobs.chunk_by(|a, b| a.token == b.token) {
            let ids: Vec<i64> = same.iter().map(|job| job.delivery).collect();
            claims::release(&mut connection, &ids, same[0].token, shared.env.now()).await?;
        }
        Ok::<(), Error>(())
    };
    if let Err(error) = released.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "deliveries were not released; their leases have to expire");
    }
}

/// Whether the server has answered that a commit was a rollback. After any other error the status is in doubt: a server
/// that stops may have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let class =
        |error: &dyn DatabaseError| error.code().is_some_and(|code| ["40", "23"].contains(&&code[..2]));
    matches!(error, sqlx::Error::Database(error) if class(&**error))
}
