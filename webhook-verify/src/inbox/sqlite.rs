//! An inbox in a SQLite file: a delivery answered with a 2xx survives a crash of the process and of
//! the machine.
//!
//! One table, `webhook_inbox`, is created when the inbox is opened. Each operation is one
//! statement, so none can be left half done.

use std::fs::File;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use tokio::sync::Notify;

use super::{Claim, Inbox, InboxError, InboxFuture, MAX_DELAY, MIN_RETENTION, Receipt, millis};
use crate::{Clock, DedupKey};

/// Longest wait of an operation for the connection, and then for another process's lock: the answer
/// must be sent before the sender's 5 s are over.
const BUSY: Duration = Duration::from_secs(2);

/// `due_at` is set while a message waits, `done_at` once it is handled; its body is dropped then.
/// All times are Unix milliseconds. A message due more than [`MAX_DELAY`] ahead was written by a
/// wrong clock. `attempts` is also a fencing token: a claim is valid while it names the latest
/// attempt.
const CREATE: &str = "
CREATE TABLE IF NOT EXISTS webhook_inbox (
    key         TEXT    NOT NULL PRIMARY KEY,
    body        BLOB,
    received_at INTEGER NOT NULL,
    due_at      INTEGER,
    done_at     INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    last_error     TEXT,
    CHECK ((due_at IS NULL) <> (done_at IS NULL) AND (due_at IS NULL) = (body IS NULL))
) STRICT;
CREATE INDEX IF NOT EXISTS webhook_inbox_due ON webhook_inbox (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_inbox_done ON webhook_inbox (done_at) WHERE done_at IS NOT NULL;
";
const RECEIVE: &str = "INSERT INTO webhook_inbox (key, body, received_at, due_at) VALUES ($1, $2, $3, $3)
    ON CONFLICT (key) DO NOTHING";
const CLAIM: &str = "UPDATE webhook_inbox SET due_at = $2, attempts = attempts + 1
    WHERE key = coalesce((SELECT key FROM webhook_inbox WHERE due_at <= $1 ORDER BY due_at LIMIT 1),
        (SELECT key FROM webhook_inbox WHERE due_at > $3 ORDER BY due_at DESC LIMIT 1))
    RETURNING key, body, received_at, attempts";
const DONE: &str = "UPDATE webhook_inbox SET done_at = $3, due_at = NULL, body = NULL, last_error = NULL
    WHERE key = $1 AND attempts = $2 AND due_at IS NOT NULL";
const POSTPONE: &str = "UPDATE webhook_inbox SET due_at = $3, last_error = $4
    WHERE key = $1 AND attempts = $2 AND due_at IS NOT NULL";
const PRUNE: &str = "DELETE FROM webhook_inbox WHERE done_at < $1";
const WAITING: &str = "SELECT count(*) FROM webhook_inbox WHERE due_at IS NOT NULL";

/// Deliveries in the table `webhook_inbox` of a SQLite database.
///
/// Several processes may share the file. The column `last_error` holds the last failure of the
/// handler of a waiting message.
#[derive(Debug)]
pub struct SqliteInbox {
    pool: SqlitePool,
    clock: Clock,
    arrived: Notify,
}

impl SqliteInbox {
    /// Opens or creates a file, with a write-ahead log that is synced at each commit. A file that
    /// it creates can be read by its owner only.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or is not a database.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, InboxError> {
        // The log and its index get the mode of the file.
        make_private(path.as_ref());
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY);
        // SQLite has one writer at a time, and every operation here writes.
        let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(BUSY);
        Self::with_pool(pool.connect_with(options).await?).await
    }

    /// Creates the table in the receiver's database, beside the tables of the handlers.
    ///
    /// The durability of a receipt depends on the pool's options: `synchronous` should be `FULL`.
    ///
    /// # Errors
    ///
    /// The table cannot be created.
    pub async fn with_pool(pool: SqlitePool) -> Result<Self, InboxError> {
        sqlx::raw_sql(CREATE).execute(&pool).await?;
        Ok(Self { pool, clock: Clock::default(), arrived: Notify::new() })
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Marks a message as handled in a transaction of the handler. The work and the mark are
    /// committed together or not at all, so the work is done exactly once. On `false`, roll back:
    /// another worker has the message or has handled it.
    ///
    /// ```no_run
    /// use sqlx::SqlitePool;
    /// use webhook_verify::inbox::{Claim, InboxError, SqliteInbox};
    ///
    /// async fn handle(pool: &SqlitePool, inbox: &SqliteInbox, claim: &Claim) -> Result<(), InboxError> {
    ///     let mut transaction = pool.begin().await.map_err(InboxError::new)?;
    ///     let work = sqlx::query("INSERT INTO signed (body) VALUES (?)").bind(&claim.body[..]);
    ///     work.execute(&mut *transaction).await.map_err(InboxError::new)?;
    ///     match inbox.done_within(&mut transaction, claim).await? {
    ///         true => transaction.commit().await.map_err(InboxError::new),
    ///         false => transaction.rollback().await.map_err(InboxError::new),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The statement failed; roll back.
    pub async fn done_within(
        &self,
        transaction: &mut SqliteConnection,
        claim: &Claim,
    ) -> Result<bool, InboxError> {
        let done = sqlx::query(DONE).bind(&claim.key).bind(claim.attempts).bind(self.clock.unix_millis());
        Ok(done.execute(transaction).await?.rows_affected() == 1)
    }

    /// Waits for operations in progress, and closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl Inbox for SqliteInbox {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> InboxFuture<'a, Receipt> {
        Box::pin(async move {
            let insert = sqlx::query(RECEIVE).bind(key.to_string()).bind(&body[..]);
            let inserted = insert.bind(self.clock.unix_millis()).execute(&self.pool).await?;
            if inserted.rows_affected() == 0 {
                return Ok(Receipt::Duplicate);
            }
            self.arrived.notify_one();
            Ok(Receipt::New)
        })
    }

    fn claim(&self, lease: Duration) -> InboxFuture<'_, Option<Claim>> {
        Box::pin(async move {
            let now = self.clock.unix_millis();
            let claim = sqlx::query_as::<_, (String, Vec<u8>, i64, u32)>(CLAIM).bind(now);
            let claim = claim
                .bind(now.saturating_add(millis(lease.min(MAX_DELAY))))
                .bind(now.saturating_add(millis(MAX_DELAY)));
            let row = claim.fetch_optional(&self.pool).await?;
            Ok(row.map(|(key, body, received_at, attempts)| Claim {
                key,
                body: body.into(),
                received_at_millis: received_at,
                attempts,
            }))
        })
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> InboxFuture<'a, bool> {
        Box::pin(async move {
            let mut connection = self.pool.acquire().await?;
            self.done_within(&mut connection, claim).await
        })
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, reason: &'a str) -> InboxFuture<'a, bool> {
        Box::pin(async move {
            let due_at = self.clock.unix_millis().saturating_add(millis(pause.min(MAX_DELAY)));
            let postpone =
                sqlx::query(POSTPONE).bind(&claim.key).bind(claim.attempts).bind(due_at).bind(reason);
            Ok(postpone.execute(&self.pool).await?.rows_affected() == 1)
        })
    }

    fn prune(&self, retention: Duration) -> InboxFuture<'_, u64> {
        Box::pin(async move {
            let done_before = self.clock.unix_millis().saturating_sub(millis(retention.max(MIN_RETENTION)));
            Ok(sqlx::query(PRUNE).bind(done_before).execute(&self.pool).await?.rows_affected())
        })
    }

    fn waiting(&self) -> InboxFuture<'_, u64> {
        Box::pin(async move {
            let waiting: i64 = sqlx::query_scalar(WAITING).fetch_one(&self.pool).await?;
            Ok(waiting.unsigned_abs())
        })
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.arrived.notified())
    }
}

/// Makes the file for its owner only, if there is none. SQLite reports an error if this fails.
fn make_private(path: &Path) {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
}

impl From<sqlx::Error> for InboxError {
    fn from(error: sqlx::Error) -> Self {
        Self::new(error)
    }
}
