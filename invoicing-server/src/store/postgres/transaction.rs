//! A transaction that several calls share.
//!
//! A call that is refused before it has changed anything leaves the others alone. After any other refusal, or a statement
//! that failed, the transaction is rolled back, and the caller of this module decides which calls run again.
//!
//! The commit runs in a task of its own: where the caller is cancelled, committed deliveries are still handed over.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryFutureExt as _;
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
use super::calls::Group;
use super::commit_status::{self, IN_DOUBT};
use super::retry::{self, Failure};
use super::{BEGIN, Shared};
use crate::Error;
use crate::env::Env;
use crate::queue::{Job, NewDelivery};
use crate::store::deliveries::AllDeliveries;
use crate::store::notification::Notification;
use crate::store::session::Session;
use crate::store::tx::{BLOCK, Tx};

/// How long a caller waits for a commit. After that the commit is still resolved, and committed deliveries are handed over.
const COMMIT_LIMIT: Duration = Duration::from_secs(20);
/// How long a transaction takes up calls: much shorter than other nodes wait for the company's row.
const GROUP_TIME: Duration = Duration::from_millis(100);

/// How long a transaction of several companies waits for a row that another one has locked.
const SHORT_WAIT: &str = "; SET LOCAL lock_timeout = '100ms'";

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

/// Whether a transaction waits for a company that another one has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locks {
    /// It does, and has one company or none.
    Waited,
    /// It leaves the company out.
    Free,
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
        Err(failure) => return Stopped { failure, at: None }.ended(group),
    };
    let begun = begin(shared, session, Locks::Waited, &companies_of(&group)).await;
    let ran = match begun {
        Ok(begun) => begun.run(&mut group).await,
        Err(stopped) => Err(stopped),
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(stopped) => return stopped.ended(group),
    };
    let rest = group.split_off(ran.refusals.len());
    match commit_and_answer(shared, ran, group).await {
        Ok(()) => Ended::Answered { rest },
        Err((group, Failure::Transient(error))) => {
            Ended::Again { calls: group.into_iter().chain(rest).collect(), error, has_begun: true }
        }
        Err((calls, Failure::Permanent(error))) => Ended::Failed { calls, error, rest },
    }
}

/// Calls whose transaction is not committed yet.
pub(super) struct Ran {
    unfinished: Unfinished,
    id: Uuid,
    /// An entry for each call that was run, an error where it is refused and has left nothing.
    pub(super) refusals: Vec<Option<Error>>,
}

/// A transaction that was rolled back.
pub(super) struct Stopped {
    pub(super) failure: Failure,
    /// After how many calls; `None` before the first.
    at: Option<usize>,
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

/// The companies of calls.
pub(super) fn companies_of(calls: &Group) -> BTreeSet<CompanyId> {
    calls.iter().filter_map(|call| call.company()).collect()
}

/// A transaction that has begun.
pub(super) struct Begun {
    unfinished: Unfinished,
    id: Uuid,
}

impl Begun {
    /// Whether it has locked a company.
    pub(super) fn has_locked(&mut self, company: Option<CompanyId>) -> bool {
        let Unfinished(tx) = &mut self.unfinished;
        let now = tx.env().now();
        let cache = tx.connection().write_cache();
        company.zip(cache).is_some_and(|(company, cache)| cache.change(company, now).is_some())
    }

