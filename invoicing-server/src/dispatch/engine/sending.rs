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
use crate::dispatch::lane::Next;
use crate::dispatch::record::BatchOutcome;
use crate::dispatch::storage::{Grant, record, resume};
use crate::error::Error;
use crate::queue::{Job, Pool};

/// Most results in one transaction.
const BATCH: usize = 512;
/// Results that start a recording at once. Fewer wait until [`SPACING`] has passed since the start
/// of the last recording, since a transaction costs as much as dozens of results.
const GATHERED: usize = 128;
const SPACING: Duration = Duration::from_millis(20);

impl Engine<'_> {
    pub(super) fn start_attempts(&mut self) {
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
    pub(super) fn start_resuming(&mut self) {
        if self.resuming.is_terminated() && !self.granted.is_empty() {
            self.resuming = resume(self.context, std::mem::take(&mut self.granted)).boxed().fuse();
        }
    }

    pub(super) fn resumed(&mut self, granted: Vec<Grant>, jobs: Result<Vec<Job>, Error>) {
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
        for Grant { webhook, delivery, pool } in granted {
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
            self.slots.free(webhook, pool, &mut self.lanes);
            if let Some(at) = again {
                self.lanes.wait((webhook, delivery), at);
            }
            self.slots.join(webhook, &mut self.lanes);
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
        if let Some(lane) = self.lanes.get_mut(webhook) {
            // Other attempts may have begun or ended since this one began.
            let in_flight = lane.in_flight.max(finished.in_flight);
            lane.failed += u32::from(ended_failed(&finished.result));
            if let AttemptResult::Sent(attempt) = &finished.result {
                // Counts as under way from now on, before the retry is recorded.
                if let NextStep::RetryAt(at) = attempt.next {
                    lane.waiting.insert(finished.job.delivery, at);
                }
                self.lanes.update(webhook, |latency| {
                    latency.add(attempt.outcome, attempt.duration, in_flight, Instant::now());
                });
                // The webhook may have changed its pool. In the line of the old one it would hold
                // up webhooks that have room.
                self.backlog.rejoin(webhook, self.lanes.standing(webhook));
            }
        }
        self.slots.free(webhook, finished.pool, &mut self.lanes);
        self.results.push(finished);
        self.release_surplus(webhook);
        self.slots.join(webhook, &mut self.lanes);
    }

    /// Releases, without an attempt, the surplus deliveries of a webhook that has become slow.
    pub(super) fn release_surplus(&mut self, webhook: WebhookId) {
        let most = self.context.settings.in_flight_per_webhook;
        let surplus = self.lanes.get_mut(webhook).map_or_else(Vec::new, |lane| lane.surplus(most));
        let released =
            |job| Finished { job, result: AttemptResult::Released, pool: Pool::Slow, in_flight: 0 };
        self.results.extend(surplus.into_iter().map(released));
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
            // A retry holds no place in memory.
            if self.held.remove(&delivery) && job.attempts == 0 {
                self.context.queue.free(webhook, 1);
            }
            if let Some(lane) = self.lanes.get_mut(webhook) {
                lane.failed = lane.failed.saturating_sub(u32::from(ended_failed(result)));
                if !retried.contains(&delivery) {
                    lane.waiting.remove(&delivery);
                }
            }
            // A claim takes first attempts only, so a released retry waits in its lane.
            if matches!(result, AttemptResult::Released) && job.attempts > 0 {
                self.lanes.wait((webhook, delivery), self.now().plus_millis(PAUSE_MS));
            }
            self.backlog.rejoin(webhook, self.lanes.standing(webhook));
            self.slots.join(webhook, &mut self.lanes);
        }
        for (at, begun) in recorded.retried {
            self.lanes.wait(begun, at);
        }
        for (webhook, at) in recorded.released {
            self.backlog.reset_floor(webhook);
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
