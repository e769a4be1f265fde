//! The loop: one queue per webhook, attempts in flight, one recording, one claim, one batch of bulk
//! work, one poll of the table.
//!
//! All of it runs in the one future that the host polls. The loop itself never waits for the
//! database: each of its database calls is a future beside the attempts.

mod claiming;
mod sending;

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use invoicing_core::{Timestamp, WebhookId};

use super::attempt::Finished;
use super::backlog::Backlog;
use super::bulk::BulkWork;
use super::latency::{LatencyClass, LatencyTracker};
use super::record::BatchOutcome;
use super::slots::Slots;
use super::storage::{
    AssignedRetry, ClaimResult, POLL, Polled, Resumption, load_latency_history, recover, release,
};
use super::webhook_queue::{MAX_KEPT_QUEUES, WebhookQueues};
use super::{DispatchContext, DispatchReport};
use crate::error::Error;
use crate::queue::{Job, NewDelivery};

/// A recorded batch of results, and the outcome of the recording.
type RecordedBatch = (Arc<Vec<Finished>>, BatchOutcome);

/// The state of a run.
pub(super) struct Engine<'a> {
    context: &'a DispatchContext,
    queues: WebhookQueues,
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
    assigned_retries: Vec<AssignedRetry>,
    /// Retries that have a slot, including those that are being claimed: a poll under way that
    /// finds them must not put them into their queues a second time.
    being_resumed: HashSet<i64>,
    resuming: Fuse<BoxFuture<'a, Resumption>>,
    bulk_work: BulkWork<'a>,
    polling: Fuse<BoxFuture<'a, Result<Polled, Error>>>,
    /// Webhooks that an operation has changed since the poll under way began.
    changed: HashSet<WebhookId>,
    /// The read of the webhooks that were prompt before the start, made once.
    loading_history: Fuse<BoxFuture<'a, Vec<WebhookId>>>,
    next_poll: Timestamp,
    /// True if a poll has ended. Attempts start after it, because it finds the deliveries that an
    /// earlier run has begun.
    has_polled: bool,
    poll_pause: Duration,
    /// Shared with the recording under way, which gives up soon once this is set.
    stopping: Arc<AtomicBool>,
    report: DispatchReport,
}

impl<'a> Engine<'a> {
    pub(super) fn new(context: &'a DispatchContext) -> Self {
        Self {
            context,
            queues: WebhookQueues::new(Arc::clone(&context.queue), MAX_KEPT_QUEUES),
            backlog: Backlog::default(),
            slots: Slots::new(&context.settings),
            held: HashSet::new(),
            attempts: FuturesUnordered::new(),
            results: Vec::new(),
            next_recording: Instant::now(),
            recording: Fuse::terminated(),
            claiming: Fuse::terminated(),
            assigned_retries: Vec::new(),
            being_resumed: HashSet::new(),
            resuming: Fuse::terminated(),
            bulk_work: BulkWork::new(),
            polling: Fuse::terminated(),
            changed: HashSet::new(),
            loading_history: Fuse::terminated(),
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
        self.loading_history = load_latency_history(self.context).boxed().fuse();
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
            if self.is_quiet() && (self.is_stopping() || (until_idle && self.is_idle())) {
                break;
            }
            let nap = self.nap();
            tokio::select! {
                biased;
                () = &mut stop => self.stopping.store(true, Ordering::Relaxed),
                Some(finished) = self.attempts.next() => self.finished(finished),
                (batch, recorded) = &mut self.recording => self.recorded(&batch, recorded),
                polled = &mut self.polling => self.polled(polled),
                prompt = &mut self.loading_history => self.history_loaded(prompt),
                ended = &mut self.bulk_work.batch => self.bulk_work_ended(ended),
                (retries, jobs) = &mut self.resuming => self.resumed(retries, jobs),
                claimed = &mut self.claiming => claimed.into_iter().for_each(|claimed| self.claimed(claimed)),
                () = self.context.queue.wait() => {}
                () = tokio::time::sleep(nap), if !self.is_stopping() => {}
            }
        }
        self.context.queue.close(self.held.drain());
        release(self.context).await;
        Ok(self.report)
    }

    /// Skips webhooks that already have fresher measurements.
    fn history_loaded(&mut self, prompt: Vec<WebhookId>) {
        let now = Instant::now();
        for webhook in prompt {
            if self.queues.class(webhook) == LatencyClass::New {
                self.queues.update(webhook, |latency| *latency = LatencyTracker::prompt(now));
                self.requeue(webhook);
            }
        }
        self.queues.evict_idle(now);
    }

    fn take_new(&mut self) {
        for webhook in self.context.queue.take_changed() {
            self.changed.insert(webhook);
            // Deliveries under way may have been skipped. A poll that begins now finds those that
            // were not.
            if let Some(queue) = self.queues.get_mut(webhook).filter(|queue| !queue.waiting.is_empty()) {
                queue.clear_waiting();
                self.context.queue.request_poll();
                self.requeue(webhook);
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
            self.queues.push(job);
            self.release_surplus(webhook);
            self.slots.enqueue(webhook, &mut self.queues);
        } else {
            // The delivery is still in memory from an earlier claim, whose result will be recorded.
            self.context.queue.free(webhook, 1);
        }
    }

    /// Lets a webhook whose state has changed wait for a claim and for a slot again, with the
    /// priority that it has now. With its old one it would hold up webhooks that have room.
    fn requeue(&mut self, webhook: WebhookId) {
        self.backlog.requeue(webhook, self.queues.class(webhook));
        self.slots.enqueue(webhook, &mut self.queues);
    }

    /// True if no future is pending.
    fn is_quiet(&self) -> bool {
        self.attempts.is_empty()
            && self.recording.is_terminated()
            && self.claiming.is_terminated()
            && self.resuming.is_terminated()
            && self.bulk_work.batch.is_terminated()
            && self.polling.is_terminated()
    }

    /// True if nothing is due.
    fn is_idle(&self) -> bool {
        let now = self.now();
        self.results.is_empty()
            && self.bulk_work.is_done()
            && self.slots.is_idle()
            && [self.backlog.next_due(), self.queues.next_due()].into_iter().flatten().all(|at| at > now)
    }

    /// Time until the loop has something to do without an event.
    fn nap(&self) -> Duration {
        let due = self.backlog.next_due().filter(|_| self.claiming.is_terminated());
        let retry = self.queues.next_due();
        let poll = self.polling.is_terminated().then_some(self.next_poll);
        let is_gathering = !self.results.is_empty() && self.recording.is_terminated();
        let recording = is_gathering.then(|| self.next_recording.saturating_duration_since(Instant::now()));
        let instants = due.into_iter().chain(retry).chain(poll);
        instants.map(|at| self.until(at)).chain(recording).min().unwrap_or(POLL).min(POLL)
    }

    /// Time until an instant; zero if it has passed.
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

/// Leaves the deliveries in memory to the next start, even if the host drops the dispatcher's
/// future.
impl Drop for Engine<'_> {
    fn drop(&mut self) {
        self.context.queue.close(self.held.drain());
    }
}
