//! Runs operations in transactions, with [retries](super::retry).
//!
//! An operation has no effect before the commit, so it can be run again. Operations on one company that wait at the same
//! time [share a transaction](super::calls). One that is refused before it has changed anything leaves the others alone.
//! After any other refusal, or a statement that failed, the transaction is rolled back, and the others run each by itself.
//!
//! The commit runs in a task of its own: where the caller is cancelled, committed deliveries are still handed over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgRow;
use sqlx::{FromRow as _, Row as _};
use uuid::Uuid;

use super::super::change::CompanyChange;
use super::super::companies::{LOCK, StoredCompany};
use super::super::connection::Connection;
use super::super::series::LAST_NUMBERS;
use super::super::subscriber::Subscriber;
use super::super::webhooks::{SUBSCRIBERS, SubscriberRow};
use super::super::write_cache::{LastNumber, WriteCache};
use super::calls::{Call, Group, call};
use super::commit_status::{self, IN_DOUBT};
use super::retry::{self, Failure, Pauses};
use super::{BEGIN, Postgres, Shared};
use crate::Error;
use crate::env::Env;
use crate::queue::{Job, NewDelivery};
use crate::store::deliveries::AllDeliveries;
use crate::store::notification::Notification;
use crate::store::tx::{BLOCK, Tx};

/// How long a caller waits for a commit. After that the commit is still resolved, and committed deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);
/// How long a transaction takes up calls: much shorter than other nodes wait for the company's row.
const GROUP_TIME: Duration = Duration::from_millis(100);

impl Postgres {
    /// Runs an operation in a transaction. `company`: the one whose row it locks.
    pub(in crate::store) async fn write<T, F>(
        &self,
        company: Option<CompanyId>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let (call, answer) = call(operation);
        match company {
            Some(company) => self.join(company, call),
            None => run_alone(&self.shared, call).await,
        }
        answer.await.map_err(|_| Error::unavailable("the database did not take the operation"))?
    }

    #[expect(clippy::disallowed_methods, reason = "it ends with its calls, for which closing the pool waits")]
    fn join(&self, company: CompanyId, call: Box<dyn Call>) {
        if self.shared.turns.join(company, call) {
            tokio::spawn(Turn { shared: Arc::clone(&self.shared), company, has_left: false }.work());
        }
    }
}

/// The task of a company. Where it ends early, no caller waits for it.
struct Turn {
    shared: Arc<Shared>,
    company: CompanyId,
    has_left: bool,
}

impl Turn {
    /// Runs calls until none waits.
    async fn work(mut self) {
        let shared = Arc::clone(&self.shared);
        let mut pauses = Pauses::new(&shared.context.env);
        let mut again = Vec::new();
        while !(again.is_empty() && self.leave()) {
            again.push(shared.turns.take(self.company));
            again = run(&shared, Some(self.company), again).await;
            pauses.wait_if(!again.is_empty()).await;
        }
    }

    fn leave(&mut self) -> bool {
        self.has_left = self.shared.turns.leave(self.company);
        self.has_left
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.has_left {
            self.shared.turns.end(self.company);
        }
    }
}

/// Runs a call that is of no company until it is answered.
async fn run_alone(shared: &Arc<Shared>, call: Box<dyn Call>) {
    let mut pauses = Pauses::new(&shared.context.env);
    let mut groups = vec![vec![call]];
    while !groups.is_empty() {
        groups = run(shared, None, groups).await;
        pauses.wait_if(!groups.is_empty()).await;
    }
}

/// Runs groups one after the other. Returns those that have failed transiently and are to be run again.
async fn run(shared: &Arc<Shared>, company: Option<CompanyId>, groups: Vec<Group>) -> Vec<Group> {
    let (mut groups, mut again) = (VecDeque::from(groups), Vec::new());
    while let Some(group) = groups.pop_front() {
        let group = in_time(group, || Error::unavailable("the queue of the company is too long"));
        if group.is_empty() {
            continue;
        }
        match attempt(shared, company, group).await {
            Ended::Answered { rest } => groups.push_front(rest),
            Ended::Failed(group, error) => answer_all(group, error),
            Ended::Apart(group) => group.into_iter().rev().for_each(|call| groups.push_front(vec![call])),
            Ended::Again(group, error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "retry after a transient failure");
                let error = Arc::new(error);
                again.push(in_time(group, || Error::unavailable(Arc::clone(&error))));
            }
        }
    }
    again.retain(|group| !group.is_empty());
    again
}

/// The calls that are still waited for. Those that have waited too long are answered.
fn in_time(group: Group, error: impl Fn() -> Error) -> Group {
    let (in_time, late): (Group, Group) = group.into_iter().partition(|call| retry::has_time(call.begun()));
    for call in late {
        call.answer(Err(error()));
    }
    in_time.into_iter().filter(|call| call.is_wanted()).collect()
}

