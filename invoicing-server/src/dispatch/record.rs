//! Records a batch of results in one transaction: attempt rows, ends, retries, failure counts,
//! disabled webhooks.

use std::collections::{BTreeMap, HashMap, HashSet};

use invoicing_core::{
    CompanyId, DeliveryOutcome, DeliveryStatus, DisabledReason, NextStep, Timestamp, WebhookId,
};

use super::attempt::{AttemptResult, Finished, SentAttempt};
use super::webhook_queue::BegunDelivery;
use super::{DispatchReport, EndpointCache, PAUSE_MS};
use crate::error::Error;
use crate::queue::Job;
use crate::store::attempts::AttemptRow;
use crate::store::notification::Notification;
use crate::store::skip_reason::{self, SkipReason};
use crate::store::webhooks::{Failures, WebhookState};
use crate::store::{ServiceTables, ServiceTx, Tables};

/// The result of recording a batch, for the dispatcher.
#[derive(Debug, Default)]
pub(super) struct BatchOutcome {
    /// Retries, with the instant at which each is due.
    pub(super) retried: Vec<(Timestamp, BegunDelivery)>,
    /// Webhooks with deliveries that were not attempted, and the instant from which on these can be
    /// claimed again. They may have fallen due at any time before.
    pub(super) released: Vec<(WebhookId, Timestamp)>,
    pub(super) report: DispatchReport,
    /// Attempts whose claim had been lost.
    pub(super) claims_lost: u64,
    /// Webhooks that the batch has disabled.
    pub(super) disabled: u64,
}

impl BatchOutcome {
    pub(super) fn add(&mut self, more: Self) {
        self.retried.extend(more.retried);
        self.released.extend(more.released);
        self.report.add(more.report);
        self.claims_lost += more.claims_lost;
        self.disabled += more.disabled;
    }
}

/// The results of a batch, sorted by the rows to write.
#[derive(Default)]
struct SortedBatch<'b> {
    attempts: Vec<AttemptRow>,
    delivered: Vec<i64>,
    /// Each with the last success of its webhook before it in the batch, if there is one.
    failed: Vec<(&'b Job, Option<i64>)>,
    last_delivered: HashMap<WebhookId, i64>,
    retries: Vec<(&'b Job, Timestamp)>,
    /// Deliveries whose webhook was disabled when they were to be attempted.
    disabled: Vec<&'b Job>,
    /// Deliveries that were not attempted because of a failure.
    released: Vec<&'b Job>,
    /// Deliveries that their webhook held beyond its bound.
    surplus: Vec<&'b Job>,
}

impl<'b> SortedBatch<'b> {
    fn of(results: &'b [Finished]) -> Self {
        let mut batch = Self::default();
        for Finished { job, result, .. } in results {
            match result {
                AttemptResult::Sent(attempt) => batch.sent(job, attempt),
                AttemptResult::Disabled => batch.disabled.push(job),
                AttemptResult::Released => batch.released.push(job),
                AttemptResult::Surplus => batch.surplus.push(job),
            }
        }
        batch
    }

    fn sent(&mut self, job: &'b Job, attempt: &SentAttempt) {
        let duration_ms = i64::try_from(attempt.duration.as_millis()).unwrap_or(i64::MAX);
        let row = AttemptRow::new(job, attempt.at, duration_ms, attempt.outcome);
        self.attempts.push(row);
        match attempt.next {
            NextStep::RetryAt(at) => self.retries.push((job, at)),
            NextStep::End(DeliveryOutcome::Delivered) => {
                self.delivered.push(job.delivery);
                if !job.is_ping {
                    self.last_delivered.insert(job.webhook, job.delivery);
                }
            }
            NextStep::End(DeliveryOutcome::Failed) => {
                self.failed.push((job, self.last_delivered.get(&job.webhook).copied()));
            }
        }
    }

    /// True if the batch does more to a webhook than to reset its count of failures. Then none of
    /// its webhooks may be enabled or disabled meanwhile.
    fn needs_states(&self) -> bool {
        !(self.failed.is_empty() && self.retries.is_empty() && self.disabled.is_empty())
    }
}

/// Records a batch. The attempts are inserted first. If they are on record already, an earlier
/// commit whose answer was lost has recorded the whole batch, and nothing counts twice.
pub(super) async fn record_batch(
    tx: ServiceTx<'_>,
    results: &[Finished],
    endpoints: &EndpointCache,
) -> Result<BatchOutcome, Error> {
    let batch = SortedBatch::of(results);
    if !batch.attempts.is_empty() && !tx.deliveries().insert_attempts(&batch.attempts).await? {
        return Ok(BatchOutcome::default());
    }
    // Webhooks that the batch may change are locked before any delivery, and in order, so that
    // concurrent transactions cannot deadlock. A webhook without failures whose deliveries all
    // arrived is not locked, as it does not change.
    let webhooks: HashSet<WebhookId> = results.iter().map(|finished| finished.job.webhook).collect();
    let states = tx.webhooks().lock_states(webhooks.into_iter(), !batch.needs_states()).await?;
    let (now, token) = (tx.env().now(), tx.queue().token());
    let mut recording = Recording { tx, now, token, states, recorded: BatchOutcome::default() };
    recording.recorded.report.attempts = batch.attempts.len() as u64;
    let late = recording.end(&batch).await?;
    recording.recorded.claims_lost = late.len() as u64;
    recording.count_failures(&ends(results, &late)).await?;
    recording.retry(&batch).await?;
    recording.skip(&batch).await?;
    recording.release(&batch, endpoints).await?;
    Ok(recording.recorded)
}

/// The ends of each webhook's deliveries, in order, without pings and without lost claims.
fn ends(results: &[Finished], late: &HashSet<i64>) -> BTreeMap<(CompanyId, WebhookId), Vec<DeliveryOutcome>> {
    let mut ends = BTreeMap::<_, Vec<DeliveryOutcome>>::new();
    for Finished { job, result, .. } in results {
        if let AttemptResult::Sent(SentAttempt { next: NextStep::End(end), .. }) = result
            && !job.is_ping
            && !late.contains(&job.delivery)
        {
            ends.entry((job.company, job.webhook)).or_default().push(*end);
        }
    }
    ends
}

/// The recording of a batch under way.
struct Recording<'t> {
    tx: ServiceTx<'t>,
    now: Timestamp,
    token: i64,
    /// The locked webhooks: those that the batch may disable, or whose count it may reset.
    states: HashMap<WebhookId, WebhookState>,
    recorded: BatchOutcome,
}

