//! A SQLite file: one process, one task that writes, a few connections that read.

mod location;
mod lock;
mod mark;
mod mounts;
mod writer;

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::WebhookId;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection, SqlitePool};

use lock::DatabaseFile;
pub(crate) use lock::{DatabaseLock, lock};
pub(crate) use mark::Mark;
use writer::Writer;

use super::DatabaseError;
use super::check::DatabaseHealth;
use super::claims::{ClaimLease, ClaimRequest, Claimed};
use super::connection::{Connection, Reader};
use super::deliveries::AllDeliveries;
use super::group_commit::GroupCommit;
use super::migrate;
use super::notification::OnIncoming;
use super::tx::{StoreContext, Tx};
use super::write_cache::WriteCache;
use crate::env::Env;
use crate::error::Error;
use crate::queue::{Job, Queue};

/// Number of reading connections. SQLite reads run on a thread each; more than the cores only adds
/// switching.
const READERS: u32 = 4;
/// Pages in the write-ahead log that start a checkpoint. With many, few commits wait for one.
const CHECKPOINT_PAGES: &str = "10000";
/// Pages that each connection may keep in memory: 16 MiB, as SQLite counts. With its own 2 MiB,
/// most pages of a list would be read from the file again and again.
const CACHE_SIZE: &str = "-16384";
/// Statements that each connection keeps prepared; every statement of this crate fits.
const PREPARED: usize = 256;

/// An open file.
pub(crate) struct Sqlite {
    pub(super) writer: GroupCommit,
    readers: SqlitePool,
    file: DatabaseFile,
    /// True if the process may not write to the file.
    is_read_only: bool,
    /// The mark of requests that could not be noted.
    pub(super) mark: Mark,
    context: Arc<StoreContext>,
}

impl Sqlite {
    /// Opens or creates the database at a path and brings its schema up to date.
    pub(crate) async fn open(given: &Path, env: Env, queue: Arc<Queue>) -> Result<Self, DatabaseError> {
        let lock = lock(given).await?;
        let database = lock.file().clone();
        let path = database.path();
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            // A committed event survives a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .pragma("cache_size", CACHE_SIZE)
            // Wipes overwritten and deleted bytes within their page; the default keeps the old
            // bytes.
            .pragma("secure_delete", "FAST")
            .statement_cache_capacity(PREPARED);
        let file = |cause| DatabaseError::File { path: path.to_owned(), cause };
        let mut connection = SqliteConnection::connect_with(&options).await.map_err(file)?;
        check_journal_mode(&mut connection, path).await?;
        migrate::sqlite(&mut connection).await?;
        let is_read_only = is_read_only(&mut connection).await?;
        if is_read_only {
            tracing::warn!(path = %path.display(), "the database is read-only: every change will fail");
        }
        let reading = options.pragma("query_only", "ON");
        let readers = SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .connect_with(reading)
            .await?;
        let delivery_ids = next_delivery_id(&mut connection).await?..i64::MAX;
        let context = StoreContext::new(env, queue);
        let connection = Connection::SqliteWriter(connection, WriteCache::default());
        let tx = Tx::new(connection, Arc::clone(&context), delivery_ids);
        Ok(Self {
            writer: GroupCommit::start([Writer::new(tx, readers.clone(), lock)]),
            readers,
            is_read_only,
            mark: Mark::open(path),
            file: database,
            context,
        })
    }

    /// Receives the notifications of this node.
    pub(super) fn listen(&self, on_incoming: OnIncoming) {
        // A second listener is refused: the service is composed once.
        let _ = self.context.on_incoming.set(on_incoming);
    }

