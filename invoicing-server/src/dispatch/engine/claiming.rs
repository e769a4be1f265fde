//! Polls of the table and claims: from rows to deliveries in memory.

use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::FusedFuture;

use super::Engine;
use crate::dispatch::PAUSE_MS;
use crate::dispatch::bulk::EndedBatch;
use crate::dispatch::latency::LatencyClass;
use crate::dispatch::priority_queue::Priority;
use crate::dispatch::storage::{ClaimResult, LONGEST_PAUSE, POLL, Polled, claim, poll};
use crate::error::Error;
use crate::queue::Pool;
use crate::store::bulk_changes::NotedWebhook;
use crate::store::claims::{ClaimRequest, Claimed, PendingWebhook};

/// Maximum number of webhooks of one claim, as other writers wait in the same queue of the
/// database. Of these, at most half are in the slow pool.
const CLAIM_WEBHOOKS: usize = 64;
const SLOW_CLAIM_WEBHOOKS: usize = CLAIM_WEBHOOKS / 2;
/// Maximum number of deliveries that one claim takes for a webhook.
const CLAIM: usize = 128;

impl Engine<'_> {
    pub(super) fn start_poll(&mut self) {
        let until_poll = self.until(self.next_poll);
        // A poll is also due if the clock was set back: then the instant lies too far ahead.
        let is_time = until_poll.is_zero() || until_poll > self.poll_pause;
        if self.polling.is_terminated() && (self.context.queue.take_poll_request() || is_time) {
            self.backlog.begin_poll();
            self.changed.clear();
            self.polling = poll(self.context).boxed().fuse();
        }
    }

    pub(super) fn polled(&mut self, polled: Result<Polled, Error>) {
        self.poll_pause = match &polled {
            Ok(polled) => polled.pause,
            Err(error) if error.is_statement_timeout() => LONGEST_PAUSE,
            Err(_) => POLL,
        };
        let pause_ms = i64::try_from(self.poll_pause.as_millis()).unwrap_or(i64::MAX);
        self.next_poll = self.now().plus_millis(pause_ms);
        self.has_polled = true;
        self.queues.evict_idle(Instant::now());
        match polled {
            Ok(Polled { at, waiting, begun, noted, .. }) => {
                self.bulk_work.set_noted(noted);
                for (at, begun) in begun {
                    if self.changed.contains(&begun.0) {
                        // The change may have skipped the delivery: the next poll decides.
                        self.context.queue.request_poll();
                    } else if !self.held.contains(&begun.1) && !self.being_resumed.contains(&begun.1) {
                        self.queues.found(begun, at);
                        self.release_surplus(begun.0);
                    }
                }
                self.backlog.polled(at, &waiting);
                for PendingWebhook { webhook, at, .. } in waiting {
                    // A rolled-back operation may have freed a memory slot.
                    self.backlog.requeue(webhook, self.queues.class(webhook));
                    self.backlog.due_at(webhook, at);
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "poll of pending deliveries failed; the next poll finds them"
                );
            }
        }
    }

    pub(super) fn bulk_work_ended(&mut self, ended: EndedBatch) {
        let NotedWebhook { webhook, skips, .. } = ended.0;
        if ended.1.is_ok() && !skips {
            // The queued deliveries fell due at the instant of the replay request. Claims since
            // then may have raised the watermark beyond it.
            self.backlog.reset_watermark(webhook);
            self.backlog.due_at(webhook, self.now());
        }
        self.bulk_work.ended(ended);
    }

    /// Claims for webhooks whose deliveries are due, round-robin.
    pub(super) fn start_claim(&mut self) {
        let now = self.now();
        let queues = &self.queues;
        self.backlog.make_due_ready(now, |webhook| queues.class(webhook));
        if !self.claiming.is_terminated() {
            return;
        }
        let mut requests = Vec::new();
        self.choose(LatencyClass::New, SLOW_CLAIM_WEBHOOKS, &mut requests);
        self.choose(LatencyClass::Slow, SLOW_CLAIM_WEBHOOKS, &mut requests);
        self.choose(LatencyClass::Prompt, CLAIM_WEBHOOKS, &mut requests);
        if !requests.is_empty() {
            self.claiming = claim(self.context, requests).boxed().fuse();
        }
    }

    /// Chooses webhooks to claim for, round-robin, until `max` are chosen in all or no room is
    /// left.
    fn choose(&mut self, class: LatencyClass, max: usize, requests: &mut Vec<ClaimRequest>) {
        let now = self.now();
        while requests.len() < max
            && let Some(webhook) = self.backlog.next(class)
        {
            let size = self.queues.claim_size(webhook, self.context.settings.in_flight_per_webhook);
            // A slow webhook gets only as many deliveries as it can attempt soon.
            let count = match class.pool() {
                Pool::Prompt => CLAIM,
                Pool::Slow => self.slots.limit(Priority { pool: Pool::Slow, is_high: false }).max(1),
            };
            match self.context.queue.reserve_many(webhook, count.min(size)) {
                None => return,
                Some(0) => self.backlog.set_full(webhook),
                Some(room) => {
                    self.backlog.set_claiming(webhook);
                    requests.push(ClaimRequest {
                        webhook,
                        room,
                        from: self.backlog.claim_from(webhook, now),
                    });
                }
            }
        }
    }

    pub(super) fn claimed(&mut self, (webhook, room, result): ClaimResult) {
        let Claimed { jobs, again, last_due } = result.unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, %webhook, "deliveries not claimed; the claim is repeated");
            Claimed { again: Some(self.now().plus_millis(PAUSE_MS)), ..Claimed::default() }
        });
        self.context.queue.free(webhook, room - jobs.len().min(room));
        let size = jobs.len();
        for job in jobs {
            self.enqueue(job);
        }
        self.queues.claimed(webhook, size);
        self.backlog.claimed(webhook, again, last_due, self.now());
    }
}
