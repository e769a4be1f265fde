//! The sweep: what falls due without a call (validity, due dates, idle keys, old attempts, orphans).
//!
//! EXPIRED and OVERDUE are stored changes and not computed when read, so that `since` shows them.
//! [`Invoicing::run`](crate::Invoicing::run) sweeps every hour; sweeping more often does no harm.

mod orphans;

use std::sync::Arc;

use invoicing_core::CompanyId;

use crate::Error;
use crate::access::{Access, IDLE_LIMIT_MS};
use crate::store::notification::Notification;
use crate::store::{CompanyTx, Operation, ServiceTables, SweepLock, Tables};

use super::Services;

/// Records per transaction: a sweep must not delay other writers.
const BATCH: u32 = 100;
/// How long attempts are kept: 30 days in milliseconds.
const ATTEMPTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// What a sweep changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// Documents that were deleted because no record had come to refer to them within an hour.
    pub swept_documents: u64,
    /// Another node on the same database is sweeping, so this one did nothing.
    pub elsewhere: bool,
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
        let mut report =
            SweepReport { revoked_keys: self.revoke_idle_keys().await?, ..SweepReport::default() };
        let companies = store.read_service(async |tx| tx.companies().ids().await).await?;
        let mut failed = None;
        // One company's bad row must not keep the others from being swept.
        let mut fail = |id: CompanyId, error: Error| {
            tracing::error!(error = &error as &dyn std::error::Error, company = %id, "company not swept");
            failed.get_or_insert(error);
        };
        for id in &companies {
            lock.refresh().await?;
            if let Err(error) = self.sweep_company(*id, &mut report).await {
                fail(*id, error);
            }
        }
        // Last, as a document store that hangs must not delay the rest.
        for id in &companies {
            lock.refresh().await?;
            match self.sweep_orphans(*id).await {
                Ok(deleted) => report.swept_documents += deleted,
                Err(error) => fail(*id, error),
            }
        }
        failed.map_or(Ok(report), Err)
    }

    async fn sweep_company(&self, id: CompanyId, report: &mut SweepReport) -> Result<(), Error> {
        report.expired_quotes += self.batches(id, async |tx| expire_quotes(tx).await).await?;
        report.overdue_invoices += self.batches(id, async |tx| mark_overdue(tx).await).await?;
        report.pruned_attempts += self.batches(id, async |tx| prune_attempts(tx).await).await?;
        Ok(())
    }

    /// Runs a batch until it finds nothing more.
    async fn batches<F>(&self, company: CompanyId, batch: F) -> Result<u64, Error>
    where
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<u64, Error>,
        F: for<'t> Operation<CompanyTx<'t>, u64> + Copy + 'static,
    {
        let mut total = 0;
        loop {
            let changed = self.services.store.write_company(company, batch).await?;
            total += changed;
            if changed < u64::from(BATCH) {
                return Ok(total);
            }
        }
    }

    async fn revoke_idle_keys(&self) -> Result<u64, Error> {
        let now = self.services.env.now();
        let idle_since = now.plus_millis(-IDLE_LIMIT_MS);
        // The stored last use lags; a key must not be revoked because of that.
        self.access.store_late_uses(idle_since).await?;
        self.services
            .store
            .write_service(async move |tx| {
                let revoked = tx.keys().revoke_idle(now, idle_since).await?;
                for id in &revoked {
                    tx.notify(Notification::Key(*id));
                }
                Ok(revoked.len() as u64)
            })
            .await
    }
}

async fn expire_quotes(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let (stamp, today) = (tx.change.stamp, tx.change.today());
    let mut changed = 0;
    for id in tx.quotes().ended_before(today, BATCH).await? {
        if let Some(expired) = tx.quotes().find(id).await?.expire(stamp, today) {
            tx.quotes().update(&expired.record).await?;
            changed += 1;
        }
    }
    if changed > 0 {
        tx.finish(&[]).await?;
    }
    Ok(changed)
}

async fn mark_overdue(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let (stamp, today) = (tx.change.stamp, tx.change.today());
    let mut changed = 0;
    for id in tx.invoices().due_before(today, BATCH).await? {
        if let Some(overdue) = tx.invoices().find(id).await?.mark_overdue(stamp, today) {
            tx.invoices().update(&overdue.record).await?;
            changed += 1;
        }
    }
    if changed > 0 {
        tx.finish(&[]).await?;
    }
    Ok(changed)
}

async fn prune_attempts(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let before = tx.change.now.plus_millis(-ATTEMPTS_KEPT_MS);
    tx.deliveries().prune_attempts(before, BATCH).await
}