    /// Runs calls in it.
    pub(super) async fn run(self, calls: &mut Group) -> Result<Ran, Stopped> {
        let Self { mut unfinished, id } = self;
        let mut refusals = Vec::with_capacity(calls.len());
        if let Err(failure) = unfinished.run(calls, &mut refusals).await {
            unfinished.roll_back().await;
            return Err(Stopped { failure, at: Some(refusals.len()) });
        }
        Ok(Ran { unfinished, id, refusals })
    }
}

/// Commits a transaction and answers its calls. Where it is not committed, they are returned.
pub(super) async fn commit_and_answer(
    shared: &Arc<Shared>,
    ran: Ran,
    calls: Group,
) -> Result<(), (Group, Failure)> {
    let Ran { mut unfinished, id, refusals } = ran;
    if refusals.iter().all(Option::is_some) {
        unfinished.roll_back().await;
    } else if let Err(failure) = commit_in_time(shared, unfinished, id).await {
        return Err((calls, failure));
    }
    for (call, refusal) in calls.into_iter().zip(refusals) {
        call.answer(refusal.map_or(Ok(()), Err));
    }
    Ok(())
}

/// Begins a transaction.
pub(super) async fn begin(
    shared: &Shared,
    session: Session,
    locks: Locks,
    companies: &BTreeSet<CompanyId>,
) -> Result<Begun, Stopped> {
    let begun = begin_and_lock(shared, session, locks, companies).await;
    begun.map_err(|failure| Stopped { failure, at: None })
}

/// Begins a transaction in one call, which also takes a block of the row ids of deliveries, locks the companies, and reads
/// what each change of them needs. A statement each, so the reads see all that was committed before the locks were taken.
async fn begin_and_lock(
    shared: &Shared,
    mut session: Session,
    locks: Locks,
    companies: &BTreeSet<CompanyId>,
) -> Result<Begun, Failure> {
    let env = &shared.context.env;
    let (id, now) = (env.uuid(), env.now().as_millis());
    let mut begin = format!(
        "{BEGIN}{limits}{lock_timeout}; INSERT INTO commit_status (id, at, given_up) VALUES ('{id}', {now}, false) \
         RETURNING nextval('delivery_id_block')",
        limits = shared.limits_behind_pooler(),
        lock_timeout = if locks == Locks::Free { SHORT_WAIT } else { "" },
    );
    if !companies.is_empty() {
        let ids: Vec<_> = companies.iter().map(CompanyId::to_string).collect();
        let ids = format!("ANY('{{{}}}')", ids.join(","));
        let lock = match locks {
            Locks::Waited => LOCK.postgres.to_owned(),
            Locks::Free => format!("{} SKIP LOCKED", LOCK.postgres),
        };
        for statement in [&lock, SUBSCRIBERS, LAST_NUMBERS] {
            begin += "; ";
            begin += &statement.replace("$1", &ids);
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
    if !companies.is_empty() {
        let of_companies = answers.split_off(answers.len().saturating_sub(3));
        // What cannot be read, each operation finds by itself.
        let _ = remember(&mut cache, &of_companies, env);
    }
    let block = answers.last().and_then(|rows| rows.first()).ok_or(sqlx::Error::RowNotFound)?;
    let block: i64 = block.try_get(0)?;
    let connection = Connection::Postgres(session, cache);
    let tx = Tx::new(connection, Arc::clone(&shared.context), block..block + BLOCK);
    Ok(Begun { unfinished: Unfinished(tx), id })
}

/// Remembers the companies that are locked, their webhooks and their numbers.
fn remember(cache: &mut WriteCache, answers: &[Vec<PgRow>], env: &Env) -> Result<(), Error> {
    let [companies, webhooks, numbers] = answers else {
        return Err(Error::internal("a statement was not answered"));
    };
    let (webhooks, numbers) = (by_company(webhooks)?, by_company(numbers)?);
    for row in companies {
        let company = row.try_get("id")?;
        let webhooks = webhooks.get(&company).into_iter().flatten().copied();
        let numbers = numbers.get(&company).into_iter().flatten().copied();
        // One that cannot be read fails the operations on it only.
        let company = CompanyId(company);
        let Ok((record, last_stamp)) = StoredCompany::from_row(row)?.read(company) else { continue };
        let Ok(change) = CompanyChange::new(record, last_stamp, env.now()) else { continue };
        cache.remember(&change, last_stamp);
        let webhooks = webhooks.map(|row| SubscriberRow::from_row(row).map(Subscriber::from));
        cache.remember_subscribers(company, &webhooks.collect::<Result<Arc<_>, _>>()?);
        cache.remember_numbers(company, numbers.map(LastNumber::from_row).collect::<Result<Arc<_>, _>>()?);
    }
    Ok(())
}

/// The rows of each company.
fn by_company(rows: &[PgRow]) -> Result<HashMap<Uuid, Vec<&PgRow>>, sqlx::Error> {
    let mut companies: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows {
        companies.entry(row.try_get("company_id")?).or_default().push(row);
    }
    Ok(companies)
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

    /// Runs calls one after the other, for as long as there is time. `refusals`: an entry for each, an error where it is
    /// refused and has left nothing. They are answered after the commit, as they may have seen what it commits.
    ///
    /// # Errors
    /// Where the transaction cannot be committed.
    async fn run(&mut self, group: &mut Group, refusals: &mut Vec<Option<Error>>) -> Result<(), Failure> {
        let Self(tx) = self;
        let begun = Instant::now();
        for call in group {
            if begun.elapsed() > GROUP_TIME {
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
