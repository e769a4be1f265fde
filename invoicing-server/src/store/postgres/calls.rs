//! Calls that wait for a transaction, and their turns.
//!
//! All calls for a company that wait at the same time share a transaction: its lock, its round trips, its commit. A task
//! takes them, and ends when none waits any more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::tx::Tx;
use crate::Error;

/// Most calls in one transaction. Bounds how long the first one waits for the last.
pub(super) const GROUP: usize = 64;

/// An operation, and its caller.
pub(super) trait Call: Send {
    /// Runs the operation, and keeps its value. It has no effect before the commit, so it can run again after a rollback.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>>;

    /// Whether the caller still waits.
    fn is_wanted(&self) -> bool;

    /// When the caller began to wait.
    fn begun(&self) -> Instant;

    /// Answers the caller, with the value where the operation is committed.
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

/// Calls that share a transaction, in their order.
pub(super) type Group = Vec<Box<dyn Call>>;

struct Waiting<T, F> {
    operation: F,
    begun: Instant,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

/// An operation as a call, and where its answer comes.
pub(super) fn call<T, F>(operation: F) -> (Box<dyn Call>, oneshot::Receiver<Result<T, Error>>)
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (Box::new(Waiting { operation, begun: Instant::now(), value: None, reply }), answer)
}

impl<T, F> Call for Waiting<T, F>
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

/// The calls of each company that wait for its task. A company without an entry has no task.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<CompanyId, Group>>);

impl Turns {
    /// Lets a call wait. Whether the company needs a task.
    pub(super) fn join(&self, company: CompanyId, call: Box<dyn Call>) -> bool {
        match self.0.lock().entry(company) {
            Entry::Occupied(mut waiting) => {
                waiting.get_mut().push(call);
                false
            }
            Entry::Vacant(none) => {
                none.insert(vec![call]);
                true
            }
        }
    }

    /// The next calls of a company.
    pub(super) fn take(&self, company: CompanyId, at_most: usize) -> Group {
        let mut companies = self.0.lock();
        let Some(waiting) = companies.get_mut(&company) else { return Group::new() };
        let group = waiting.len().min(at_most);
        waiting.drain(..group).collect()
    }

    /// Lets the task of a company end if no call waits. Whether it may.
    pub(super) fn leave(&self, company: CompanyId) -> bool {
        let mut companies = self.0.lock();
        let is_idle = companies.get(&company).is_none_or(Vec::is_empty);
        if is_idle {
            companies.remove(&company);
        }
        is_idle
    }

    /// Ends the turns of a company whose task has ended early. The callers hear that it has.
    pub(super) fn end(&self, company: CompanyId) {
        let ended = self.0.lock().remove(&company);
        // What an operation holds is dropped after the lock.
        drop(ended);
    }
}
