//! The loop: one lane per webhook, attempts in flight, one recording, one claim, one batch of bulk work, one
//! poll of the table.
//!
//! All of it runs in the one future that the host polls. The loop itself never waits for the database: these are
//! futures beside the attempts.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use invoicing_core::{DeliveryOutcome, NextStep, Timestamp, WebhookId};

use super::attempt::{AttemptResult, Finished, attempt};
use super::backlog::Backlog;
use super::bulk::{BulkWork, EndedBatch};
use super::delivery_queue::{
    ClaimResult, Grant, LONGEST_PAUSE, POLL, Polled, Resumption, claim, poll, recall, record, recover,
    release, resume,
};
use super::lane::{Lanes, MAX_REMEMBERED, Next};
use super::latency::{LatencyTracker, Standing};
use super::record::BatchOutcome;
use super::slots::Slots;
use super::turns::Line;
use super::{DispatchContext, DispatchReport, PAUSE_MS};
use crate::Error;
use crate::queue::{Job, NewDelivery, Pool};
use crate::store::bulk_changes::NotedWebhook;
use crate::store::claims::{Claimed, Waiting, Wanted};

/// Most results in one transaction.
const BATCH: usize = 512;
/// Results that start a recording at once. Fewer wait until [`SPACING`] has passed since the start of the last recording,
/// since a transaction costs as much as dozens of results.
const GATHERED: usize = 128;
const SPACING: Duration = Duration::from_millis(20);
/// Most webhooks that one claim is for: other writers share the same queue. And those of them in the slow pool.
const CLAIM_WEBHOOKS: usize = 64;
const SLOW_CLAIM_WEBHOOKS: usize = CLAIM_WEBHOOKS / 2;
/// Most deliveries that one claim takes for a webhook.
const CLAIM: usize = 128;

type RecordedBatch = (Arc<Vec<Finished>>, BatchOutcome);

/// The state of a run.
pub(super) struct Engine<'a> {
    context: &'a DispatchContext,
    lanes: Lanes,
    backlog: Backlog,
    slots: Slots,
    /// Deliveries in memory, so that none is there twice.
    held: HashSet<i64>,
    attempts: FuturesUnordered<BoxFuture<'a, Finished>>,
    results: Vec<Finished>,
    /// When the results are recorded, however few they are.
    next_recording: Instant,
    recording: Fuse<BoxFuture<'a, RecordedBatch>>,
    claiming: Fuse<BoxFuture<'a, Vec<ClaimResult>>>,
    /// Retries that have a slot and are to be claimed.
    granted: Vec<Grant>,
    /// Those, and the ones that are being claimed: a poll under way that finds them must not let them wait a second time.
    being_resumed: HashSet<i64>,
    resuming: Fuse<BoxFuture<'a, Resumption>>,
    bulk_work: BulkWork<'a>,
    polling: Fuse<BoxFuture<'a, Result<Polled, Error>>>,
    /// Webhooks that an operation has changed since the poll under way began.
    changed: HashSet<WebhookId>,
    /// Webhooks that were prompt before the start, read once.
    recalling: Fuse<BoxFuture<'a, Vec<WebhookId>>>,
    next_poll: Timestamp,
    /// Whether the table was polled, which tells what an earlier run has begun.
    has_polled: bool,
    poll_pause: Duration,
    /// Shared with the recording under way, which does not go on for long once this is set.
    stopping: Arc<AtomicBool>,
    report: DispatchReport,
}

impl<'a> Engine<'a> {
    pub(super) fn new(context: &'a DispatchContext) -> Self {
        Self {
            context,
            lanes: Lanes::new(Arc::clone(&context.queue), MAX_REMEMBERED),
            backlog: Backlog::default(),
            slots: Slots::new(&context.settings),
            held: HashSet::new(),
            attempts: FuturesUnordered::new(),
            results: Vec::new(),
            next_recording: Instant::now(),
            recording: Fuse::terminated(),
            claiming: Fuse::terminated(),
            granted: Vec::new(),
            being_resumed: HashSet::new(),
            resuming: Fuse::terminated(),
            bulk_work: BulkWork::new(),
            polling: Fuse::terminated(),
            changed: HashSet::new(),
            recalling: Fuse::terminated(),
            next_poll: context.env.now(),
            has_polled: false,
            poll_pause: POLL,
            stopping: Arc::default(),
            report: DispatchReport::default(),
        }
    }

