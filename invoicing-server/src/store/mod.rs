//! The database, one of two, and one file per table group.
//!
//! Knows rows and SQL; decides nothing. Every statement that touches a tenant's row names the company. What the two
//! databases do differently, opening, writing, claiming, is in [`sqlite`] and [`postgres`]; a statement is written once
//! for both, in the file of its table.

pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod companies;
mod connection;
pub(crate) mod deliveries;
pub(crate) mod events;
mod fresh;
mod ids;
pub(crate) mod invoices;
pub(crate) mod keys;
mod lists;
mod migrate;
pub(crate) mod news;
pub(crate) mod page;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod projects;
pub(crate) mod quotes;
pub(crate) mod rows;
pub(crate) mod sealed;
pub(crate) mod series;
pub(crate) mod settings;
pub(crate) mod sqlite;
pub(crate) mod sweep;
mod tx;
pub(crate) mod uploads;
pub(crate) mod webhooks;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, InvoiceId, QuoteId, WebhookId};

use crate::Error;
use crate::dispatch::Handoff;
use crate::dispatch::transport::TransportError;
use crate::documents::StorageSetupError;
use crate::env::Env;
use crate::sealing::SealingError;
use claims::{Claimant, Claimed};
pub(crate) use connection::Connection;
use connection::{on, run};
#[cfg(feature = "postgres")]
use postgres::Postgres;
use sqlite::Sqlite;
pub(crate) use tx::{Tx, Unit};

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
    /// A copy into this database has begun and not ended. See `copy_to_postgres`.
    #[error("the database is being copied into, and the copy is not complete")]
    Copying,
    /// The PostgreSQL database does not store text in UTF-8, so not every name can be kept in it.
    #[error("the database's encoding is {0}, and must be UTF8")]
    Encoding(String),
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

/// An open database: the same operations on either.
pub(crate) enum Store {
    /// Boxed, as it is much the larger one.
    Sqlite(Box<Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

/// The same call on either database.
macro_rules! either {
    ($store:expr, |$database:ident| $call:expr) => {
        match $store {
            Store::Sqlite($database) => $call,
            #[cfg(feature = "postgres")]
            Store::Postgres($database) => $call,
        }
    };
}

/// Reads with one connection, and on PostgreSQL again, with another one, where that may go better:
/// `reading!(store, |c| quotes::find(c, company, id))`.
macro_rules! reading {
    ($store:expr, |$c:ident| $look:expr) => {{
        let mut reading = $store.reading();
        loop {
            let looked = match reading.connection().await {
                Ok(mut connection) => {
                    let $c = &mut connection;
                    $look.await
                }
                Err(error) => Err(error),
            };
            match looked {
                Ok(found) => break Ok(found),
                Err(error) => {
                    if let Err(error) = reading.again(error).await {
                        break Err(error);
                    }
                }
            }
        }
    }};
}

pub(crate) use reading;

/// A read that may take several tries.
pub(crate) struct Reading<'s> {
    store: &'s Store,
    #[cfg(feature = "postgres")]
    tries: postgres::Tries,
}

impl Reading<'_> {
    /// The connection for the next try.
    pub(crate) async fn connection(&self) -> Result<Connection, Error> {
        match self.store {
            Store::Sqlite(database) => database.read().await,
            #[cfg(feature = "postgres")]
            Store::Postgres(database) => database.read(&self.tries).await,
        }
    }

    /// Waits before the next try; fails where there is to be none.
    pub(crate) async fn again(&mut self, error: Error) -> Result<(), Error> {
        match self.store {
            // A file does not go away and come back.
            Store::Sqlite(_) => Err(error),
            #[cfg(feature = "postgres")]
            Store::Postgres(database) => database.read_again(&mut self.tries, error).await,
        }
    }
}

/// The exclusive right to sweep. Dropped, it is given back a little later.
pub(crate) struct SweepTurn {
    /// Holds the lock.
    connection: Option<Connection>,
}

impl SweepTurn {
    /// To be called now and then: who does not is taken for one that stands still.
    ///
    /// # Errors
    /// Where the right is lost, with the connection that held it.
    pub(crate) async fn keep(&mut self) -> Result<(), Error> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        run!(connection, |c| sqlx::query("SELECT 1").execute(c))?;
        Ok(())
    }

    /// Gives it back at once.
    pub(crate) async fn end(self) {
        if let Some(mut connection) = self.connection
            && let Err(error) = connection.end_transaction().await
        {
            tracing::debug!(%error, "the right to sweep ends with its connection");
        }
    }
}

