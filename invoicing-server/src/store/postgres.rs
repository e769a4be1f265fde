//! A PostgreSQL database that several nodes share.
//!
//! Changes of a company lock its row first, so that changes of one company are serial and those of
//! different companies do not wait for each other. Transient failures are retried for a few seconds
//! ([`retry`]). A commit whose answer was lost is resolved ([`commit`]).

mod begin;
mod commit;
pub(crate) mod connect;
mod listener;
mod replica;
mod retry;
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use invoicing_core::WebhookId;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use super::DatabaseError;
use super::check::DatabaseHealth;
use super::claims::{ClaimLease, ClaimRequest, Claimed};
use super::connection::postgres::locks::{COPY, SWEEP_LOCK, TABLE_EXISTS};
use super::connection::{Connection, Session};
use super::deliveries::AllDeliveries;
use super::group_commit::{Failure, GroupCommit};
use super::migrate::{self, POSTGRES};
use super::notification::OnIncoming;
use super::tx::StoreContext;
use crate::config::{PostgresSettings, SettingError};
use crate::env::Env;
use crate::error::Error;
use crate::queue::{Job, Queue};
use listener::Notifier;
use replica::Replica;
use retry::Attempts;
use transactions::{Contended, Transactor};

/// The query of the health check. A standby answers it too, as a connection may lead to one during
/// a failover.
const CHECK: &str = "SELECT max(version), NOT pg_is_in_recovery() FROM invoicing_migration";

type HealthAnswer = (Option<i64>, bool);

/// Begins a transaction that sees, after a wait for a lock, the changes that were committed
/// meanwhile. The level is explicit, as the database may have another default.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Begins the transaction of a sweep. Its session may idle for 10 minutes, so that no other sweep
/// takes over the documents that it is about to delete. PostgreSQL ends a session that idles
/// longer, or whose machine is gone.
const BEGIN_SWEEP: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10min'; \
     SET LOCAL tcp_keepalives_idle = 30; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3";

/// Number of workers, each with a transaction of several companies. With more of them, fewer
/// operations share one.
const WRITERS: usize = 4;
/// Statements that each connection keeps prepared; all common ones fit.
const PREPARED: usize = 256;
/// A connection that was idle for longer is checked by a ping before it is used.
const IDLE: Duration = Duration::from_millis(500);
/// The pause after a connection broke off while it was made.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);
/// Time beyond the server's own limits after which no answer is expected any more.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// An open database.
pub(crate) struct Postgres {
    shared: Arc<Shared>,
    writers: GroupCommit,
    /// The task that listens, sends, and corrects the clock. Dropping it ends the task.
    listener: tokio::sync::Mutex<JoinSet<()>>,
    /// The connection of the health check; `None` before the first check.
    check_connection: tokio::sync::Mutex<Option<PgConnection>>,
}

/// The parts of the database that a transaction needs and that outlive the call that began it.
struct Shared {
    pool: PgPool,
    options: PgConnectOptions,
    /// Identifier of this node.
    node: Uuid,
    settings: PostgresSettings,
    answer_limit: Duration,
    context: Arc<StoreContext>,
    notifier: Notifier,
    contended: Contended,
    /// Permits for half of the connections at most, held by the tasks of contended companies.
    waiting: Arc<Semaphore>,
    replica: Option<Arc<Replica>>,
}

impl Postgres {
    /// Connects and brings the schema up to date.
    pub(crate) async fn open(
        settings: PostgresSettings,
        env: Env,
        queue: Arc<Queue>,
    ) -> Result<Self, DatabaseError> {
        let options = options(&settings, &settings.url)?;
        let answer_limit = Duration::from_millis(settings.statement_timeout_ms)
            + Duration::from_millis(settings.lock_timeout_ms)
            + ANSWER_MARGIN;
        let pool = PgPoolOptions::new()
            .acquire_timeout(Duration::from_millis(settings.acquire_timeout_ms))
            .test_before_acquire(false);
        prepare(&options, &settings).await?;
        let pool = pool
            .max_connections(settings.max_connections)
            .before_acquire(|connection, metadata| {
                Box::pin(async move { Ok(is_alive(connection, &metadata).await) })
            })
            .connect_with(options.clone())
            .await?;
        let replica = Replica::of(&settings)?;
        let connections = usize::try_from(settings.max_connections).unwrap_or(usize::MAX);
        let shared = Shared {
            pool,
            options,
            node: env.uuid(),
            settings,
            answer_limit,
            context: StoreContext::new(env, queue),
            notifier: Notifier::default(),
            contended: Contended::default(),
            waiting: Arc::new(Semaphore::new(connections.div_ceil(2).min(Semaphore::MAX_PERMITS))),
            replica,
        };
        shared.correct_clock().await?;
        let shared = Arc::new(shared);
        let writers = (0..WRITERS).map(|_| Transactor::of_worker(&shared));
        Ok(Self {
            writers: GroupCommit::start(writers),
            shared,
            listener: tokio::sync::Mutex::default(),
            check_connection: tokio::sync::Mutex::default(),
        })
    }

