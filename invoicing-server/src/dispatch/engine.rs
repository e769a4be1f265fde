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
use invoicing_core::{DISABLE_AFTER_FAILURES, DeliveryOutcome, NextStep, Timestamp, WebhookId};

use super::attempt::{AttemptResult, Finished, attempt};
use super::backlog::Backlog;
use super::bulk::{BulkWork, EndedBatch};
use super::delivery_queue::{
    ClaimResult, LONGEST_PAUSE, POLL, Polled, ResumeResult, claim, poll, recall, record, recover, release,
    resume,
};
use super::lane::{Lanes, MAX_REMEMBERED};
use super::pace::{Health, Pace};
use super::record::BatchOutcome;
use super::retries::Retries;
use super::rounds::Rounds;
use super::slots::{Class, Slots};
use super::{DispatchContext, DispatchReport, PAUSE_MS};
use crate::Error;
use crate::queue::{Job, LANE_ROOM, NewDelivery};
use crate::store::bulk_changes::NotedWebhook;
use crate::store::claims::{Claimed, Waiting, Wanted};

/// Most results in one transaction.
const BATCH: usize = 512;
/// Results that start a recording at once. Fewer wait until [`SPACING`] has passed since the start of the last recording,
/// since a transaction costs as much as dozens of results.
const GATHERED: usize = 128;
const SPACING: Duration = Duration::from_millis(20);
/// Most webhooks that one claim is for: other writers share the same queue.
const CLAIM_LANES: usize = 64;
/// Those of them that may be slow, and those that may be slow or untried.
const SLOW_CLAIM_LANES: usize = CLAIM_LANES / 4;
const UNPROVEN_CLAIM_LANES: usize = CLAIM_LANES / 2;
/// Most deliveries that one claim takes for a webhook.
const CLAIM: usize = LANE_ROOM / 2;

type RecordedBatch = (Arc<Vec<Finished>>, BatchOutcome);

/// What a delivery takes in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// One of the places of its webhook.
    OfWebhook,
    /// One of those for retries, of which slow webhooks have their own.
    Retry { is_slow: bool },
}