impl Store {
    /// Opens or creates the SQLite file at `path` and brings its schema up to date.
    pub(crate) async fn open_sqlite(
        path: &std::path::Path,
        env: Env,
        handoff: Arc<Handoff>,
    ) -> Result<Self, OpenError> {
        Ok(Self::Sqlite(Box::new(Sqlite::open(path, env, handoff).await?)))
    }

    /// Connects to a PostgreSQL database and brings its schema up to date.
    #[cfg(feature = "postgres")]
    pub(crate) async fn open_postgres(
        settings: crate::PostgresSettings,
        env: Env,
        handoff: Arc<Handoff>,
    ) -> Result<Self, OpenError> {
        Ok(Self::Postgres(Postgres::open(settings, env, handoff).await?))
    }

    /// Whether other processes work on the database too: then nothing that was read stays true for long.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
        }
    }

    /// See [`reading!`]; one statement is one snapshot.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            store: self,
            #[cfg(feature = "postgres")]
            tries: postgres::Tries::since(Instant::now()),
        }
    }

    /// A quote as the JSON of the API.
    pub(crate) async fn quote_detail(&self, company: CompanyId, id: QuoteId) -> Result<Vec<u8>, Error> {
        match self {
            Self::Sqlite(database) => database.quote_detail(company, id).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let pieces = reading!(self, |c| quotes::find_pieces(c, company, id))?;
                Ok(pieces.detail().into_bytes())
            }
        }
    }

    /// An invoice as the JSON of the API.
    pub(crate) async fn invoice_detail(&self, company: CompanyId, id: InvoiceId) -> Result<Vec<u8>, Error> {
        match self {
            Self::Sqlite(database) => database.invoice_detail(company, id).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let pieces = reading!(self, |c| invoices::find_pieces(c, company, id))?;
                Ok(pieces.detail().into_bytes())
            }
        }
    }

    /// Runs an operation in a transaction. When this returns `Ok`, the operation is on disk. Dropping the future
    /// before the operation has run cancels it; after that it is as if it was answered and nobody read the answer.
    ///
    /// On PostgreSQL an operation that fails for a reason that may be gone the next time is run again, on a copy.
    pub(crate) async fn write<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        either!(self, |database| database.write(operation).await)
    }

    /// As [`Self::write`], for somebody who must not do the same again before it is known what became of it: he waits for
    /// that as long as it can be found out, or until a moment after the instant at which it is enough. See [`Error::is_unknown`].
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "a file always answers"))]
    pub(crate) async fn write_until_known<T, F>(
        &self,
        enough: Arc<OnceLock<Instant>>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        match self {
            Self::Sqlite(database) => database.write(operation).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.write_until_known(enough, operation).await,
        }
    }

    /// As [`Self::write`], for an operation on one company: those of one company come one after the other.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "one writer takes all in turn"))]
    pub(crate) async fn write_of<T, F>(&self, company: CompanyId, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        match self {
            // The writer takes all in turn.
            Self::Sqlite(database) => database.write(operation).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.write_of(company, operation).await,
        }
    }

    /// Claims due deliveries of several webhooks, with room for so many of each.
    pub(crate) async fn claim(
        &self,
        claimant: Claimant,
        wanted: &[(WebhookId, usize)],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        either!(self, |database| database.claim(claimant, wanted).await)
    }

    /// The right to sweep; `None` while another node has it.
    pub(crate) async fn sweep_turn(&self) -> Result<Option<SweepTurn>, Error> {
        match self {
            // Two sweeps of one process do each other no harm.
            Self::Sqlite(_) => Ok(Some(SweepTurn { connection: None })),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => {
                let connection = database.sweep_lock().await?;
                Ok(connection.map(|connection| SweepTurn { connection: Some(connection) }))
            }
        }
    }

    /// Forgets what the database keeps for its own sake and nobody asks for any more.
    pub(crate) async fn prune(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.prune_outcomes().await,
        }
    }

    /// Writes the log of changes back and cuts it to nothing, so that it keeps no old pages. Whether that was done.
    pub(crate) async fn cut_log(&self) -> Result<bool, Error> {
        match self {
            Self::Sqlite(database) => database.cut_log().await,
            // That is for whoever runs the server.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Finishes what is being written and closes the database.
    pub(crate) async fn close(&self) {
        either!(self, |database| database.close().await);
    }
}
