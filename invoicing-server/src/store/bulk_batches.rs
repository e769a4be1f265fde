//! Changes of a webhook that concern many deliveries. The change itself is one short write; its deliveries follow in
//! batches.
//!
//! The state of a webhook says what its waiting deliveries are: skipped, while it is disabled or removed. A replay is
//! noted as a range of events. Events of a company are ordered by their ids as they were committed, so the last id is a
//! cut-off that needs no clock. Each batch moves the start of the range, so a delivery that fails again is queued once.
//! A webhook is enabled only when nothing is left to skip, so no batch meets deliveries that were made after it.

use std::sync::Arc;

use invoicing_core::{CompanyId, Timestamp, WebhookId};

use super::bulk_changes::{ALWAYS, ReplayRange};
use super::company::{CompanyReader, Tables};
use super::tx::Tx;
use crate::Error;
use crate::queue::NewDelivery;

/// Most deliveries that one transaction changes, since other writers wait for it.
const BATCH: u32 = 1_000;

/// What a batch has left.
struct Progress {
    is_done: bool,
    /// The deliveries are skipped, and not queued.
    skips: bool,
}

impl Tx {
    /// Skips what waits for a webhook that is disabled or removed: a batch now, the rest by the dispatchers. Whether nothing
    /// is left.
    pub(crate) async fn skip_waiting(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<bool, Error> {
        let now = self.env().now();
        self.of_company(company).bulk_changes().note(webhook, now).await?;
        self.begin_bulk_change(company, webhook).await
    }

    /// Queues the skipped and failed deliveries of a webhook again: a batch now, the rest by the dispatchers. How many in
    /// all, without those that an earlier replay still has to queue.
    ///
    /// `since`: only those that have ended since then, where no earlier replay has anything left.
    pub(super) async fn replay_many(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
        since: Option<Timestamp>,
    ) -> Result<u64, Error> {
        let (now, since) = (self.env().now(), since.unwrap_or(ALWAYS));
        let mut tables = self.of_company(company);
        tables.webhooks().lock_skipping(webhook).await?;
        let earlier = tables.bulk_changes().find(webhook).await?.unwrap_or(ReplayRange::NONE);
        let queued = tables.deliveries().count_replayable(webhook, since, earlier).await?;
        if queued > 0 {
            tables.bulk_changes().note_replay(webhook, now, since).await?;
            self.begin_bulk_change(company, webhook).await?;
        }
        Ok(queued)
    }

    /// Carries out a batch of what is noted for a webhook. Whether nothing is left.
    pub(crate) async fn continue_bulk_change(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<bool, Error> {
        let abandoned = self.abandoned_leases();
        let Progress { is_done, skips } =
            carry_out(&mut self.of_company(company), webhook, abandoned).await?;
        if !skips {
            self.push_new([NewDelivery::Pending(webhook)]);
        }
        Ok(is_done)
    }

    /// A first batch. A dispatcher of this process learns of the rest at once.
    async fn begin_bulk_change(&mut self, company: CompanyId, webhook: WebhookId) -> Result<bool, Error> {
        let is_done = self.continue_bulk_change(company, webhook).await?;
        if !is_done {
            let queue = Arc::clone(self.queue());
            self.on_commit(move || queue.request_poll());
        }
        Ok(is_done)
    }
}

async fn carry_out(
    tables: &mut CompanyReader<'_>,
    webhook: WebhookId,
    abandoned: Timestamp,
) -> Result<Progress, Error> {
    // First, as the lock also keeps what is noted from other transactions.
    let skipping = tables.webhooks().lock_skipping(webhook).await?;
    let mut progress = Progress { is_done: true, skips: skipping.is_some() };
    let Some(range) = tables.bulk_changes().find(webhook).await? else { return Ok(progress) };
    if !range.is_empty() {
        let next = tables.deliveries().end_of_batch(webhook, range, BATCH).await?;
        let batch = ReplayRange { until: next.unwrap_or(range.until), ..range };
        tables.deliveries().replay(webhook, batch).await?;
        tables.bulk_changes().set_start(webhook, batch.until).await?;
        progress.is_done = next.is_none();
    }
    // Also what this batch has just queued: the replay was asked for before.
    if let Some(skipping) = skipping {
        let skipped = tables.deliveries().skip_waiting(webhook, skipping, abandoned, BATCH).await?;
        progress.is_done &= skipped < u64::from(BATCH);
    }
    if progress.is_done {
        tables.bulk_changes().delete(webhook).await?;
    }
    Ok(progress)
}
