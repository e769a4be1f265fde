//! Changes of a webhook that concern many deliveries. The change itself is one short write; its
//! deliveries follow in batches.
//!
//! A waiting delivery counts as skipped while its webhook is disabled or removed. A webhook is
//! enabled only when nothing is left to skip, so no batch meets deliveries that were made after it.
//!
//! A replay is noted as a range of events. The ids of a company's events rise in the order of their
//! commits, so the last id is a cut-off that needs no clock. Each batch moves the start of the
//! range, so a delivery that fails again is queued once. A delivery that ends after the call of the
//! replay is not part of it. A replay that comes with enabling has no such end: another node's
//! clock may have dated a skip later. So it includes deliveries that fail before its batch.

use std::sync::Arc;

use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use uuid::Uuid;

use super::bulk_changes::{ALWAYS, NEVER, ReplayRange, Replayable};
use super::company::{CompanyReader, CompanyTx, Tables};
use super::tx::Tx;
use crate::error::Error;
use crate::queue::NewDelivery;

/// Maximum number of deliveries that one transaction changes, since other writers wait for it.
const BATCH: u32 = 1_000;

/// Result of a batch.
struct BulkBatch {
    /// True if nothing is left.
    is_done: bool,
    /// True if the batch skips deliveries instead of queueing them.
    skips: bool,
    queued: u64,
}

impl CompanyReader<'_> {
    /// All deliveries that have failed or were skipped by now.
    pub(crate) async fn replayable(
        &mut self,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Replayable, Error> {
        self.replayable_between(webhook, ALWAYS, now).await
    }

    /// The deliveries that have failed or were skipped since an instant, by now.
    pub(crate) async fn replayable_between(
        &mut self,
        webhook: WebhookId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Replayable, Error> {
        let (counted, last_end) = self.count_replayable(webhook, since).await?;
        // A clock that ran ahead may have dated an end.
        Ok(Replayable { ended_until: now.max(last_end), ..counted })
    }

    /// The deliveries that have failed or were skipped since an instant, for a webhook that is
    /// being enabled. The range has no end, as another node's clock may have dated a skip later.
    pub(crate) async fn replayable_since(
        &mut self,
        webhook: WebhookId,
        since: Timestamp,
    ) -> Result<Replayable, Error> {
        Ok(self.count_replayable(webhook, since).await?.0)
    }

    async fn count_replayable(
        &mut self,
        webhook: WebhookId,
        since: Timestamp,
    ) -> Result<(Replayable, Timestamp), Error> {
        let earlier = self.bulk_changes().find(webhook).await?;
        let outside = earlier.unwrap_or(ReplayRange::NONE);
        let last_event = self.events().last().await?;
        let counted = ReplayRange {
            at: since,
            after: EventId(Uuid::nil()),
            until: last_event,
            since,
            ended_until: NEVER,
        };
        let (count, last_end) = self.deliveries().count_replayable(webhook, counted, outside).await?;
        Ok((Replayable { since, ended_until: NEVER, count, last_event, earlier }, last_end))
    }
}

impl CompanyTx<'_> {
    /// True if no other replay has been noted since the count.
    pub(crate) async fn is_current(
        &mut self,
        webhook: WebhookId,
        replayable: &Replayable,
    ) -> Result<bool, Error> {
        Ok(replayable.is_current(self.bulk_changes().find(webhook).await?))
    }
}

