//! An operation that waits for a transaction, with its caller.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use tokio::sync::oneshot;

use super::connection::prefetch::Prefetch;
use super::tx::Tx;
use crate::error::Error;

/// An operation, with its caller.
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "a SQLite file is not shared, so nothing is loaded ahead or tried again")
)]
pub(super) trait Call: Send {
    /// Runs the operation, and keeps its value. It has no effect before the commit, so it can run
    /// again after a rollback.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>>;

    /// The company whose row the operation needs locked.
    fn company(&self) -> Option<CompanyId>;

    /// The records of the company that the operation reads first.
    fn prefetches(&self) -> &[Prefetch];

    /// True if the caller still waits.
    fn is_wanted(&self) -> bool;

    /// The instant at which the caller began to wait.
    fn begun(&self) -> Instant;

    /// Answers the caller, with the value if the operation is committed.
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

/// Calls that share a transaction, in their order.
pub(super) type Group = Vec<Box<dyn Call>>;

struct WaitingCall<T, F> {
    company: Option<CompanyId>,
    prefetches: Vec<Prefetch>,
    operation: F,
    begun: Instant,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

/// An operation as a call, and the receiver of its answer.
pub(super) fn call<T, F>(
    company: Option<CompanyId>,
    prefetches: Vec<Prefetch>,
    operation: F,
) -> (Box<dyn Call>, oneshot::Receiver<Result<T, Error>>)
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let begun = Instant::now();
    (Box::new(WaitingCall { company, prefetches, operation, begun, value: None, reply }), answer)
}

impl<T, F> Call for WaitingCall<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>> {
        Box::pin(async move {
            let result = AssertUnwindSafe((self.operation.clone())(tx)).catch_unwind().await;
            self.value = Some(result.map_err(|_panic| Error::internal("an operation panicked"))??);
            Ok(())
        })
    }

    fn company(&self) -> Option<CompanyId> {
        self.company
    }

    fn prefetches(&self) -> &[Prefetch] {
        &self.prefetches
    }

    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn begun(&self) -> Instant {
        self.begun
    }

    fn answer(self: Box<Self>, committed: Result<(), Error>) {
        let Self { value, reply, .. } = *self;
        let value = value.ok_or_else(|| Error::internal("an operation was not run"));
        // A caller that has gone away needs no answer.
        let _ = reply.send(committed.and(value));
    }
}

/// Waits for the answer to a call.
pub(super) async fn answered<T>(answer: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    answer.await.map_err(|_| Error::unavailable("the operation broke off, and may have happened"))?
}

/// Answers all calls with one error.
pub(super) fn answer_all(mut calls: Group, error: Error) {
    if calls.len() == 1 {
        return calls.remove(0).answer(Err(error));
    }
    let error = Arc::new(error);
    for call in calls {
        call.answer(Err(shared_error(&error)));
    }
}

/// An error for several callers.
pub(super) fn shared_error(error: &Arc<Error>) -> Error {
    match **error {
        Error::Internal(_) => Error::internal(Arc::clone(error)),
        _ => Error::unavailable(Arc::clone(error)),
    }
}
