//! Lanes: operations on different companies that share a transaction.
//!
//! Each company has a lane by its id. A lane runs the calls that wait in one transaction, which locks the companies that are
//! free. It never waits for a company: calls for one that is locked, and all calls of a transaction that has failed, go to
//! [transactions of their company](super::company). So a company delays others by no more than a statement takes.

use std::sync::Arc;

use invoicing_core::CompanyId;

use super::calls::{Call, Group, answer_all, in_time};
use super::turns::{GROUP, Turn};
use super::write::{Ended, Locks, attempt};
use super::{Shared, company};

/// Transactions at once. With more, fewer calls share one.
const LANES: u128 = 4;

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
        self.lanes.join(Lane::of(company), call, |turn| spawn(work(Arc::clone(self), turn)));
    }

    fn join_company(self: &Arc<Self>, company: CompanyId, call: Box<dyn Call>) {
        self.companies.join(company, call, |turn| spawn(company::work(Arc::clone(self), turn)));
    }

    /// Gives calls to the transactions of their companies.
    pub(super) fn hand_over(self: &Arc<Self>, calls: Group) {
        for call in calls {
            if let Some(company) = call.company() {
                self.join_company(company, call);
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it ends with its calls, for which closing the pool waits")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

/// Runs the calls of a lane until none waits.
async fn work(shared: Arc<Shared>, mut turn: Turn<Lane>) {
    let mut calls = Group::new();
    while !(calls.is_empty() && turn.leave()) {
        calls.extend(turn.take(GROUP.saturating_sub(calls.len())));
        calls = match attempt(&shared, Locks::Free, in_time(calls, None)).await {
            Ended::Answered { rest } => rest,
            Ended::Failed { calls, error, rest } => {
                answer_all(calls, error);
                rest
            }
            Ended::Apart(calls, error) | Ended::Again { calls, error, .. } => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "operations no longer share a transaction with other companies");
                shared.hand_over(calls);
                Group::new()
            }
        };
    }
}
