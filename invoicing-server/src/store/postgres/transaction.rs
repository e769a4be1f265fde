//! A transaction that several calls share: it [begins](super::begin), runs them, and [commits](super::commit).
//!
//! A call that is refused before it has changed anything leaves the others alone. After any other refusal, or a statement
//! that failed, the transaction is rolled back, and the caller of this module decides which calls run again.
//!
//! It runs in a task that no caller cancels.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryFutureExt as _;

use super::super::connection::Connection;
use super::super::session::Session;
use super::Shared;
use super::begin::{Begun, Locks, Needs, begin};
use super::commit::commit_in_time;
use super::retry::{self, Failure};
use crate::Error;
use crate::store::call::Group;

/// How long a transaction takes up calls: much shorter than other nodes wait for the company's row.
const GROUP_TIME: Duration = Duration::from_millis(100);

impl Shared {
    /// A connection for a group, waited for as long as its youngest call may wait.
    pub(super) fn session_for<'s>(
        &'s self,
        group: &Group,
    ) -> impl Future<Output = Result<Session, Failure>> + use<'s> {
        let youngest = group.iter().map(|call| call.begun()).max().unwrap_or_else(Instant::now);
        self.session_within(retry::time_left(youngest)).map_err(Failure::from)
    }
}

/// What has become of a group.
pub(super) enum Ended {
    /// Some are answered; there was no time for the rest.
    Answered { rest: Group },
    /// Nothing is committed, and a retry may succeed.
    Again { calls: Group, error: Error, has_begun: bool },
    /// Nothing is committed, as the last one may not share a transaction with the others.
    Apart(Group, Error),
    /// For good, but for the rest, for which there was no time.
    Failed { calls: Group, error: Error, rest: Group },
}

/// Runs a group in one transaction, and answers it.
pub(super) async fn attempt(shared: &Arc<Shared>, mut group: Group) -> Ended {
    let session = match shared.session_for(&group).await {
        Ok(session) => session,
        Err(failure) => return Stopped::from(failure).ended(group),
    };
    let ran = match begin(shared, session, Locks::Waited, Needs::of(&group)).await {
        Ok(begun) => run(begun, &mut group).await,
        Err(failure) => Err(failure.into()),
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(stopped) => return stopped.ended(group),
    };
    let rest = group.split_off(ran.refusals.len());
    match commit_and_answer(shared, ran, group).await {
        Ok(_session) => Ended::Answered { rest },
        Err((group, Failure::Transient(error))) => {
            Ended::Again { calls: group.into_iter().chain(rest).collect(), error, has_begun: true }
        }
        Err((calls, Failure::Permanent(error))) => Ended::Failed { calls, error, rest },
    }
}

/// Calls whose transaction is not committed yet.
pub(super) struct Ran {
    begun: Begun,
    /// An entry for each call that was run, an error where it is refused and has left nothing.
    pub(super) refusals: Vec<Option<Error>>,
}

/// A transaction that was rolled back.
pub(super) struct Stopped {
    pub(super) failure: Failure,
    /// After how many calls; `None` before the first.
    at: Option<usize>,
}

/// Before the first call.
impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, at: None }
    }
}

impl Stopped {
    /// What this means for its calls. Alone, each gets its own error, and the others none.
    fn ended(self, mut calls: Group) -> Ended {
        match (self.at, self.failure) {
            (Some(at), Failure::Permanent(error) | Failure::Transient(error)) if calls.len() > 1 => {
                if at < calls.len() {
                    let failed = calls.remove(at);
                    calls.push(failed);
                }
                Ended::Apart(calls, error)
            }
            (at, Failure::Transient(error)) => Ended::Again { calls, error, has_begun: at.is_some() },
            (_, Failure::Permanent(error)) => Ended::Failed { calls, error, rest: Group::new() },
        }
    }
}

/// Runs calls in a transaction.
pub(super) async fn run(mut begun: Begun, calls: &mut Group) -> Result<Ran, Stopped> {
    let mut refusals = Vec::with_capacity(calls.len());
    if let Err(failure) = run_calls(&mut begun, calls, &mut refusals).await {
        begun.roll_back().await;
        return Err(Stopped { failure, at: Some(refusals.len()) });
    }
    Ok(Ran { begun, refusals })
}

/// Runs calls one after the other, for as long as there is time. `refusals`: an entry for each, an error where it is
/// refused and has left nothing. They are answered after the commit, as they may have seen what it commits.
///
/// # Errors
/// Where the transaction cannot be committed.
async fn run_calls(
    begun: &mut Begun,
    calls: &mut Group,
    refusals: &mut Vec<Option<Error>>,
) -> Result<(), Failure> {
    let (tx, since) = (&mut begun.tx, Instant::now());
    for call in calls {
        if since.elapsed() > GROUP_TIME {
            break;
        }
        let savepoint = tx.savepoint();
        refusals.push(match call.run(tx).await {
            Ok(()) => None,
            Err(error) if tx.undo_to(savepoint) => Some(error),
            Err(error) => return Err(error.into()),
        });
    }
    match tx.connection() {
        Connection::Postgres(session, _) => session.finish().await?,
        Connection::SqliteWriter(..) | Connection::SqliteReader(_) => {}
    }
    Ok(())
}

/// Commits a transaction and answers its calls. Where it is not committed, they are returned; else the session, where it can
/// be used again.
pub(super) async fn commit_and_answer(
    shared: &Arc<Shared>,
    ran: Ran,
    calls: Group,
) -> Result<Option<Session>, (Group, Failure)> {
    let Ran { mut begun, refusals } = ran;
    let session = if refusals.iter().all(Option::is_some) {
        begun.roll_back().await;
        begun.into_session()
    } else {
        match commit_in_time(shared, begun).await {
            Ok(session) => session,
            Err(failure) => return Err((calls, failure)),
        }
    };
    for (call, refusal) in calls.into_iter().zip(refusals) {
        call.answer(refusal.map_or(Ok(()), Err));
    }
    Ok(session)
}