    /// A reading connection. `limit` bounds the wait for it.
    pub(super) async fn read(&self, limit: Duration) -> Result<Connection, Error> {
        Ok(Connection::of(self.shared.session_within(limit).await?))
    }

    /// Attempts at a call that a retry may repeat, as it has no effect.
    pub(super) fn attempts(&self) -> Attempts<'_> {
        Attempts::new(&self.shared.context.env)
    }

    /// Claims for several webhooks in one call. If its answer is lost, the claimed deliveries wait
    /// for the end of the lease.
    pub(super) async fn claim(
        &self,
        lease: ClaimLease,
        requests: &[ClaimRequest],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        let claimed = async {
            let mut connection = Connection::of(self.shared.session().await?);
            AllDeliveries(&mut connection).claim_several(lease, requests).await
        };
        let mut claimed = claimed.await.map_err(Arc::new);
        let mut of = |webhook| match &mut claimed {
            Ok(claimed) => Ok(claimed.remove(&webhook).unwrap_or_default()),
            Err(error) => Err(Error::unavailable(Arc::clone(error))),
        };
        requests.iter().map(|&ClaimRequest { webhook, .. }| (webhook, of(webhook))).collect()
    }

    pub(super) async fn resume(
        &self,
        lease: ClaimLease,
        begun: Vec<(WebhookId, i64)>,
    ) -> Result<Vec<Job>, Error> {
        let mut connection = Connection::of(self.shared.session().await?);
        AllDeliveries(&mut connection).resume_several(lease, &begun).await
    }

    /// The lock of the sweep, which one node has at a time. A transaction that does nothing else
    /// holds it; `None` while another node has it.
    pub(super) async fn sweep_lock(&self) -> Result<Option<Connection>, Error> {
        let mut attempts = self.attempts();
        loop {
            let locked = self.try_sweep_lock(attempts.time_left()).await;
            if let Some(locked) = attempts.ended(locked.map_err(Failure::from)).await {
                return locked;
            }
        }
    }

    async fn try_sweep_lock(&self, limit: Duration) -> Result<Option<Connection>, Error> {
        let mut session = self.shared.session_within(limit).await?;
        let begin = format!("{BEGIN_SWEEP}; SELECT pg_try_advisory_xact_lock({SWEEP_LOCK})");
        let locked: bool = session.begin_with(begin).await?;
        if !locked {
            session.roll_back().await?;
        }
        Ok(locked.then_some(Connection::of(session)))
    }

    /// Receives the notifications of this node, and exchanges them with other nodes until the
    /// database is closed.
    pub(super) async fn listen(&self, on_incoming: OnIncoming) {
        if self.shared.context.on_incoming.set(on_incoming).is_ok() {
            self.listener.lock().await.spawn(listener::work(Arc::clone(&self.shared)));
        }
    }

    pub(super) async fn close(&self) {
        let mut listener = self.listener.lock().await;
        listener.abort_all();
        while let Some(ended) = listener.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                tracing::error!(%error, "the task for notifications panicked");
            }
        }
        self.writers.close().await;
        // Notifications of the last commits are still sent.
        listener::send_waiting(&self.shared).await;
        self.shared.pool.close().await;
        if let Some(replica) = &self.shared.replica {
            replica.close().await;
        }
        self.close_check().await;
    }

    /// Checks the database on a connection outside the pool, so that a node whose pool is busy is
    /// not taken for one without a database. The connection is kept for the next check, unless the
    /// call is dropped in the middle.
    pub(super) async fn check(&self) -> Result<DatabaseHealth, Error> {
        let mut kept = self.check_connection.lock().await;
        if self.shared.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        let answer = match kept.take() {
            Some(mut connection) => ask_health(&mut connection).await.ok().map(|answer| (answer, connection)),
            None => None,
        };
        // A connection to a standby is not kept, as its address may lead to another server later.
        let keep = |answer: &HealthAnswer, connection| answer.1.then_some(connection);
        let (found, takes_changes) = if let Some((answer, connection)) = answer {
            *kept = keep(&answer, connection);
            answer
        } else {
            match self.shared.options.connect().await {
                Ok(mut connection) => {
                    let answer = ask_health(&mut connection).await?;
                    *kept = keep(&answer, connection);
                    answer
                }
                // The server may accept no more connections.
                Err(sqlx::Error::Database(_)) => self.ask_in_pool().await?,
                Err(error) => return Err(error.into()),
            }
        };
        let takes_changes = takes_changes && self.writers.is_running();
        Ok(DatabaseHealth::of(migrate::is_complete(found, POSTGRES), takes_changes))
    }

    async fn ask_in_pool(&self) -> Result<HealthAnswer, sqlx::Error> {
        Connection::of(self.shared.session().await?).query(CHECK, &[]).fetch_one().await
    }

    /// Ends the connection of the checks.
    async fn close_check(&self) {
        if let Some(connection) = self.check_connection.lock().await.take() {
            // The server notices the end of the connection in any case.
            let _ = connection.close().await;
        }
    }
}

