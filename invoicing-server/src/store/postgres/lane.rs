//! Lanes: operations on different companies that share a transaction.
//!
//! Each company has a lane by its id. A lane runs the calls that wait in one transaction, which locks the companies that are
//! free. What may delay others goes to [transactions of its company](super::company): calls for one that is locked or that
//! has many, and all calls of a transaction that has failed or takes long.
//!
//! A lane keeps its connection between transactions: to give one back and take one costs a round trip.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::CompanyId;
use tokio::time::timeout;

use super::begin::{Locks, Needs, begin};
use super::calls::in_time;
use super::retry::Failure;
use super::transaction::{Ran, Stopped, commit_and_answer, run};
use super::turns::{GROUP, Turn};
use super::{Shared, company, spawn};
use crate::Error;
use crate::store::call::{Call, Group, answer_all};
use crate::store::session::Session;

/// Transactions at once. With more, fewer calls share one.
const LANES: u128 = 4;
/// Most calls of a company in a lane. More of them fill transactions of their own.
const FEW: usize = 8;
/// How long a lane stays with a transaction, and with its commit. One that is late is committed all the same.
const LANE_TIME: Duration = Duration::from_millis(500);
/// How long a lane keeps its connection for the next call.
const IDLE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lane(u128);

impl Lane {
    fn of(company: CompanyId) -> Self {
        Self(company.0.as_u128() % LANES)
    }
}

impl Shared {
    /// Lets a call wait for its company's transactions, where there are any, or for its lane.
    pub(super) fn join(self: &Arc<Self>, company: CompanyId, call: Box<dyn Call>) {
        if self.companies.has(company) {
            return self.join_company(company, call);
        }
        self.lanes.join(Lane::of(company), call, |turn| drop(spawn(work(Arc::clone(self), turn))));
    }

    fn join_company(self: &Arc<Self>, company: CompanyId, call: Box<dyn Call>) {
        self.companies.join(company, call, |turn| drop(spawn(company::work(Arc::clone(self), turn))));
    }

    /// Whether the pool has a connection for others at once.
    fn has_other_connections(&self) -> bool {
        self.pool.num_idle() > 0 || self.pool.size() < self.settings.max_connections
    }

    /// Gives calls to the transactions of their companies.
    pub(super) fn hand_over(self: &Arc<Self>, calls: Group) {
        for call in calls {
            if let Some(company) = call.company() {
                self.join_company(company, call);
            }
        }
    }

    /// Gives the calls of companies with more than a few to their own transactions. The others.
    fn without_crowds(self: &Arc<Self>, mut calls: Group) -> Group {
        let mut counts = HashMap::new();
        for call in &calls {
            *counts.entry(call.company()).or_insert(0_usize) += 1;
        }
        self.hand_over(calls.extract_if(.., |call| counts[&call.company()] > FEW).collect());
        calls
    }
}

/// Runs the calls of a lane until none waits.
async fn work(shared: Arc<Shared>, mut turn: Turn<Lane>) {
    let (mut calls, mut kept) = (Group::new(), None);
    while !(calls.is_empty() && turn.leave()) {
        calls.extend(turn.take(usize::MAX));
        calls = shared.without_crowds(in_time(calls, None));
        let later = calls.split_off(calls.len().min(GROUP));
        (calls, kept) = run_together(&shared, kept, calls).await;
        calls.extend(later);
        kept = kept.filter(|_| shared.has_other_connections());
        if kept.is_some() && calls.is_empty() {
            // The next call may come soon. Closing the pool does not wait for it.
            let _ = shared.pool.close_event().do_until(turn.wait(IDLE)).await;
        }
    }
}

/// Runs calls in a transaction, on the connection that was kept where there is one. Returns those for which there was no
/// time, and the connection where it can be used again.
async fn run_together(
    shared: &Arc<Shared>,
    kept: Option<Session>,
    mut calls: Group,
) -> (Group, Option<Session>) {
    if calls.is_empty() {
        return (calls, None);
    }
    let session = match kept {
        Some(session) => session,
        None => match shared.session_for(&calls).await {
            Ok(session) => session,
            Err(failure) => {
                answer_all(calls, failure.into_error());
                return (Group::new(), None);
            }
        },
    };
    match timeout(LANE_TIME, begin_and_run(shared, session, &mut calls)).await {
        Ok(Ok(ran)) => {
            let rest = calls.split_off(ran.refusals.len());
            (rest, end_in_time(shared, ran, calls).await)
        }
        Ok(Err(stopped)) => {
            give_up(shared, calls, stopped.failure.into_error());
            (Group::new(), None)
        }
        Err(_elapsed) => {
            give_up(shared, calls, Error::unavailable("the database is slow"));
            (Group::new(), None)
        }
    }
}

/// Begins a transaction and runs calls in it, but for those whose company it did not get.
async fn begin_and_run(shared: &Arc<Shared>, session: Session, calls: &mut Group) -> Result<Ran, Stopped> {
    let mut begun = begin(shared, session, Locks::Free, Needs::of(calls)).await?;
    shared.hand_over(calls.extract_if(.., |call| !begun.has_locked(call.company())).collect());
    run(begun, calls).await
}

/// Ends a transaction. Where that takes longer, the lane goes on meanwhile.
async fn end_in_time(shared: &Arc<Shared>, ran: Ran, calls: Group) -> Option<Session> {
    let mut ending = Box::pin(end(Arc::clone(shared), ran, calls));
    match timeout(LANE_TIME, &mut ending).await {
        Ok(session) => session,
        Err(_elapsed) => {
            spawn(ending);
            None
        }
    }
}

async fn end(shared: Arc<Shared>, ran: Ran, calls: Group) -> Option<Session> {
    match commit_and_answer(&shared, ran, calls).await {
        Ok(session) => session,
        Err((calls, Failure::Transient(error))) => {
            give_up(&shared, calls, error);
            None
        }
        Err((calls, Failure::Permanent(error))) => {
            answer_all(calls, error);
            None
        }
    }
}

/// Leaves calls that are not committed to transactions of their companies.
fn give_up(shared: &Arc<Shared>, calls: Group, error: Error) {
    tracing::debug!(error = &error as &dyn std::error::Error, "operations no longer share a transaction");
    shared.hand_over(in_time(calls, Some(&Arc::new(error))));
}