/// See the module's text.
pub(super) struct Engine<'a> {
    context: &'a DispatchContext,
    lanes: Lanes,
    backlog: Backlog,
    retries: Retries,
    rounds: Rounds,
    /// Deliveries in memory, so that none is there twice.
    held: HashMap<i64, Place>,
    /// Retries in memory: those of slow webhooks, and all others.
    held_retries: [usize; 2],
    attempts: FuturesUnordered<BoxFuture<'a, Finished>>,
    slots: Slots,
    results: Vec<Finished>,
    /// When the results are recorded, however few they are.
    next_recording: Instant,
    recording: Fuse<BoxFuture<'a, RecordedBatch>>,
    claiming: Fuse<BoxFuture<'a, Vec<ClaimResult>>>,
    resuming: Fuse<BoxFuture<'a, ResumeResult>>,
    bulk_work: BulkWork<'a>,
    polling: Fuse<BoxFuture<'a, Result<Polled, Error>>>,
    /// Webhooks that an operation has changed since the poll under way began.
    changed: HashSet<WebhookId>,
    /// Paces on record, read once.
    recalling: Fuse<BoxFuture<'a, Vec<(WebhookId, Pace)>>>,
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
            lanes: Lanes::new(
                Arc::clone(&context.queue),
                context.settings.in_flight_per_webhook,
                MAX_REMEMBERED,
            ),
            backlog: Backlog::default(),
            retries: Retries::default(),
            rounds: Rounds::default(),
            held: HashMap::new(),
            held_retries: [0; 2],
            attempts: FuturesUnordered::new(),
            slots: Slots::new(&context.settings),
            results: Vec::new(),
            next_recording: Instant::now(),
            recording: Fuse::terminated(),
            claiming: Fuse::terminated(),
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
                self.start_resuming();
                self.start_claim();
                self.bulk_work.start(self.context);
                if self.has_polled {
                    self.start_attempts();
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
                paces = &mut self.recalling => self.recalled(paces),
                ended = &mut self.bulk_work.batch => self.bulk_work_ended(ended),
                resumed = &mut self.resuming => self.resumed(resumed),
                claimed = &mut self.claiming => claimed.into_iter().for_each(|claimed| self.claimed(claimed)),
                () = self.context.queue.wait() => {}
                () = tokio::time::sleep(nap), if !self.is_stopping() => {}
            }
        }
        self.context.queue.close(self.held.drain().map(|(delivery, _)| delivery));
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
                    // Claimed meanwhile.
                    if self.held.contains_key(&begun.1) {
                        continue;
                    }
                    self.retries.found(at, begun);
                    if self.changed.contains(&begun.0) {
                        // It may have been skipped, so it holds nothing back.
                        self.context.queue.request_poll();
                    } else {
                        self.lanes.wait(begun);
                    }
                }
                self.backlog.polled(at, &waiting);
                for Waiting { webhook, at, .. } in waiting {
                    // Its place may have been freed by an operation that was rolled back.
                    self.backlog.has_room(webhook, self.lanes.health(webhook));
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

    /// Webhooks that were attempted meanwhile have newer paces.
    fn recalled(&mut self, paces: Vec<(WebhookId, Pace)>) {
        for (webhook, pace) in paces {
            if self.lanes.remember(webhook, pace) {
                self.backlog.has_room(webhook, pace.health());
                self.join_round(webhook);
            }
        }
        self.lanes.forget(Instant::now());
    }

    fn take_new(&mut self) {
        for webhook in self.context.queue.take_changed() {
            self.changed.insert(webhook);
            // Deliveries under way may have been skipped. A poll that begins now finds the others.
            if let Some(lane) = self.lanes.get_mut(webhook).filter(|lane| !lane.waiting.is_empty()) {
                lane.waiting.clear();
                self.context.queue.request_poll();
                self.join_round(webhook);
            }
        }
        for delivery in self.context.queue.take() {
            match delivery {
                NewDelivery::Leased(job) => self.enqueue(job, Place::OfWebhook),
                NewDelivery::Pending(webhook) => self.backlog.due_at(webhook, self.now()),
            }
        }
    }

    fn enqueue(&mut self, job: Job, place: Place) {
        let webhook = job.webhook;
        if self.held.contains_key(&job.delivery) {
            // Still in memory from an earlier claim, whose result will be recorded.
            self.free(webhook, place);
            return;
        }
        self.held.insert(job.delivery, place);
        let surplus = self.lanes.push(job);
        self.release(surplus);
        self.join_round(webhook);
    }

    fn free(&mut self, webhook: WebhookId, place: Place) {
        match place {
            Place::OfWebhook => self.context.queue.free(webhook, 1),
            Place::Retry { is_slow } => self.held_retries[usize::from(is_slow)] -= 1,
        }
    }

    /// Puts a lane with deliveries into the round of its class.
    fn join_round(&mut self, webhook: WebhookId) {
        let Some(lane) = self.lanes.get_mut(webhook).filter(|lane| lane.has_jobs()) else { return };
        let class = lane.class(self.slots.per_webhook, self.backlog.is_waiting(webhook));
        lane.turn = Some(self.rounds.join(class, webhook, lane.turn));
    }

    /// Claims retries that are due, at most as many of each kind as there are slots in all.
    fn start_resuming(&mut self) {
        if !self.resuming.is_terminated() {
            return;
        }
        let [others, of_slow] =
            self.held_retries.map(|held| self.context.settings.in_flight.saturating_sub(held));
        let lanes = &self.lanes;
        let is_slow = |webhook| lanes.health(webhook) == Health::Slow;
        let mut due = self.retries.take_due(self.now(), is_slow, of_slow, others);
        // Else it was queued again and claimed since.
        due.retain(|((_, delivery), _)| !self.held.contains_key(delivery));
        if due.is_empty() {
            return;
        }
        for (_, is_slow) in &due {
            self.held_retries[usize::from(*is_slow)] += 1;
        }
        self.resuming = resume(self.context, due).boxed().fuse();
    }

    fn resumed(&mut self, (wanted, jobs): ResumeResult) {
        let (mut jobs, again) = match jobs {
            Ok(jobs) => (jobs.into_iter().map(|job| (job.delivery, job)).collect(), None),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "retries cannot be claimed");
                (HashMap::new(), Some(self.now().plus_millis(PAUSE_MS)))
            }
        };
        for ((webhook, delivery), is_slow) in wanted {
            let place = Place::Retry { is_slow };
            if let Some(job) = jobs.remove(&delivery) {
                self.enqueue(job, place);
                continue;
            }
            self.free(webhook, place);
            if let Some(at) = again {
                self.retries.wait_until(at, (webhook, delivery));
            } else if let Some(lane) = self.lanes.get_mut(webhook) {
                // Skipped, or another node's.
                lane.waiting.remove(&delivery);
                self.join_round(webhook);
                self.remove_if_untried(webhook);
            }
        }
    }

    /// Claims for webhooks whose deliveries are due, in turn.
    fn start_claim(&mut self) {
        let now = self.now();
        let lanes = &self.lanes;
        self.backlog.make_due_ready(now, |webhook| lanes.health(webhook));
        if !self.claiming.is_terminated() {
            return;
        }
        let mut wanted = Vec::new();
        self.choose(Health::Slow, SLOW_CLAIM_LANES, &mut wanted);
        self.choose(Health::Untried, UNPROVEN_CLAIM_LANES, &mut wanted);
        self.choose(Health::Prompt, CLAIM_LANES, &mut wanted);
        if !wanted.is_empty() {
            self.claiming = claim(self.context, wanted).boxed().fuse();
        }
    }

    /// Chooses webhooks to claim for, in turn, until so many are chosen in all or no room is left.
    fn choose(&mut self, chosen: Health, most: usize, wanted: &mut Vec<Wanted>) {
        let now = self.now();
        while wanted.len() < most
            && let Some(webhook) = self.backlog.pop(chosen)
        {
            let health = self.lanes.health(webhook);
            if health != chosen {
                self.backlog.make_ready(webhook, health);
                continue;
            }
            // No more than can be attempted soon.
            let count = if health == Health::Prompt { CLAIM } else { self.slots.share(Class::Slow).max(1) };
            match self.context.queue.reserve_many(webhook, count) {
                None => return self.backlog.put_back(webhook, health),
                Some(0) => self.backlog.set_full(webhook),
                Some(room) => {
                    self.backlog.set_claiming(webhook);
                    wanted.push(Wanted { webhook, room, from: self.backlog.start(webhook, now) });
                }
            }
        }
    }

    fn claimed(&mut self, (webhook, room, result): ClaimResult) {
        let Claimed { jobs, next_due, last_due } = result.unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, %webhook, "deliveries cannot be claimed");
            let next_due = Some(self.now().plus_millis(PAUSE_MS));
            Claimed { next_due, ..Claimed::default() }
        });
        self.context.queue.free(webhook, room - jobs.len().min(room));
        for job in jobs {
            self.enqueue(job, Place::OfWebhook);
        }
        self.backlog.claimed(webhook, next_due, last_due);
        self.join_round(webhook);
        self.remove_if_untried(webhook);
    }

    fn start_attempts(&mut self) {
        for class in self.rounds.order() {
            self.start_attempts_of(class);
        }
    }

    fn start_attempts_of(&mut self, round: Class) {
        let mut passed_over = Vec::new();
        while self.slots.share(round) > 0
            && let Some(webhook) = self.rounds.pop(round)
        {
            let Some(lane) = self.lanes.get_mut(webhook) else { continue };
            lane.turn = None;
            let per_webhook = self.slots.per_webhook;
            if !lane.may_start(per_webhook) || lane.failed >= DISABLE_AFTER_FAILURES {
                // Joins again when one of its deliveries ends, or when its failures are recorded.
                continue;
            }
            let class = lane.class(per_webhook, self.backlog.is_waiting(webhook));
            let Some(job) = lane.next(self.slots.share(class)) else {
                // Until other lanes free slots.
                passed_over.push(webhook);
                continue;
            };
            lane.in_flight += 1;
            self.slots.take(class);
            let in_flight = lane.in_flight;
            self.attempts.push(attempt(self.context, job, class, in_flight).boxed());
            self.join_round(webhook);
        }
        for webhook in passed_over {
            self.join_round(webhook);
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
        self.slots.free(finished.class);
        if let Some(lane) = self.lanes.get_mut(webhook) {
            // Others may have begun, or ended, since it was begun.
            let in_flight = lane.in_flight.max(finished.in_flight);
            lane.in_flight -= 1;
            if let AttemptResult::Sent(attempt) = &finished.result {
                lane.pace.add(attempt.outcome, attempt.duration, in_flight, Instant::now());
                if let NextStep::RetryAt(_) = attempt.next {
                    lane.waiting.insert(finished.job.delivery);
                }
            }
            lane.failed += u32::from(ended_failed(&finished));
        }
        self.results.push(finished);
        self.update_room(webhook);
        self.join_round(webhook);
    }

    /// Lets the room of a lane follow its pace.
    fn update_room(&mut self, webhook: WebhookId) {
        let Some(surplus) = self.lanes.update_room(webhook) else { return };
        self.release(surplus);
        self.backlog.has_room(webhook, self.lanes.health(webhook));
    }

    /// Gives deliveries back without an attempt.
    fn release(&mut self, surplus: Vec<Job>) {
        let released =
            |job| Finished { job, result: AttemptResult::Released, class: Class::Slow, in_flight: 0 };
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
        for finished in batch {
            let (webhook, delivery) = (finished.job.webhook, finished.job.delivery);
            if let Some(place) = self.held.remove(&delivery) {
                self.free(webhook, place);
            }
            if let Some(lane) = self.lanes.get_mut(webhook) {
                lane.failed = lane.failed.saturating_sub(u32::from(ended_failed(finished)));
                if !retried.contains(&delivery) {
                    lane.waiting.remove(&delivery);
                }
            }
            if matches!(finished.result, AttemptResult::Released) && finished.job.attempts > 0 {
                self.lanes.wait((webhook, delivery));
                self.retries.wait_until(self.now().plus_millis(PAUSE_MS), (webhook, delivery));
            }
            self.backlog.has_room(webhook, self.lanes.health(webhook));
            self.join_round(webhook);
        }
        for (at, begun) in recorded.retried {
            self.retries.wait_until(at, begun);
        }
        for (webhook, at) in recorded.released {
            self.backlog.forget_start(webhook);
            self.backlog.due_at(webhook, at);
        }
        self.report.add(recorded.report);
        for finished in batch {
            self.remove_if_untried(finished.job.webhook);
        }
    }

    fn remove_if_untried(&mut self, webhook: WebhookId) {
        if !self.backlog.contains(webhook) {
            self.lanes.remove_if_untried(webhook);
        }
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
            && self.rounds.is_empty()
            && !self.retries.has_due()
            && [self.backlog.next_due(), self.retries.next_due()].into_iter().flatten().all(|at| at > now)
    }

    /// How long until the loop has something to do by itself.
    fn nap(&self) -> Duration {
        let due = self.backlog.next_due().filter(|_| self.claiming.is_terminated());
        let retry = self.retries.next_due().filter(|_| self.resuming.is_terminated());
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
        self.context.queue.close(self.held.drain().map(|(delivery, _)| delivery));
    }
}

/// Whether a delivery ended failed with this attempt.
fn ended_failed(finished: &Finished) -> bool {
    let failed = NextStep::End(DeliveryOutcome::Failed);
    matches!(&finished.result, AttemptResult::Sent(attempt) if attempt.next == failed)
}
