//! The sweep: changes that fall due without a call (validity, due dates, idle keys, old attempts,
//! orphans).
//!
//! EXPIRED and OVERDUE are stored changes and not computed when read, so that `since` shows them.
//! [`Invoicing::run`](crate::Invoicing::run) sweeps every hour; sweeping more often does no harm.

mod due;
mod orphans;

use std::sync::Arc;

use invoicing_core::{CompanyId, InvoiceId, KeyId, QuoteId, Timestamp};

use crate::access::{Access, IDLE_LIMIT_MS};
use crate::error::Error;
use crate::store::notification::Notification;
use crate::store::settings::HostTask;
use crate::store::{CompanyTx, ServiceTables, Store, SweepLock, Tables, UNAUDITED};
use due::Due;

use super::Services;

/// Records per transaction: a sweep must not delay other writers.
const BATCH: u32 = 100;
/// Time for which attempts are kept: 30 days in milliseconds.
const ATTEMPTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Time for which spent forms are kept. A form is accepted for a day, by the clock of any node.
const FORMS_KEPT_MS: i64 = 2 * 24 * 60 * 60 * 1_000;

/// Time for which notices of disabled webhooks wait for a host that reads them: 30 days in
/// milliseconds.
const NOTICES_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// The changes that a sweep has made.
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
    /// True if another node on the same database is sweeping, so this one did nothing.
    pub elsewhere: bool,
    /// Records that cannot be read and were passed over. The log names the error, and the next
    /// sweep tries them again.
    pub unreadable: Vec<UnreadableRecord>,
    /// Companies with a part that was not swept, as the database or the document store failed for
    /// now. The log names the error, and the next sweep tries again.
    pub failed: Vec<CompanyId>,
}

/// A record that a sweep passed over because its row, or that of its company, cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum UnreadableRecord {
    /// A company. Its records were not swept.
    Company(CompanyId),
    /// A quote whose validity has ended.
    Quote(CompanyId, QuoteId),
    /// An invoice that is overdue.
    Invoice(CompanyId, InvoiceId),
    /// An API key that is idle.
    Key(CompanyId, KeyId),
}

impl UnreadableRecord {
    /// The company that it belongs to.
    pub const fn company(&self) -> CompanyId {
        match *self {
            Self::Company(id) | Self::Quote(id, _) | Self::Invoice(id, _) | Self::Key(id, _) => id,
        }
    }
}

/// A sweep under way.
struct Progress {
    lock: SweepLock,
    report: SweepReport,
}

impl Progress {
    /// `None` while another node sweeps.
    async fn begin(store: &Store) -> Result<Option<Self>, Error> {
        let lock = store.sweep_lock().await?;
        Ok(lock.map(|lock| Self { lock, report: SweepReport::default() }))
    }

    /// Notes a failure that must not keep the rest from being swept.
    fn note(&mut self, record: UnreadableRecord, error: &Error) {
        tracing::error!(
            error = error as &dyn std::error::Error,
            ?record,
            "record not swept; the next sweep tries again"
        );
        if matches!(error, Error::Internal(_)) {
            self.report.unreadable.push(record);
        } else {
            self.report.failed.push(record.company());
        }
    }

    /// Ignores the error of a record that cannot be read, after noting it. Returns any other error.
    fn pass_over(&mut self, record: UnreadableRecord, swept: Result<(), Error>) -> Result<(), Error> {
        match swept {
            Err(error @ Error::Internal(_)) => {
                self.note(record, &error);
                Ok(())
            }
            swept => swept,
        }
    }

    /// Ends the sweep. The report names each record and each company once.
    async fn end(self) -> SweepReport {
        let Self { lock, mut report } = self;
        lock.release().await;
        report.unreadable.sort_unstable();
        report.unreadable.dedup();
        report.failed.sort_unstable();
        report.failed.dedup();
        report
    }
}

/// A step of the sweep, which ends for all companies before the next one begins for any.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Records that fall due: companies and their clients wait for them.
    Due,
    /// Work that may take long in a large company.
    Upkeep,
    /// Orphaned documents; last, as a document store that hangs must not delay the rest.
    Orphans,
}

/// Sweeps all companies.
pub(crate) struct Sweeper {
    pub(crate) services: Arc<Services>,
    pub(crate) access: Arc<Access>,
}

impl Sweeper {
    pub(crate) async fn sweep(&self) -> Result<SweepReport, Error> {
        self.services.operation("sweep", None, self.sweep_once()).await
    }

    async fn sweep_once(&self) -> Result<SweepReport, Error> {
        let Some(mut progress) = Progress::begin(&self.services.store).await? else {
            return Ok(SweepReport { elsewhere: true, ..SweepReport::default() });
        };
        let swept = self.sweep_all(&mut progress).await;
        let report = progress.end().await;
        if swept.is_err() {
            tracing::warn!(?report, "sweep ended early; the next sweep does the rest");
        }
        swept?;
        self.services.env.metrics().swept(self.services.env.now());
        Ok(report)
    }

