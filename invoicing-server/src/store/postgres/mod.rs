//! A PostgreSQL database that several nodes share.
//!
//! Each operation is a transaction of its own on a connection of the pool. A change of a company locks the company's row
//! first, so that changes of one company are serial and those of different companies do not wait for each other.
//! Transient failures are retried for a few seconds ([`retry`]). A commit whose answer was lost is resolved
//! ([`commit_status`]).

mod clock;
mod commit_status;
mod notify;
mod retry;
mod write;

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, WebhookId};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use uuid::Uuid;

pub(crate) use super::migrate::postgres as migrate;
pub(super) use retry::Backoff;

use super::DatabaseError;
use super::claims::{Claimant, Claimed};
use super::connection::Connection;
use super::deliveries::AllDeliveries;
use super::ids::DeliveryIds;
use super::locks::{COPY, SWEEP_LOCK, TABLE_EXISTS};
use super::notification::{LocalListener, OnIncoming};
use super::session::Session;
use super::tx::Tx;
use crate::Error;
use crate::config::{PostgresSettings, SettingError};
use crate::env::Env;
use crate::keyed_semaphore::KeyedSemaphore;
use crate::queue::Queue;
use clock::Correction;
use notify::{Listener, Notifier};
use retry::Failure;

/// A transaction that has waited for a lock sees what was committed meanwhile, whatever the database's default level.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A sweep may stall for a while, so that no other sweep takes over what it is about to delete; but one that does not
/// go on and one whose machine is gone are not waited for.
const BEGIN_SWEEP: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10min'; \
     SET LOCAL tcp_keepalives_idle = 30; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3";

/// Statements that each connection keeps prepared; every statement of this crate fits.
const PREPARED: usize = 256;
/// A connection that has been idle for longer is asked whether it still lives before it is used.
const IDLE: Duration = Duration::from_millis(500);
/// How long to wait where a connection broke off while it was made.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);
/// How much longer than the server's own limits an answer is waited for.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// Operations of one company that may ask for a connection: one that has the row, and one that waits for it.
const AT_ONCE: u32 = 2;

/// An open database.
pub(crate) struct Postgres {
    shared: Arc<Shared>,
    /// Operations on one company wait for its row, each with a connection of its own. Without a limit, a busy company
    /// would leave no connection to the others.
    company_queue: KeyedSemaphore,
    /// Ends when it is dropped; `None` before it has begun, and once closed.
    listener: tokio::sync::Mutex<Option<Listener>>,
}

/// What a transaction needs that outlives the call it was begun by.
struct Shared {
    pool: PgPool,
    options: PgConnectOptions,
    /// Tells this node from the others.
    node: Uuid,
    settings: PostgresSettings,
    answer_limit: Duration,
    env: Env,
    queue: Arc<Queue>,
    ids: Arc<DeliveryIds>,
    notifier: Notifier,
    local_listener: LocalListener,
    correction: Correction,
}

impl Postgres {
    /// Connects and brings the schema up to date.
    pub(super) async fn open(
        settings: PostgresSettings,
        env: Env,
        queue: Arc<Queue>,
    ) -> Result<Self, DatabaseError> {
        let options = options(&settings, &settings.url)?;
        let answer_limit = Duration::from_millis(settings.statement_timeout_ms)
            + Duration::from_millis(settings.lock_timeout_ms)
            + ANSWER_MARGIN;
        let ids = Arc::new(DeliveryIds::in_blocks());
        let shared_ids = Arc::clone(&ids);
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(Duration::from_millis(settings.acquire_timeout_ms))
            .test_before_acquire(false)
            .before_acquire(|connection, metadata| {
                Box::pin(async move {
                    if metadata.idle_for < IDLE {
                        return Ok(true);
                    }
                    Ok(sqlx::Connection::ping(connection).await.is_ok())
                })
            })
            // A server that replaces another one may allocate the same ids again: every connection to it begins here.
            .after_connect(move |_, _| {
                shared_ids.forget();
                Box::pin(std::future::ready(Ok(())))
            })
            .connect_with(options.clone())
            .await?;
        prepare(&pool).await?;
        let correction = Correction::of(&env);
        let shared = Shared {
            pool,
            options,
            node: env.uuid(),
            settings,
            answer_limit,
            env,
            queue,
            ids,
            notifier: Notifier::default(),
            local_listener: LocalListener::default(),
            correction,
        };
        shared.correct_clock().await?;
        Ok(Self {
            shared: Arc::new(shared),
            company_queue: KeyedSemaphore::new(AT_ONCE),
            listener: tokio::sync::Mutex::default(),
        })
    }

