//! The loop: one lane per webhook, attempts in flight, one recording, one claim, one poll of the table.
//!
//! All of it runs in the one future that the host polls. The loop itself never waits for the database: recording, claim
//! and poll are futures beside the attempts.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use invoicing_core::{DISABLE_AFTER, DeliveryEnd, NextStep, Timestamp, WebhookId};

use super::DispatchReport;
use super::attempt::{AttemptResult, Finished, SentAttempt, attempt};
use super::delivery_queue::{Claimed, PAUSE, claim, next_due, record, recover, release};
use super::record::Recorded;
use super::slots::{Health, Slots};
use crate::Error;
use crate::invoicing::Inner;
use crate::queue::{Job, LANE_ROOM, NewDelivery};

/// How often the table is polled without a request, in milliseconds: wake-ups may be lost.
const POLL_MS: i64 = 5_000;
/// Most results in one transaction.
const BATCH: usize = 512;
/// A recording waits for so many results, as a transaction costs as much as dozens of results in it: for a moment while
/// other attempts are in flight, and longer where the last transaction was begun a moment ago.
const GATHERED: usize = 128;
const GATHERING: Duration = Duration::from_millis(5);
const SPACING: Duration = Duration::from_millis(20);
/// Most webhooks that one claim is for: other writers share the same queue.
const CLAIM_LANES: usize = 64;
/// Most deliveries that one claim takes for a webhook.
const CLAIM: usize = LANE_ROOM / 2;
/// Shortest rest of a lease, beyond the limit of an attempt, with which an attempt is begun. In milliseconds.
const LEASE_MARGIN_MS: i64 = 5_000;

/// When the loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// When it is told to.
    Stopped,
    /// When nothing is due any more.
    Idle,
}

/// The deliveries of one webhook that are in memory.
#[derive(Default)]
struct Lane {
    queue: VecDeque<Job>,
    in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the webhook, so they are recorded
    /// before more attempts are begun.
    failed: u32,
    /// When the next one in the table falls due.
    due: Option<Timestamp>,
    health: Health,
    /// In the round of lanes that could start an attempt.
    in_round: bool,
}

type BatchRecorded = (Arc<Vec<Finished>>, Recorded);
type NextDue = Result<Vec<(WebhookId, Timestamp)>, Error>;

/// See the module's text.
pub(super) struct Engine<'a> {
    inner: &'a Inner,
    lanes: HashMap<WebhookId, Lane>,
    /// Lanes with a delivery in the table, by the instant at which it falls due.
    due: BTreeSet<(Timestamp, WebhookId)>,
    /// Lanes that could start an attempt, in turn.
    round: VecDeque<WebhookId>,
    /// Deliveries in memory, so that none is there twice.
    held: HashSet<i64>,
    attempts: FuturesUnordered<BoxFuture<'a, Finished>>,
    slots: Slots,
    /// Lanes with a due delivery and no room for it; the next recording frees some.
    full: Vec<WebhookId>,
    results: Vec<Finished>,
    /// When the first of them came.
    gathering_since: Option<Instant>,
    /// When the last recording was begun.
    recorded_at: Option<Instant>,
    recording: Option<BoxFuture<'a, BatchRecorded>>,
    claiming: Option<BoxFuture<'a, Vec<Claimed>>>,
    polling: Option<BoxFuture<'a, NextDue>>,
    next_poll: Timestamp,
    /// Shared with the recording under way, which does not go on for long once this is set.
    stopping: Arc<AtomicBool>,
    report: DispatchReport,
}

impl<'a> Engine<'a> {
    pub(super) fn new(inner: &'a Inner) -> Self {
        Self {
            inner,
            lanes: HashMap::new(),
            due: BTreeSet::new(),
            round: VecDeque::new(),
            held: HashSet::new(),
            attempts: FuturesUnordered::new(),
            slots: Slots::new(&inner.settings.dispatch),
            full: Vec::new(),
            results: Vec::new(),
            gathering_since: None,
            recorded_at: None,
            recording: None,
            claiming: None,
            polling: None,
            next_poll: inner.env.now(),
            stopping: Arc::default(),
            report: DispatchReport::default(),
        }
    }