    /// Runs until `stop` completes or, with `until_idle`, until nothing is due.
    pub(super) async fn run(
        &mut self,
        until_idle: bool,
        stop: Pin<&mut (dyn Future<Output = ()> + Send)>,
    ) -> Result<DispatchReport, Error> {
        let mut stop = stop.fuse();
        let released = recover(self.context).await?;
        if released > 0 {
            tracing::info!(released, "claims of earlier runs released");
        }
        self.context.queue.open();
        self.recalling = recall(self.context).boxed().fuse();
        loop {
            self.context.heartbeat.beat(Instant::now());
            self.context.env.metrics().turned(self.now(), self.attempts.len());
            self.take_new();
            if !self.is_stopping() {
                self.start_poll();
                self.start_claim();
                self.bulk_work.start(self.context);
                if self.has_polled {
                    self.start_attempts();
                    self.start_resuming();
                }
            }
            self.start_recording();
            if self.quiet() && (self.is_stopping() || (until_idle && self.idle())) {
                break;
            }
            let nap = self.nap();
            tokio::select! {
                biased;
                () = &mut stop => self.stopping.store(true, Ordering::Relaxed),
                Some(finished) = self.attempts.next() => self.finished(finished),
                (batch, recorded) = &mut self.recording => self.recorded(&batch, recorded),
                polled = &mut self.polling => self.polled(polled),
                prompt = &mut self.recalling => self.recalled(prompt),
                ended = &mut self.bulk_work.batch => self.bulk_work_ended(ended),
                (granted, jobs) = &mut self.resuming => self.resumed(granted, jobs),
                claimed = &mut self.claiming => claimed.into_iter().for_each(|claimed| self.claimed(claimed)),
                () = self.context.queue.wait() => {}
                () = tokio::time::sleep(nap), if !self.is_stopping() => {}
            }
        }
        self.context.queue.close(self.held.drain());
        release(self.context).await;
        Ok(self.report)
    }

    fn start_poll(&mut self) {
        let until_poll = self.until(self.next_poll);
        // Also where the clock was set back, so that the instant lies far ahead.
        let is_time = until_poll.is_zero() || until_poll > self.poll_pause;
        if self.polling.is_terminated() && (self.context.queue.take_poll_request() || is_time) {
            self.backlog.poll_begins();
            self.changed.clear();
            self.polling = poll(self.context).boxed().fuse();
        }
    }