async fn ask_health(connection: &mut PgConnection) -> Result<HealthAnswer, sqlx::Error> {
    sqlx::query_as(CHECK).fetch_one(connection).await
}

impl Shared {
    async fn session(&self) -> Result<Session, sqlx::Error> {
        self.session_within(Duration::MAX).await
    }

    /// A connection. `limit` bounds the wait for it. The pool itself retries for as long as the
    /// server refuses connections or admits none yet. It does not if a connection breaks off while
    /// it is made, as in a failover or a restart of a pooler, so the loop here retries that.
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

    /// Limits that a pooler in front of the server does not let through when a connection is made.
    fn limits_behind_pooler(&self) -> String {
        if !self.settings.transaction_pooling {
            return String::new();
        }
        limits(&self.settings).map(|(name, millis)| format!("; SET LOCAL {name} = {millis}")).concat()
    }
}

#[expect(clippy::disallowed_methods, reason = "it ends with its calls, for which closing the pool waits")]
fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}

/// The server's limits for a session, in milliseconds.
fn limits(settings: &PostgresSettings) -> [(&'static str, u64); 3] {
    let PostgresSettings { statement_timeout_ms, lock_timeout_ms, .. } = *settings;
    [
        ("statement_timeout", statement_timeout_ms),
        ("lock_timeout", lock_timeout_ms),
        // A process that stands still in the middle of a transaction must not hold its locks for
        // ever.
        ("idle_in_transaction_session_timeout", statement_timeout_ms.saturating_add(lock_timeout_ms)),
    ]
}

/// True if a connection of a pool can be used. A connection that was idle is pinged.
async fn is_alive(connection: &mut PgConnection, metadata: &PoolConnectionMetadata) -> bool {
    metadata.idle_for < IDLE || sqlx::Connection::ping(connection).await.is_ok()
}

fn options(settings: &PostgresSettings, url: &str) -> Result<PgConnectOptions, SettingError> {
    let options = connect::parse(url)?.application_name("invoicing").statement_cache_capacity(PREPARED);
    if settings.transaction_pooling {
        return Ok(options);
    }
    Ok(options.options(limits(settings)).options([
        // Every statement has an index, and must use it even if the planner takes a table for
        // small: a plan that it keeps from a young database would read a grown one from end to end.
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        // With an index for everything a plan does not depend on the arguments, and planning costs
        // more than most statements.
        ("plan_cache_mode", "force_generic_plan"),
        ("jit", "off"),
    ]))
}

/// Prepares the schema. Fails while a copy into the database is in progress.
async fn prepare(options: &PgConnectOptions, settings: &PostgresSettings) -> Result<(), DatabaseError> {
    let patience = Duration::from_millis(settings.acquire_timeout_ms);
    let mut connection = connect::connect(options, patience).await?;
    connect::check(&mut connection, options, settings).await?;
    if sqlx::query_scalar(TABLE_EXISTS).bind(COPY).fetch_one(&mut connection).await? {
        return Err(DatabaseError::Copying);
    }
    migrate::postgres(&mut connection).await?;
    sqlx::Connection::close(connection).await?;
    Ok(())
}
