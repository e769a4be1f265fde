//! The sweep: what happens because a day has passed.
//!
//! EXPIRED and OVERDUE are stored changes and not computed when read, so that `since` shows them. A host calls this
//! at least once an hour; calling it more often does no harm.

mod orphans;

use std::sync::Arc;

use invoicing_core::{Company, CompanyId, Timestamp};

use crate::Error;
use crate::invoicing::Inner;
use crate::store::{SweepTurn, Tx, companies, invoices, keys, quotes, reading, sweep};

use super::keys::IDLE_LIMIT_MS;

/// Records per transaction: a sweep must not hold up the other writers.
const BATCH: u32 = 100;
/// How long attempts are kept: 30 days in milliseconds.
const ATTEMPTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// What a sweep changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// Another node on the same database is sweeping. Nothing was done here.
    pub elsewhere: bool,
}

impl Inner {
    pub(crate) async fn sweep(self: &Arc<Self>) -> Result<SweepReport, Error> {
        let Some(mut turn) = self.store.sweep_turn().await? else {
            return Ok(SweepReport { elsewhere: true, ..SweepReport::default() });
        };
        let report = self.sweep_all(&mut turn).await;
        turn.end().await;
        report
    }

    async fn sweep_all(self: &Arc<Self>, turn: &mut SweepTurn) -> Result<SweepReport, Error> {
        if let Err(error) = self.store.prune().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "old outcomes were not forgotten");
        }
        let mut report =
            SweepReport { revoked_keys: self.revoke_idle_keys().await?, ..SweepReport::default() };
        let all: Vec<Company> = reading!(self.store, |c| companies::list(c))?;
        let mut failed = None;
        // One company's bad row must not keep the others from being swept.
        let mut fail = |id: CompanyId, error: Error| {
            tracing::error!(error = &error as &dyn std::error::Error, company = %id, "company not swept");
            failed.get_or_insert(error);
        };
        for Company { id, .. } in &all {
            turn.keep().await?;
            if let Err(error) = self.sweep_company(*id, &mut report).await {
                fail(*id, error);
            }
        }
        // Last, as nothing else is to wait for a document store that hangs.
        for Company { id, .. } in &all {
            turn.keep().await?;
            match self.sweep_orphans(*id).await {
                Ok(deleted) => report.swept_documents += deleted,
                Err(error) => fail(*id, error),
            }
        }
        failed.map_or(Ok(report), Err)
    }

    async fn sweep_company(&self, id: CompanyId, report: &mut SweepReport) -> Result<(), Error> {
        report.expired_quotes += self.batches(move |tx| Box::pin(expire_quotes(tx, id))).await?;
        report.overdue_invoices += self.batches(move |tx| Box::pin(age_invoices(tx, id))).await?;
        report.pruned_attempts += self.batches(move |tx| Box::pin(prune(tx, id))).await?;
        Ok(())
    }

    /// Runs a batch until it finds nothing more.
    async fn batches<F>(&self, batch: F) -> Result<u64, Error>
    where
        F: for<'t> Fn(&'t mut Tx) -> futures_util::future::BoxFuture<'t, Result<u64, Error>>,
        F: Copy + Send + 'static,
    {
        let mut total = 0;
        loop {
            let changed = self.store.write(batch).await?;
            total += changed;
            if changed < u64::from(BATCH) {
                return Ok(total);
            }
        }
    }

    async fn revoke_idle_keys(self: &Arc<Self>) -> Result<u64, Error> {
        let now = self.env.now();
        let idle_since = now.plus_millis(-IDLE_LIMIT_MS);
        // The stored last use lags; a key must not lose its last minute to that.
        self.store_late_uses(idle_since).await?;
        let inner = Arc::clone(self);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let revoked = keys::revoke_idle(tx.connection(), now, idle_since).await?;
                    let count = revoked.len() as u64;
                    tx.on_commit(move || revoked.into_iter().for_each(|id| inner.keys.forget(id)));
                    Ok(count)
                })
            })
            .await
    }
}

async fn expire_quotes(tx: &mut Tx, company: CompanyId) -> Result<u64, Error> {
    let unit = tx.unit(company).await?;
    let mut changed = 0;
    for id in sweep::ended_quotes(tx.connection(), company, unit.today(), BATCH).await? {
        let quote = quotes::find(tx.connection(), company, id).await?;
        if let Some(expired) = quote.expire(unit.at, unit.today()) {
            quotes::update(tx.connection(), company, &expired.record).await?;
            changed += 1;
        }
    }
    if changed > 0 {
        tx.finish(&unit, &[]).await?;
    }
    Ok(changed)
}

async fn age_invoices(tx: &mut Tx, company: CompanyId) -> Result<u64, Error> {
    let unit = tx.unit(company).await?;
    let mut changed = 0;
    for id in sweep::due_invoices(tx.connection(), company, unit.today(), BATCH).await? {
        let invoice = invoices::find(tx.connection(), company, id).await?;
        if let Some(overdue) = invoice.mark_overdue(unit.at, unit.today()) {
            invoices::update(tx.connection(), company, &overdue.record).await?;
            changed += 1;
        }
    }
    if changed > 0 {
        tx.finish(&unit, &[]).await?;
    }
    Ok(changed)
}

async fn prune(tx: &mut Tx, company: CompanyId) -> Result<u64, Error> {
    let before: Timestamp = tx.env().now().plus_millis(-ATTEMPTS_KEPT_MS);
    sweep::prune_attempts(tx.connection(), company, before, BATCH).await
}
