//! The database, one of two, and one file per table group.
//!
//! The store executes SQL and decides nothing. Every statement that touches a tenant's row names
//! the company. Opening, writing and claiming differ between the two databases and are in
//! [`sqlite`] and [`postgres`]; a statement is written once for both, in the file of its table.

pub(crate) mod attempts;
mod audit;
mod bulk_batches;
pub(crate) mod bulk_changes;
mod call;
mod change;
mod check;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod companies;
mod company;
pub(crate) mod connection;
pub(crate) mod credit_notes;
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
pub(crate) mod expected;
pub(crate) mod frozen_files;
mod global;
mod group_commit;
pub(crate) mod history;
pub(crate) mod invoices;
pub(crate) mod keys;
mod logos;
pub(crate) mod migrate;
mod newest;
pub(crate) mod notification;
mod operation;
mod page_json;
pub(crate) mod page_query;
mod pings;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod projects;
pub(crate) mod quote_search;
pub(crate) mod quotes;
pub(crate) mod rows;
mod scope;
pub(crate) mod sealed;
mod series;
pub(crate) mod settings;
pub(crate) mod signatures;
pub(crate) mod skip_reason;
pub(crate) mod spent_forms;
pub(crate) mod sqlite;
mod subscriber;
mod sweep_lock;
#[cfg(test)]
mod tests;
mod to_change;
mod tx;
mod uploads;
mod versions;
mod webhook_secrets;
pub(crate) mod webhooks;
mod write_cache;

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, WebhookId};
use tracing::Instrument as _;

use crate::error::Error;
use crate::queue::Job;
#[cfg(feature = "postgres")]
use crate::records::StoredPage;
use crate::telemetry::spans;
pub(crate) use audit::{AuditContext, UNAUDITED};
pub(crate) use change::ChangeContext;
pub use check::DatabaseHealth;
use claims::{ClaimLease, ClaimRequest, Claimed};
pub(crate) use company::{CompanyReader, CompanyTx, Tables};
pub(crate) use connection::Prefetch;
pub use database_error::DatabaseError;
pub(crate) use global::{ServiceReader, ServiceTables, ServiceTx};
#[cfg(feature = "postgres")]
use group_commit::Failure;
use notification::OnIncoming;
pub(crate) use operation::Operation;
#[cfg(feature = "postgres")]
use postgres::Postgres;
use sqlite::{Mark, Sqlite};
pub(crate) use sweep_lock::SweepLock;
pub(crate) use tx::Tx;

