//! A PostgreSQL database that several nodes share.
//!
//! Each operation is a transaction of its own on a connection of the pool. Who changes something of a company locks its
//! row first, so that the changes of one company come one after the other and those of different companies do not wait
//! for each other. What cannot be answered at present is tried again for a few seconds ([`again`]); what became of a
//! commit whose answer was lost is found out ([`outcome`]).

mod again;
mod clock;
mod contact;
mod listen;
mod outcome;
mod session;
mod write;

use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, WebhookId};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use uuid::Uuid;

pub(crate) use super::migrate::postgres as migrate;
pub(super) use again::Tries;
pub(crate) use listen::{Heard, Hears};
pub(crate) use session::Session;

use super::claims::{self, Claimant, Claimed};
use super::connection::{Connection, on};
use super::ids::DeliveryIds;
use super::{OpenError, Tx};
use crate::Error;
use crate::config::PostgresSettings;
use crate::dispatch::Handoff;
use crate::env::Env;
use crate::turns::Turns;
use again::Failed;
use clock::Correction;
use contact::Contact;
use listen::{Announcer, Listening};
use write::Patience;

/// Advisory locks; the first half is the same for all of ours, so that a host can tell them from its own.
const LOCKS: i64 = 0x696e_766f << 32;
pub(super) const MIGRATION_LOCK: i64 = LOCKS | 1;
pub(crate) const SERVICE_LOCK: i64 = LOCKS | 2;
const SWEEP_LOCK: i64 = LOCKS | 3;

/// Whoever has waited for a lock goes by what was committed meanwhile, whatever level the database has by default.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Whether there is a table. Looked up by a query, which sees what has been committed by now: `to_regclass` may answer with
/// what the session knew before it waited for a lock.
pub(crate) const TABLE_EXISTS: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid))";
/// The table that is there while somebody copies into the database. No migration makes it.
pub(crate) const COPY: &str = "invoicing_copy";

/// A sweep may stand still for a while, so that nobody takes over what it is about to delete; but one that does not go on
/// and one whose machine is gone are not waited for.
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
const AT_ONCE: usize = 2;

/// An open database.
pub(crate) struct Postgres {
    shared: Arc<Shared>,
    /// Operations on one company would wait for its row anyhow, each with a connection of its own: a company on which many
    /// work at once would leave none to the others.
    turns: Turns,
    /// Ends when it is dropped; `None` before it has begun, and once closed.
    listening: tokio::sync::Mutex<Option<Listening>>,
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
    handoff: Arc<Handoff>,
    ids: Arc<DeliveryIds>,
    announcer: Announcer,
    correction: Correction,
    contact: Contact,
}

impl Postgres {
    /// Connects and brings the schema up to date.
    pub(super) async fn open(
        settings: PostgresSettings,
        env: Env,
        handoff: Arc<Handoff>,
    ) -> Result<Self, OpenError> {
        let options = options(&settings, &settings.url)?;
        let answer_limit = Duration::from_millis(settings.statement_timeout_ms)
            + Duration::from_millis(settings.lock_timeout_ms)
            + ANSWER_MARGIN;
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
            .connect_with(options.clone())
            .await?;
        prepare(&pool).await?;
        let correction = Correction::of(&env);
        let contact = Contact::new(env.correction().is_some());
        let shared = Shared {
            pool,
            options,
            node: env.uuid(),
            settings,
            answer_limit,
            env,
            handoff,
            ids: Arc::new(DeliveryIds::in_blocks()),
            announcer: Announcer::default(),
            correction,
            contact,
        };
        shared.correct_clock().await?;
        Ok(Self {
            shared: Arc::new(shared),
            turns: Turns::new(AT_ONCE),
            listening: tokio::sync::Mutex::default(),
        })
    }

    /// A connection for one of several tries to read.
    pub(super) async fn read(&self, tries: &Tries) -> Result<Connection, Error> {
        Ok(Connection::Postgres(self.shared.session_within(tries.left()).await?))
    }

    /// Waits before the next try; fails where there is to be none.
    pub(super) async fn read_again(&self, tries: &mut Tries, error: Error) -> Result<(), Error> {
        tries.again(&self.shared.env, Failed::of(error)).await
    }

