//! Running an operation in a transaction, [again](super::again) if need be.
//!
//! An operation is a closure that is copied for each try; it leaves nothing behind until it is committed, so trying again
//! is safe. From the commit on, the call that waits for it may go away: a task of its own sees to it that what is committed
//! is also handed over.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use super::super::connection::Connection;
use super::again::{Failed, Tries};
use super::{BEGIN, Shared, outcome};
use crate::Error;
use crate::dispatch::{FreshJob, Job};
use crate::error::Unknown;
use crate::store::claims;
use crate::store::news::News;
use crate::store::tx::{Aftermath, Tx};

/// How long a commit is waited for. After that no caller waits, but it is still found out what became of it, and what is
/// committed is handed over.
const WAITED_FOR: Duration = Duration::from_secs(20);
/// How long whoever has had enough waits nevertheless, as the database may have just come back.
const MOMENT: Duration = Duration::from_secs(5);
/// How often it is asked whether somebody still wants to wait.
const WAITED_AT_ONCE: Duration = Duration::from_secs(1);

/// For how long somebody wants to know what became of a commit.
#[derive(Debug, Clone)]
pub(super) enum Patience {
    /// As long as a caller waits for an answer.
    OfCaller,
    /// Until it is known, as long as that can be found out, or a moment after this instant.
    UntilKnown(Arc<OnceLock<Instant>>),
}

impl Patience {
    /// Whether it ends where that of a caller does.
    pub(super) fn is_short(&self) -> bool {
        match self {
            Self::OfCaller => true,
            Self::UntilKnown(enough) => enough.get().is_some_and(|enough| enough.elapsed() > MOMENT),
        }
    }
}

/// Runs an operation that was asked for then.
pub(super) async fn run<T, F>(
    shared: &Arc<Shared>,
    begun: Instant,
    patience: Patience,
    operation: F,
) -> Result<T, Error>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    let mut tries = Tries::since(begun);
    loop {
        match attempt(shared, tries.left(), &patience, operation.clone()).await {
            Ok(value) => return Ok(value),
            Err(failed) => {
                if let Failed::ForNow(_) = failed {
                    shared.ids.forget();
                }
                tries.again(&shared.env, failed).await?;
            }
        }
    }
}

async fn attempt<T, F>(
    shared: &Arc<Shared>,
    left: Duration,
    patience: &Patience,
    operation: F,
) -> Result<T, Failed>
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
            return Err(Failed::of(error));
        }
        Err(_panic) => return Err(Failed::ForGood(Error::internal("an operation panicked"))),
    };
    let (shared, asked_for) = (Arc::clone(shared), patience.clone());
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with the commit, for which closing the pool waits"
    )]
    let mut committing = tokio::spawn(async move { commit(&shared, unfinished, id, asked_for).await });
    let waited_since = Instant::now();
    let committed = loop {
        match tokio::time::timeout(WAITED_AT_ONCE, &mut committing).await {
            Ok(committed) => break committed,
            Err(_) if waited_since.elapsed() < WAITED_FOR || !patience.is_short() => {}
            Err(_) => return Err(Failed::ForGood(Error::unavailable(Unknown))),
        }
    };
    committed.map_err(|error| Failed::ForGood(Error::internal(error)))??;
    Ok(value)
}

async fn begin(shared: &Shared, left: Duration) -> Result<(Unfinished, Uuid), Failed> {
    let mut session = shared.session_within(left).await.map_err(Failed::of)?;
    let (id, now) = (shared.env.uuid(), shared.env.now().as_millis());
    let limits = shared.limits();
    let begin =
        format!("{BEGIN}{limits}; INSERT INTO outcome (id, at, given_up) VALUES ('{id}', {now}, false)");
    session.begin(begin).await.map_err(Failed::of)?;
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

async fn commit(
    shared: &Shared,
    mut unfinished: Unfinished,
    id: Uuid,
    patience: Patience,
) -> Result<(), Failed> {
    let committed = match unfinished.tx.connection() {
        Connection::Postgres(session) if session.has_failed() => {
            let error = "an operation went on after a statement had failed";
            return Err(Failed::ForGood(Error::internal(error)));
        }
        Connection::Postgres(session) => session.commit().await,
        Connection::SqliteWriter(_) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed {
        if is_rolled_back(&error) {
            return Err(Failed::ForNow(Error::unavailable(error)));
        }
        unfinished.tx.connection().abandon();
        if !outcome::was_committed(shared, id, &patience).await.map_err(Failed::ForGood)? {
            return Err(Failed::ForNow(Error::unavailable(error)));
        }
    }
    shared.heard();
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

/// Whether the server has said that a commit was a rollback. After anything else nobody knows: a server that stops may
/// have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let class =
        |error: &dyn DatabaseError| error.code().is_some_and(|code| ["40", "23"].contains(&&code[..2]));
    matches!(error, sqlx::Error::Database(error) if class(&**error))
}