/// What has become of a group.
enum Ended {
    /// Some are answered; there was no time for the rest.
    Answered { rest: Group },
    /// Nothing is committed, and a retry may succeed.
    Again(Group, Error),
    /// Nothing is committed. One of them does not let the others share its transaction.
    Apart(Group),
    /// For good.
    Failed(Group, Error),
}

impl Ended {
    fn of(group: Group, failure: Failure) -> Self {
        match failure {
            Failure::Transient(error) => Self::Again(group, error),
            Failure::Permanent(error) => Self::Failed(group, error),
        }
    }
}

/// Answers all with one error.
fn answer_all(mut group: Group, error: Error) {
    if group.len() == 1 {
        return group.remove(0).answer(Err(error));
    }
    let error = Arc::new(error);
    for call in group {
        call.answer(Err(Error::unavailable(Arc::clone(&error))));
    }
}

/// Runs a group in one transaction.
async fn attempt(shared: &Arc<Shared>, company: Option<CompanyId>, mut group: Group) -> Ended {
    let youngest = group.iter().map(|call| call.begun()).max().unwrap_or_else(Instant::now);
    let (mut unfinished, id) = match begin(shared, retry::time_left(youngest), company).await {
        Ok(begun) => begun,
        Err(failure) => return Ended::of(group, failure),
    };
    let refusals = match unfinished.run(&mut group).await {
        Ok(refusals) => refusals,
        Err(failure) => {
            unfinished.roll_back().await;
            // Alone, each gets its own error, and the others none.
            return if group.len() > 1 { Ended::Apart(group) } else { Ended::of(group, failure) };
        }
    };
    let rest = group.split_off(refusals.len());
    if refusals.iter().all(Option::is_some) {
        unfinished.roll_back().await;
    } else if let Err(failure) = commit_in_time(shared, unfinished, id).await {
        return match failure {
            Failure::Transient(error) => Ended::Again(group.into_iter().chain(rest).collect(), error),
            Failure::Permanent(error) => {
                answer_all(group, error);
                Ended::Answered { rest }
            }
        };
    }
    for (call, refusal) in group.into_iter().zip(refusals) {
        call.answer(refusal.map_or(Ok(()), Err));
    }
    Ended::Answered { rest }
}

/// Begins a transaction in one call, which also takes a block of the row ids of deliveries, locks the company, and reads
/// what each change of it needs. A statement each, so the reads see all that was committed before the lock was taken.
async fn begin(
    shared: &Shared,
    limit: Duration,
    company: Option<CompanyId>,
) -> Result<(Unfinished, Uuid), Failure> {
    let mut session = shared.session_within(limit).await?;
    let env = &shared.context.env;
    let (id, now) = (env.uuid(), env.now().as_millis());
    let limits = shared.limits_behind_pooler();
    let mut begin = format!(
        "{BEGIN}{limits}; INSERT INTO commit_status (id, at, given_up) VALUES ('{id}', {now}, false) \
         RETURNING nextval('delivery_id_block')"
    );
    if let Some(company) = company {
        for statement in [LOCK.postgres, SUBSCRIBERS, LAST_NUMBERS] {
            begin += "; ";
            begin += &statement.replace("$1", &format!("'{company}'"));
        }
    }
    let mut answers = match session.begin(begin).await {
        Ok(answers) => answers,
        Err(error) => {
            // Keeps the connection, where the server has answered.
            let _ = session.roll_back().await;
            return Err(error.into());
        }
    };
    let mut cache = WriteCache::default();
    if let Some(company) = company {
        let of_company = answers.split_off(answers.len().saturating_sub(3));
        // What cannot be read, each operation finds by itself.
        let _ = remember(&mut cache, company, &of_company, env);
    }
    let block = answers.last().and_then(|rows| rows.first()).ok_or(sqlx::Error::RowNotFound)?;
    let block: i64 = block.try_get(0)?;
    let connection = Connection::Postgres(session, cache);
    let tx = Tx::new(connection, Arc::clone(&shared.context), block..block + BLOCK);
    Ok((Unfinished(tx), id))
}

