//! What became of a batch of attempts, in one transaction: attempt rows, ends, retries, streaks, switched-off
//! webhooks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use invoicing_core::{CompanyId, DeliveryEnd, DeliveryStatus, NextStep, Streak, Timestamp, WebhookId};

use super::attempt::{Attempted, Made, What};
use super::{DispatchReport, Endpoints, Job};
use crate::Error;
use crate::store::deliveries::{self, AttemptRow};
use crate::store::news::News;
use crate::store::webhooks::{self, DisabledReason, Standing};
use crate::store::{Tx, claims};

/// When a delivery that was given back is looked at again, in milliseconds: not at once, as the reason was trouble.
const GIVEN_BACK_MS: i64 = 250;

/// What the dispatcher has to know after a batch is recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// When another attempt is due.
    pub(super) due: Vec<(WebhookId, Timestamp)>,
    pub(super) report: DispatchReport,
    /// What could not be recorded.
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
    /// Whose webhook was off when the attempt was to be made.
    off: Vec<Job>,
    skipped: HashMap<&'static str, Vec<i64>>,
    /// What was not attempted, and from when on it is looked at again.
    given_back: Vec<(Job, Timestamp)>,
}

/// Records a batch.
pub(super) async fn record(
    tx: &mut Tx,
    attempted: &[Attempted],
    endpoints: &Arc<Endpoints>,
) -> Result<Recorded, Error> {
    let now = tx.env().now();
    let token = tx.handoff().token();
    let mut batch = Batch::of(attempted, now);
    let mut recorded = Recorded::default();
    if !batch.attempts.is_empty() && !deliveries::insert_attempts(tx.connection(), &batch.attempts).await? {
        // Recorded before, as a whole: nothing counts twice.
        return Ok(recorded);
    }
    recorded.report.attempts = batch.attempts.len() as u64;
    let mut standings = Standings::default();
    if batch.is_troubled() {
        let webhooks: HashSet<WebhookId> = attempted.iter().map(|attempted| attempted.job.webhook).collect();
        standings.0 = webhooks::standings(tx.connection(), webhooks.into_iter()).await?;
    }
    let mut late = HashSet::new();
    for (status, ids) in
        [(DeliveryStatus::Delivered, &batch.delivered), (DeliveryStatus::Failed, &batch.failed)]
    {
        if !ids.is_empty() {
            late.extend(deliveries::end(tx.connection(), ids, status, now, token).await?);
        }
    }
    let in_time = |ids: &[i64]| ids.iter().filter(|id| !late.contains(id)).count() as u64;
    recorded.report.delivered = in_time(&batch.delivered);
    recorded.report.failed = in_time(&batch.failed);
    streaks(tx, &ends(attempted, &late), &mut standings, endpoints, now).await?;
    retries(tx, &mut batch, &mut recorded, &standings, token).await?;
    skips(&mut batch, &standings, endpoints, now);
    for (reason, ids) in &batch.skipped {
        recorded.report.skipped += deliveries::skip(tx.connection(), ids, reason, now, token).await?;
    }
    if !batch.given_back.is_empty() {
        let ids: Vec<i64> = batch.given_back.iter().map(|(job, _)| job.delivery).collect();
        claims::release(tx.connection(), &ids, token, now).await?;
        recorded.due.extend(batch.given_back.iter().map(|(job, at)| (job.webhook, *at)));
    }
    Ok(recorded)
}

impl Batch {
    fn of(attempted: &[Attempted], now: Timestamp) -> Self {
        let mut batch = Self::default();
        let later = now.plus_millis(GIVEN_BACK_MS);
        for Attempted { job, what, .. } in attempted {
            match what {
                What::Made(made) => batch.made(job, made),
                What::Off => batch.off.push(job.clone()),
                What::GivenBack => batch.given_back.push((job.clone(), later)),
            }
        }
        batch
    }

    /// Whether it changes, or depends on, more of a webhook than that its streak is at an end. Then all its webhooks are
    /// locked first, so that two nodes lock them in the same order, and none is switched on or off meanwhile.
    fn is_troubled(&self) -> bool {
        !(self.failed.is_empty() && self.retries.is_empty() && self.off.is_empty())
    }

    fn made(&mut self, job: &Job, made: &Made) {
        let duration_ms = i64::try_from(made.duration.as_millis()).unwrap_or(i64::MAX);
        self.attempts.push(AttemptRow::new(job.delivery, job.number, made.at, duration_ms, made.outcome));
        let end = match made.next {
            NextStep::RetryAt(at) => return self.retries.push((job.clone(), at)),
            NextStep::End(end) => end,
        };
        match end {
            DeliveryEnd::Delivered => self.delivered.push(job.delivery),
            DeliveryEnd::Failed => self.failed.push(job.delivery),
        }
    }
}

