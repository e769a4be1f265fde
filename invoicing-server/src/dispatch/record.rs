//! Records a batch of results in one transaction: attempt rows, ends, retries, failure counts, disabled webhooks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use invoicing_core::{CompanyId, DeliveryEnd, DeliveryStatus, NextStep, Streak, Timestamp, WebhookId};

use super::attempt::{AttemptResult, Finished, SentAttempt};
use super::{DispatchReport, Endpoints};
use crate::Error;
use crate::queue::Job;
use crate::store::deliveries::{self, AttemptRow};
use crate::store::notification::Notification;
use crate::store::webhooks::{self, DisabledReason, WebhookState};
use crate::store::{Tx, claims};

/// When a released delivery is claimed again, in milliseconds: not at once, as its release follows a failure.
const RELEASED_MS: i64 = 250;

/// What the dispatcher has to know after a batch is recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// When another attempt is due.
    pub(super) due: Vec<(WebhookId, Timestamp)>,
    pub(super) report: DispatchReport,
    /// Deliveries whose results could not be recorded.
    pub(super) lost: Vec<i64>,
}

impl Recorded {
    pub(super) fn add(&mut self, more: Self) {
        self.due.extend(more.due);
        self.report.add(more.report);
        self.lost.extend(more.lost);
    }
}

/// A batch, sorted by what is to be written.
#[derive(Default)]
struct Batch {
    attempts: Vec<AttemptRow>,
    delivered: Vec<i64>,
    failed: Vec<i64>,
    retries: Vec<(Job, Timestamp)>,
    /// Deliveries whose webhook was disabled when they were to be attempted.
    disabled: Vec<Job>,
    skipped: HashMap<&'static str, Vec<i64>>,
    /// Deliveries that were not attempted, and when they are claimed again.
    released: Vec<(Job, Timestamp)>,
}

/// Records a batch. The attempts are inserted first: where they are on record, an earlier commit whose answer was lost has
/// recorded all of the batch, and nothing counts twice.
pub(super) async fn record_batch(
    tx: &mut Tx,
    results: &[Finished],
    endpoints: &Arc<Endpoints>,
) -> Result<Recorded, Error> {
    let now = tx.env().now();
    let token = tx.queue().token();
    let mut batch = Batch::of(results, now);
    let mut recorded = Recorded::default();
    if !batch.attempts.is_empty() && !deliveries::insert_attempts(tx.connection(), &batch.attempts).await? {
        return Ok(recorded);
    }
    recorded.report.attempts = batch.attempts.len() as u64;
    let mut states = WebhookStates::default();
    if batch.needs_states() {
        let webhooks: HashSet<WebhookId> = results.iter().map(|finished| finished.job.webhook).collect();
        states.0 = webhooks::lock_states(tx.connection(), webhooks.into_iter()).await?;
    }
    let late = end(tx, &batch, &mut recorded.report, now, token).await?;
    count_failures(tx, &ends(results, &late), &mut states, endpoints, now).await?;
    retry(tx, &mut batch, &mut recorded, &states, token).await?;
    skip_or_release(&mut batch, &states, endpoints, now);
    for (reason, ids) in &batch.skipped {
        recorded.report.skipped += deliveries::skip(tx.connection(), ids, reason, now, token).await?;
    }
    if !batch.released.is_empty() {
        let ids: Vec<i64> = batch.released.iter().map(|(job, _)| job.delivery).collect();
        claims::release(tx.connection(), &ids, token, now).await?;
        recorded.due.extend(batch.released.iter().map(|(job, at)| (job.webhook, *at)));
    }
    Ok(recorded)
}

impl Batch {
    fn of(results: &[Finished], now: Timestamp) -> Self {
        let mut batch = Self::default();
        let later = now.plus_millis(RELEASED_MS);
        for Finished { job, result, .. } in results {
            match result {
                AttemptResult::Sent(attempt) => batch.sent(job, attempt),
                AttemptResult::Disabled => batch.disabled.push(job.clone()),
                AttemptResult::Released => batch.released.push((job.clone(), later)),
            }
        }
        batch
    }

    /// Whether the batch does more to a webhook than to reset its count of failures. Then all its webhooks are locked
    /// first and in order, so that concurrent batches cannot deadlock and none is enabled or disabled meanwhile.
    fn needs_states(&self) -> bool {
        !(self.failed.is_empty() && self.retries.is_empty() && self.disabled.is_empty())
    }

    fn sent(&mut self, job: &Job, attempt: &SentAttempt) {
        let duration_ms = i64::try_from(attempt.duration.as_millis()).unwrap_or(i64::MAX);
        let row = AttemptRow::new(job.delivery, job.number, attempt.at, duration_ms, attempt.outcome);
        self.attempts.push(row);
        match attempt.next {
            NextStep::RetryAt(at) => self.retries.push((job.clone(), at)),
            NextStep::End(DeliveryEnd::Delivered) => self.delivered.push(job.delivery),
            NextStep::End(DeliveryEnd::Failed) => self.failed.push(job.delivery),
        }
    }
}

