//! The commit of a transaction, its status if the answer was lost, and the actions after it.
//!
//! Each transaction begins by inserting a row with its id into `commit_status`. To resolve a lost
//! commit, the same row is inserted again: the statement waits for the transaction if it is still
//! in progress. If the row exists, the transaction was committed. If not, the statement has
//! inserted it, and the transaction can no longer commit. So the answer is final, also after a
//! failover to a synchronous standby.
//!
//! A commit is resolved, and committed deliveries are handed over, also if it takes longer than the
//! callers wait.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use sqlx::ConnectOptions as _;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use super::begin::Open;
use super::{Postgres, Shared, spawn};
use crate::error::Error;
use crate::queue::{Job, NewDelivery};
use crate::store::connection::Connection;
use crate::store::connection::postgres::{Session, no_answer};
use crate::store::deliveries::AllDeliveries;
use crate::store::group_commit::Failure;
use crate::store::notification::Notification;

/// Longest wait of a caller for a commit. After that the commit is still resolved, and committed
/// deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);

/// The connection was lost during the commit, and the status of the transaction was not found in
/// time.
const IN_DOUBT: &str = "the outcome of the commit is not known";
/// Time for which the status is queried. The caller gets its answer earlier; committed deliveries
/// are still handed over.
const ASK_FOR: Duration = Duration::from_mins(1);
/// Pause before the next query of the status.
const PAUSE: Duration = Duration::from_millis(100);
/// Time for which a row is kept: 1 h in milliseconds.
const KEPT_MS: i64 = 60 * 60 * 1_000;
/// Age up to which a missing row means "not committed": half of that time, as the clocks of the
/// nodes may differ.
const RELIABLE_MS: i64 = KEPT_MS / 2;
/// Rows that one statement prunes.
const BATCH: i64 = 10_000;

/// The query of a commit's status. Writes in either case, so that the answer is as durable as the
/// transaction's own commit: with a synchronous standby, there too.
const ASK: &str = "INSERT INTO commit_status (id, at, given_up) VALUES ($1, $2, true) \
     ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING given_up";
const PRUNE: &str = "DELETE FROM commit_status \
     WHERE id = ANY(ARRAY(SELECT id FROM commit_status WHERE id < $1 ORDER BY id LIMIT $2))";

/// Commits. Returns the session, if it can be used again.
pub(super) async fn commit_in_time(shared: &Arc<Shared>, open: Open) -> Result<Option<Session>, Failure> {
    let shared = Arc::clone(shared);
    let committing = async move { commit(&shared, open).await };
    let mut committing = Box::pin(AssertUnwindSafe(committing).catch_unwind());
    let Ok(committed) = tokio::time::timeout(COMMIT_LIMIT, &mut committing).await else {
        spawn(committing);
        return Err(Failure::Final(Error::unavailable(IN_DOUBT)));
    };
    committed.map_err(|_panic| Failure::Final(Error::internal("a panic during or after a commit")))?
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
        && (is_rolled_back(&error) || !was_committed(shared, open.id).await.map_err(Failure::Final)?)
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

/// Releases deliveries that were claimed for a run of the dispatcher that has ended. If that fails,
/// their leases expire. Returns the session, if it can be used again.
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
            tracing::warn!(error, "claimed deliveries not released; they fall due when their leases expire");
            None
        }
    }
}

/// True if the server has answered that a commit was a rollback: SQLSTATE class 40 (transaction
/// rollback) or 23 (integrity constraint violation). After any other error the status is in doubt:
/// a server that stops may have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code.starts_with("40") || code.starts_with("23"))
}

/// True if a transaction was committed.
///
/// # Errors
/// If the status could not be found in time.
async fn was_committed(shared: &Shared, id: Uuid) -> Result<bool, Error> {
    let begun = Instant::now();
    // The id holds the time. A missing row proves nothing once rows of that age may be pruned: the
    // process may have been suspended for longer than rows are kept.
    let is_old = || shared.context.env.now().as_millis() - millis_of(id) > RELIABLE_MS;
    loop {
        match ask(shared, id).await {
            Ok(false) if is_old() => {
                tracing::error!(transaction = %id, "commit status lost: its row may be pruned; the change may have happened");
                return Err(Error::unavailable(IN_DOUBT));
            }
            Ok(committed) => {
                tracing::warn!(committed, "answer to a commit lost; its status was read from the database");
                return Ok(committed);
            }
            Err(error) if is_old() || begun.elapsed() > ASK_FOR => {
                tracing::error!(%error, transaction = %id, "commit status not read in time; the change may have happened");
                return Err(Error::unavailable(IN_DOUBT));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Queries the status on a new connection, as transactions in doubt may hold all those of the pool.
/// If the server accepts no more connections, uses one of the pool.
async fn ask(shared: &Shared, id: Uuid) -> Result<bool, sqlx::Error> {
    let now = shared.context.env.now().as_millis();
    let asked = async {
        let mut connection = shared.options.connect().await?;
        sqlx::query_scalar(ASK).bind(id).bind(now).fetch_one(&mut connection).await
    };
    let given_up: bool =
        match tokio::time::timeout(shared.answer_limit, asked).await.unwrap_or_else(|_| Err(no_answer())) {
            Err(sqlx::Error::Database(_)) => {
                let mut connection = Connection::of(shared.session().await?);
                connection.query(ASK, &[&id, &now]).scalar().await?
            }
            asked => asked?,
        };
    Ok(!given_up)
}

/// The instant in a `UUIDv7`, in milliseconds.
fn millis_of(id: Uuid) -> i64 {
    i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX)
}

/// The lowest id of an instant.
fn first_of(millis: i64) -> Uuid {
    Uuid::from_u128(u128::try_from(millis).unwrap_or(0) << 80)
}

impl Postgres {
    /// Deletes the commit status of old transactions, in batches.
    pub(in crate::store) async fn prune_commit_status(&self) -> Result<(), Error> {
        let mut connection = Connection::of(self.shared.session().await?);
        let before = self.shared.context.env.now().as_millis().saturating_sub(KEPT_MS);
        while connection.query(PRUNE, &[&first_of(before), &BATCH]).execute().await? > 0 {}
        Ok(())
    }
}