/// How the deliveries of each webhook ended, in order. Pings are left out, and those that somebody else has taken over.
fn ends(attempted: &[Attempted], late: &HashSet<i64>) -> BTreeMap<(CompanyId, WebhookId), Vec<DeliveryEnd>> {
    let mut ends = BTreeMap::<_, Vec<DeliveryEnd>>::new();
    for Attempted { job, what, .. } in attempted {
        if let What::Made(Made { next: NextStep::End(end), .. }) = what
            && !job.is_ping
            && !late.contains(&job.delivery)
        {
            ends.entry((job.company, job.webhook)).or_default().push(*end);
        }
    }
    ends
}

/// Moves the streaks of failures, and disables webhooks that have failed too often.
async fn streaks(
    tx: &mut Tx,
    ends: &BTreeMap<(CompanyId, WebhookId), Vec<DeliveryEnd>>,
    standings: &mut Standings,
    endpoints: &Arc<Endpoints>,
    now: Timestamp,
) -> Result<(), Error> {
    let smooth = |ends: &[DeliveryEnd]| ends.iter().all(|end| *end == DeliveryEnd::Delivered);
    let untroubled: Vec<WebhookId> =
        ends.iter().filter(|(_, ends)| smooth(ends)).map(|((_, webhook), _)| *webhook).collect();
    if !untroubled.is_empty() {
        webhooks::reset_streaks(tx.connection(), &untroubled).await?;
    }
    for ((company, webhook), ends) in ends.iter().filter(|(_, ends)| !smooth(ends)) {
        // Off already: nothing counts.
        let Some(mut streak) = standings.streak(*webhook) else { continue };
        for end in ends {
            streak = streak.after(*end);
            if streak.disables() {
                break;
            }
        }
        if streak.disables() {
            disable(tx, *company, *webhook, streak, now).await?;
            standings.disabled(*webhook);
            let (endpoints, webhook) = (Arc::clone(endpoints), *webhook);
            tx.on_commit(move || endpoints.forget(webhook));
            tx.announce(News::Webhook(webhook));
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

/// The webhooks of a troubled batch as they stand in its transaction.
#[derive(Default)]
struct Standings(HashMap<WebhookId, Standing>);

impl Standings {
    /// `None` where the webhook is off.
    fn streak(&self, webhook: WebhookId) -> Option<Streak> {
        self.0.get(&webhook).filter(|standing| standing.off.is_none()).map(|standing| standing.streak)
    }

    /// Why its deliveries are skipped, if they are.
    fn off(&self, webhook: WebhookId) -> Option<&'static str> {
        self.0.get(&webhook).map_or(Some(deliveries::REMOVED), |standing| standing.off)
    }

    fn disabled(&mut self, webhook: WebhookId) {
        if let Some(standing) = self.0.get_mut(&webhook) {
            standing.off = Some(deliveries::DISABLED);
        }
    }
}

/// Puts back what is to be attempted again; where the webhook is off by now, it is skipped instead.
async fn retries(
    tx: &mut Tx,
    batch: &mut Batch,
    recorded: &mut Recorded,
    standings: &Standings,
    token: i64,
) -> Result<(), Error> {
    if batch.retries.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = batch.retries.iter().map(|(job, _)| job.delivery).collect();
    deliveries::count_attempts(tx.connection(), &ids, token).await?;
    for (job, at) in &batch.retries {
        if let Some(reason) = standings.off(job.webhook) {
            batch.skipped.entry(reason).or_default().push(job.delivery);
        } else {
            deliveries::retry(tx.connection(), job.delivery, *at, token).await?;
            recorded.due.push((job.webhook, *at));
            recorded.report.retried += 1;
        }
    }
    Ok(())
}

/// Skips what was not attempted as its webhook was off, and gives it back where the webhook is on by now.
fn skips(batch: &mut Batch, standings: &Standings, endpoints: &Endpoints, now: Timestamp) {
    for job in std::mem::take(&mut batch.off) {
        if let Some(reason) = standings.off(job.webhook) {
            batch.skipped.entry(reason).or_default().push(job.delivery);
        } else {
            endpoints.forget(job.webhook);
            batch.given_back.push((job, now));
        }
    }
}
