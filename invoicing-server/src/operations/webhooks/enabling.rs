//! Disabling a webhook, and enabling it with the deliveries that it has missed.

use invoicing_core::{DisabledReason, Timestamp, WebhookId};

use super::{Webhooks, changed, lock, note, note_replay};
use crate::error::Error;
use crate::records::{HistoryAction, Webhook};
use crate::store::{CompanyTx, Tables};

/// The deliveries that a webhook gets again when it is enabled.
#[derive(Debug, Clone, Copy)]
enum Replay {
    Nothing,
    Missed,
    Since(Timestamp),
}

impl Replay {
    fn since(self, webhook: &Webhook) -> Option<Timestamp> {
        match self {
            Self::Nothing => None,
            Self::Missed => webhook.missed_since(),
            Self::Since(at) => Some(at),
        }
    }
}

impl Webhooks<'_> {
    /// Disables a webhook. Waiting deliveries, and those of events that happen meanwhile, are kept
    /// as skipped and can be replayed. Disabling it again changes nothing. Many deliveries are
    /// skipped in batches, by the dispatchers, and are shown as skipped at once.
    pub async fn disable(&self, id: WebhookId) -> Result<Webhook, Error> {
        let changed = self.0.write([], async move |mut tx| {
            let webhook = tx.webhook_to_change(id).await?;
            if webhook.disabled.is_some() {
                return Ok(webhook);
            }
            let now = tx.change.now;
            tx.webhooks().disable(id, now, DisabledReason::Manual).await?;
            tx.skip_waiting(id).await?;
            note(&mut tx, HistoryAction::WebhookDisabled, &webhook).await?;
            changed(&mut tx, id).await
        });
        self.0.operation("webhooks.disable", changed).await
    }

    /// Enables a webhook again, with its count of failures at 0. Skipped deliveries stay so until
    /// they are replayed. The call first finishes the skipping that disabling the webhook began,
    /// which takes a few seconds for 500,000 deliveries.
    pub async fn enable(&self, id: WebhookId) -> Result<Webhook, Error> {
        let enabled = self.enable_with(id, Replay::Nothing);
        let (webhook, _) = self.0.operation("webhooks.enable", enabled).await?;
        Ok(webhook)
    }

    /// Like [`enable`](Self::enable), and in the same transaction queues the deliveries again that
    /// were skipped or have failed since an instant. The default is [all that it has
    /// missed](Webhook::missed_since): since its last success, or since its registration if there
    /// was none, also if it was disabled by hand. Returns the number of deliveries that it queues;
    /// without an instant, 0 for a webhook that is not disabled. Many deliveries follow in batches,
    /// as those of [`replay`](Self::replay) do.
    pub async fn enable_and_replay(&self, id: WebhookId, since: Option<Timestamp>) -> Result<u64, Error> {
        let enabled = self.enable_with(id, since.map_or(Replay::Missed, Replay::Since));
        let (_, queued) = self.0.operation("webhooks.enable_and_replay", enabled).await?;
        Ok(queued)
    }

    async fn enable_with(&self, id: WebhookId, replay: Replay) -> Result<(Webhook, u64), Error> {
        // One transaction per batch, so that other changes of the company do not wait for all of
        // them.
        while !self.0.write([], async move |mut tx| Ok(catch_up(&mut tx, id).await?.is_done)).await? {}
        loop {
            let counted =
                self.0.read(async move |mut tx| match replay.since(&tx.webhooks().find(id).await?) {
                    Some(since) => Ok(Some(tx.replayable_since(id, since).await?)),
                    None => Ok(None),
                });
            let counted = counted.await?;
            let enabled = self.0.write([], async move |mut tx| {
                let CaughtUp { is_done, webhook: before } = catch_up(&mut tx, id).await?;
                let since = replay.since(&before);
                // The webhook was disabled meanwhile, or has a batch left: the count is repeated.
                if !is_done || since.is_some() && since != counted.map(|counted| counted.since) {
                    return Ok(None);
                }
                tx.webhooks().enable(id).await?;
                let queued = match counted.filter(|_| since.is_some()) {
                    Some(counted) => tx.replay(id, &counted).await?,
                    None => 0,
                };
                let webhook = changed(&mut tx, id).await?;
                if before.disabled.is_some() {
                    note(&mut tx, HistoryAction::WebhookEnabled, &webhook).await?;
                }
                note_replay(&mut tx, id, queued).await?;
                Ok(Some((webhook, queued)))
            });
            if let Some(enabled) = enabled.await? {
                return Ok(enabled);
            }
        }
    }
}

/// A webhook that is locked, and true if nothing is left to be done to its deliveries.
struct CaughtUp {
    is_done: bool,
    webhook: Webhook,
}

/// Carries out a batch of the changes that disabling the webhook, or a replay, has left.
async fn catch_up(tx: &mut CompanyTx<'_>, id: WebhookId) -> Result<CaughtUp, Error> {
    let (webhook, skipping) = lock(tx, id).await?;
    let is_done = match skipping {
        // Noted again: a lease may have run out since, and its delivery is shown as skipped.
        Some(_) => tx.skip_waiting(id).await?,
        None => tx.continue_bulk_change(id).await?,
    };
    Ok(CaughtUp { is_done, webhook })
}
