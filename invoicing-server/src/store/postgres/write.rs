//! Running an operation in a transaction, again if need be.
//!
//! The one place that tries again: after a serialization failure, a deadlock, a lock that was not to be had, a connection
//! that broke, a server that starts or stops. An operation is a closure that is copied for each try; it leaves nothing
//! behind until it is committed, so trying again is safe. From the commit on, the call that waits for it may go away: a
//! task of its own sees to it that what is committed is also handed over.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use super::super::connection::Connection;
use super::{Shared, outcome};
use crate::Error;
use crate::dispatch::{FreshJob, Job};
use crate::error::Refused;
use crate::store::claims;
use crate::store::news::News;
use crate::store::tx::{Aftermath, Tx};

/// How long an operation is tried again: longer than a node that stands still may hold a lock, with the default limits.
pub(super) const TRIED_FOR: Duration = Duration::from_secs(8);
/// How long a commit is waited for. After that nobody waits, but it is still found out what became of it, and what is
/// committed is handed over.
const WAITED_FOR: Duration = Duration::from_secs(20);
/// What is left of that at least for a connection, to whom others have left little.
const LEAST: Duration = Duration::from_secs(1);
/// The first pause between two tries; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why a try came to nothing.
enum Failed {
    /// The operation refused, or failed for good.
    ForGood(Error),
    /// It may go better the next time. Nothing was committed.
    ForNow(Error),
}

/// Runs an operation that was asked for then.
pub(super) async fn run<T, F>(shared: &Arc<Shared>, begun: Instant, operation: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let left = TRIED_FOR.saturating_sub(begun.elapsed()).max(LEAST);
        let error = match attempt(shared, left, operation.clone()).await {
            Ok(value) => return Ok(value),
            Err(Failed::ForGood(error)) => return Err(error),
            Err(Failed::ForNow(error)) => error,
        };
        shared.ids.forget();
        if begun.elapsed() + pause > TRIED_FOR {
            return Err(error);
        }
        tracing::debug!(error = &error as &dyn std::error::Error, "an operation is tried again");
        // Up to half as long again, so that those who got into each other's way do not do so again.
        let [chance] = shared.env.bytes::<1>();
        tokio::time::sleep(pause + pause * u32::from(chance) / 512).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn attempt<T, F>(shared: &Arc<Shared>, left: Duration, operation: F) -> Result<T, Failed>
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
            return Err(sorted(error));
        }
        Err(_panic) => return Err(Failed::ForGood(Error::internal("an operation panicked"))),
    };
    let shared = Arc::clone(shared);
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with the commit, for which closing the pool waits"
    )]
    let committing = tokio::spawn(async move { commit(&shared, unfinished, id).await });
    let Ok(committed) = tokio::time::timeout(WAITED_FOR, committing).await else {
        return Err(Failed::ForGood(Error::unavailable("it is not known yet whether it was committed")));
    };
    committed.map_err(|error| Failed::ForGood(Error::internal(error)))??;
    Ok(value)
}

async fn begin(shared: &Shared, left: Duration) -> Result<(Unfinished, Uuid), Failed> {
    // A pool that has no connection to give has waited long enough.
    let mut session = match shared.session_within(left).await {
        Ok(session) => session,
        Err(error @ sqlx::Error::PoolTimedOut) => return Err(Failed::ForGood(Error::unavailable(error))),
        Err(error) => return Err(sorted(error.into())),
    };
    let (id, now) = (shared.env.uuid(), shared.env.now().as_millis());
    let limits = shared.limits();
    let begin =
        format!("BEGIN{limits}; INSERT INTO outcome (id, at, given_up) VALUES ('{id}', {now}, false)");
    session.begin(begin).await.map_err(|error| sorted(error.into()))?;
    let (env, handoff, ids) = (shared.env.clone(), Arc::clone(&shared.handoff), Arc::clone(&shared.ids));
    let tx = Tx::new(Connection::Postgres(session), env, handoff, ids);
    Ok((Unfinished { tx, committed: false }, id))
}

/// A transaction that takes back what it has left for after the commit, unless it is committed.
struct Unfinished {
    tx: Tx,
    committed: bool,
}

impl Unfinished {
    /// In good order, so that the connection can be used again.
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

async fn commit(shared: &Shared, mut unfinished: Unfinished, id: Uuid) -> Result<(), Failed> {
    let committed = match unfinished.tx.connection() {
        Connection::Postgres(session) if session.has_failed() => {
            let error = "an operation went on after a statement had failed";
            return Err(Failed::ForGood(Error::internal(error)));
        }
        Connection::Postgres(session) => session.commit().await,
        #[cfg(feature = "sqlite")]
        Connection::SqliteWriter(_) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed {
        if is_rolled_back(&error) {
            return Err(Failed::ForNow(Error::unavailable(error)));
        }
        unfinished.tx.connection().abandon();
        if !outcome::was_committed(shared, id).await.map_err(Failed::ForGood)? {
            return Err(Failed::ForNow(Error::unavailable(error)));
        }
    }
    unfinished.committed = true;
    let Aftermath { mut news, untaken } = unfinished.tx.committed();
    // Its connection is free for others, also while what follows waits for one.
    drop(unfinished);
    if !untaken.is_empty() {
        release(shared, &untaken).await;
        news.extend(untaken.iter().map(|job| News::Due(job.webhook)));
        shared.handoff.hand_over(untaken.iter().map(|job| FreshJob::Waiting(job.webhook)).collect());
    }
    shared.announcer.tell(news);
    Ok(())
}

/// Makes due what was claimed for a dispatcher that has ended in the meantime. Otherwise it waits for the end of its lease.
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
        tracing::warn!(error, "deliveries were not given back; they wait for the end of their lease");
    }
}

/// Whether the same may go better the next time.
fn sorted(error: Error) -> Failed {
    let is_passing = match &error {
        Error::StorageUnavailable(cause) => {
            cause.downcast_ref::<sqlx::Error>().is_some_and(is_passing)
                || cause.downcast_ref::<Refused>().is_some_and(|refused| is_passing_code(&refused.code))
        }
        _ => false,
    };
    if is_passing { Failed::ForNow(error) } else { Failed::ForGood(error) }
}

/// SQLSTATE classes and codes (PostgreSQL, appendix A) that say that the server rolled back and that it may go better.
const PASSING: [&str; 10] = [
    "08",    // connection exception
    "40001", // serialization_failure
    "40P01", // deadlock_detected
    "55P03", // lock_not_available
    "57P01", // admin_shutdown
    "57P02", // crash_shutdown
    "57P03", // cannot_connect_now
    "25006", // read_only_sql_transaction: a standby that has not been promoted yet
    "25P03", // idle_in_transaction_session_timeout
    "53300", // too_many_connections
];

fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => is_passing_code(&error.code().unwrap_or_default()),
        _ => false,
    }
}

fn is_passing_code(code: &str) -> bool {
    PASSING.iter().any(|passing| code.starts_with(passing))
}

/// Whether the server has said that a commit was a rollback. After anything else nobody knows: a server that stops may
/// have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let class =
        |error: &dyn DatabaseError| error.code().is_some_and(|code| ["40", "23"].contains(&&code[..2]));
    matches!(error, sqlx::Error::Database(error) if class(&**error))
}