    /// A connection for one of several tries to read.
    pub(super) async fn read(&self, backoff: &Backoff) -> Result<Connection, Error> {
        Ok(Connection::Postgres(self.shared.session_within(backoff.left()).await?))
    }

    /// Waits before the next try; fails where there is to be none.
    pub(super) async fn read_again(&self, backoff: &mut Backoff, error: Error) -> Result<(), Error> {
        backoff.wait(&self.shared.env, Failure::of(error)).await
    }

    pub(super) async fn write<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        write::run(&self.shared, Instant::now(), operation).await
    }

    /// As [`Self::write`], for an operation that locks the company's row.
    pub(super) async fn write_company<T, F>(&self, company: CompanyId, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let begun = Instant::now();
        let _permit = self.company_queue.acquire_within(company, retry::RETRY_FOR).await?;
        write::run(&self.shared, begun, operation).await
    }

    /// Claims for several webhooks in one call. Where its answer is lost, what it claimed waits for the end of the lease.
    pub(super) async fn claim(
        &self,
        claimant: Claimant,
        wanted: &[(WebhookId, usize)],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        let claimed = async {
            let mut connection = Connection::Postgres(self.shared.session().await?);
            AllDeliveries(&mut connection).claim_several(claimant, wanted).await
        };
        match claimed.await {
            Ok(mut claimed) => wanted
                .iter()
                .map(|(webhook, _)| (*webhook, Ok(claimed.remove(webhook).unwrap_or_default())))
                .collect(),
            Err(error) => {
                let error: Arc<dyn std::error::Error + Send + Sync> = Arc::from(Box::from(error));
                wanted
                    .iter()
                    .map(|(webhook, _)| (*webhook, Err(Error::unavailable(Arc::clone(&error)))))
                    .collect()
            }
        }
    }

    /// A lock that one node has at a time, held by a transaction that does nothing else; `None` while another has it.
    pub(super) async fn sweep_lock(&self) -> Result<Option<Connection>, Error> {
        let mut backoff = Backoff::since(Instant::now());
        loop {
            match self.try_sweep_lock(&backoff).await {
                Err(error) => self.read_again(&mut backoff, error).await?,
                locked => return locked,
            }
        }
    }

    async fn try_sweep_lock(&self, backoff: &Backoff) -> Result<Option<Connection>, Error> {
        let mut session = self.shared.session_within(backoff.left()).await?;
        session.begin(BEGIN_SWEEP.to_owned()).await?;
        let mut connection = Connection::Postgres(session);
        let lock = "SELECT pg_try_advisory_xact_lock($1)";
        let locked: bool = connection.query(lock, &[&SWEEP_LOCK]).scalar().await?;
        if !locked {
            connection.end_transaction().await?;
        }
        Ok(locked.then_some(connection))
    }

    /// Deletes the commit status of old transactions.
    pub(crate) async fn prune_commit_status(&self) -> Result<(), Error> {
        commit_status::prune(&self.shared).await
    }

    /// Receives the notifications of this node, and exchanges them with other nodes until the database is closed.
    pub(super) async fn listen(&self, on_incoming: OnIncoming) {
        if self.shared.local_listener.set(on_incoming).is_ok() {
            *self.listener.lock().await = Some(Listener::start(Arc::clone(&self.shared)));
        }
    }

    pub(super) async fn close(&self) {
        if let Some(listener) = self.listener.lock().await.take() {
            listener.end().await;
        }
        self.shared.pool.close().await;
    }
}