    pub(super) async fn run(
        &mut self,
        until: Until,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<DispatchReport, Error> {
        let mut stop = pin!(stop);
        let released = recover(self.inner).await?;
        if released > 0 {
            tracing::info!(released, "claims of earlier runs released");
        }
        loop {
            self.take_new();
            if !self.is_stopping() {
                self.start_poll();
                self.start_claim();
                self.start_attempts();
            }
            self.start_recording();
            if self.quiet() && (self.is_stopping() || (until == Until::Idle && self.idle())) {
                break;
            }
            let nap = self.nap();
            tokio::select! {
                biased;
                () = &mut stop, if !self.is_stopping() => self.stopping.store(true, Ordering::Relaxed),
                Some(finished) = self.attempts.next(), if !self.attempts.is_empty() => self.finished(finished),
                Some((batch, recorded)) = OptionFuture::from(self.recording.as_mut()) => {
                    self.recording = None;
                    self.recorded(&batch, recorded);
                }
                Some(next_due) = OptionFuture::from(self.polling.as_mut()) => {
                    self.polling = None;
                    self.polled(next_due);
                }
                Some(claimed) = OptionFuture::from(self.claiming.as_mut()) => {
                    self.claiming = None;
                    for claimed in claimed {
                        self.claimed(claimed);
                    }
                }
                () = self.inner.queue.wait(), if !self.is_stopping() => {}
                () = tokio::time::sleep(nap), if !self.is_stopping() => {}
            }
        }
        self.held.extend(self.inner.queue.close());
        if release(self.inner, self.held.iter().copied().collect()).await {
            self.held.clear();
        }
        Ok(self.report)
    }

    fn start_poll(&mut self) {
        let until_poll = self.next_poll.as_millis() - self.now().as_millis();
        // Also where the clock was set back, so that the instant lies far ahead.
        let is_time = !(1..=POLL_MS).contains(&until_poll);
        if self.polling.is_none() && (self.inner.queue.take_poll_request() || is_time) {
            self.polling = Some(next_due(self.inner).boxed());
        }
    }

    fn polled(&mut self, next_due: NextDue) {
        self.next_poll = self.now().plus_millis(POLL_MS);
        match next_due {
            Ok(next_due) => {
                for (webhook, at) in next_due {
                    self.due_at(webhook, at);
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "pending deliveries cannot be polled"
                );
            }
        }
    }

    fn take_new(&mut self) {
        for delivery in self.inner.queue.take() {
            match delivery {
                NewDelivery::Leased(job) => self.enqueue(job),
                NewDelivery::Pending(webhook) => self.due_at(webhook, self.now()),
            }
        }
    }

    fn enqueue(&mut self, job: Job) {
        if !self.held.insert(job.delivery) {
            // Still in memory from an earlier claim, whose result will be recorded.
            self.inner.queue.free(job.webhook, 1);
            return;
        }
        let webhook = job.webhook;
        self.lanes.entry(webhook).or_default().queue.push_back(job);
        self.join_round(webhook);
    }

    fn join_round(&mut self, webhook: WebhookId) {
        if let Some(lane) = self.lanes.get_mut(&webhook)
            && !lane.in_round
            && !lane.queue.is_empty()
        {
            lane.in_round = true;
            self.round.push_back(webhook);
        }
    }

    fn due_at(&mut self, webhook: WebhookId, at: Timestamp) {
        let lane = self.lanes.entry(webhook).or_default();
        if lane.due.is_none_or(|due| at < due) {
            if let Some(due) = lane.due.replace(at) {
                self.due.remove(&(due, webhook));
            }
            self.due.insert((at, webhook));
        }
    }

    /// Claims for every lane with a due delivery.
    fn start_claim(&mut self) {
        if self.claiming.is_some() {
            return;
        }
        let now = self.now();
        let mut wanted = Vec::new();
        while wanted.len() < CLAIM_LANES
            && let Some((at, webhook)) = self.due.first().copied().filter(|(at, _)| *at <= now)
        {
            self.due.remove(&(at, webhook));
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.due = None;
            match self.inner.queue.reserve_many(webhook, CLAIM) {
                0 => self.full.push(webhook),
                room => wanted.push((webhook, room)),
            }
        }
        if !wanted.is_empty() {
            self.claiming = Some(claim(self.inner, wanted).boxed());
        }
    }

    fn claimed(&mut self, (webhook, room, result): Claimed) {
        let (jobs, next) = match result {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, %webhook, "deliveries cannot be claimed");
                (Vec::new(), Some(self.now().plus_millis(i64::try_from(PAUSE.as_millis()).unwrap_or(0))))
            }
        };
        self.inner.queue.free(webhook, room - jobs.len().min(room));
        for job in jobs {
            self.enqueue(job);
        }
        if let Some(at) = next {
            self.due_at(webhook, at);
        }
        self.remove_if_idle(webhook);
    }

    fn start_attempts(&mut self) {
        let settings = &self.inner.settings.dispatch;
        let enough =
            i64::try_from(settings.attempt_timeout_ms).unwrap_or(i64::MAX).saturating_add(LEASE_MARGIN_MS);
        let now = self.now();
        let mut passed_over = VecDeque::new();
        while self.slots.is_any_free()
            && let Some(webhook) = self.round.pop_front()
        {
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.in_round = false;
            let health = lane.health;
            if lane.in_flight >= self.slots.most(health) || lane.failed >= DISABLE_AFTER {
                // Joins again when one of its attempts ends, or when its failures are recorded.
                continue;
            }
            if lane.in_flight >= self.slots.share(health) {
                // Until other lanes free slots.
                passed_over.push_back(webhook);
                lane.in_round = true;
                continue;
            }
            let Some(job) = lane.queue.pop_front() else { continue };
            if job.lease_until.as_millis() - now.as_millis() < enough {
                self.push_result(Finished { job, result: AttemptResult::Released, health });
            } else {
                lane.in_flight += 1;
                self.slots.take(health);
                self.attempts.push(attempt(self.inner, job, health).boxed());
            }
            self.join_round(webhook);
        }
        self.round.append(&mut passed_over);
    }

    fn finished(&mut self, first: Finished) {
        self.finish(first);
        // All others that have finished join the same batch.
        while let Some(Some(next)) = self.attempts.next().now_or_never() {
            self.finish(next);
        }
    }

    fn finish(&mut self, finished: Finished) {
        let webhook = finished.job.webhook;
        self.slots.free(finished.health);
        if let Some(lane) = self.lanes.get_mut(&webhook) {
            lane.in_flight -= 1;
            if let AttemptResult::Sent(SentAttempt { outcome, duration, .. }) = finished.result {
                lane.health = Health::of(outcome, duration);
            }
            lane.failed += u32::from(ended_failed(&finished));
        }
        self.join_round(webhook);
        self.push_result(finished);
    }

    fn push_result(&mut self, finished: Finished) {
        self.gathering_since.get_or_insert_with(Instant::now);
        self.results.push(finished);
    }

    /// Until when results are gathered; `None` where they are not. An instant in the past is returned too, as `nap` would
    /// take `None` for nothing to do.
    fn gathered_until(&self) -> Option<Instant> {
        let since = self.gathering_since.filter(|_| self.recording.is_none())?;
        if self.results.len() >= GATHERED || self.is_stopping() {
            return None;
        }
        let others_may_end = (!self.attempts.is_empty()).then(|| since + GATHERING);
        let spaced = self.recorded_at.map(|at| at + SPACING);
        others_may_end.max(spaced)
    }

    fn start_recording(&mut self) {
        let is_gathering = self.gathered_until().is_some_and(|until| until > Instant::now());
        if self.recording.is_some() || self.results.is_empty() || is_gathering {
            return;
        }
        self.gathering_since = None;
        self.recorded_at = Some(Instant::now());
        let rest = self.results.split_off(self.results.len().min(BATCH));
        let batch = Arc::new(std::mem::replace(&mut self.results, rest));
        if !self.results.is_empty() {
            self.gathering_since = Some(Instant::now());
        }
        let recorded = record(self.inner, Arc::clone(&batch), Arc::clone(&self.stopping));
        self.recording = Some(recorded.map(|recorded| (batch, recorded)).boxed());
    }

    fn recorded(&mut self, batch: &[Finished], recorded: Recorded) {
        for finished in batch {
            let webhook = finished.job.webhook;
            self.held.remove(&finished.job.delivery);
            self.inner.queue.free(webhook, 1);
            if let Some(lane) = self.lanes.get_mut(&webhook) {
                lane.failed = lane.failed.saturating_sub(u32::from(ended_failed(finished)));
            }
            self.join_round(webhook);
        }
        let now = self.now();
        for webhook in std::mem::take(&mut self.full) {
            self.due_at(webhook, now);
        }
        for (webhook, at) in recorded.due {
            self.due_at(webhook, at);
        }
        self.report.add(recorded.report);
        // The next start releases them, or their leases expire.
        self.inner.queue.leave_unreleased(recorded.lost);
        for finished in batch {
            self.remove_if_idle(finished.job.webhook);
        }
    }

    fn remove_if_idle(&mut self, webhook: WebhookId) {
        let is_idle = |lane: &Lane| {
            let quiet = lane.queue.is_empty() && lane.in_flight == 0 && lane.failed == 0;
            quiet && lane.due.is_none() && !lane.in_round && lane.health == Health::Ok
        };
        if self.lanes.get(&webhook).is_some_and(is_idle) {
            self.lanes.remove(&webhook);
        }
    }

    /// Whether no future is pending.
    fn quiet(&self) -> bool {
        let database = self.recording.is_some() || self.claiming.is_some() || self.polling.is_some();
        self.attempts.is_empty() && !database
    }

    /// Whether nothing is due.
    fn idle(&self) -> bool {
        let now = self.now();
        self.results.is_empty() && self.round.is_empty() && self.due.first().is_none_or(|(at, _)| *at > now)
    }

    /// How long until the loop has something to do by itself.
    fn nap(&self) -> Duration {
        let due = self.due.first().map(|(at, _)| *at).filter(|_| self.claiming.is_none());
        let poll = Some(self.next_poll).filter(|_| self.polling.is_none());
        let next =
            due.into_iter().chain(poll).min().map_or(POLL_MS, |at| at.as_millis() - self.now().as_millis());
        let nap = Duration::from_millis(u64::try_from(next.min(POLL_MS)).unwrap_or(0));
        let gathered = self.gathered_until().map(|until| until.saturating_duration_since(Instant::now()));
        gathered.map_or(nap, |left| left.min(nap))
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn now(&self) -> Timestamp {
        self.inner.env.now()
    }
}

/// Leaves the deliveries in memory to the next start, also where the dispatcher's future is dropped.
impl Drop for Engine<'_> {
    fn drop(&mut self) {
        self.inner.queue.leave_unreleased(self.held.drain());
    }
}

/// Whether a delivery ended failed with this attempt.
fn ended_failed(finished: &Finished) -> bool {
    let failed = NextStep::End(DeliveryEnd::Failed);
    matches!(&finished.result, AttemptResult::Sent(attempt) if attempt.next == failed)
}
