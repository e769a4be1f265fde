//! The transactions of group commit on PostgreSQL: [`Transactions`] of several companies, or of one
//! that is contended.
//!
//! A worker locks the companies that are free, and waits for none. A company is *contended* if
//! another node, or a transaction that takes long, has it locked, or if a transaction with its
//! calls has failed. A separate task then runs its calls, those that come meanwhile too, until none
//! is left. It waits for the lock, and tries again after transient failures. So no company waits
//! for another one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::begin::{LockMode, Open, PrefetchPlan, begin};
use super::commit::commit_in_time;
use super::retry::{Pauses, in_time, time_left};
use super::{Postgres, Shared, spawn};
use crate::error::Error;
use crate::store::Prefetch;
use crate::store::call::{Call, Group, answer_all, answered, call};
use crate::store::connection::{Connection, Session};
use crate::store::group_commit::{Executed, Failure, GROUP, Transactions, attempt, run_group};
use crate::store::tx::Tx;

/// Longest time that a worker stays with a transaction, and with its commit. A late commit goes on
/// in a task.
const WORKER_TIME: Duration = Duration::from_millis(500);

/// The calls that wait for the task of each contended company.
pub(super) type Contended = Mutex<HashMap<CompanyId, Group>>;

impl Postgres {
    /// Runs an operation in a transaction. `company` is the one whose row it locks; `records` are
    /// those of the company that it reads first.
    pub(in crate::store) async fn write<T, F>(
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
        match company {
            // The task of a contended company waits for its lock; a worker would only find it
            // locked.
            Some(company) if self.shared.contended.lock().contains_key(&company) => {
                self.shared.hand_over(vec![call]);
            }
            Some(_) => self.writers.send(call).await?,
            // In a task: if the caller is cancelled, committed deliveries are still handed over.
            None => drop(spawn(run_alone(Arc::clone(&self.shared), call))),
        }
        answered(answer).await
    }
}

impl Shared {
    /// Gives calls to the tasks of their companies, and starts the tasks that are missing.
    fn hand_over(self: &Arc<Self>, calls: Group) {
        let mut contended = self.contended.lock();
        for call in calls {
            let Some(company) = call.company() else { continue };
            match contended.entry(company) {
                Entry::Occupied(mut waiting) => waiting.get_mut().push(call),
                Entry::Vacant(none) => {
                    none.insert(vec![call]);
                    drop(spawn(work(Arc::clone(self), company)));
                }
            }
        }
    }

    /// The next calls of a contended company. If there are none, it is no longer contended.
    fn take_of(&self, company: CompanyId) -> Group {
        let mut contended = self.contended.lock();
        let Some(waiting) = contended.get_mut(&company) else { return Group::new() };
        let next = waiting.drain(..waiting.len().min(GROUP)).collect::<Group>();
        // Removed under the lock of the map, so that a call that comes later starts a new task.
        if next.is_empty() {
            contended.remove(&company);
        }
        next
    }

    /// A connection. A call that began at `begun` bounds the wait for it.
    async fn session_since(&self, begun: Instant) -> Result<Session, Failure> {
        self.session_within(time_left(begun)).await.map_err(|error| match Failure::from(error) {
            // The calls have waited for a connection long enough.
            Failure::Permanent(error) => Failure::Final(error),
            failure => failure,
        })
    }

    /// True if the pool has a connection for others at once.
    fn has_other_connections(&self) -> bool {
        self.pool.num_idle() > 0 || self.pool.size() < self.settings.max_connections
    }
}

/// Runs the calls of a contended company until none waits. Boxed, as the future contains itself:
/// the workers of group commit start such tasks, and the tasks are workers too.
fn work(shared: Arc<Shared>, company: CompanyId) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut calls = shared.take_of(company);
        while !calls.is_empty() {
            let mut database = Transactor::new(Arc::clone(&shared), LockMode::Waited);
            database.is_of_contended = true;
            // A panic drops the calls of the group, which fails them, and the next ones still run.
            let run = AssertUnwindSafe(run_group(&mut database, calls, None)).catch_unwind();
            calls = run.await.unwrap_or_default();
            if calls.is_empty() {
                calls = shared.take_of(company);
            }
        }
    })
}

/// Runs a call without a company.
fn run_alone(shared: Arc<Shared>, call: Box<dyn Call>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut database = Transactor::new(shared, LockMode::Waited);
        drop(run_group(&mut database, vec![call], None).await);
    })
}

/// A connection that runs one transaction after the other.
pub(super) struct Transactor {
    shared: Arc<Shared>,
    locks: LockMode,
    is_of_contended: bool,
    /// Permit of a task that waits for locks: such tasks leave connections to all others.
    permit: Option<OwnedSemaphorePermit>,
    /// A session that is kept: to give it back and take another costs a round trip.
    session: Option<Session>,
    open: Option<Open>,
}

impl Transactor {
    fn new(shared: Arc<Shared>, locks: LockMode) -> Self {
        Self { shared, locks, is_of_contended: false, permit: None, session: None, open: None }
    }

    /// The transactor of a worker, which waits for no company.
    pub(super) fn of_worker(shared: &Arc<Shared>) -> Self {
        Self::new(Arc::clone(shared), LockMode::Free)
    }