    fn polled(&mut self, polled: Result<Polled, Error>) {
        self.poll_pause = match &polled {
            Ok(polled) => polled.pause,
            Err(error) if error.is_statement_timeout() => LONGEST_PAUSE,
            Err(_) => POLL,
        };
        let pause_ms = i64::try_from(self.poll_pause.as_millis()).unwrap_or(i64::MAX);
        self.next_poll = self.now().plus_millis(pause_ms);
        self.has_polled = true;
        self.lanes.forget(Instant::now());
        match polled {
            Ok(Polled { at, waiting, begun, noted, .. }) => {
                self.bulk_work.set_noted(noted);
                for (at, begun) in begun {
                    if self.changed.contains(&begun.0) {
                        // It may have been skipped: the next poll decides.
                        self.context.queue.request_poll();
                    } else if !self.held.contains(&begun.1) && !self.being_resumed.contains(&begun.1) {
                        self.lanes.found(begun, at);
                    }
                }
                self.backlog.polled(at, &waiting);
                for Waiting { webhook, at, .. } in waiting {
                    // Its place may have been freed by an operation that was rolled back.
                    self.backlog.has_room(webhook, self.lanes.standing(webhook));
                    self.backlog.due_at(webhook, at);
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

    fn bulk_work_ended(&mut self, ended: EndedBatch) {
        let NotedWebhook { webhook, skips, .. } = ended.0;
        if ended.1.is_ok() && !skips {
            // What it queued fell due when the replay was asked for, and may have been claimed for since then.
            self.backlog.forget_start(webhook);
            self.backlog.due_at(webhook, self.now());
        }
        self.bulk_work.ended(ended);
    }

    /// An attempt that has ended meanwhile shows more than what is on record.
    fn recalled(&mut self, prompt: Vec<WebhookId>) {
        let now = Instant::now();
        for webhook in prompt {
            if self.lanes.standing(webhook) == Standing::New {
                self.lanes.update(webhook, |latency| *latency = LatencyTracker::prompt(now));
                self.backlog.has_room(webhook, Standing::Prompt);
                self.slots.join(webhook, &mut self.lanes);
            }
        }
        self.lanes.forget(now);
    }

    fn take_new(&mut self) {
        for webhook in self.context.queue.take_changed() {
            self.changed.insert(webhook);
            // Deliveries under way may have been skipped. A poll that begins now finds the others.
            if let Some(lane) = self.lanes.get_mut(webhook).filter(|lane| !lane.waiting.is_empty()) {
                lane.forget_waiting();
                self.context.queue.request_poll();
                self.slots.join(webhook, &mut self.lanes);
            }
        }
        for delivery in self.context.queue.take() {
            match delivery {
                NewDelivery::Leased(job) => self.enqueue(job),
                NewDelivery::Pending(webhook) => self.backlog.due_at(webhook, self.now()),
            }
        }
    }

    fn enqueue(&mut self, job: Job) {
        let webhook = job.webhook;
        if self.held.insert(job.delivery) {
            self.lanes.push(job);
            self.slots.join(webhook, &mut self.lanes);
        } else {
            // Still in memory from an earlier claim, whose result will be recorded.
            self.context.queue.free(webhook, 1);
        }
    }

    /// Claims for webhooks whose deliveries are due, in turn.
    fn start_claim(&mut self) {
        let now = self.now();
        let lanes = &self.lanes;
        self.backlog.make_due_ready(now, |webhook| lanes.standing(webhook));
        if !self.claiming.is_terminated() {
            return;
        }
        let mut wanted = Vec::new();
        self.choose(Standing::New, SLOW_CLAIM_WEBHOOKS, &mut wanted);
        self.choose(Standing::Slow, SLOW_CLAIM_WEBHOOKS, &mut wanted);
        self.choose(Standing::Prompt, CLAIM_WEBHOOKS, &mut wanted);
        if !wanted.is_empty() {
            self.claiming = claim(self.context, wanted).boxed().fuse();
        }
    }

    /// Chooses webhooks to claim for, in turn, until `most` are chosen in all or no room is left.
    fn choose(&mut self, standing: Standing, most: usize, wanted: &mut Vec<Wanted>) {
        let now = self.now();
        while wanted.len() < most
            && let Some(webhook) = self.backlog.next(standing)
        {
            // No more than can be attempted soon.
            let count = match standing.pool() {
                Pool::Prompt => CLAIM,
                Pool::Slow => self.slots.share(Line { pool: Pool::Slow, is_in_front: false }).max(1),
            };
            match self.context.queue.reserve_many(webhook, count) {
                None => return,
                Some(0) => self.backlog.set_full(webhook),
                Some(room) => {
                    self.backlog.set_claiming(webhook);
                    wanted.push(Wanted { webhook, room, from: self.backlog.start(webhook, now) });
                }
            }
        }
    }

    fn claimed(&mut self, (webhook, room, result): ClaimResult) {
        let Claimed { jobs, again, last_due } = result.unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, %webhook, "deliveries cannot be claimed");
            Claimed { again: Some(self.now().plus_millis(PAUSE_MS)), ..Claimed::default() }
        });
        self.context.queue.free(webhook, room - jobs.len().min(room));
        for job in jobs {
            self.enqueue(job);
        }
        self.release_surplus(webhook);
        self.backlog.claimed(webhook, again, last_due, self.now());
    }

    fn start_attempts(&mut self) {
        let now = self.now();
        while let Some(webhook) = self.lanes.next_due_by(now) {
            self.slots.join(webhook, &mut self.lanes);
        }
        for (webhook, next, pool) in self.slots.give(&mut self.lanes) {
            match next {
                Next::First(job) => self.attempt(job, pool),
                Next::Retry(delivery) => {
                    self.being_resumed.insert(delivery);
                    self.granted.push(Grant { webhook, delivery, pool });
                }
            }
        }
    }

    fn attempt(&mut self, job: Job, pool: Pool) {
        let in_flight = self.lanes.get_mut(job.webhook).map_or(1, |lane| lane.in_flight);
        self.attempts.push(attempt(self.context, job, pool, in_flight).boxed());
    }

    /// Claims the retries that have a slot.
    fn start_resuming(&mut self) {
        if self.resuming.is_terminated() && !self.granted.is_empty() {
            self.resuming = resume(self.context, std::mem::take(&mut self.granted)).boxed().fuse();
        }
    }

    fn resumed(&mut self, granted: Vec<Grant>, jobs: Result<Vec<Job>, Error>) {
        let (jobs, again) = match jobs {
            Ok(jobs) => (jobs, None),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "retries cannot be claimed");
                (Vec::new(), Some(self.now().plus_millis(PAUSE_MS)))
            }
        };
        let mut jobs: HashMap<i64, Job> = jobs.into_iter().map(|job| (job.delivery, job)).collect();
        self.held.extend(jobs.keys());
        for Grant { webhook, delivery, pool } in granted {
            self.being_resumed.remove(&delivery);
            match jobs.remove(&delivery) {
                Some(job) if !self.is_stopping() => {
                    self.attempt(job, pool);
                    continue;
                }
                // It is released as this run ends.
                Some(_) => {}
                // It was skipped, or another transaction had its row. The next poll finds what is left of it.
                None => self.context.queue.request_poll(),
            }
            self.slots.free(webhook, pool, &mut self.lanes);
            if let Some(at) = again {
                self.lanes.wait((webhook, delivery), at);
            }
            self.slots.join(webhook, &mut self.lanes);
        }
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
        if let Some(lane) = self.lanes.get_mut(webhook) {
            // Others may have begun, or ended, since it was begun.
            let in_flight = lane.in_flight.max(finished.in_flight);
            lane.failed += u32::from(ended_failed(&finished.result));
            if let AttemptResult::Sent(attempt) = &finished.result {
                if let NextStep::RetryAt(at) = attempt.next {
                    lane.waiting.insert(finished.job.delivery, at);
                }
                self.lanes.update(webhook, |latency| {
                    latency.add(attempt.outcome, attempt.duration, in_flight, Instant::now());
                });
                // Its turn may be in the other pool now: no webhook waits behind one that has no room.
                self.backlog.has_room(webhook, self.lanes.standing(webhook));
            }
        }
        self.slots.free(webhook, finished.pool, &mut self.lanes);
        self.results.push(finished);
        self.release_surplus(webhook);
        self.slots.join(webhook, &mut self.lanes);
    }

    /// Gives back, without an attempt, what a webhook holds that is slow by now.
    fn release_surplus(&mut self, webhook: WebhookId) {
        let most = self.context.settings.in_flight_per_webhook;
        let surplus = self.lanes.get_mut(webhook).map_or_else(Vec::new, |lane| lane.surplus(most));
        let released =
            |job| Finished { job, result: AttemptResult::Released, pool: Pool::Slow, in_flight: 0 };
        self.results.extend(surplus.into_iter().map(released));
    }

    fn start_recording(&mut self) {
        let now = Instant::now();
        let is_time = now >= self.next_recording || self.results.len() >= GATHERED || self.is_stopping();
        if self.results.is_empty() || !is_time || !self.recording.is_terminated() {
            return;
        }
        self.next_recording = now + SPACING;
        let results = self.results.len().min(BATCH);
        let batch: Arc<Vec<Finished>> = Arc::new(self.results.drain(..results).collect());
        let recorded = record(self.context, Arc::clone(&batch), Arc::clone(&self.stopping));
        self.recording = recorded.map(|recorded| (batch, recorded)).boxed().fuse();
    }

    fn recorded(&mut self, batch: &[Finished], recorded: BatchOutcome) {
        let retried: HashSet<i64> = recorded.retried.iter().map(|(_, (_, delivery))| *delivery).collect();
        for Finished { job, result, .. } in batch {
            let (webhook, delivery) = (job.webhook, job.delivery);
            if self.held.remove(&delivery) && job.attempts == 0 {
                self.context.queue.free(webhook, 1);
            }
            if let Some(lane) = self.lanes.get_mut(webhook) {
                lane.failed = lane.failed.saturating_sub(u32::from(ended_failed(result)));
                if !retried.contains(&delivery) {
                    lane.waiting.remove(&delivery);
                }
            }
            if matches!(result, AttemptResult::Released) && job.attempts > 0 {
                self.lanes.wait((webhook, delivery), self.now().plus_millis(PAUSE_MS));
            }
            self.backlog.has_room(webhook, self.lanes.standing(webhook));
            self.slots.join(webhook, &mut self.lanes);
        }
        for (at, begun) in recorded.retried {
            self.lanes.wait(begun, at);
        }
        for (webhook, at) in recorded.released {
            self.backlog.forget_start(webhook);
            self.backlog.due_at(webhook, at);
        }
        self.report.add(recorded.report);
    }

    /// Whether no future is pending.
    fn quiet(&self) -> bool {
        self.attempts.is_empty()
            && self.recording.is_terminated()
            && self.claiming.is_terminated()
            && self.resuming.is_terminated()
            && self.bulk_work.batch.is_terminated()
            && self.polling.is_terminated()
    }

    /// Whether nothing is due.
    fn idle(&self) -> bool {
        let now = self.now();
        self.results.is_empty()
            && self.bulk_work.is_done()
            && self.slots.is_idle()
            && [self.backlog.next_due(), self.lanes.next_due()].into_iter().flatten().all(|at| at > now)
    }

    /// How long until the loop has something to do by itself.
    fn nap(&self) -> Duration {
        let due = self.backlog.next_due().filter(|_| self.claiming.is_terminated());
        let retry = self.lanes.next_due();
        let poll = self.polling.is_terminated().then_some(self.next_poll);
        let is_gathering = !self.results.is_empty() && self.recording.is_terminated();
        let recording = is_gathering.then(|| self.next_recording.saturating_duration_since(Instant::now()));
        let instants = due.into_iter().chain(retry).chain(poll);
        instants.map(|at| self.until(at)).chain(recording).min().unwrap_or(POLL).min(POLL)
    }

    /// How long until an instant; zero where it has passed.
    fn until(&self, at: Timestamp) -> Duration {
        let millis = at.as_millis().saturating_sub(self.now().as_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn now(&self) -> Timestamp {
        self.context.env.now()
    }
}

/// Leaves the deliveries in memory to the next start, also where the dispatcher's future is dropped.
impl Drop for Engine<'_> {
    fn drop(&mut self) {
        self.context.queue.close(self.held.drain());
    }
}

/// Whether a delivery ended failed with this attempt.
fn ended_failed(result: &AttemptResult) -> bool {
    let failed = NextStep::End(DeliveryOutcome::Failed);
    matches!(result, AttemptResult::Sent(attempt) if attempt.next == failed)
}