impl Tx {
    /// Skips the deliveries that wait for a webhook that is disabled or removed: a batch now, the
    /// rest by the dispatchers. Returns true if nothing is left.
    pub(crate) async fn skip_waiting(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<bool, Error> {
        let now = self.env().now();
        self.of_company(company).bulk_changes().note(webhook, now).await?;
        Ok(self.begin_bulk_change(company, webhook).await?.is_done)
    }

    /// Queues the counted deliveries again, and skipped deliveries of later events: a batch now,
    /// the rest by the dispatchers. Returns their number in all, without those that an earlier
    /// replay still has to queue.
    pub(super) async fn replay(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
        replayable: &Replayable,
    ) -> Result<u64, Error> {
        let at = self.env().now();
        let mut tables = self.of_company(company);
        let is_first = tables.bulk_changes().find(webhook).await?.is_none();
        let Replayable { since, ended_until, count, last_event, .. } = *replayable;
        let until = tables.events().last().await?;
        let later = ReplayRange { at, after: last_event, until, since, ended_until };
        let (more, _) = tables.deliveries().count_replayable(webhook, later, ReplayRange::NONE).await?;
        // A first replay goes on: more may have ended since the count, and an enabling replay
        // includes it.
        if count + more == 0 && !is_first {
            return Ok(0);
        }
        let range = ReplayRange { after: EventId(Uuid::nil()), ..later };
        tables.bulk_changes().note_replay(webhook, range).await?;
        let batch = self.begin_bulk_change(company, webhook).await?;
        // Other transactions may have queued some since the count, so the number of the batch is
        // exact.
        Ok(if batch.is_done && is_first { batch.queued } else { count + more })
    }

    /// Carries out a batch of the change that is noted for a webhook. Returns true if nothing is
    /// left.
    pub(crate) async fn continue_bulk_change(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<bool, Error> {
        Ok(self.carry_out(company, webhook).await?.is_done)
    }

    async fn carry_out(&mut self, company: CompanyId, webhook: WebhookId) -> Result<BulkBatch, Error> {
        let (now, abandoned) = (self.env().now(), self.abandoned_leases());
        let batch = carry_out(&mut self.of_company(company), webhook, now, abandoned).await?;
        // Pings to a disabled webhook are not claimed before the rest is skipped.
        if !batch.skips || batch.is_done {
            self.push_new([NewDelivery::Pending(webhook)]);
        }
        Ok(batch)
    }

    /// Carries out a first batch, and requests a poll of this process's dispatcher for the rest.
    async fn begin_bulk_change(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<BulkBatch, Error> {
        let batch = self.carry_out(company, webhook).await?;
        if !batch.is_done {
            let queue = Arc::clone(self.queue());
            self.on_commit(move || queue.request_poll());
        }
        Ok(batch)
    }
}

async fn carry_out(
    tables: &mut CompanyReader<'_>,
    webhook: WebhookId,
    now: Timestamp,
    abandoned: Timestamp,
) -> Result<BulkBatch, Error> {
    // Locked first: the lock also keeps other transactions from changing the noted range.
    let skipping = tables.webhooks().lock_skipping(webhook).await?;
    let mut batch = BulkBatch { is_done: true, skips: skipping.is_some(), queued: 0 };
    let Some(range) = tables.bulk_changes().find(webhook).await? else { return Ok(batch) };
    if !range.is_empty() {
        let next = tables.deliveries().end_of_batch(webhook, range, BATCH).await?;
        // Due at once, also by a clock that was set back.
        let part = ReplayRange { at: range.at.min(now), until: next.unwrap_or(range.until), ..range };
        batch.queued = tables.deliveries().replay(webhook, part).await?;
        tables.bulk_changes().set_start(webhook, part.until).await?;
        batch.is_done = next.is_none();
    }
    // Also skips the deliveries that this batch has just queued: the replay was requested before
    // the skip.
    if let Some(skipping) = skipping {
        let skipped = tables.deliveries().skip_waiting(webhook, skipping, abandoned, BATCH).await?;
        batch.is_done &= skipped < u64::from(BATCH);
    }
    if batch.is_done {
        tables.bulk_changes().delete(webhook).await?;
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use invoicing_core::{DisabledReason, EventKind, NewClient, NewCompany, NewQuote, Plan};

    use super::*;
    use crate::store::UNAUDITED;
    use crate::{Invoicing, NewWebhook};

    /// A company and its webhook with one waiting delivery.
    async fn waiting(invoicing: &Invoicing) -> (CompanyId, WebhookId) {
        let new = NewCompany::named("Martin", Plan::Team);
        let company = invoicing.company(invoicing.companies().create(&new).await.unwrap().id);
        let hook = NewWebhook { url: "https://example.com".into(), events: EventKind::ALL.to_vec() };
        let webhook = company.webhooks().register(&hook).await.unwrap().webhook.id;
        let client = company.clients().create(&NewClient::named("Lefèvre")).await.unwrap().id;
        company.quotes().create(&NewQuote::empty(client)).await.unwrap();
        (company.id(), webhook)
    }

    /// Rules: WEBHOOK-21
    #[tokio::test]
    async fn an_enabling_replay_includes_what_is_skipped_after_it_was_counted() {
        let folder = tempfile::tempdir().unwrap();
        let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await.unwrap();
        let store = &invoicing.sweeper().services.store;
        let (company, webhook) = waiting(&invoicing).await;
        let count = async move |mut tx: CompanyReader<'_>| tx.replayable_since(webhook, ALWAYS).await;
        let counted = store.read(company, count).await.unwrap();
        assert_eq!(counted.count, 0);
        // Disables the webhook and skips its delivery, as the recording of a claim in memory does.
        let skip = async move |mut tx: CompanyTx<'_>| {
            let now = tx.change.now;
            tx.webhooks().disable(webhook, now, DisabledReason::Manual).await?;
            tx.skip_waiting(webhook).await
        };
        assert!(store.write(company, UNAUDITED, [], skip).await.unwrap());
        let enable = async move |mut tx: CompanyTx<'_>| {
            tx.webhooks().enable(webhook).await?;
            tx.replay(webhook, &counted).await
        };
        assert_eq!(store.write(company, UNAUDITED, [], enable).await.unwrap(), 1);
        let left = async move |mut tx: CompanyReader<'_>| {
            let noted = tx.bulk_changes().find(webhook).await?;
            Ok((noted, tx.replayable_since(webhook, ALWAYS).await?.count))
        };
        assert_eq!(store.read(company, left).await.unwrap(), (None, 0));
    }
}