/// Remembers the company, its webhooks and its numbers. Without a row there is no such company, which the operation finds.
fn remember(cache: &mut WriteCache, id: CompanyId, answers: &[Vec<PgRow>], env: &Env) -> Result<(), Error> {
    let [company, webhooks, numbers] = answers else {
        return Err(Error::internal("a statement was not answered"));
    };
    let Some(company) = company.first() else { return Ok(()) };
    let (company, last_stamp) = StoredCompany::from_row(company)?.read(id)?;
    cache.remember(&CompanyChange::new(company, last_stamp, env.now())?, last_stamp);
    let webhooks = webhooks.iter().map(|row| SubscriberRow::from_row(row).map(Subscriber::from));
    cache.remember_subscribers(id, &webhooks.collect::<Result<Arc<_>, _>>()?);
    cache.remember_numbers(id, numbers.iter().map(LastNumber::from_row).collect::<Result<Arc<_>, _>>()?);
    Ok(())
}

/// A transaction that discards its work for after the commit when it is dropped. After a commit there is none.
struct Unfinished(Tx);

impl Unfinished {
    /// Rolls back explicitly, so that the connection can be used again.
    async fn roll_back(&mut self) {
        if let Err(error) = self.0.connection().end_transaction().await {
            tracing::debug!(%error, "rolled back by the end of the connection");
        }
    }

    /// Runs calls one after the other, for as long as there is time. Which of these are refused, and have left nothing. They
    /// are answered after the commit, as they may have seen what it commits.
    ///
    /// # Errors
    /// Where the transaction cannot be committed.
    async fn run(&mut self, group: &mut Group) -> Result<Vec<Option<Error>>, Failure> {
        let Self(tx) = self;
        let (begun, mut refusals) = (Instant::now(), Vec::with_capacity(group.len()));
        for call in group {
            if begun.elapsed() > GROUP_TIME {
                break;
            }
            let savepoint = tx.savepoint();
            let refusal = match call.run(tx).await {
                Ok(()) if call.is_wanted() => None,
                // The caller has gone away meanwhile: as if it had never asked.
                Ok(()) => Some(Error::unavailable("nobody waits for the operation")),
                Err(error) => Some(error),
            };
            refusals.push(match refusal {
                Some(error) if !tx.undo_to(savepoint) => return Err(error.into()),
                refusal => refusal,
            });
        }
        match tx.connection() {
            Connection::Postgres(session, _) => session.finish().await?,
            Connection::SqliteWriter(..) | Connection::SqliteReader(_) => {}
        }
        Ok(refusals)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.rolled_back();
    }
}

/// Commits, and goes on with it where it takes longer than the callers wait.
async fn commit_in_time(shared: &Arc<Shared>, unfinished: Unfinished, id: Uuid) -> Result<(), Failure> {
    let shared = Arc::clone(shared);
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with the commit, for which closing the pool waits"
    )]
    let committing = tokio::spawn(async move { commit(&shared, unfinished, id).await });
    let Ok(committed) = tokio::time::timeout(COMMIT_LIMIT, committing).await else {
        return Err(Failure::Permanent(Error::unavailable(IN_DOUBT)));
    };
    committed.map_err(|error| Failure::Permanent(Error::internal(error)))?
}

async fn commit(shared: &Shared, mut unfinished: Unfinished, id: Uuid) -> Result<(), Failure> {
    let committed = match unfinished.0.connection() {
        Connection::Postgres(session, _) => session.commit().await,
        Connection::SqliteWriter(..) | Connection::SqliteReader(_) => Ok(()),
    };
    if let Err(error) = committed
        && (is_rolled_back(&error)
            || !commit_status::was_committed(shared, id).await.map_err(Failure::Permanent)?)
    {
        return Err(Failure::Transient(Error::unavailable(error)));
    }
    let (mut notifications, untaken) = unfinished.0.committed();
    // Frees the connection before the next statement needs one.
    drop(unfinished);
    if !untaken.is_empty() {
        release(shared, &untaken).await;
        notifications.extend(untaken.iter().map(|job| Notification::Due(job.webhook)));
        shared.context.queue.hand_over(untaken.iter().map(|job| NewDelivery::Pending(job.webhook)).collect());
    }
    shared.notifier.send(notifications);
    Ok(())
}

/// Releases deliveries that were claimed for a run of the dispatcher that has ended. Where that fails, their leases expire.
async fn release(shared: &Shared, jobs: &[Job]) {
    let released = async {
        let mut connection = Connection::of(shared.session().await?);
        for same in jobs.chunk_by(|a, b| a.token == b.token) {
            let ids: Vec<i64> = same.iter().map(|job| job.delivery).collect();
            AllDeliveries(&mut connection).release(&ids, same[0].token, shared.context.env.now()).await?;
        }
        Ok::<(), Error>(())
    };
    if let Err(error) = released.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "deliveries were not released; their leases have to expire");
    }
}

/// Whether the server has answered that a commit was a rollback. After any other error the status is in doubt: a server
/// that stops may have committed first.
fn is_rolled_back(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code.starts_with("40") || code.starts_with("23"))
}
