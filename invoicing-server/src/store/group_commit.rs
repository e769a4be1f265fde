//! Group commit: operations that wait at the same time share a transaction, and so its commit.
//!
//! A *worker* is a task with one connection. It takes at most 64 waiting calls, of each company in
//! turn. It begins a transaction, runs the calls one after the other for at most 100 ms, commits,
//! and answers all of them. A call that is refused leaves no trace, and the others stand. If the
//! transaction fails, nothing of it is committed, and its calls run again, each by itself. So each
//! caller gets the error of its own call, and a call that fails the others fails alone. After a
//! commit whose outcome is not known, no call runs again. A call whose caller has gone away before
//! it began does not run.
//!
//! [`Transactions`] is the part that differs between the databases.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Prefetch;
use super::call::{Call, Group, answer_all, answered, call};
use super::tx::Tx;
use crate::error::Error;

/// Maximum number of calls in one transaction. Bounds how long the first one waits for the last.
pub(super) const GROUP: usize = 64;
/// Time for which a transaction takes up calls: much less than other nodes wait for the row of a
/// company.
const GROUP_TIME: Duration = Duration::from_millis(100);
/// Maximum number of calls that wait for a worker; further callers wait for room.
const QUEUE: usize = 1_024;
/// Time for which a worker without calls keeps its connection.
const IDLE: Duration = Duration::from_millis(100);

/// Class of the failure of a transaction.
pub(super) enum Failure {
    /// Nothing is committed, and a call that fails alone is not tried again.
    Permanent(Error),
    /// Nothing is committed, and another try may succeed.
    Transient(Error),
    /// The transaction may have been committed, or none can be begun: no call runs again.
    Final(Error),
}

impl Failure {
    pub(super) fn into_error(self) -> Error {
        let (Self::Permanent(error) | Self::Transient(error) | Self::Final(error)) = self;
        error
    }
}