impl Shared {
    async fn session(&self) -> Result<Session, sqlx::Error> {
        self.session_within(Duration::MAX).await
    }

    /// A connection, waited for no longer than that. The pool itself asks again for as long as the server refuses
    /// connections or admits none yet, and not where one breaks off while it is made: a failover, or a pooler that is
    /// started again.
    async fn session_within(&self, limit: Duration) -> Result<Session, sqlx::Error> {
        let acquired = async {
            loop {
                match self.pool.acquire().await {
                    Err(sqlx::Error::Io(_) | sqlx::Error::Protocol(_)) => {
                        tokio::time::sleep(CONNECT_PAUSE).await;
                    }
                    acquired => return acquired,
                }
            }
        };
        let limit = limit.min(Duration::from_millis(self.settings.acquire_timeout_ms));
        let acquired = tokio::time::timeout(limit, acquired).await;
        Ok(Session::new(acquired.unwrap_or(Err(sqlx::Error::PoolTimedOut))?, self.answer_limit))
    }

    /// Waits for an answer as long as for that of any statement.
    async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let timed_out = || std::io::Error::new(std::io::ErrorKind::TimedOut, "the database does not answer");
        tokio::time::timeout(self.answer_limit, answer).await.unwrap_or_else(|_| Err(timed_out().into()))
    }

    /// Limits that a pooler between us and the server does not let through when a connection is made.
    fn limits(&self) -> String {
        if !self.settings.transaction_pooling {
            return String::new();
        }
        let PostgresSettings { statement_timeout_ms, lock_timeout_ms, .. } = self.settings;
        let idle_ms = idle_limit_ms(&self.settings);
        format!(
            "; SET LOCAL statement_timeout = {statement_timeout_ms}; SET LOCAL lock_timeout = {lock_timeout_ms}; \
             SET LOCAL idle_in_transaction_session_timeout = {idle_ms}"
        )
    }
}

/// A process that stands still in the middle of a transaction must not hold its locks for ever.
fn idle_limit_ms(settings: &PostgresSettings) -> u64 {
    settings.statement_timeout_ms.saturating_add(settings.lock_timeout_ms)
}

fn options(settings: &PostgresSettings, url: &str) -> Result<PgConnectOptions, SettingError> {
    const RULE: &str = "must be a URL such as postgres://user:password@host:5432/database";
    let refuse = |_| SettingError::new("url", RULE);
    let options = PgConnectOptions::from_str(url)
        .map_err(refuse)?
        .application_name("invoicing")
        .statement_cache_capacity(PREPARED);
    if settings.transaction_pooling {
        return Ok(options);
    }
    Ok(options.options([
        ("statement_timeout", settings.statement_timeout_ms.to_string()),
        ("lock_timeout", settings.lock_timeout_ms.to_string()),
        ("idle_in_transaction_session_timeout", idle_limit_ms(settings).to_string()),
        // Every statement has an index, also where the planner thinks that a table is small: a plan that it keeps from a
        // young database would read a grown one from end to end.
        ("enable_seqscan", "off".to_owned()),
        ("enable_bitmapscan", "off".to_owned()),
        // With an index for everything a plan need not know the arguments, and planning costs more than most statements.
        ("plan_cache_mode", "force_generic_plan".to_owned()),
        ("jit", "off".to_owned()),
    ]))
}

/// Prepares the schema. Fails while a copy into the database is in progress.
async fn prepare(pool: &PgPool) -> Result<(), DatabaseError> {
    let mut connection = pool.acquire().await?;
    if sqlx::query_scalar(TABLE_EXISTS).bind(COPY).fetch_one(&mut *connection).await? {
        return Err(DatabaseError::Copying);
    }
    super::migrate::postgres(&mut connection).await
}
