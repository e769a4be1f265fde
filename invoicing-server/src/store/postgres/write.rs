//! Runs an operation in a transaction, with [retries](super::retry).
//!
//! An operation is a closure that is copied for each try. It has no effect before the commit, so a retry is safe. The
//! commit runs in a task of its own: where the caller is cancelled, committed deliveries are still handed over.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use super::super::connection::Connection;
use super::commit_status::{self, IN_DOUBT};
use super::retry::Failure;
use super::{BEGIN, Shared};
use crate::Error;
use crate::queue::{Job, NewDelivery};
use crate::store::deliveries::AllDeliveries;
use crate::store::notification::Notification;
use crate::store::tx::{BLOCK, Tx};

/// How long a caller waits for a commit. After that the commit is still resolved, and committed deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);

/// Runs an operation once, with a connection that is waited for no longer than `limit`.
pub(super) async fn attempt<T, F>(shared: &Arc<Shared>, limit: Duration, operation: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static,
{
    let (mut unfinished, id) = begin(shared, limit).await?;
    let result = AssertUnwindSafe(operation(&mut unfinished.0)).catch_unwind().await;
    let value = match result {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            unfinished.roll_back().await;
            return Err(error.into());
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
        return Err(Failure::Permanent(Error::unavailable(IN_DOUBT)));
    };
    committed.map_err(|error| Failure::Permanent(Error::internal(error)))??;
    Ok(value)
}

/// Begins a transaction in one call, which also takes a block of the row ids of deliveries.
async fn begin(shared: &Shared, limit: Duration) -> Result<(Unfinished, Uuid), Failure> {
    let mut session = shared.session_within(limit).await?;
    let env = &shared.context.env;
    let (id, now) = (env.uuid(), env.now().as_millis());
    let limits = shared.limits_behind_pooler();
    let begin = format!(
        "{BEGIN}{limits}; INSERT INTO commit_status (id, at, given_up) VALUES ('{id}', {now}, false) \
         RETURNING nextval('delivery_id_block')"
    );
    let block: i64 = session.begin(begin).await?;
    let connection = Connection::Postgres(session);
    let tx = Tx::new(connection, Arc::clone(&shared.context), block..block + BLOCK);
    Ok((Unfinished(tx), id))
}

/// A transaction that discards its work for after the commit when it is dropped. After a commit there is none.
struct Unfinished(Tx);

impl Unfinished {
    /// Rolls back explicitly, so that the connection can be used again.
    async fn roll_back(&mut self) {
        if let Err(error) = self.0.connection().end_transaction().await {
            tracing::debug!(%error, "rolled back by the end of the connection");
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.rolled_back();
    }
}

async fn commit(shared: &Shared, mut unfinished: Unfinished, id: Uuid) -> Result<(), Failure> {
    let committed = match unfinished.0.connection() {
        Connection::Postgres(session) if session.failed => {
            let error = "an operation went on after a statement had failed";
            return Err(Failure::Permanent(Error::internal(error)));
        }
        Connection::Postgres(session) => session.commit().await,
        Connection::SqliteWriter(..) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed
        && (is_rolled_back(&error)
            || !commit_status::was_committed(shared, id).await.map_err(Failure::Permanent)?)
    {
        return Err(Failure::Transient(Error::unavailable(error)));
    }
    let (mut notifications, untaken) = unfinished.0.committed();
    // Frees the connection before the next statement needs one.
    drop(unfinished);
    if !untaken.is_empty() {
        release(shared, &untaken).await;
        notifications.extend(untaken.iter().map(|job| Notification::Due(job.webhook)));
        shared.context.queue.hand_over(untaken.iter().map(|job| NewDelivery::Pending(job.webhook)).collect());
    }
    shared.notifier.send(notifications);
    Ok(())
}

/// Releases deliveries that were claimed for a run of the dispatcher that has ended. Where that fails, their leases expire.
async fn release(shared: &Shared, jobs: &[Job]) {
    let released = async {
        let mut connection = Connection::Postgres(shared.session().await?);
        for same in jobs.chunk_by(|a, b| a.token == b.token) {
            let ids: Vec<i64> = same.iter().map(|job| job.delivery).collect();
            AllDeliveries(&mut connection).release(&ids, same[0].token, shared.context.env.now()).await?;
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
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code.starts_with("40") || code.starts_with("23"))
}