    /// The resolved path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) async fn read(&self) -> Result<Connection, Error> {
        self.file.check_in_place()?;
        let connection = self.readers.acquire().await.map_err(Error::unavailable)?;
        Ok(Connection::SqliteReader(Reader::new(connection)))
    }

    pub(super) async fn check(&self) -> Result<DatabaseHealth, Error> {
        let found: Option<i64> = self.read().await?.query(migrate::NEWEST_VERSION, &[]).scalar().await?;
        let takes_changes = self.writer.is_running() && !self.is_read_only;
        Ok(DatabaseHealth::of(migrate::is_complete(found, migrate::SQLITE), takes_changes))
    }

    /// Claims for several webhooks; the claims share a commit.
    pub(super) async fn claim(
        &self,
        lease: ClaimLease,
        requests: &[ClaimRequest],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        let claims = requests.iter().map(|&request| async move {
            let claimed = self.writer.run(None, Vec::new(), move |tx| {
                Box::pin(async move { AllDeliveries(tx.connection()).claim_one(lease, request).await })
            });
            (request.webhook, claimed.await)
        });
        join_all(claims).await
    }

    pub(super) async fn resume(
        &self,
        lease: ClaimLease,
        begun: Vec<(WebhookId, i64)>,
    ) -> Result<Vec<Job>, Error> {
        let resumed = self.writer.run(None, Vec::new(), move |tx| {
            Box::pin(async move { AllDeliveries(tx.connection()).resume(lease, &begun).await })
        });
        resumed.await
    }

    /// Writes the write-ahead log back and cuts it to nothing, so that it keeps no old pages.
    /// Returns true if that was done: a long read prevents it.
    pub(super) async fn cut_log(&self) -> Result<bool, Error> {
        let mut connection = self.readers.acquire().await.map_err(Error::unavailable)?;
        let (busy, ..): (i64, i64, i64) =
            sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await?;
        Ok(busy == 0)
    }

    pub(super) async fn close(&self) {
        self.mark.close();
        self.writer.close().await;
        self.readers.close().await;
    }
}

/// Checks that the file has a write-ahead log, as SQLite falls back to another mode without an
/// error.
async fn check_journal_mode(connection: &mut SqliteConnection, path: &Path) -> Result<(), DatabaseError> {
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(connection).await?;
    if mode == "wal" { Ok(()) } else { Err(DatabaseError::JournalMode { path: path.to_owned(), mode }) }
}

/// True if the process may only read the file. SQLite opens such a file, and `BEGIN IMMEDIATE` does
/// not fail there, so a statement tries to write.
async fn is_read_only(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    const CHANGE_NOTHING: &str = "DELETE FROM invoicing_migration WHERE version < 0";
    const READ_ONLY: &str = "8";
    match sqlx::query(CHANGE_NOTHING).execute(connection).await {
        Ok(_) => Ok(false),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(READ_ONLY) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Options that open files for writing. A new file is for its owner only, as a database holds
/// secrets and personal data.
fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The row id after all existing ones. Deliveries are never deleted.
async fn next_delivery_id(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    const NEXT_ID: &str = "SELECT coalesce(max(id), 0) + 1 FROM delivery";
    sqlx::query_scalar(NEXT_ID).fetch_one(connection).await
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;

    use super::*;

    #[tokio::test]
    async fn a_database_that_cannot_have_a_log_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("invoicing.db");
        // The file gets the mode that SQLite chooses on a file system without shared memory.
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.journal_mode(SqliteJournalMode::Delete).connect().await.unwrap();
        let text = check_journal_mode(&mut connection, &path).await.unwrap_err().to_string();
        let expected = format!("the database {} has the journal mode delete and needs wal", path.display());
        assert!(text.starts_with(&expected), "{text}");
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "no database ".repeat(100)).unwrap();
        let error = crate::Invoicing::sqlite(&path).open().await.unwrap_err().to_string();
        assert!(error.contains("notes.txt"), "{error}");
    }

    #[cfg(all(unix, feature = "pdf"))]
    /// Rules: OPEN-1
    #[tokio::test]
    async fn what_lies_beside_a_database_lies_beside_the_target_of_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("data/box.db"), folder.path().join("links/current.db"));
        for folder in [&file, &link].map(|path| path.parent().unwrap()) {
            std::fs::create_dir(folder).unwrap();
        }
        std::os::unix::fs::symlink("../data/box.db", &link).unwrap();
        for path in [&link, &file] {
            let invoicing = crate::Invoicing::sqlite(path).open().await.unwrap();
            let other = if *path == link { &file } else { &link };
            let refused = crate::Invoicing::sqlite(other).open().await.unwrap_err();
            assert!(refused.to_string().contains("is open already"), "{refused}");
            invoicing.close().await;
        }
        let names = |folder: &Path| {
            let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(link.parent().unwrap()), ["current.db"]);
        let beside = ["box.db", "box.db.documents", "box.db.lock", "box.db.mark"];
        assert_eq!(names(file.parent().unwrap()), beside);
    }
}
