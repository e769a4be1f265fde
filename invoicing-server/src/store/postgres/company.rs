//! A company's own transactions: for calls that a [lane](super::lane) did not bring to an end.
//!
//! Calls that wait at the same time [share a transaction](super::transaction). Where one of them fails in it, all run again, each
//! by itself, so that each gets its own error. A transient failure is [tried again](super::retry).

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;

use super::Shared;
use super::calls::in_time;
use super::retry::Pauses;
use super::transaction::{Ended, attempt};
use super::turns::{GROUP, Turn};
use crate::Error;
use crate::store::call::{Call, Group, answer_all};

/// Runs the calls of a company until none waits.
pub(super) async fn work(shared: Arc<Shared>, mut turn: Turn<CompanyId>) {
    let mut pauses = Pauses::new(&shared.context.env);
    let mut again = VecDeque::new();
    while !(again.is_empty() && turn.leave()) {
        take(&turn, &mut again);
        again = run(&shared, again).await.pause(&mut pauses).await;
    }
}

/// Takes the calls that wait. They share a transaction with calls that failed transiently, where there is room.
fn take(turn: &Turn<CompanyId>, batches: &mut VecDeque<Batch>) {
    match batches.back_mut() {
        Some(last) if !last.is_apart => {
            let room = GROUP.saturating_sub(last.calls.len());
            last.calls.extend(turn.take(room));
        }
        _ => batches.push_back(Batch::new(turn.take(GROUP))),
    }
}

/// Runs a call that is of no company until it is answered. Boxed, as a compiler computes nested futures up to a depth only.
pub(super) fn run_alone(shared: Arc<Shared>, call: Box<dyn Call>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut pauses = Pauses::new(&shared.context.env);
        let mut batches = VecDeque::from([Batch::new(vec![call])]);
        while !batches.is_empty() {
            batches = run(&shared, batches).await.pause(&mut pauses).await;
        }
    })
}

/// Calls that are to share a transaction.
struct Batch {
    calls: Group,
    /// Why it is not committed yet.
    cause: Option<Arc<Error>>,
    /// Whether it is a call that does not share a transaction any more.
    is_apart: bool,
}

impl Batch {
    fn new(calls: Group) -> Self {
        Self { calls, cause: None, is_apart: false }
    }

    /// Whether any call is left that is [in time](in_time).
    fn keep_in_time(&mut self) -> bool {
        self.calls = in_time(std::mem::take(&mut self.calls), self.cause.as_ref());
        !self.calls.is_empty()
    }
}

/// What is left of batches after each was tried.
#[derive(Default)]
struct Round {
    /// Those that have failed transiently, and those behind a transaction that could not begin.
    again: VecDeque<Batch>,
    /// Whether any was answered.
    has_answered: bool,
}

impl Round {
    /// Waits if something is to be done again. The pauses grow for as long as nothing is answered.
    async fn pause(self, pauses: &mut Pauses<'_>) -> VecDeque<Batch> {
        if self.has_answered {
            pauses.restart();
        }
        if !self.again.is_empty() {
            pauses.wait().await;
        }
        self.again
    }
}

/// Runs batches one after the other.
async fn run(shared: &Arc<Shared>, mut batches: VecDeque<Batch>) -> Round {
    let mut round = Round::default();
    while let Some(mut batch) = batches.pop_front() {
        if !batch.keep_in_time() {
            continue;
        }
        match attempt_in_turn(shared, std::mem::take(&mut batch.calls)).await {
            Ended::Answered { rest } => {
                round.has_answered = true;
                batches.push_front(Batch::new(rest));
            }
            Ended::Failed { calls, error, rest } => {
                round.has_answered = true;
                answer_all(calls, error);
                batches.push_front(Batch::new(rest));
            }
            Ended::Apart(calls, error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "operations no longer share a transaction"
                );
                let cause = Some(Arc::new(error));
                for call in calls.into_iter().rev() {
                    batches.push_front(Batch { calls: vec![call], cause: cause.clone(), is_apart: true });
                }
            }
            Ended::Again { calls, error, has_begun } => {
                tracing::debug!(error = &error as &dyn std::error::Error, "retry after a transient failure");
                round.again.push_back(Batch { calls, cause: Some(Arc::new(error)), ..batch });
                if !has_begun {
                    // The others would wait as long, and in vain.
                    round.again.append(&mut batches);
                }
            }
        }
    }
    round.again.retain_mut(Batch::keep_in_time);
    round
}

/// Runs a group in a transaction. Those that may wait for the row of a company leave connections to all others.
async fn attempt_in_turn(shared: &Arc<Shared>, calls: Group) -> Ended {
    let has_company = calls.iter().any(|call| call.company().is_some());
    let _permit = if has_company { shared.waiting.acquire().await.ok() } else { None };
    attempt(shared, calls).await
}
