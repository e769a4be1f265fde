//! The database, one of two, and one file per table group.
//!
//! Knows rows and SQL; decides nothing. Every statement that touches a tenant's row names the company. What the two
//! databases do differently, opening, writing, claiming, is in [`sqlite`] and [`postgres`]; a statement is written once
//! for both, in the file of its table.

mod arguments;
pub(crate) mod attempts;
mod bulk_batches;
pub(crate) mod bulk_changes;
mod call;
mod change;
mod check;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod companies;
mod company;
mod connection;
mod database_error;
pub(crate) mod day_counts;
pub(crate) mod deliveries;
pub(crate) mod delivery_pages;
pub(crate) mod disabled_notices;
pub(crate) mod documents;
pub(crate) mod due;
mod enqueue;
pub(crate) mod event_pages;
pub(crate) mod event_subjects;
pub(crate) mod events;
mod group_commit;
pub(crate) mod history;
pub(crate) mod invoices;
pub(crate) mod keys;
#[cfg(feature = "postgres")]
pub(crate) mod locks;
pub(crate) mod migrate;
pub(crate) mod notification;
mod operation;
pub(crate) mod page;
mod pings;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod prefetch;
pub(crate) mod projects;
mod query;
pub(crate) mod quote_search;
pub(crate) mod quotes;
mod reader;
pub(crate) mod rewrite;
pub(crate) mod rows;
mod scope;
pub(crate) mod sealed;
mod series;
mod service;
#[cfg(feature = "postgres")]
mod session;
pub(crate) mod settings;
pub(crate) mod signatures;
pub(crate) mod skipping;
pub(crate) mod spent_forms;
mod sql;
pub(crate) mod sqlite;
mod subscriber;
#[cfg(test)]
mod tests;
mod tx;
mod versions;
mod webhook_secrets;
pub(crate) mod webhooks;
mod write;
mod write_cache;

use std::fmt::Display;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, InvoiceId, InvoiceSummary, QuoteId, QuoteSummary, WebhookId};

use crate::Error;
use crate::cause::Cause;
use crate::queue::Job;
use crate::telemetry::spans;
pub(crate) use change::CompanyChange;
pub use check::StoreHealth;
use claims::{Claimant, Claimed, Wanted};
pub(crate) use company::{CompanyReader, CompanyTx, Tables};
pub(crate) use connection::Connection;
pub use database_error::DatabaseError;
use notification::OnIncoming;
pub(crate) use operation::Operation;
use page::{PageAnswer, Reserve};
#[cfg(feature = "postgres")]
use postgres::Postgres;
pub(crate) use prefetch::Prefetch;
use rows::Detail;
pub(crate) use service::{ServiceReader, ServiceTables, ServiceTx};
#[cfg(feature = "console")]
use spent_forms::OpenForm;
use sqlite::{Mark, Sqlite};
pub(crate) use tx::Tx;
use versions::StoredRecord;

/// An open database: the same operations on either.
pub(crate) enum Store {
    /// Boxed, as it is much the larger one.
    Sqlite(Box<Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

/// Where a change comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// The name under which the history notes the change, where there is one.
    pub(crate) actor: Option<Arc<str>>,
    /// What its events are noted to be caused by.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The form that it answers.
    #[cfg(feature = "console")]
    pub(crate) form: Option<Arc<OpenForm>>,
}

/// The exclusive right to sweep. Dropping it releases it a little later.
///
/// The connection holds the lock. None on SQLite, where two sweeps of the one process do no harm.
pub(crate) struct SweepLock(Option<Connection>);

impl SweepLock {
    /// To be called between steps: PostgreSQL takes the lock from a connection that is idle for long.
    ///
    /// # Errors
    /// Where the lock is lost, with the connection that held it.
    pub(crate) async fn refresh(&mut self) -> Result<(), Error> {
        let Some(connection) = &mut self.0 else { return Ok(()) };
        connection.query("SELECT 1", &[]).execute().await?;
        Ok(())
    }

