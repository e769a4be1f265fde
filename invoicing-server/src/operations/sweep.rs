//! The sweep: what falls due without a call (validity, due dates, idle keys, old attempts, orphans).
//!
//! EXPIRED and OVERDUE are stored changes and not computed when read, so that `since` shows them.
//! [`Invoicing::run`](crate::Invoicing::run) sweeps every hour; sweeping more often does no harm.

mod due;
mod orphans;
mod rewrite;

use std::collections::HashSet;
use std::sync::Arc;

use invoicing_core::{ClientId, CompanyId, InvoiceId, KeyId, QuoteId, Timestamp};

use crate::Error;
use crate::access::{Access, IDLE_LIMIT_MS};
use crate::store::{CompanyTx, ServiceTables, SweepLock, Tables};
use due::Due;

use super::Services;

/// Records per transaction: a sweep must not delay other writers.
const BATCH: u32 = 100;
/// How long attempts are kept: 30 days in milliseconds.
const ATTEMPTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// What a sweep changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SweepReport {
    /// Quotes that went from SENT to EXPIRED.
    pub expired_quotes: u64,
    /// Invoices that went from SENT to OVERDUE.
    pub overdue_invoices: u64,
    /// Keys that were revoked because they were idle for more than 90 days.
    pub revoked_keys: u64,
    /// Attempts of more than 30 days ago that were deleted.
    pub pruned_attempts: u64,
    /// Secrets of webhooks that were wiped because the overlap of their rotation has ended.
    pub wiped_secrets: u64,
    /// Documents that were deleted because no record had come to refer to them within an hour.
    pub swept_documents: u64,
    /// Records of older versions that were rewritten in today's shape. Their `updatedAt` did not move.
    pub rewritten_records: u64,
    /// Another node on the same database is sweeping, so this one did nothing.
    pub elsewhere: bool,
    /// What cannot be read and was passed over. The log says why, and the next sweep tries it again.
    pub unreadable: Vec<UnreadableRecord>,
}

/// A record that a sweep passed over because its row, or that of its company, cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnreadableRecord {
    /// A company. Its records were not swept.
    Company(CompanyId),
    /// A client whose record is of an older version.
    Client(CompanyId, ClientId),
    /// A quote whose validity has ended, or whose record is of an older version.
    Quote(CompanyId, QuoteId),
    /// An invoice that is overdue, or whose record is of an older version.
    Invoice(CompanyId, InvoiceId),
    /// An API key that is idle.
    Key(CompanyId, KeyId),
}

/// A sweep under way.
#[derive(Default)]
struct Progress {
    report: SweepReport,
    /// Why a company could not be swept for now: the first failure that is not of a row.
    failed: Option<Error>,
}

impl Progress {
    /// Notes a failure that must not keep the rest from being swept.
    fn note(&mut self, record: UnreadableRecord, error: Error) {
        tracing::error!(error = &error as &dyn std::error::Error, ?record, "record not swept");
        if matches!(error, Error::Internal(_)) {
            self.report.unreadable.push(record);
        } else {
            self.failed.get_or_insert(error);
        }
    }
}

/// Sweeps all companies.
pub(crate) struct Sweeper {
    pub(crate) services: Arc<Services>,
    pub(crate) access: Arc<Access>,
}

impl Sweeper {
    pub(crate) async fn sweep(&self) -> Result<SweepReport, Error> {
        let Some(mut lock) = self.services.store.sweep_lock().await? else {
            return Ok(SweepReport { elsewhere: true, ..SweepReport::default() });
        };
        let report = self.sweep_all(&mut lock).await;
        lock.release().await;
        report
    }

    async fn sweep_all(&self, lock: &mut SweepLock) -> Result<SweepReport, Error> {
        let store = &self.services.store;
        if let Err(error) = store.prune().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "pruning the commit records failed");
        }
        let mut progress = Progress::default();
        self.revoke_idle_keys(lock, &mut progress).await?;
        let companies = store.read_service(async |tx| tx.companies().ids().await).await?;
        let mut failed = HashSet::new();
        for id in &companies {
            lock.refresh().await?;
            if let Err(error) = self.sweep_company(*id, &mut progress).await {
                progress.note(UnreadableRecord::Company(*id), error);
                failed.insert(*id);
            }
        }
        // Last, as a document store that hangs must not delay the rest.
        for id in companies.iter().filter(|id| !failed.contains(id)) {
            lock.refresh().await?;
            match self.sweep_orphans(*id).await {
                Ok(deleted) => progress.report.swept_documents += deleted,
                Err(error) => progress.note(UnreadableRecord::Company(*id), error),
            }
        }
        progress.failed.map_or(Ok(progress.report), Err)
    }

    async fn sweep_company(&self, id: CompanyId, progress: &mut Progress) -> Result<(), Error> {
        progress.report.expired_quotes += self.sweep_due(id, Due::Quotes, progress).await?;
        progress.report.overdue_invoices += self.sweep_due(id, Due::Invoices, progress).await?;
        let store = &self.services.store;
        progress.report.wiped_secrets += store.write_company(id, async |tx| wipe_secrets(tx).await).await?;
        progress.report.pruned_attempts += self.prune_attempts(id).await?;
        self.rewrite_older(id, progress).await?;
        Ok(())
    }

    async fn prune_attempts(&self, company: CompanyId) -> Result<u64, Error> {
        let mut total = 0;
        loop {
            let pruned = self.services.store.write_company(company, async |tx| prune_batch(tx).await).await?;
            total += pruned;
            if pruned < u64::from(BATCH) {
                return Ok(total);
            }
        }
    }

    /// One by one, as a key whose revocation fails must not keep the others from being revoked.
    async fn revoke_idle_keys(&self, lock: &mut SweepLock, progress: &mut Progress) -> Result<(), Error> {
        let idle_since = self.services.env.now().plus_millis(-IDLE_LIMIT_MS);
        let idle = self.services.store.read_service(async move |tx| tx.keys().idle(idle_since).await).await?;
        for (company, key) in idle {
            lock.refresh().await?;
            match self.revoke_idle_key(company, key, idle_since).await {
                Ok(revoked) => progress.report.revoked_keys += u64::from(revoked),
                Err(error) => progress.note(UnreadableRecord::Key(company, key), error),
            }
        }
        Ok(())
    }

    async fn revoke_idle_key(
        &self,
        company: CompanyId,
        key: KeyId,
        idle_since: Timestamp,
    ) -> Result<bool, Error> {
        // The stored last use lags; a key must not be revoked because of that.
        self.access.store_late_use(key, idle_since).await?;
        let store = &self.services.store;
        store.write_company(company, async move |mut tx| tx.revoke_idle_key(key, idle_since).await).await
    }
}

async fn wipe_secrets(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let now = tx.change.now;
    tx.webhooks().wipe_ended_secrets(now).await
}

async fn prune_batch(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let before = tx.change.now.plus_millis(-ATTEMPTS_KEPT_MS);
    tx.deliveries().prune_attempts(before, BATCH).await
}
