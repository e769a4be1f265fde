//! The commit of a transaction, and what follows it.
//!
//! It is resolved, and committed deliveries are handed over, also where it takes longer than the callers wait.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use sqlx::error::DatabaseError;

use super::super::connection::Connection;
use super::super::deliveries::AllDeliveries;
use super::super::notification::Notification;
use super::super::session::Session;
use super::begin::Open;
use super::commit_status::{self, IN_DOUBT};
use super::{Shared, spawn};
use crate::Error;
use crate::queue::{Job, NewDelivery};
use crate::store::group_commit::Failure;

/// How long a caller waits for a commit. After that the commit is still resolved, and committed deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);

/// Commits. The session, where it can be used again.
pub(super) async fn commit_in_time(shared: &Arc<Shared>, open: Open) -> Result<Option<Session>, Failure> {
    let shared = Arc::clone(shared);
    let committing = async move { commit(&shared, open).await };
    let mut committing = Box::pin(AssertUnwindSafe(committing).catch_unwind());
    let Ok(committed) = tokio::time::timeout(COMMIT_LIMIT, &mut committing).await else {
        spawn(committing);
        return Err(Failure::Final(Error::unavailable(IN_DOUBT)));
    };
    committed.map_err(|_panic| Failure::Final(Error::internal("what follows a commit panicked")))?
}

async fn commit(shared: &Shared, mut open: Open) -> Result<Option<Session>, Failure> {
    let committed = match open.tx.connection() {
        Connection::Postgres(session, _) => {
            let timer = shared.context.env.metrics().start();
            let committed = session.commit().await;
            shared.context.env.metrics().committed(timer);
            committed
        }
        Connection::SqliteWriter(..) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed
        && (is_rolled_back(&error)
            || !commit_status::was_committed(shared, open.id).await.map_err(Failure::Final)?)
    {
        return Err(Failure::Transient(Error::unavailable(error)));
    }
    let (mut notifications, untaken) = open.tx.committed();
    let mut session = open.into_session();
    if !untaken.is_empty() {
        session = release(shared, session, &untaken).await;
        notifications.extend(untaken.iter().map(|job| Notification::Due(job.webhook)));
        shared.context.queue.hand_over(untaken.iter().map(|job| NewDelivery::Pending(job.webhook)).collect());
    }
    shared.notifier.send(notifications);
    Ok(session)
}

/// Releases deliveries that were claimed for a run of the dispatcher that has ended. Where that fails, their leases expire.
/// The session, where it can be used again.
async fn release(shared: &Shared, session: Option<Session>, jobs: &[Job]) -> Option<Session> {
    let released = async {
        let session = match session {
            Some(session) => session,
            None => shared.session().await?,
        };
        let mut connection = Connection::of(session);
        for same in jobs.chunk_by(|a, b| a.token == b.token) {
            let ids: Vec<i64> = same.iter().map(|job| job.delivery).collect();
            AllDeliveries(&mut connection).release(&ids, same[0].token, shared.context.env.now()).await?;
        }
        Ok::<_, Error>(connection)
    };
    match released.await {
        Ok(Connection::Postgres(session, _)) => Some(session),
        Ok(Connection::SqliteWriter(..) | Connection::SqliteReader(_)) => None,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "deliveries were not released; their leases have to expire");
            None
        }
    }
}

/// Whether the server has answered that a commit was a rollback. After any other error the status is in doubt: a server
/// that stops may have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code.starts_with("40") || code.starts_with("23"))
}