    /// Releases it at once.
    pub(crate) async fn release(self) {
        if let Some(mut connection) = self.0
            && let Err(error) = connection.end_transaction().await
        {
            tracing::debug!(%error, "the sweep lock ends with its connection");
        }
    }
}

impl Store {
    /// Lets `on_incoming` receive what this node and other nodes commit, until the store is closed.
    pub(crate) async fn listen(&self, on_incoming: OnIncoming) {
        match self {
            Self::Sqlite(database) => database.listen(on_incoming),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.listen(on_incoming).await,
        }
    }

    /// A quote as the JSON of the API. `reserve` is asked before large lines are read.
    pub(crate) async fn quote_detail(
        &self,
        company: CompanyId,
        id: QuoteId,
        reserve: Reserve<'_>,
    ) -> Result<Vec<u8>, Error> {
        let found = self.read(company, async move |mut tx| tx.quotes().detail_unless_large(id).await).await?;
        let with_large_lines = self.read(company, async move |mut tx| tx.quotes().detail(id).await);
        detail_json::<QuoteSummary>(found, id, reserve, with_large_lines).await
    }

    /// An invoice as the JSON of the API. `reserve` is asked before large lines are read.
    pub(crate) async fn invoice_detail(
        &self,
        company: CompanyId,
        id: InvoiceId,
        reserve: Reserve<'_>,
    ) -> Result<Vec<u8>, Error> {
        let found =
            self.read(company, async move |mut tx| tx.invoices().detail_unless_large(id).await).await?;
        let with_large_lines = self.read(company, async move |mut tx| tx.invoices().detail(id).await);
        detail_json::<InvoiceSummary>(found, id, reserve, with_large_lines).await
    }

