//! The deliveries of a webhook: shown, counted, and sent again.

use invoicing_core::{ConflictReason, EventId, Timestamp, WebhookId};

use super::{Webhooks, lock, note_replay};
use crate::error::Error;
use crate::list_query::DeliveryQuery;
use crate::records::{AttemptRecord, DayCounts, DeliveryDetail, DeliveryPage, Webhook};
use crate::store::{CompanyTx, Tables};

/// The period in which successes and failures are counted, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Webhooks<'_> {
    /// Queues skipped and failed deliveries again, with the same bytes: the delivery of one event,
    /// or all. Returns the number of deliveries that it queues. Many follow in batches, by the
    /// dispatchers, and are shown as pending at once. A delivery that ends after the call began is
    /// not queued, and one that an earlier replay still has to queue is not queued twice.
    ///
    /// # Errors
    /// [`Error::Conflict`] while the webhook is disabled.
    pub async fn replay(&self, id: WebhookId, event: Option<EventId>) -> Result<u64, Error> {
        let queued = async {
            match event {
                Some(event) => self.replay_one(id, event).await,
                None => self.replay_all(id).await,
            }
        };
        self.0.operation("webhooks.replay", queued).await
    }

    async fn replay_one(&self, id: WebhookId, event: EventId) -> Result<u64, Error> {
        let queued = self.0.write([], async move |mut tx| {
            lock_enabled(&mut tx, id).await?;
            let queued = tx.replay_one(id, event).await?;
            note_replay(&mut tx, id, queued).await?;
            Ok(queued)
        });
        queued.await
    }

    async fn replay_all(&self, id: WebhookId) -> Result<u64, Error> {
        loop {
            let now = self.0.env().now();
            let counted = self.0.read(async move |mut tx| {
                tx.webhooks().find(id).await?;
                tx.replayable(id, now).await
            });
            let counted = counted.await?;
            let queued = self.0.write([], async move |mut tx| {
                lock_enabled(&mut tx, id).await?;
                if !tx.is_current(id, &counted).await? {
                    return Ok(None);
                }
                let queued = tx.replay(id, &counted).await?;
                note_replay(&mut tx, id, queued).await?;
                Ok(Some(queued))
            });
            if let Some(queued) = queued.await? {
                return Ok(queued);
            }
        }
    }

    /// As [`replay`](Self::replay) of all, but only of deliveries that ended at or after an
    /// instant, for instance when a receiver began to fail. The call first finishes an earlier
    /// replay, which takes a few seconds for 500,000 deliveries.
    ///
    /// # Errors
    /// [`Error::Conflict`] while the webhook is disabled.
    pub async fn replay_since(&self, id: WebhookId, since: Timestamp) -> Result<u64, Error> {
        self.0.operation("webhooks.replay_since", self.replay_from(id, since)).await
    }

    async fn replay_from(&self, id: WebhookId, since: Timestamp) -> Result<u64, Error> {
        loop {
            // One transaction per batch, so that other changes of the company do not wait for all
            // of them.
            let is_done = self.0.write([], async move |mut tx| {
                lock_enabled(&mut tx, id).await?;
                tx.continue_bulk_change(id).await
            });
            if !is_done.await? {
                continue;
            }
            let now = self.0.env().now();
            let counted =
                self.0.read(async move |mut tx| tx.replayable_between(id, since, now).await).await?;
            let queued = self.0.write([], async move |mut tx| {
                lock_enabled(&mut tx, id).await?;
                // Another replay was noted meanwhile.
                if !tx.continue_bulk_change(id).await? {
                    return Ok(None);
                }
                let queued = tx.replay(id, &counted).await?;
                note_replay(&mut tx, id, queued).await?;
                Ok(Some(queued))
            });
            if let Some(queued) = queued.await? {
                return Ok(queued);
            }
        }
    }

    /// The number of deliveries that [`replay_since`](Self::replay_since) would queue now, without
    /// those that an earlier replay still has to queue.
    pub async fn count_replayable(&self, id: WebhookId, since: Timestamp) -> Result<u64, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.webhooks().find(id).await?;
            Ok(tx.replayable_since(id, since).await?.count)
        });
        self.0.operation("webhooks.count_replayable", found).await
    }

    /// A page of the deliveries to a webhook, newest event first, at most `limit` (1 to 1,000). A
    /// change that is noted for many of them is shown as if it were carried out.
    ///
    /// It looks at 1,000 events at most, or at 1,000 deliveries that failed or were skipped if the
    /// query is for these alone. So it may be shorter or empty, and still name a
    /// [`next`](DeliveryPage::next) page.
    ///
    /// # Errors
    /// [`Error::Invalid`] about any other `limit`.
    pub async fn deliveries(
        &self,
        id: WebhookId,
        query: &DeliveryQuery,
        limit: u32,
    ) -> Result<DeliveryPage, Error> {
        let (_, page) = self.with_deliveries(id, query, limit).await?;
        Ok(page)
    }

    /// As [`deliveries`](Self::deliveries), with the webhook, which is read before them.
    pub(crate) async fn with_deliveries(
        &self,
        id: WebhookId,
        query: &DeliveryQuery,
        limit: u32,
    ) -> Result<(Webhook, DeliveryPage), Error> {
        let (query, now) = (*query, self.0.env().now());
        let found = self.0.read(async move |mut tx| {
            let webhook = tx.webhooks().find(id).await?;
            let page = tx.deliveries().page(id, webhook.disabled.is_some(), &query, limit, now).await?;
            Ok((webhook, page))
        });
        self.0.operation("webhooks.deliveries", found).await
    }

    /// The delivery of an event to a webhook, with its attempts and its body.
    pub async fn delivery(&self, id: WebhookId, event: EventId) -> Result<DeliveryDetail, Error> {
        let now = self.0.env().now();
        let found = self.0.read(async move |mut tx| {
            tx.webhooks().find(id).await?;
            tx.deliveries().detail(id, event, now).await
        });
        self.0.operation("webhooks.delivery", found).await
    }

    /// The numbers of deliveries of each webhook that succeeded and failed within 24 hours. Looks
    /// at a bounded number of attempts: see [`DayCounts`].
    pub async fn day_counts(&self) -> Result<DayCounts, Error> {
        let since = self.0.env().now().plus_millis(-DAY_MS);
        let found = self.0.read(async move |mut tx| tx.deliveries().day_counts(since).await);
        self.0.operation("webhooks.day_counts", found).await
    }

    /// The last attempts to deliver to a webhook, latest first, at most `limit`. `limit` has no
    /// maximum; the whole answer is in memory at once. Attempts are kept for 30 days.
    pub async fn log(&self, id: WebhookId, limit: u32) -> Result<Vec<AttemptRecord>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.webhooks().find(id).await?;
            tx.deliveries().log(id, limit).await
        });
        self.0.operation("webhooks.log", found).await
    }
}

/// Checks that a webhook is enabled, and locks it.
async fn lock_enabled(tx: &mut CompanyTx<'_>, id: WebhookId) -> Result<(), Error> {
    if lock(tx, id).await?.1.is_some() {
        return Err(ConflictReason::WebhookDisabled.into());
    }
    Ok(())
}