impl Recording<'_> {
    /// Ends deliveries. Returns those whose claim was lost, of which only the attempt counts.
    ///
    /// The end of a failure is never earlier than the first failure since the last success, nor
    /// than the disabling of its webhook, even if the clocks of the nodes differ. Otherwise a
    /// replay since either instant would miss it.
    async fn end(&mut self, batch: &SortedBatch<'_>) -> Result<HashSet<i64>, Error> {
        let mut all_late = HashSet::new();
        if !batch.delivered.is_empty() {
            let (ids, delivered) = (&batch.delivered, DeliveryStatus::Delivered);
            let late = self.tx.deliveries().end(ids, delivered, self.now, self.token).await?;
            self.recorded.report.delivered = (ids.len() - late.len()) as u64;
            all_late.extend(late);
        }
        let mut failed = BTreeMap::<Timestamp, Vec<i64>>::new();
        for (job, after) in &batch.failed {
            let disabled_at = self.skipping(job).map(|skipping| skipping.since);
            let follows_success = after.is_some_and(|success| !all_late.contains(&success));
            // A success ends the row of failures before it, unless the webhook is disabled.
            let is_over = |state: &&WebhookState| follows_success && state.skipping.is_none();
            let state = self.states.get(&job.webhook).filter(|state| !is_over(state));
            let failing_since = state.and_then(|state| state.failures.since);
            let at = disabled_at.max(failing_since).max(Some(self.now)).unwrap_or(self.now);
            failed.entry(at).or_default().push(job.delivery);
        }
        for (at, ids) in failed {
            let late = self.tx.deliveries().end(&ids, DeliveryStatus::Failed, at, self.token).await?;
            self.recorded.report.failed += (ids.len() - late.len()) as u64;
            all_late.extend(late);
        }
        Ok(all_late)
    }

    /// Counts failed deliveries in a row, and disables webhooks that have failed too often.
    async fn count_failures(
        &mut self,
        ends: &BTreeMap<(CompanyId, WebhookId), Vec<DeliveryOutcome>>,
    ) -> Result<(), Error> {
        for (&(company, webhook), ends) in ends {
            // A disabled or removed webhook counts nothing. A webhook that is not locked has no
            // failures, neither before nor in this batch.
            let Some(&WebhookState { failures: before, skipping: None }) = self.states.get(&webhook) else {
                continue;
            };
            let mut failures = before;
            for end in ends {
                failures = failures.after(*end, self.now);
                if failures.count.disables_webhook() {
                    break;
                }
            }
            if failures != before {
                self.tx.of_company(company).webhooks().set_failures(webhook, failures).await?;
            }
            if failures.count.disables_webhook() {
                self.disable(company, webhook, failures).await?;
            }
        }
        Ok(())
    }

    async fn disable(
        &mut self,
        company: CompanyId,
        webhook: WebhookId,
        failures: Failures,
    ) -> Result<(), Error> {
        let in_a_row = failures.count.0;
        tracing::warn!(%company, %webhook, "webhook disabled after {in_a_row} failed deliveries in a row");
        let mut tables = self.tx.of_company(company);
        tables.webhooks().disable(webhook, self.now, DisabledReason::Failures).await?;
        tables.webhooks().leave_notice(webhook, self.now, DisabledReason::Failures).await?;
        self.tx.skip_waiting(company, webhook).await?;
        let skipping = Some(SkipReason { reason: skip_reason::DISABLED, since: self.now });
        self.states.insert(webhook, WebhookState { failures, skipping });
        self.tx.notify(Notification::Webhook(webhook));
        self.recorded.disabled += 1;
        Ok(())
    }

    /// Counts attempts, and puts back the deliveries whose webhook is still enabled.
    async fn retry(&mut self, batch: &SortedBatch<'_>) -> Result<(), Error> {
        if batch.retries.is_empty() {
            return Ok(());
        }
        let ids: Vec<i64> = batch.retries.iter().map(|(job, _)| job.delivery).collect();
        self.tx.deliveries().count_attempts(&ids, self.token).await?;
        let enabled: Vec<&(&Job, Timestamp)> =
            batch.retries.iter().filter(|(job, _)| self.skipping(job).is_none()).collect();
        let wanted: Vec<_> = enabled.iter().map(|(job, at)| (job.delivery, *at)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let put_back = self.tx.deliveries().retry(&wanted, self.token).await?;
        let retried = enabled.iter().filter(|(job, _)| put_back.contains(&job.delivery));
        self.recorded.retried.extend(retried.map(|(job, at)| (*at, (job.webhook, job.delivery))));
        self.recorded.report.retried = put_back.len() as u64;
        self.recorded.claims_lost += (wanted.len() - put_back.len()) as u64;
        Ok(())
    }

    /// Skips the deliveries that have not ended and whose webhook has been disabled or removed.
    async fn skip(&mut self, batch: &SortedBatch<'_>) -> Result<(), Error> {
        let mut skipped = BTreeMap::<(&str, Timestamp), Vec<i64>>::new();
        for job in batch.retries.iter().map(|(job, _)| job).chain(&batch.disabled) {
            if let Some(SkipReason { reason, since }) = self.skipping(job) {
                // Never earlier than the disabling, as in `end`.
                skipped.entry((reason, self.now.max(since))).or_default().push(job.delivery);
            }
        }
        for ((reason, at), ids) in skipped {
            self.recorded.report.skipped += self.tx.deliveries().skip(&ids, reason, at, self.token).await?;
        }
        Ok(())
    }

    /// Releases the deliveries that were not attempted, unless they are skipped.
    async fn release(&mut self, batch: &SortedBatch<'_>, endpoints: &EndpointCache) -> Result<(), Error> {
        let later = self.now.plus_millis(PAUSE_MS);
        let after_failure = batch.released.iter().map(|job| (*job, later));
        let surplus = batch.surplus.iter().map(|job| (*job, self.now));
        let mut released: Vec<(&Job, Timestamp)> = after_failure.chain(surplus).collect();
        for job in &batch.disabled {
            if self.skipping(job).is_none() {
                // The webhook has been enabled since the cache read it.
                endpoints.remove(job.webhook);
                released.push((job, self.now));
            }
        }
        if !released.is_empty() {
            let ids: Vec<i64> = released.iter().map(|(job, _)| job.delivery).collect();
            self.tx.deliveries().release(&ids, self.token, self.now).await?;
            self.recorded.released.extend(released.iter().map(|(job, at)| (job.webhook, *at)));
        }
        Ok(())
    }

    /// The reason for skipping a delivery, if there is one.
    fn skipping(&self, job: &Job) -> Option<SkipReason> {
        let removed = Some(SkipReason { reason: skip_reason::REMOVED, since: self.now });
        let skipping = self.states.get(&job.webhook).map_or(removed, |state| state.skipping);
        skipping.filter(|skipping| skipping.concerns(job.is_ping))
    }
}