    /// Reads records of a company. On PostgreSQL a read that fails transiently is tried again, on a copy.
    pub(crate) fn read<T, F>(
        &self,
        company: CompanyId,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        F: for<'c> Operation<CompanyReader<'c>, T> + Clone,
    {
        let read =
            self.run_read(async move |connection| operation(CompanyReader { connection, company }).await);
        spans::transaction("read", Some(company), read)
    }

    /// Reads a page of a list: from the read replica if it shows the company as the primary does.
    pub(crate) async fn read_page<F>(&self, company: CompanyId, operation: F) -> Result<Vec<u8>, Error>
    where
        F: for<'c> Operation<CompanyReader<'c>, PageAnswer> + Clone,
    {
        #[cfg(feature = "postgres")]
        if let Self::Postgres(database) = self
            && database.has_replica()
        {
            let page = Box::pin(database.page_of_replica(company, operation.clone()));
            if let Some(page) = spans::transaction("replica", Some(company), page).await {
                return Ok(page.json);
            }
        }
        Ok(self.read(company, operation).await?.json)
    }

    /// As [`Self::read`], across companies.
    pub(crate) fn read_service<T, F>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        F: for<'c> Operation<ServiceReader<'c>, T> + Clone,
    {
        spans::transaction("read", None, self.run_read(operation))
    }

    async fn run_read<T, F>(&self, operation: F) -> Result<T, Error>
    where
        F: for<'c> Operation<ServiceReader<'c>, T> + Clone,
    {
        // Boxed, as these are kilobytes that callers would move from one future into the next.
        match self {
            Self::Sqlite(database) => {
                Box::pin(async move { operation(&mut database.read().await?).await }).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => {
                let read = async |limit| operation.clone()(&mut database.read(limit).await?).await;
                Box::pin(database.retry(read)).await
            }
        }
    }

    /// Whether a change had better read large lines before its transaction: on SQLite, where all companies wait for the one
    /// that writes.
    pub(crate) fn has_one_writer(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Changes records of a company in a transaction, which locks the company first. When this returns `Ok`, the change
    /// is on disk. Dropping the future before the operation has run cancels it; after that the operation completes.
    ///
    /// On PostgreSQL an operation that fails transiently is run again, on a copy.
    pub(crate) fn write_company<T, F>(
        &self,
        company: CompanyId,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.write_company_as(company, Origin::default(), Vec::new(), operation)
    }

    /// As [`Self::write_company`], for an operation that reads these records first. What it records is noted to come from
    /// there.
    pub(crate) fn write_company_as<T, F>(
        &self,
        company: CompanyId,
        origin: Origin,
        records: Vec<Prefetch>,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.write(Some(company), records, move |tx| {
            Box::pin(async move { operation(tx.company(company).await?.coming_from(origin)).await })
        })
    }

    /// As [`Self::write_company`], across companies.
    pub(crate) fn write_service<T, F>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Operation<ServiceTx<'t>, T> + Clone + 'static,
    {
        self.write(None, Vec::new(), move |tx| Box::pin(operation(tx)))
    }

    /// Runs an operation in a transaction. `company`: the one whose row it locks. `records`: what it reads of it first.
    fn write<T, F>(
        &self,
        company: Option<CompanyId>,
        records: Vec<Prefetch>,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        spans::transaction("write", company, self.run_write(company, records, operation))
    }

    async fn run_write<T, F>(
        &self,
        company: Option<CompanyId>,
        records: Vec<Prefetch>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        match self {
            Self::Sqlite(database) => database.writer.run(company, records, operation).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.write(company, records, operation).await,
        }
    }

    /// Claims due deliveries of several webhooks.
    pub(crate) async fn claim(
        &self,
        claimant: Claimant,
        wanted: &[Wanted],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        match self {
            Self::Sqlite(database) => database.claim(claimant, wanted).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.claim(claimant, wanted).await,
        }
    }

    /// Claims deliveries that have begun and are due, by their webhooks and ids. Those that it did.
    pub(crate) async fn resume(
        &self,
        claimant: Claimant,
        begun: Vec<(WebhookId, i64)>,
    ) -> Result<Vec<Job>, Error> {
        match self {
            Self::Sqlite(database) => database.resume(claimant, begun).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.resume(claimant, begun).await,
        }
    }

    /// The right to sweep; `None` while another node has it.
    pub(crate) async fn sweep_lock(&self) -> Result<Option<SweepLock>, Error> {
        match self {
            Self::Sqlite(_) => Ok(Some(SweepLock(None))),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => {
                Ok(database.sweep_lock().await?.map(|connection| SweepLock(Some(connection))))
            }
        }
    }

    /// Deletes rows that the store keeps for itself, once they are too old to be of use.
    pub(crate) async fn prune(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.prune_commit_status().await,
        }
    }

    /// The mark of requests that could not be noted, if one process owns the database.
    pub(crate) fn mark(&self) -> Option<&Mark> {
        match self {
            Self::Sqlite(database) => Some(&database.mark),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Truncates the write-ahead log, so that it keeps no old pages. Whether that was done.
    pub(crate) async fn cut_log(&self) -> Result<bool, Error> {
        match self {
            Self::Sqlite(database) => database.cut_log().await,
            // Left to the administrator of the server.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Finishes what is being written and closes the database.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.close().await,
        }
    }
}

/// A detail as the JSON of the API; `T` is its summary. Where its lines are large, `reserve` is asked before
/// `with_large_lines` reads them.
async fn detail_json<T: StoredRecord>(
    found: Detail,
    id: impl Display,
    reserve: Reserve<'_>,
    with_large_lines: impl Future<Output = Result<Vec<u8>, Error>>,
) -> Result<Vec<u8>, Error> {
    match found {
        Detail::Whole { json, version } => versions::in_todays_shape::<T>(json, version, id),
        Detail::Large { bytes } => {
            reserve(bytes)?;
            with_large_lines.await
        }
    }
}