/// Ends deliveries. Returns those whose claim is gone: they only count the attempt.
async fn end(
    tx: &mut Tx,
    batch: &Batch,
    report: &mut DispatchReport,
    now: Timestamp,
    token: i64,
) -> Result<HashSet<i64>, Error> {
    let mut all_late = HashSet::new();
    for (status, ids, ended) in [
        (DeliveryStatus::Delivered, &batch.delivered, &mut report.delivered),
        (DeliveryStatus::Failed, &batch.failed, &mut report.failed),
    ] {
        if !ids.is_empty() {
            let late = deliveries::end(tx.connection(), ids, status, now, token).await?;
            *ended = (ids.len() - late.len()) as u64;
            all_late.extend(late);
        }
    }
    Ok(all_late)
}

/// How the deliveries of each webhook ended, in order, without pings and without those whose claim was gone.
fn ends(results: &[Finished], late: &HashSet<i64>) -> BTreeMap<(CompanyId, WebhookId), Vec<DeliveryEnd>> {
    let mut ends = BTreeMap::<_, Vec<DeliveryEnd>>::new();
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

/// Counts failed deliveries in a row, and disables webhooks that have failed too often.
async fn count_failures(
    tx: &mut Tx,
    ends: &BTreeMap<(CompanyId, WebhookId), Vec<DeliveryEnd>>,
    states: &mut WebhookStates,
    endpoints: &Arc<Endpoints>,
    now: Timestamp,
) -> Result<(), Error> {
    let without_failure = |ends: &[DeliveryEnd]| ends.iter().all(|end| *end == DeliveryEnd::Delivered);
    let reset: Vec<WebhookId> =
        ends.iter().filter(|(_, ends)| without_failure(ends)).map(|((_, webhook), _)| *webhook).collect();
    if !reset.is_empty() {
        webhooks::reset_streaks(tx.connection(), &reset).await?;
    }
    for ((company, webhook), ends) in ends.iter().filter(|(_, ends)| !without_failure(ends)) {
        // Disabled or removed: nothing counts.
        let Some(mut streak) = states.streak(*webhook) else { continue };
        for end in ends {
            streak = streak.after(*end);
            if streak.disables() {
                break;
            }
        }
        if streak.disables() {
            disable(tx, *company, *webhook, streak, now).await?;
            states.disabled(*webhook);
            let (endpoints, webhook) = (Arc::clone(endpoints), *webhook);
            tx.on_commit(move || endpoints.forget(webhook));
            tx.notify(Notification::Webhook(webhook));
        } else {
            webhooks::set_streak(tx.connection(), *company, *webhook, streak.0).await?;
        }
    }
    Ok(())
}

async fn disable(
    tx: &mut Tx,
    company: CompanyId,
    webhook: WebhookId,
    streak: Streak,
    now: Timestamp,
) -> Result<(), Error> {
    tracing::warn!(%company, %webhook, "webhook disabled after {} failed deliveries in a row", streak.0);
    webhooks::disable(tx, company, webhook, now, DisabledReason::Failures, streak.0).await?;
    deliveries::skip_waiting(tx.connection(), company, webhook, deliveries::DISABLED, now).await?;
    Ok(())
}

/// The locked webhooks of a batch.
#[derive(Default)]
struct WebhookStates(HashMap<WebhookId, WebhookState>);

impl WebhookStates {
    /// `None` where the webhook is disabled or removed.
    fn streak(&self, webhook: WebhookId) -> Option<Streak> {
        self.0.get(&webhook).filter(|state| state.skips.is_none()).map(|state| state.streak)
    }

    /// Why its deliveries are skipped, if they are.
    fn skips(&self, webhook: WebhookId) -> Option<&'static str> {
        self.0.get(&webhook).map_or(Some(deliveries::REMOVED), |state| state.skips)
    }

    fn disabled(&mut self, webhook: WebhookId) {
        if let Some(state) = self.0.get_mut(&webhook) {
            state.skips = Some(deliveries::DISABLED);
        }
    }
}

/// Puts back deliveries that are attempted again; skips them where their webhook has been disabled or removed.
async fn retry(
    tx: &mut Tx,
    batch: &mut Batch,
    recorded: &mut Recorded,
    states: &WebhookStates,
    token: i64,
) -> Result<(), Error> {
    if batch.retries.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = batch.retries.iter().map(|(job, _)| job.delivery).collect();
    deliveries::count_attempts(tx.connection(), &ids, token).await?;
    for (job, at) in &batch.retries {
        if let Some(reason) = states.skips(job.webhook) {
            batch.skipped.entry(reason).or_default().push(job.delivery);
        } else {
            deliveries::retry(tx.connection(), job.delivery, *at, token).await?;
            recorded.due.push((job.webhook, *at));
            recorded.report.retried += 1;
        }
    }
    Ok(())
}

/// Skips deliveries whose webhook was disabled when they were to be attempted; releases them where it is enabled by now.
fn skip_or_release(batch: &mut Batch, states: &WebhookStates, endpoints: &Endpoints, now: Timestamp) {
    for job in std::mem::take(&mut batch.disabled) {
        if let Some(reason) = states.skips(job.webhook) {
            batch.skipped.entry(reason).or_default().push(job.delivery);
        } else {
            endpoints.forget(job.webhook);
            batch.released.push((job, now));
        }
    }
}