/// An open database, with the same operations for either kind.
pub(crate) enum Store {
    /// Boxed, as this variant is much the larger one.
    Sqlite(Box<Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

impl Store {
    /// Passes the notifications of this node's and other nodes' commits to `on_incoming`, until the
    /// store is closed.
    pub(crate) async fn listen(&self, on_incoming: OnIncoming) {
        match self {
            Self::Sqlite(database) => database.listen(on_incoming),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.listen(on_incoming).await,
        }
    }

    /// Reads records of a company. On PostgreSQL a read that fails transiently is tried again, on a
    /// copy.
    pub(crate) fn read<T, F>(
        &self,
        company: CompanyId,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        F: for<'c> Operation<CompanyReader<'c>, T> + Clone,
    {
        self.read_any(Some(company), async move |connection| {
            operation(CompanyReader { connection, company }).await
        })
    }

    /// As [`Self::read`], across companies.
    pub(crate) fn read_service<T, F>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        F: for<'c> Operation<ServiceReader<'c>, T> + Clone,
    {
        self.read_any(None, operation)
    }

    async fn read_any<T, F>(&self, company: Option<CompanyId>, operation: F) -> Result<T, Error>
    where
        F: for<'c> Operation<ServiceReader<'c>, T> + Clone,
    {
        let span = spans::transaction("read", company);
        // Boxed, as these are kilobytes that callers would move from one future into the next.
        match self {
            Self::Sqlite(database) => {
                let mut connection = database.read().await?;
                Box::pin(operation(&mut connection).instrument(span)).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => {
                let mut attempts = database.attempts();
                loop {
                    let read = match database.read(attempts.time_left()).await {
                        Ok(mut connection) => {
                            Box::pin(operation.clone()(&mut connection).instrument(span.clone())).await
                        }
                        Err(error) => Err(error),
                    };
                    if let Some(read) = attempts.ended(read.map_err(Failure::from)).await {
                        return read;
                    }
                }
            }
        }
    }

    /// A page of a list from the read replica, if there is one and it shows the same state of the
    /// company as the primary.
    #[cfg(feature = "postgres")]
    pub(crate) async fn page_of_replica<F>(&self, company: CompanyId, operation: F) -> Option<StoredPage>
    where
        F: for<'c> Operation<CompanyReader<'c>, StoredPage>,
    {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) if !database.has_replica() => None,
            Self::Postgres(database) => {
                let page = database.page_of_replica(company, operation);
                Box::pin(page.instrument(spans::transaction("replica", Some(company)))).await
            }
        }
    }

    /// True on SQLite: reading large lines inside the write transaction would block every writer
    /// there, so a change reads them before it.
    pub(crate) fn has_one_writer(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Changes records of a company in a transaction, which locks the company first. When this
    /// returns `Ok`, the change is on disk. Dropping the future before the operation has run
    /// cancels it; after that the operation completes.
    ///
    /// `records` are those that the operation reads first.
    ///
    /// On PostgreSQL an operation that fails transiently is run again, on a copy.
    pub(crate) fn write<T, F>(
        &self,
        company: CompanyId,
        audit: AuditContext,
        records: impl Into<Vec<Prefetch>>,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.write_any(Some(company), records.into(), move |tx| {
            Box::pin(async move {
                let comparison = audit.comparison.clone();
                let done = operation(tx.company(company).await?.with_audit(audit)).await?;
                if let Some(comparison) = comparison {
                    comparison.check_done()?;
                }
                Ok(done)
            })
        })
    }

    /// As [`Self::write`], across companies.
    pub(crate) fn write_service<T, F>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> Operation<ServiceTx<'t>, T> + Clone + 'static,
    {
        self.write_any(None, Vec::new(), move |tx| Box::pin(operation(tx)))
    }

    async fn write_any<T, F>(
        &self,
        company: Option<CompanyId>,
        records: Vec<Prefetch>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let span = spans::transaction("write", company);
        match self {
            Self::Sqlite(database) => database.writer.run(company, records, operation).instrument(span).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.write(company, records, operation).instrument(span).await,
        }
    }

    /// Claims due deliveries of several webhooks.
    pub(crate) async fn claim(
        &self,
        lease: ClaimLease,
        requests: &[ClaimRequest],
    ) -> Vec<(WebhookId, Result<Claimed, Error>)> {
        match self {
            Self::Sqlite(database) => database.claim(lease, requests).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.claim(lease, requests).await,
        }
    }

    /// Claims deliveries that have begun and are due, by their webhooks and ids. Returns those that
    /// it has claimed.
    pub(crate) async fn resume(
        &self,
        lease: ClaimLease,
        begun: Vec<(WebhookId, i64)>,
    ) -> Result<Vec<Job>, Error> {
        match self {
            Self::Sqlite(database) => database.resume(lease, begun).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.resume(lease, begun).await,
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

    /// Deletes rows of the store's own bookkeeping, once they are too old to be of use.
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

    /// Truncates the write-ahead log, so that it keeps no old pages. Returns true if that was done.
    pub(crate) async fn cut_log(&self) -> Result<bool, Error> {
        match self {
            Self::Sqlite(database) => database.cut_log().await,
            // Left to the administrator of the server.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Finishes the writes under way and closes the database.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => database.close().await,
        }
    }
}
