//! Pages of quotes, invoices and clients from a streaming standby, if it shows the same state as
//! the primary.
//!
//! Each change that a list shows raises the last stamp of its company in the same transaction,
//! under the lock of the company's row. So on one timeline a stamp stands for one state of all that
//! the company's lists show. Changes that do not raise it show in no list: webhooks, keys, history,
//! documents, and internal costs.
//!
//! Each page reads stamp and timeline from the primary first, and then from the replica, in the
//! snapshot of the page. Only if they are equal, the page is read there, so it is the page that the
//! primary showed at that moment. Hence no answer is older than one before it, and a caller reads
//! its own writes. It costs the primary one read of a row instead of the page.
//!
//! The stamp must be equal: a standby may show a commit that the primary does not show yet, as it
//! still waits for a synchronous standby. The commit may yet be lost, and the next answer of the
//! primary would be older. Stamps alone do not suffice: a promoted standby writes to another
//! timeline, which may have the same stamps. So a server that is no longer in recovery gives no
//! page. A standby reads its timeline from its last restart point, so after a failover pages come
//! from the primary for some minutes.
//!
//! The wait for a page is bounded by [`LIMIT`]. A replica that does not answer, is no standby of
//! this primary or lacks a migration is left alone for a while, and then tried in the background:
//! no further request waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::CompanyId;
use parking_lot::Mutex;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::time::timeout;
use uuid::Uuid;

use super::{Postgres, is_alive, options, spawn};
use crate::config::{PostgresSettings, SettingError};
use crate::error::Error;
use crate::records::StoredPage;
use crate::store::company::CompanyReader;
use crate::store::connection::postgres::locks::COPY;
use crate::store::connection::{Connection, Session};
use crate::store::migrate::KNOWN_POSTGRES;
use crate::store::operation::Operation;
use crate::telemetry::PageSource;

/// Longest time for a page, with the wait for a connection.
const LIMIT: Duration = Duration::from_millis(500);
/// Longest wait for a connection to the primary: a busy primary gives the page itself.
const SHORT_WAIT: Duration = Duration::from_millis(100);
/// The server's own limit for a statement, in milliseconds. It is shorter than [`LIMIT`], so that a
/// live server reports the statement that it gave up.
const STATEMENT_LIMIT_MS: u64 = 400;
/// First pause after a failure; each next one is twice as long, until the replica gives a page.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Number of pages in a row whose failure counts as the server's. A single page may fail while the
/// server is sound: a deep offset takes long, others wait for its connection, and the standby
/// cancels statements that hold up its replay.
const STRIKES: u32 = 3;

/// The read replica: its connections, and its state after failures.
pub(super) struct Replica {
    pool: PgPool,
    state: Mutex<ReplicaState>,
    /// Instant of its last failure. No connection from before is used again, as the address may
    /// lead elsewhere by then.
    failed_at: Arc<Mutex<Option<Instant>>>,
}

struct ReplicaState {
    mode: Mode,
    pause: Duration,
    /// Pages in a row that failed while the server may be sound.
    strikes: u32,
    /// The last log entry: true if it reported that the replica gives pages.
    said: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Up,
    /// Left alone until this instant.
    Down(Instant),
    /// Being tried in the background.
    Tried,
}

/// The state of a company on a server: its last stamp, and the timeline that the stamp belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shown {
    stamp: i64,
    timeline: i64,
}

/// The timeline of a primary, which begins the name of the file that it writes to.
fn timeline_of(wal_file: &str) -> Option<i64> {
    u32::from_str_radix(wal_file.get(..8)?, 16).ok().map(i64::from)
}

/// The last stamp of the company `$1`, and a `timeline` column: NULL if the server is not a
/// standby, lacks the migration `$2`, or is being copied into. A copy stores companies with their
/// stamps before their records. The table `pg_class` is read in the snapshot of the page.
const SHOWN: &str = "
    SELECT (SELECT last_stamp FROM company WHERE id = $1) AS stamp,
        CASE WHEN pg_is_in_recovery() AND (SELECT max(version) FROM invoicing_migration) >= $2
            AND NOT EXISTS (SELECT FROM pg_class WHERE relname = $3) THEN
            (SELECT timeline_id FROM pg_control_checkpoint())::bigint
        END AS timeline";