    async fn sweep_all(&self, progress: &mut Progress) -> Result<(), Error> {
        let store = &self.services.store;
        self.note_run().await?;
        if let Err(error) = store.prune().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "commit records not pruned; the next sweep prunes them"
            );
        }
        let before = self.services.env.now().plus_millis(-NOTICES_KEPT_MS);
        store.write_service(async move |tx| tx.webhooks().prune_notices(before).await).await?;
        self.revoke_idle_keys(progress).await?;
        let mut companies = store.read_service(async |tx| tx.companies().ids().await).await?;
        for step in [Step::Due, Step::Upkeep, Step::Orphans] {
            companies = self.sweep_companies(companies, step, progress).await?;
        }
        self.note_run().await
    }

    /// Notes in the database that a sweep runs.
    async fn note_run(&self) -> Result<(), Error> {
        let Services { store, env, .. } = &*self.services;
        let now = env.now();
        store.write_service(async move |tx| tx.settings().note_run(HostTask::Sweep, now).await).await
    }

    /// Takes a step for each company. Returns the companies for which it succeeded.
    async fn sweep_companies(
        &self,
        companies: Vec<CompanyId>,
        step: Step,
        progress: &mut Progress,
    ) -> Result<Vec<CompanyId>, Error> {
        let mut swept = Vec::with_capacity(companies.len());
        for id in companies {
            progress.lock.refresh().await?;
            match self.sweep_company(id, step, progress).await {
                Ok(()) => swept.push(id),
                Err(error) => progress.note(UnreadableRecord::Company(id), &error),
            }
        }
        Ok(swept)
    }

    async fn sweep_company(&self, id: CompanyId, step: Step, progress: &mut Progress) -> Result<(), Error> {
        match step {
            Step::Due => {
                self.sweep_due(id, Due::Quotes, progress).await?;
                self.sweep_due(id, Due::Invoices, progress).await?;
                let wiped =
                    self.services.store.write(id, UNAUDITED, [], async |tx| wipe_secrets(tx).await).await?;
                progress.report.wiped_secrets += wiped;
                Ok(())
            }
            Step::Upkeep => self.prune_attempts(id, progress).await,
            Step::Orphans => self.sweep_orphans(id, progress).await,
        }
    }

    async fn prune_attempts(&self, company: CompanyId, progress: &mut Progress) -> Result<(), Error> {
        loop {
            progress.lock.refresh().await?;
            let pruned =
                self.services.store.write(company, UNAUDITED, [], async |tx| prune_batch(tx).await).await?;
            progress.report.pruned_attempts += pruned;
            if pruned < u64::from(BATCH) {
                return Ok(());
            }
        }
    }

    /// Revokes idle keys one by one, as a key whose revocation fails must not keep the others from
    /// being revoked.
    async fn revoke_idle_keys(&self, progress: &mut Progress) -> Result<(), Error> {
        // A key must not be revoked because its last use could not be stored.
        if let Err(error) = self.access.note_unnoted().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "idle keys not revoked: uses of keys are not stored; the next sweep tries again"
            );
            return Ok(());
        }
        let idle_since = self.services.env.now().plus_millis(-IDLE_LIMIT_MS);
        let idle = self.services.store.read_service(async move |tx| tx.keys().idle(idle_since).await).await?;
        for (company, key) in idle {
            progress.lock.refresh().await?;
            match self.revoke_idle_key(company, key, idle_since).await {
                Ok(revoked) => progress.report.revoked_keys += u64::from(revoked),
                Err(error) => progress.note(UnreadableRecord::Key(company, key), &error),
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
        store
            .write(company, UNAUDITED, [], async move |mut tx| tx.revoke_idle_key(key, idle_since).await)
            .await
    }
}

async fn wipe_secrets(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let now = tx.change.now;
    let wiped = tx.webhooks().wipe_ended_secrets(now).await?;
    for webhook in &wiped {
        // Dispatchers cache a signer keyed with the secret.
        tx.notify(Notification::Webhook(*webhook));
    }
    Ok(wiped.len() as u64)
}

async fn prune_batch(mut tx: CompanyTx<'_>) -> Result<u64, Error> {
    let forms_before = tx.change.now.plus_millis(-FORMS_KEPT_MS).as_millis();
    let forms_before = u64::try_from(forms_before).unwrap_or_default();
    let forms_before = uuid::Builder::from_unix_timestamp_millis(forms_before, &[0; 10]).into_uuid();
    tx.spent_forms().prune(forms_before).await?;
    let before = tx.change.now.plus_millis(-ATTEMPTS_KEPT_MS);
    tx.deliveries().prune_attempts(before, BATCH).await
}