/// The connection of a worker, which runs one transaction after the other.
pub(super) trait Transactions: Send + 'static {
    /// Connects, and answers calls that have waited for too long.
    fn connect(&mut self, _calls: &mut Group) -> impl Future<Output = Result<(), Failure>> + Send {
        async { Ok(()) }
    }

    /// Longest time from the beginning of a transaction to the end of its last call.
    fn limit(&self) -> Duration {
        Duration::MAX
    }

    /// Begins a transaction for calls. Removes the calls that another transaction has to run.
    fn begin(&mut self, calls: &mut Group) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The transaction that was begun.
    fn tx(&mut self) -> &mut Tx;

    /// True if calls that come while a transaction runs can be part of it: not if each needs a
    /// company that is locked at the beginning.
    fn takes_more(&self) -> bool {
        false
    }

    /// Marks the beginning of a call, for [`undo`](Self::undo).
    fn mark(&mut self) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Undoes the statements of a call from the mark on. Returns false if only the end of the
    /// transaction can undo them.
    fn undo(&mut self) -> impl Future<Output = bool> + Send {
        async { false }
    }

    /// Commits, and answers the calls. Returns the calls if nothing is committed.
    fn commit(&mut self, ran: Executed) -> impl Future<Output = Result<(), (Group, Failure)>> + Send;

    /// Ends a transaction that has changed nothing.
    fn end_without_changes(&mut self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends a transaction that has failed.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Classifies an error of a call or a statement as a failure of the transaction.
    fn classify(&self, error: Error) -> Failure;

    /// Runs calls again after their transaction has failed.
    fn run_apart(&mut self, calls: Group, error: Error) -> impl Future<Output = ()> + Send;

    /// Leaves the connection to others until the next call.
    fn rest(&mut self) {}

    /// Closes the connection.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// The calls that wait for a worker.
pub(super) type CallQueue = mpsc::Receiver<Box<dyn Call>>;

/// Calls that were run in a transaction.
pub(super) struct Executed {
    calls: Group,
    /// An entry for each call: its error if the call was refused and has left nothing.
    refusals: Vec<Option<Error>>,
}

impl Executed {
    /// Answers the callers. Runs after the commit, as a refusal may be due to a change that it
    /// commits.
    pub(super) fn answer(self) {
        for (call, refusal) in self.calls.into_iter().zip(self.refusals) {
            call.answer(refusal.map_or(Ok(()), Err));
        }
    }

    pub(super) fn into_calls(self) -> Group {
        self.calls
    }

    fn has_changed_nothing(&self) -> bool {
        self.refusals.iter().all(Option::is_some)
    }
}

/// The workers.
pub(super) struct GroupCommit {
    /// One queue per worker; empty once closed.
    queues: Mutex<Vec<mpsc::Sender<Box<dyn Call>>>>,
    tasks: tokio::sync::Mutex<Vec<JoinHandle<()>>>,
}

impl GroupCommit {
    /// Starts a worker for each connection.
    #[expect(clippy::disallowed_methods, reason = "a worker ends with its queue, and `close` waits for it")]
    pub(super) fn start<D: Transactions>(connections: impl IntoIterator<Item = D>) -> Self {
        let start = |connection| {
            let (sender, queue) = mpsc::channel(QUEUE);
            (sender, tokio::spawn(work(connection, queue)))
        };
        let (queues, tasks): (_, Vec<_>) = connections.into_iter().map(start).unzip();
        Self { queues: Mutex::new(queues), tasks: tokio::sync::Mutex::new(tasks) }
    }

    /// Runs an operation. `company` is the one whose row it locks; `records` are those of the
    /// company that it reads first.
    pub(super) async fn run<T, F>(
        &self,
        company: Option<CompanyId>,
        records: Vec<Prefetch>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let (call, answer) = call(company, records, operation);
        self.send(call).await?;
        answered(answer).await
    }

    /// Puts a call into the queue of its company's worker.
    pub(super) async fn send(&self, call: Box<dyn Call>) -> Result<(), Error> {
        let queue = self.queue_of(call.company()).ok_or_else(closed)?;
        queue.send(call).await.map_err(|_| closed())
    }

    /// The queue of a company, always of the same worker: two workers would find the company locked
    /// by each other.
    fn queue_of(&self, company: Option<CompanyId>) -> Option<mpsc::Sender<Box<dyn Call>>> {
        let queues = self.queues.lock();
        let number = company.map_or(0, |company| company.0.as_u128()).checked_rem(queues.len() as u128)?;
        queues.get(usize::try_from(number).ok()?).cloned()
    }

    /// True if it takes operations.
    pub(super) fn is_running(&self) -> bool {
        let queues = self.queues.lock();
        !queues.is_empty() && queues.iter().all(|queue| !queue.is_closed())
    }

    /// Takes no more operations, and waits for the end of those that were taken.
    pub(super) async fn close(&self) {
        self.queues.lock().clear();
        for task in self.tasks.lock().await.drain(..) {
            if let Err(error) = task.await {
                tracing::error!(%error, "writer task failed; its last operations may have happened");
            }
        }
    }
}

fn closed() -> Error {
    Error::unavailable("the database is closed")
}

async fn work<D: Transactions>(mut database: D, mut queue: CallQueue) {
    let mut waiting = Group::new();
    while take(&mut database, &mut queue, &mut waiting).await {
        let group = next_group(&mut waiting);
        // A panic, such as one of the host's clock, fails the group and not the companies of this
        // worker for ever.
        let run = AssertUnwindSafe(run_group(&mut database, group, Some(&mut queue))).catch_unwind();
        // Calls that were not started in time come first in the next transaction.
        waiting.splice(..0, run.await.unwrap_or_default());
    }
    database.close().await;
}

/// Takes the calls that wait, and waits for one if there is none. Returns false at the end.
async fn take<D: Transactions>(database: &mut D, queue: &mut CallQueue, waiting: &mut Group) -> bool {
    if waiting.is_empty() {
        if let Ok(count) = timeout(IDLE, queue.recv_many(waiting, QUEUE)).await {
            return count > 0;
        }
        database.rest();
        return queue.recv_many(waiting, QUEUE).await > 0;
    }
    while waiting.len() < QUEUE
        && let Ok(call) = queue.try_recv()
    {
        waiting.push(call);
    }
    true
}

/// The calls of the next transaction: one of each company in turn, so that no company waits for all
/// calls of another. A call without a company, such as a claim or a recording, has its turn like
/// the first of a company.
fn next_group(waiting: &mut Group) -> Group {
    let mut counts = HashMap::new();
    waiting.sort_by_cached_key(|call| {
        call.company().map_or(1, |company| {
            let count = counts.entry(company).or_insert(0_usize);
            *count += 1;
            *count
        })
    });
    let rest = waiting.split_off(waiting.len().min(GROUP));
    std::mem::replace(waiting, rest)
}

/// Runs calls, together or else each by itself. Returns the calls that were not started in time.
pub(super) async fn run_group<D: Transactions>(
    database: &mut D,
    calls: Group,
    queue: Option<&mut CallQueue>,
) -> Group {
    match attempt(database, calls, queue).await {
        Ok(rest) => return rest,
        Err((calls, Failure::Final(error))) => answer_all(calls, error),
        Err((calls, Failure::Permanent(error))) if calls.len() == 1 => answer_all(calls, error),
        Err((calls, Failure::Permanent(error) | Failure::Transient(error))) => {
            database.run_apart(calls, error).await;
        }
    }
    Group::new()
}

/// Runs calls in one transaction, and those that come meanwhile, and answers them. Returns the
/// calls that were not started in time. If nothing is committed, the error holds all of them.
pub(super) async fn attempt<D: Transactions>(
    database: &mut D,
    mut calls: Group,
    queue: Option<&mut CallQueue>,
) -> Result<Group, (Group, Failure)> {
    if let Err(failure) = database.connect(&mut calls).await {
        return Err((calls, failure));
    }
    if calls.is_empty() {
        return Ok(calls);
    }
    let mut refusals = Vec::with_capacity(calls.len());
    let (limit, ran) = (database.limit(), begin_and_run(database, &mut calls, &mut refusals, queue));
    let too_slow = |_elapsed| Err(Failure::Transient(Error::unavailable("the database was too slow")));
    if let Err(failure) = timeout(limit, ran).await.unwrap_or_else(too_slow) {
        database.roll_back().await;
        return Err((calls, failure));
    }
    // Calls without an entry have not run.
    let rest = calls.split_off(refusals.len());
    match end(database, Executed { calls, refusals }).await {
        Ok(()) => {}
        // The remaining calls have not run, so the next transaction can run them.
        Err((calls, Failure::Final(error))) => answer_all(calls, error),
        Err((mut calls, failure)) => {
            calls.extend(rest);
            return Err((calls, failure));
        }
    }
    Ok(rest)
}

async fn end<D: Transactions>(database: &mut D, ran: Executed) -> Result<(), (Group, Failure)> {
    if !ran.has_changed_nothing() {
        return database.commit(ran).await;
    }
    if let Err(error) = database.end_without_changes().await {
        return Err((ran.into_calls(), database.classify(error)));
    }
    ran.answer();
    Ok(())
}

/// Begins a transaction and runs calls in it.
async fn begin_and_run<D: Transactions>(
    database: &mut D,
    calls: &mut Group,
    refusals: &mut Vec<Option<Error>>,
    queue: Option<&mut CallQueue>,
) -> Result<(), Failure> {
    database.begin(calls).await?;
    match run_calls(database, calls, refusals, queue).await {
        Ok(()) => Ok(()),
        Err(error) => Err(database.classify(error)),
    }
}

/// Runs calls one after the other, for as long as there is time.
///
/// # Errors
/// If the transaction cannot be committed.
async fn run_calls<D: Transactions>(
    database: &mut D,
    calls: &mut Group,
    refusals: &mut Vec<Option<Error>>,
    queue: Option<&mut CallQueue>,
) -> Result<(), Error> {
    let (since, mut queue) = (Instant::now(), queue.filter(|_| database.takes_more()));
    // The first call runs in any case, so that each transaction makes progress.
    while let Some(call) = calls.get_mut(refusals.len())
        && (refusals.is_empty() || since.elapsed() < GROUP_TIME)
    {
        refusals.push(run_call(database, &mut **call).await?);
        if calls.len() == refusals.len()
            && calls.len() < GROUP
            && let Some(queue) = &mut queue
        {
            calls.extend(queue.try_recv());
        }
    }
    Ok(())
}

/// Runs a call. Returns its error if it is refused and has left nothing.
async fn run_call<D: Transactions>(database: &mut D, call: &mut dyn Call) -> Result<Option<Error>, Error> {
    if !call.is_wanted() {
        return Ok(Some(Error::unavailable("the caller has gone away")));
    }
    database.mark().await?;
    let savepoint = database.tx().savepoint();
    let Err(error) = call.run(database.tx()).await else { return Ok(None) };
    let has_left_nothing = database.tx().undo_to(savepoint);
    if has_left_nothing || database.undo().await { Ok(Some(error)) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(company: Option<u128>) -> Box<dyn Call> {
        let company = company.map(|number| CompanyId(uuid::Uuid::from_u128(number)));
        call(company, Vec::new(), |_tx: &mut Tx| Box::pin(async { Ok(()) })).0
    }

    #[test]
    fn companies_have_their_turns_and_work_of_none_is_not_held_back() {
        let order = [Some(1), Some(1), Some(1), None, None, Some(2), Some(2), None];
        let mut calls: Group = order.into_iter().map(waiting).collect();
        let group = next_group(&mut calls);
        let companies: Vec<_> =
            group.iter().map(|call| call.company().map(|company| company.0.as_u128())).collect();
        let expected = [Some(1), None, None, Some(2), None, Some(1), Some(2), Some(1)];
        assert_eq!((companies, calls.len()), (expected.to_vec(), 0));
    }

    /// A database that panics as the first transaction begins, and has no other.
    struct Panicking(bool);

    impl Transactions for Panicking {
        async fn begin(&mut self, _calls: &mut Group) -> Result<(), Failure> {
            assert!(std::mem::replace(&mut self.0, true), "the first transaction");
            Err(Failure::Final(Error::internal("the second transaction")))
        }

        fn tx(&mut self) -> &mut Tx {
            unreachable!("no transaction begins")
        }

        async fn commit(&mut self, ran: Executed) -> Result<(), (Group, Failure)> {
            ran.answer();
            Ok(())
        }

        async fn end_without_changes(&mut self) -> Result<(), Error> {
            Ok(())
        }

        async fn roll_back(&mut self) {}

        fn classify(&self, error: Error) -> Failure {
            Failure::Permanent(error)
        }

        async fn run_apart(&mut self, calls: Group, error: Error) {
            answer_all(calls, error);
        }

        async fn close(self) {}
    }

    #[tokio::test]
    async fn a_panic_fails_the_calls_of_its_group_and_no_later_one() {
        let workers = GroupCommit::start([Panicking(false)]);
        let run = || workers.run(None, Vec::new(), |_tx: &mut Tx| Box::pin(async { Ok(()) }));
        assert!(matches!(run().await, Err(Error::StorageUnavailable(_))), "it may have happened");
        assert!(matches!(run().await, Err(Error::Internal(_))), "the worker goes on");
        assert!(workers.is_running());
        workers.close().await;
    }

    #[test]
    fn a_group_has_a_bound_and_the_rest_keeps_its_order() {
        let mut calls: Group = (0..GROUP + 3).map(|_| waiting(None)).collect();
        assert_eq!((next_group(&mut calls).len(), calls.len()), (GROUP, 3));
    }
}