impl Postgres {
    pub(in crate::store) fn has_replica(&self) -> bool {
        self.shared.replica.is_some()
    }

    /// A page of the replica, if there is one and the page is the same as on the primary.
    pub(in crate::store) async fn page_of_replica<F>(
        &self,
        company: CompanyId,
        operation: F,
    ) -> Option<StoredPage>
    where
        F: for<'c> Operation<CompanyReader<'c>, StoredPage>,
    {
        let replica = self.shared.replica.as_ref()?;
        let page = async {
            if !replica.is_up() {
                return None;
            }
            let shown = self.shows(company).await.ok().flatten()?;
            replica.page(company, shown, operation).await
        }
        .await;
        let source = if page.is_some() { PageSource::Replica } else { PageSource::Primary };
        self.shared.context.env.metrics().page(source);
        page
    }

    /// The state of a company on the primary. `None` if that is in recovery, or there is no such
    /// company.
    async fn shows(&self, company: CompanyId) -> Result<Option<Shown>, Error> {
        const SHOWN: &str = "
            SELECT last_stamp, pg_walfile_name(pg_current_wal_lsn()) FROM company
            WHERE id = $1 AND NOT pg_is_in_recovery()";
        let mut connection = self.read(SHORT_WAIT).await?;
        let shown = connection.query(SHOWN, &[&company]);
        let row: Option<(i64, String)> =
            timeout(LIMIT, shown.fetch_optional()).await.map_err(Error::unavailable)??;
        Ok(row.and_then(|(stamp, wal_file)| Some(Shown { stamp, timeline: timeline_of(&wal_file)? })))
    }
}

