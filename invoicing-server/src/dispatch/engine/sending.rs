//! Attempts and their recording: from slots to results on record.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use futures_util::stream::StreamExt;
use invoicing_core::{DeliveryOutcome, NextStep, WebhookId};

use super::Engine;
use crate::dispatch::PAUSE_MS;
use crate::dispatch::attempt::{AttemptResult, Finished, attempt};
use crate::dispatch::record::BatchOutcome;
use crate::dispatch::storage::{AssignedRetry, record, resume};
use crate::dispatch::webhook_queue::Next;
use crate::error::Error;
use crate::queue::{Job, Pool};

/// Maximum number of results in one transaction.
const BATCH: usize = 512;
/// Results that start a recording at once. Fewer wait until [`SPACING`] has passed since the start
/// of the last recording, since a transaction costs as much as dozens of results.
const GATHERED: usize = 128;
const SPACING: Duration = Duration::from_millis(20);

impl Engine<'_> {
    pub(super) fn start_attempts(&mut self) {
        let now = self.now();
        while let Some(webhook) = self.queues.next_due_by(now) {
            self.slots.enqueue(webhook, &mut self.queues);
        }
        for (webhook, next, pool) in self.slots.assign(&mut self.queues) {
            match next {
                Next::First(job) => self.attempt(job, pool),
                Next::Retry(delivery) => {
                    self.being_resumed.insert(delivery);
                    self.assigned_retries.push(AssignedRetry { webhook, delivery, pool });
                }
            }
        }
    }

    fn attempt(&mut self, job: Job, pool: Pool) {
        let in_flight = self.queues.get_mut(job.webhook).map_or(1, |queue| queue.in_flight);
        self.attempts.push(attempt(self.context, job, pool, in_flight).boxed());
    }

    /// Claims the retries that have a slot.
    pub(super) fn start_resuming(&mut self) {
        if self.resuming.is_terminated() && !self.assigned_retries.is_empty() {
            self.resuming = resume(self.context, std::mem::take(&mut self.assigned_retries)).boxed().fuse();
        }
    }

    pub(super) fn resumed(&mut self, retries: Vec<AssignedRetry>, jobs: Result<Vec<Job>, Error>) {
        let (jobs, again) = match jobs {
            Ok(jobs) => (jobs, None),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "retries not claimed; the claim is repeated"
                );
                (Vec::new(), Some(self.now().plus_millis(PAUSE_MS)))
            }
        };
        let mut jobs: HashMap<i64, Job> = jobs.into_iter().map(|job| (job.delivery, job)).collect();
        self.held.extend(jobs.keys());
        for AssignedRetry { webhook, delivery, pool } in retries {
            self.being_resumed.remove(&delivery);
            match jobs.remove(&delivery) {
                Some(job) if !self.is_stopping() => {
                    self.attempt(job, pool);
                    continue;
                }
                // The run ends and releases the delivery.
                Some(_) => {}
                // The delivery was skipped, or another transaction had locked its row. The next
                // poll finds it if it still waits.
                None => self.context.queue.request_poll(),
            }
            self.slots.free(webhook, pool, &mut self.queues);
            if let Some(at) = again {
                self.queues.wait((webhook, delivery), at);
            }
            self.requeue(webhook);
        }
    }

    pub(super) fn finished(&mut self, first: Finished) {
        self.finish(first);
        // Attempts that have finished meanwhile join the same batch.
        while let Some(Some(next)) = self.attempts.next().now_or_never() {
            self.finish(next);
        }
    }

    fn finish(&mut self, finished: Finished) {
        let webhook = finished.job.webhook;
        if let Some(queue) = self.queues.get_mut(webhook) {
            // Other attempts may have begun or ended since this one began.
            let in_flight = queue.in_flight.max(finished.in_flight);
            queue.failed += u32::from(ended_failed(&finished.result));
            if let AttemptResult::Sent(attempt) = &finished.result {
                // Counts as under way from now on, before the retry is recorded.
                if let NextStep::RetryAt(at) = attempt.next {
                    queue.waiting.insert(finished.job.delivery, at);
                }
                self.queues.update(webhook, |latency| {
                    latency.add(attempt.outcome, attempt.duration, in_flight, Instant::now());
                });
            }
        }
        self.slots.free(webhook, finished.pool, &mut self.queues);
        self.results.push(finished);
        self.release_surplus(webhook);
        self.requeue(webhook);
    }

    /// Releases, without an attempt, the deliveries that a webhook holds beyond its bound.
    pub(super) fn release_surplus(&mut self, webhook: WebhookId) {
        let max = self.context.settings.in_flight_per_webhook;
        let surplus = self.queues.get_mut(webhook).map_or_else(Vec::new, |queue| queue.surplus(max));
        let put_back = |job| Finished { job, result: AttemptResult::Surplus, pool: Pool::Slow, in_flight: 0 };
        self.results.extend(surplus.into_iter().map(put_back));
    }

    pub(super) fn start_recording(&mut self) {
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

    pub(super) fn recorded(&mut self, batch: &[Finished], recorded: BatchOutcome) {
        let retried: HashSet<i64> = recorded.retried.iter().map(|(_, (_, delivery))| *delivery).collect();
        for Finished { job, result, .. } in batch {
            let (webhook, delivery) = (job.webhook, job.delivery);
            // A retry holds no memory slot.
            if self.held.remove(&delivery) && job.attempts == 0 {
                self.context.queue.free(webhook, 1);
            }
            if let Some(queue) = self.queues.get_mut(webhook) {
                queue.failed = queue.failed.saturating_sub(u32::from(ended_failed(result)));
                if !retried.contains(&delivery) {
                    queue.waiting.remove(&delivery);
                }
            }
            // A claim takes first attempts only, so a released retry waits in its queue.
            if matches!(result, AttemptResult::Released) && job.attempts > 0 {
                self.queues.wait((webhook, delivery), self.now().plus_millis(PAUSE_MS));
            }
            self.requeue(webhook);
        }
        for (at, begun) in recorded.retried {
            self.queues.wait(begun, at);
        }
        for (webhook, at) in recorded.released {
            self.backlog.reset_watermark(webhook);
            self.backlog.due_at(webhook, at);
        }
        self.report.add(recorded.report);
    }
}

/// True if a delivery ended failed with this attempt.
fn ended_failed(result: &AttemptResult) -> bool {
    let failed = NextStep::End(DeliveryOutcome::Failed);
    matches!(result, AttemptResult::Sent(attempt) if attempt.next == failed)
}