    pub(super) async fn write<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        write::run(&self.shared, Instant::now(), Patience::OfCaller, operation).await
    }

    /// As [`Self::write`], but where the answer to the commit is lost, it is waited for until it is known what became of
    /// it, for half an hour at most, or until a moment after the instant at which it is enough.
    pub(super) async fn write_until_known<T, F>(
        &self,
        enough: Arc<OnceLock<Instant>>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        write::run(&self.shared, Instant::now(), Patience::UntilKnown(enough), operation).await
    }

    /// As [`Self::write`], for an operation that locks the company's row.
    pub(super) async fn write_of<T, F>(&self, company: CompanyId, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let begun = Instant::now();
        let _turn = self.turns.wait_for(company, again::TRIED_FOR).await?;
        write::run(&self.shared, begun, Patience::OfCaller, operation).await
    }

    /// Claims for several webhooks in one call. Where its answer is lost, what it claimed waits for the end of the lease.
    pub(super) async fn claim(
        &self,
        claimant: Claimant,
        wanted: &[(WebhookId, usize)],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        let claimed = async {
            let mut connection = Connection::Postgres(self.shared.session().await?);
            let may_take_over = self.shared.contact.is_steady();
            let claimed = claims::postgres::claim(&mut connection, claimant, may_take_over, wanted).await?;
            if claimed.values().any(|(jobs, _)| !jobs.is_empty()) {
                self.shared.heard();
            }
            Ok::<_, Error>(claimed)
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
        let mut tries = Tries::since(Instant::now());
        loop {
            match self.try_sweep_lock(&tries).await {
                Err(error) => self.read_again(&mut tries, error).await?,
                locked => return locked,
            }
        }
    }

    async fn try_sweep_lock(&self, tries: &Tries) -> Result<Option<Connection>, Error> {
        let mut session = self.shared.session_within(tries.left()).await?;
        session.begin(BEGIN_SWEEP.to_owned()).await?;
        let mut connection = Connection::Postgres(session);
        let lock = "SELECT pg_try_advisory_xact_lock($1)";
        let locked: bool = on!(&mut connection, |c| sqlx::query_scalar(lock).bind(SWEEP_LOCK).fetch_one(c))?;
        if !locked {
            connection.end_transaction().await?;
        }
        Ok(locked.then_some(connection))
    }

    /// Forgets what became of transactions that nobody asks for any more.
    pub(crate) async fn prune_outcomes(&self) -> Result<(), Error> {
        outcome::prune(&self.shared).await
    }

    /// Hears from other nodes from now on, and tells them; until the database is closed, or nobody hears any more.
    pub(crate) async fn listen(&self, hears: Hears) {
        let listening = Listening::start(Arc::clone(&self.shared), hears);
        *self.listening.lock().await = Some(listening);
    }

    pub(super) async fn close(&self) {
        if let Some(listening) = self.listening.lock().await.take() {
            listening.end().await;
        }
        self.shared.pool.close().await;
    }
}

impl Shared {
    /// Something was committed.
    fn heard(&self) {
        if self.contact.heard() {
            // What another server has never seen it may give to somebody else.
            self.ids.forget();
        }
    }

    async fn session(&self) -> Result<Session, sqlx::Error> {
        self.session_within(Duration::MAX).await
    }

    /// A connection, waited for no longer than that. The pool itself asks again for as long as the server refuses
    /// connections or lets nobody in yet, and not where one breaks off while it is made: a failover, or a pooler that is
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

fn options(settings: &PostgresSettings, url: &str) -> Result<PgConnectOptions, OpenError> {
    let refuse = |_| OpenError::Setting {
        name: "url",
        rule: "must be a URL such as postgres://user:password@host:5432/database",
    };
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

/// The schema, and that nobody is copying into it.
async fn prepare(pool: &PgPool) -> Result<(), OpenError> {
    let mut connection = pool.acquire().await?;
    if sqlx::query_scalar(TABLE_EXISTS).bind(COPY).fetch_one(&mut *connection).await? {
        return Err(OpenError::Copying);
    }
    super::migrate::postgres(&mut connection).await
}