impl Replica {
    /// The replica of the settings. No connection is made yet.
    pub(super) fn of(settings: &PostgresSettings) -> Result<Option<Arc<Self>>, SettingError> {
        let Some(url) = &settings.replica_url else { return Ok(None) };
        let own = PostgresSettings {
            statement_timeout_ms: settings.statement_timeout_ms.min(STATEMENT_LIMIT_MS),
            lock_timeout_ms: settings.lock_timeout_ms.min(STATEMENT_LIMIT_MS),
            ..settings.clone()
        };
        let rule = "must be a URL such as postgres://user:password@host:5432/database";
        let options = options(&own, url).map_err(|_| SettingError::new("replicaUrl", rule))?;
        let failed_at = Arc::<Mutex<Option<Instant>>>::default();
        let failed = Arc::clone(&failed_at);
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            // The limit of the page ends the wait for a connection, and for an answer, before this
            // one does.
            .acquire_timeout(2 * LIMIT)
            .test_before_acquire(false)
            .before_acquire(move |connection, metadata| {
                let is_outdated = failed.lock().is_some_and(|at| metadata.age >= at.elapsed());
                Box::pin(async move { Ok(!is_outdated && is_alive(connection, &metadata).await) })
            })
            .connect_lazy_with(options);
        let state =
            ReplicaState { mode: Mode::Down(Instant::now()), pause: FIRST_PAUSE, strikes: 0, said: None };
        let replica = Arc::new(Self { pool, state: Mutex::new(state), failed_at });
        replica.is_up();
        Ok(Some(replica))
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    /// True if the replica may be queried for a page. If it was left alone for long enough, it is
    /// tried in the background.
    fn is_up(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        if matches!(state.mode, Mode::Down(until) if until <= Instant::now()) {
            state.mode = Mode::Tried;
            let replica = Arc::clone(self);
            drop(spawn(async move { replica.try_again().await }));
        }
        state.mode == Mode::Up
    }

    async fn try_again(&self) {
        let asked = async { shown(&mut self.connection().await?, CompanyId(Uuid::nil())).await };
        match timeout(LIMIT, asked).await {
            Ok(Ok((_, Some(_)))) => {
                let mut state = self.state.lock();
                (state.mode, state.strikes) = (Mode::Up, 0);
            }
            Ok(Ok((_, None))) => self.fail(&NO_STANDBY),
            Ok(Err(error)) => self.fail(&error),
            Err(late) => self.fail(&late),
        }
    }

    async fn connection(&self) -> Result<Connection, sqlx::Error> {
        Ok(Connection::of(Session::new(self.pool.acquire().await?, 2 * LIMIT)))
    }

    /// A page, if the replica shows the same state as the primary.
    async fn page<F>(&self, company: CompanyId, primary: Shown, operation: F) -> Option<StoredPage>
    where
        F: for<'c> Operation<CompanyReader<'c>, StoredPage>,
    {
        let read = async {
            let mut connection = self.connection().await?;
            connection.begin_snapshot().await?;
            let read = self.page_in_snapshot(&mut connection, company, primary, operation).await;
            connection.end_transaction().await?;
            read
        };
        match timeout(LIMIT, read).await {
            Ok(Ok(page)) => page,
            Ok(Err(error @ (Error::StorageUnavailable(_) | Error::Internal(_)))) => {
                if !error.is_canceled_statement() || self.strike() {
                    self.fail(&error);
                }
                None
            }
            // The company may be too new, or the page too large in that state. The primary decides.
            Ok(Err(_)) => None,
            Err(late) => {
                if self.strike() {
                    self.fail(&late);
                }
                None
            }
        }
    }

    async fn page_in_snapshot<F>(
        &self,
        connection: &mut Connection,
        company: CompanyId,
        primary: Shown,
        operation: F,
    ) -> Result<Option<StoredPage>, Error>
    where
        F: for<'c> Operation<CompanyReader<'c>, StoredPage>,
    {
        let (stamp, timeline) = shown(connection, company).await?;
        if timeline != Some(primary.timeline) {
            self.fail(&NO_STANDBY);
            return Ok(None);
        }
        if stamp != Some(primary.stamp) {
            self.answers();
            return Ok(None);
        }
        let page = operation(CompanyReader { connection, company }).await?;
        self.answers();
        Ok(Some(page))
    }

    fn answers(&self) {
        let mut state = self.state.lock();
        (state.pause, state.strikes) = (FIRST_PAUSE, 0);
        if state.said.replace(true) != Some(true) {
            tracing::info!("read replica in use: it gives the pages of companies for which it is up to date");
        }
    }

    /// Counts a page that failed while the server may be sound. Returns true if there are too many
    /// in a row.
    fn strike(&self) -> bool {
        let mut state = self.state.lock();
        state.strikes += 1;
        state.strikes >= STRIKES
    }

    /// Leaves the replica alone for a while. Requests that fail together count once.
    fn fail(&self, error: &(dyn std::error::Error + 'static)) {
        let mut state = self.state.lock();
        if matches!(state.mode, Mode::Down(_)) {
            return;
        }
        let now = Instant::now();
        *self.failed_at.lock() = Some(now);
        state.mode = Mode::Down(now + state.pause);
        state.pause = (state.pause * 2).min(LONGEST_PAUSE);
        if state.said.replace(false) != Some(false) {
            tracing::warn!(error, "read replica not usable; pages come from the primary");
        }
    }
}

/// The state of a company on a standby.
async fn shown(
    connection: &mut Connection,
    company: CompanyId,
) -> Result<(Option<i64>, Option<i64>), sqlx::Error> {
    connection.query(SHOWN, &[&company, &KNOWN_POSTGRES, &COPY]).fetch_one().await
}

/// The reason why a server that answers gives no page.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server is no standby of the primary, has not reached its timeline, lacks a migration, or is being copied into"
)]
struct NoStandby;
static NO_STANDBY: NoStandby = NoStandby;
