//! The slots, each for one attempt in flight, and the choice of the webhook that gets the next one.

use invoicing_core::WebhookId;

use super::priority_queue::{Priority, PriorityQueue};
use super::webhook_queue::{Next, WebhookQueues};
use crate::config::DispatchSettings;
use crate::queue::{Pool, Pools};

/// A webhook with an assigned slot, its next attempt, and the pool of the slot.
type AssignedSlot = (WebhookId, Next, Pool);

/// The slots for attempts, and the webhooks that wait for one.
#[derive(Debug)]
pub(super) struct Slots {
    pools: Pools,
    waiting: PriorityQueue,
    /// The pool that got a slot last. The other one is served first.
    served: Pool,
    /// For the slow and the prompt pool: true if high priority got the last slot of the pool.
    served_high: [bool; 2],
    per_webhook: usize,
    /// Slots of the slow pool that slow webhooks leave to new ones.
    for_new: usize,
}

impl Slots {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let all = settings.in_flight;
        // Slow webhooks take at most half of the slots, and with new ones at most five eighths. So
        // from 8 slots on, slow webhooks never keep all slots of the pool from new ones.
        let (slow, for_new) = ((all / 2).max(1), (all / 8).max(1));
        Self {
            pools: Pools::new(all, slow.saturating_add(for_new)),
            waiting: PriorityQueue::default(),
            served: Pool::Slow,
            served_high: [false; 2],
            per_webhook: settings.in_flight_per_webhook,
            for_new,
        }
    }

    /// Number of slots that a webhook of a priority may have now.
    pub(super) fn limit(&self, priority: Priority) -> usize {
        let reserved = if priority.is_high { 0 } else { self.for_new };
        self.pools.limit(priority.pool, self.per_webhook, reserved)
    }

    /// Enqueues a webhook for a slot, if it could start an attempt.
    pub(super) fn enqueue(&mut self, webhook: WebhookId, queues: &mut WebhookQueues) {
        if let Some(queue) = queues.get_mut(webhook).filter(|queue| queue.can_start(self.per_webhook)) {
            queue.position = Some(self.waiting.push(queue.priority(), webhook, queue.position));
        }
    }

    /// True if no webhook waits for a slot.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Assigns the free slots to webhooks, round-robin.
    pub(super) fn assign(&mut self, queues: &mut WebhookQueues) -> Vec<AssignedSlot> {
        let mut assigned = Vec::new();
        for pool in [self.served.other(), self.served] {
            let [high, normal] = [true, false].map(|is_high| Priority { pool, is_high });
            // While slots become free one by one, the two priorities of a pool alternate. Otherwise
            // a crowd of small webhooks would keep the slots from those with many deliveries.
            if self.served_high[usize::from(pool == Pool::Prompt)] {
                self.assign_at(normal, 1, queues, &mut assigned);
            }
            self.assign_at(high, usize::MAX, queues, &mut assigned);
            self.assign_at(normal, usize::MAX, queues, &mut assigned);
        }
        assigned
    }

    /// Assigns at most `max` slots to the webhooks of a priority.
    fn assign_at(
        &mut self,
        priority: Priority,
        max: usize,
        queues: &mut WebhookQueues,
        assigned: &mut Vec<AssignedSlot>,
    ) {
        let (pool, mut passed_over, max) = (priority.pool, Vec::new(), assigned.len().saturating_add(max));
        while assigned.len() < max
            && self.limit(priority) > 0
            && let Some((position, webhook)) = self.waiting.first(priority)
        {
            self.waiting.remove(position);
            let Some(queue) = queues.get_mut(webhook) else { continue };
            queue.position = None;
            if let Some(next) = queue.start(self.limit(priority), self.per_webhook) {
                self.pools.take(pool, 1);
                self.served = pool;
                self.served_high[usize::from(pool == Pool::Prompt)] = priority.is_high;
                assigned.push((webhook, next, pool));
                self.enqueue(webhook, queues);
            } else {
                passed_over.push(webhook);
            }
        }
        // These webhooks have as many slots as they may have now. They wait until slots become
        // free.
        for webhook in passed_over {
            self.enqueue(webhook, queues);
        }
    }

    /// Frees the slot of an attempt that has ended or could not be made.
    pub(super) fn free(&mut self, webhook: WebhookId, pool: Pool, queues: &mut WebhookQueues) {
        self.pools.free(pool, 1);
        if let Some(queue) = queues.get_mut(webhook) {
            queue.in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use invoicing_core::{AttemptOutcome, FailureClass, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::tests::{job, webhook};
    use crate::env::Env;
    use crate::queue::Queue;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    const TIMED_OUT: AttemptOutcome = AttemptOutcome::Failed(FailureClass::Timeout);

    /// Attempts of numbered deliveries without a network, and the invariants of the slots.
    struct Scene {
        queues: WebhookQueues,
        slots: Slots,
        all: usize,
        per_webhook: usize,
        webhooks: u64,
        now: Timestamp,
        pushed: i64,
        first_attempts: i64,
        in_flight: Vec<(WebhookId, i64, Pool)>,
        /// When retries are due.
        waiting: HashMap<(WebhookId, i64), Timestamp>,
    }

    impl Scene {
        fn new(all: usize, per_webhook: usize, webhooks: u64) -> Self {
            let settings = DispatchSettings {
                in_flight: all,
                in_flight_per_webhook: per_webhook,
                ..DispatchSettings::default()
            };
            let queue = Arc::new(Queue::new(&Env::system(), &settings));
            Self {
                queues: WebhookQueues::new(queue, 100),
                slots: Slots::new(&settings),
                all,
                per_webhook,
                webhooks,
                now: Timestamp::from_millis(0),
                pushed: 0,
                first_attempts: 0,
                in_flight: Vec::new(),
                waiting: HashMap::new(),
            }
        }

        fn push(&mut self, webhook: WebhookId) {
            self.pushed += 1;
            self.queues.push(job(webhook, self.pushed));
            self.slots.enqueue(webhook, &mut self.queues);
        }

        /// The webhook's attempt in flight that began first ends, if there is one.
        fn end(&mut self, webhook: WebhookId, outcome: AttemptOutcome) {
            let Some(at) = self.in_flight.iter().position(|(of, ..)| *of == webhook) else { return };
            let (_, delivery, pool) = self.in_flight.remove(at);
            let took = Duration::from_millis(5);
            self.queues.update(webhook, |latency| latency.add(outcome, took, 1, Instant::now()));
            self.slots.free(webhook, pool, &mut self.queues);
            if outcome == TIMED_OUT {
                let due = self.now.plus_millis(1_000);
                self.waiting.insert((webhook, delivery), due);
                self.queues.wait((webhook, delivery), due);
            }
            self.slots.enqueue(webhook, &mut self.queues);
        }

        fn pass(&mut self, millis: i64) {
            self.now = self.now.plus_millis(millis);
            while let Some(webhook) = self.queues.next_due_by(self.now) {
                self.slots.enqueue(webhook, &mut self.queues);
            }
        }

        fn assign(&mut self) {
            let due = |(_, due): &(&(WebhookId, i64), &Timestamp)| **due <= self.now;
            let mut due: HashSet<(WebhookId, i64)> =
                self.waiting.iter().filter(due).map(|(begun, _)| *begun).collect();
            for (webhook, next, pool) in self.slots.assign(&mut self.queues) {
                let delivery = match next {
                    Next::Retry(delivery) => {
                        assert!(due.remove(&(webhook, delivery)), "a retry is early, or is there twice");
                        self.waiting.remove(&(webhook, delivery));
                        delivery
                    }
                    Next::First(job) => {
                        assert!(!due.iter().any(|(of, _)| *of == webhook), "a retry is due");
                        self.first_attempts += 1;
                        let under_way =
                            self.of(webhook) + self.waiting.keys().filter(|(of, _)| *of == webhook).count();
                        assert!(under_way < self.per_webhook, "{under_way} are under way");
                        job.delivery
                    }
                };
                self.in_flight.push((webhook, delivery, pool));
            }
            self.assert_invariants();
        }

        /// Number of the webhook's attempts in flight.
        fn of(&self, webhook: WebhookId) -> usize {
            self.in_flight.iter().filter(|(of, ..)| *of == webhook).count()
        }

        /// No pool exceeds its limit, and no webhook without an attempt in flight waits while its
        /// pool has a free slot.
        fn assert_invariants(&mut self) {
            let slow = self.in_flight.iter().filter(|(.., pool)| *pool == Pool::Slow).count();
            let (half, for_new) = ((self.all / 2).max(1), (self.all / 8).max(1));
            assert!(self.in_flight.len() <= self.all && slow <= half + for_new, "{:?}", self.in_flight);
            let is_free = self.in_flight.len() < self.all;
            for webhook in (0..self.webhooks).map(webhook) {
                let (per_webhook, in_flight) = (self.per_webhook, self.of(webhook));
                let Some(queue) = self.queues.get_mut(webhook) else { continue };
                let Priority { pool, is_high } = queue.priority();
                let max = if is_high { half + for_new } else { half };
                let could = is_free && (slow < max || pool == Pool::Prompt);
                assert!(!(could && in_flight == 0 && queue.can_start(per_webhook)), "{queue:?} waits");
            }
        }
    }

    proptest! {
        /// Rules: ATTEMPT-10, ISOLATION-2, ISOLATION-3
        #[test]
        fn slots_keep_their_limits_and_each_delivery_is_attempted(
            (all, per_webhook) in (1..30_usize, 1..9_usize),
            steps in proptest::collection::vec((0..6_u8, 0..12_u64), 1..200),
        ) {
            let mut scene = Scene::new(all, per_webhook, 12);
            for (step, number) in steps {
                match step {
                    0 | 1 => scene.push(webhook(number)),
                    2 => (0..9).for_each(|_| scene.push(webhook(number))),
                    3 => scene.end(webhook(number), ANSWERED),
                    4 => scene.end(webhook(number), TIMED_OUT),
                    _ => scene.pass(400),
                }
                scene.assign();
            }
            while !scene.in_flight.is_empty() || !scene.waiting.is_empty() {
                (0..12).for_each(|number| scene.end(webhook(number), ANSWERED));
                scene.pass(1_000);
                scene.assign();
            }
            prop_assert!(scene.slots.is_idle());
            prop_assert_eq!(scene.first_attempts, scene.pushed);
        }
    }

    /// Rules: ISOLATION-3
    #[test]
    fn webhooks_with_much_get_slots_beside_a_crowd_with_little() {
        let mut scene = Scene::new(16, 8, 100);
        for number in 0..100 {
            scene.push(webhook(number));
            scene.assign();
            scene.end(webhook(number), ANSWERED);
        }
        let (busy, mut attempts_of_busy) = (webhook(0), 0);
        for round in 0..60 {
            if round == 20 {
                (0..20).for_each(|_| scene.push(busy));
            }
            // The next delivery of an idle webhook comes at once.
            for number in 1..100 {
                let queue = scene.queues.get_mut(webhook(number));
                if queue.is_some_and(|queue| queue.new.is_empty() && queue.in_flight == 0) {
                    scene.push(webhook(number));
                }
            }
            scene.assign();
            // The attempt that began first ends.
            let (ended, ..) = scene.in_flight[0];
            attempts_of_busy += usize::from(ended == busy);
            scene.end(ended, ANSWERED);
        }
        assert!(attempts_of_busy >= 2, "{attempts_of_busy}");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_new_webhook_waits_for_one_slow_one_at_most_beside_prompt_ones() {
        let mut scene = Scene::new(16, 8, 200);
        for number in (0..60).chain(100..110) {
            scene.push(webhook(number));
            scene.assign();
            scene.end(webhook(number), if number < 60 { ANSWERED } else { TIMED_OUT });
        }
        (0..60).for_each(|number| scene.push(webhook(number)));
        scene.assign();
        // The retries of the slow ones are due, and every slot is taken.
        scene.pass(1_000);
        let new = webhook(150);
        scene.push(new);
        for _ in 0..4 {
            let (ended, ..) = scene.in_flight[0];
            scene.end(ended, ANSWERED);
            scene.assign();
        }
        let slow = scene.in_flight.iter().filter(|(.., pool)| *pool == Pool::Slow).count();
        assert_eq!((scene.of(new), slow), (1, 2), "the new one, and a slow one");
    }

    /// Rules: ISOLATION-1, ISOLATION-3
    #[test]
    fn neither_a_prompt_webhook_nor_a_new_one_waits_for_slow_ones() {
        let mut scene = Scene::new(256, 8, 1_000);
        let (prompt, new) = (webhook(900), webhook(901));
        scene.push(prompt);
        scene.assign();
        scene.end(prompt, ANSWERED);
        for number in 0..300 {
            (0..16).for_each(|_| scene.push(webhook(number)));
        }
        scene.assign();
        for round in 0..20 {
            if round == 10 {
                scene.push(new);
            }
            scene.push(prompt);
            scene.assign();
            assert_eq!(scene.of(prompt), 1, "round {round}");
            assert_eq!(scene.of(new), usize::from(round == 10), "round {round}");
            scene.end(prompt, ANSWERED);
            scene.end(new, ANSWERED);
            let hanging = scene.in_flight.clone();
            for (webhook, ..) in hanging {
                scene.end(webhook, TIMED_OUT);
            }
            scene.assign();
        }
    }
}
