//! The database: opening it, the one writer, the readers, and one file per table group.
//!
//! Knows rows and SQL; decides nothing. Every statement that touches a tenant's row names the company.

pub(crate) mod clients;
pub(crate) mod companies;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod invoices;
pub(crate) mod keys;
mod known;
mod migrate;
pub(crate) mod page;
pub(crate) mod projects;
pub(crate) mod quotes;
pub(crate) mod rows;
pub(crate) mod sealed;
pub(crate) mod settings;
pub(crate) mod sweep;
mod together;
mod tx;
pub(crate) mod uploads;
pub(crate) mod webhooks;
mod writer;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, InvoiceId, QuoteId};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool};

use crate::Error;
use crate::dispatch::Handoff;
use crate::dispatch::transport::TransportError;
use crate::documents::StorageSetupError;
use crate::env::Env;
use crate::sealing::SealingError;
use together::{Together, details_statement};
pub(crate) use tx::{Tx, Unit};
use writer::Writer;

/// Connections that read. SQLite reads run on a thread each; more than the cores only adds switching.
const READERS: u32 = 4;
/// Pages in the write-ahead log before it is written back: rarely, so that commits seldom pay for it.
const CHECKPOINT_PAGES: &str = "10000";
/// Pages that each connection may keep in memory: 16 MiB, as SQLite counts. With its own 2 MiB, most pages of a list
/// would be read from the file again and again.
const CACHE_SIZE: &str = "-16384";
/// Statements that each connection keeps prepared; every statement of this crate fits.
const PREPARED: usize = 256;

/// How often, and how far apart, a database that is in use is asked for again: for 2 s in all.
const LOCK_TRIES: u32 = 40;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has this database open. A SQLite file belongs to one process at a time.
    #[error("another process has {} open", .0.display())]
    InUse(PathBuf),
    /// The lock file beside the database cannot be made.
    #[error("the lock file {} cannot be used", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The database cannot be opened or brought up to date.
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
    /// The database was written by a newer version.
    #[error("the database has schema {found}, this version knows up to {known}")]
    TooNew {
        /// Schema version found.
        found: i64,
        /// Newest schema version that this code knows.
        known: i64,
    },
    /// The service could not read or write what it keeps about itself.
    #[error("the service cannot start")]
    Start(#[source] Error),
    /// The folder for documents beside the database cannot be used.
    #[error("the document store cannot be opened")]
    Documents(#[source] StorageSetupError),
    /// The sealing keys are not those that the database needs.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The webhook client cannot be set up.
    #[error("the webhook client cannot be set up")]
    Transport(#[from] TransportError),
    /// A setting is not usable.
    #[error("setting {name}: {rule}")]
    Setting {
        /// Which setting.
        name: &'static str,
        /// What it must be.
        rule: &'static str,
    },
}

/// An open database.
pub(crate) struct Store {
    writer: Writer,
    readers: SqlitePool,
    quote_details: Together,
    invoice_details: Together,
}

impl Store {
    /// Opens or creates the database at `path` and brings its schema up to date.
    pub(crate) async fn open(path: &Path, env: Env, handoff: Arc<Handoff>) -> Result<Self, OpenError> {
        let lock = lock(path).await?;
        let options = SqliteConnectOptions::from_str("sqlite://")?
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A committed event survives a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .pragma("cache_size", CACHE_SIZE)
            // What is overwritten or deleted leaves no trace within its page; the default keeps the old bytes.
            .pragma("secure_delete", "FAST")
            .statement_cache_capacity(PREPARED);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        migrate::run(&mut connection).await?;
        let reading = options.clone().pragma("query_only", "ON");
        let readers = SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .connect_with(reading.clone())
            .await?;
        Ok(Self {
            writer: Writer::start(Tx::new(connection, env, handoff).await?, lock),
            quote_details: Together::new(reading.connect().await?, details_statement!("quote")),
            invoice_details: Together::new(reading.connect().await?, details_statement!("invoice")),
            readers,
        })
    }

    /// A connection to read with; one statement is one snapshot.
    pub(crate) async fn read(&self) -> Result<PoolConnection<Sqlite>, Error> {
        self.readers.acquire().await.map_err(Error::unavailable)
    }

    /// A quote as the JSON of the API.
    pub(crate) async fn quote_detail(&self, company: CompanyId, id: QuoteId) -> Result<Vec<u8>, Error> {
        self.quote_details.find(company, id.0).await
    }

    /// An invoice as the JSON of the API.
    pub(crate) async fn invoice_detail(&self, company: CompanyId, id: InvoiceId) -> Result<Vec<u8>, Error> {
        self.invoice_details.find(company, id.0).await
    }

    /// Runs an operation in a transaction. When this returns `Ok`, the operation is on disk. Dropping the future
    /// before the operation has run cancels it; after that it is as if it was answered and nobody read the answer.
    pub(crate) async fn write<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static,
    {
        self.writer.run(operation).await
    }

    /// Writes the write-ahead log back and cuts it to nothing, so that it keeps no old pages. Whether that was done:
    /// somebody who reads for long is in the way.
    pub(crate) async fn cut_log(&self) -> Result<bool, Error> {
        let mut connection = self.read().await?;
        let (busy, ..): (i64, i64, i64) =
            sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await?;
        Ok(busy == 0)
    }

    /// Finishes what is being written and closes the database.
    pub(crate) async fn close(&self) {
        self.writer.close().await;
        self.quote_details.close().await;
        self.invoice_details.close().await;
        self.readers.close().await;
    }
}

/// Takes the lock beside the database. An earlier owner that is just ending gets a moment to do so.
async fn lock(database: &Path) -> Result<File, OpenError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let error = |source| OpenError::Lock { path: path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(error)?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_WAIT).await,
            Err(TryLockError::Error(source)) => return Err(error(source)),
        }
    }
    Err(OpenError::InUse(database.to_owned()))
}