    fn keep(&mut self, session: Option<Session>) {
        self.session = session.filter(|_| self.shared.has_other_connections());
    }

    /// Runs a call by itself, and again after a transient failure.
    async fn run_by_itself(&mut self, call: Box<dyn Call>, mut cause: Arc<Error>) {
        let shared = Arc::clone(&self.shared);
        let mut pauses = Pauses::new(&shared.context.env);
        let mut calls = in_time(vec![call], Some(&cause));
        while !calls.is_empty() {
            match attempt(self, calls, None).await {
                Ok(_answered) => return,
                Err((left, Failure::Transient(error))) => {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "retry after a transient failure"
                    );
                    self.rest();
                    pauses.wait().await;
                    cause = Arc::new(error);
                    calls = in_time(left, Some(&cause));
                }
                Err((left, failure)) => return answer_all(left, failure.into_error()),
            }
        }
    }
}

impl Transactions for Transactor {
    /// Waits for a connection for as long as the youngest call may.
    async fn connect(&mut self, calls: &mut Group) -> Result<(), Failure> {
        if self.is_of_contended && self.permit.is_none() {
            self.permit = Arc::clone(&self.shared.waiting).acquire_owned().await.ok();
        }
        *calls = in_time(std::mem::take(calls), None);
        let Some(youngest) = calls.iter().map(|call| call.begun()).max() else { return Ok(()) };
        if self.session.is_none() {
            self.session = Some(self.shared.session_since(youngest).await?);
        }
        Ok(())
    }

    fn limit(&self) -> Duration {
        match self.locks {
            LockMode::Free => WORKER_TIME,
            LockMode::Waited => Duration::MAX,
        }
    }

    async fn begin(&mut self, calls: &mut Group) -> Result<(), Failure> {
        let session = self.session.take().ok_or_else(|| Failure::Final(Error::internal("no connection")))?;
        let open =
            self.open.insert(begin(&self.shared, session, self.locks, &PrefetchPlan::of(calls)).await?);
        if self.locks == LockMode::Free {
            let locked_elsewhere = calls.extract_if(.., |call| !open.has_locked(call.company()));
            self.shared.hand_over(locked_elsewhere.collect());
        }
        Ok(())
    }

    fn tx(&mut self) -> &mut Tx {
        &mut self.open.as_mut().expect("calls run in an open transaction").tx
    }

    async fn commit(&mut self, ran: Executed) -> Result<(), (Group, Failure)> {
        let open = self.open.take().expect("calls run in an open transaction");
        let mut ending = Box::pin(end(Arc::clone(&self.shared), open, ran));
        // A slow commit must not hold up the other companies of the worker.
        let Ok(ended) = timeout(self.limit(), &mut ending).await else {
            let shared = Arc::clone(&self.shared);
            drop(spawn(async move { ended_late(&shared, ending.await) }));
            return Ok(());
        };
        self.keep(ended?);
        Ok(())
    }

    async fn end_without_changes(&mut self) -> Result<(), Error> {
        self.roll_back().await;
        Ok(())
    }

    /// Rolls back explicitly, so that the connection can be used again.
    async fn roll_back(&mut self) {
        // A connection that does not answer is closed instead, which the server answers with a
        // rollback.
        if let Some(mut open) = self.open.take()
            && timeout(self.limit(), open.roll_back()).await.is_ok()
        {
            self.keep(open.into_session());
        }
    }

    fn classify(&self, error: Error) -> Failure {
        error.into()
    }

    async fn run_apart(&mut self, calls: Group, error: Error) {
        tracing::debug!(error = &error as &dyn std::error::Error, "operations no longer share a transaction");
        let cause = Arc::new(error);
        if self.locks == LockMode::Free {
            return self.shared.hand_over(in_time(calls, Some(&cause)));
        }
        for call in calls {
            self.run_by_itself(call, Arc::clone(&cause)).await;
        }
    }

    fn rest(&mut self) {
        self.session = None;
        self.permit = None;
    }

    async fn close(self) {}
}

/// Sends the waiting writes, commits, and answers. Returns the session, if it can be used again.
async fn end(
    shared: Arc<Shared>,
    mut open: Open,
    ran: Executed,
) -> Result<Option<Session>, (Group, Failure)> {
    if let Connection::Postgres(session, _) = open.tx.connection()
        && let Err(error) = session.finish().await
    {
        open.roll_back().await;
        return Err((ran.into_calls(), error.into()));
    }
    match commit_in_time(&shared, open).await {
        Ok(session) => {
            ran.answer();
            Ok(session)
        }
        Err(failure) => Err((ran.into_calls(), failure)),
    }
}

/// Answers the calls of a commit that its worker has not waited for, or runs them again.
fn ended_late(shared: &Arc<Shared>, ended: Result<Option<Session>, (Group, Failure)>) {
    match ended {
        Ok(_session) => {}
        Err((calls, Failure::Final(error))) => answer_all(calls, error),
        Err((calls, failure)) => {
            shared.hand_over(in_time(calls, Some(&Arc::new(failure.into_error()))));
        }
    }
}
