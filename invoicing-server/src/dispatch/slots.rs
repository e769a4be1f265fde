//! The slots for concurrent attempts, and the choice of the webhook that gets the next one.

use invoicing_core::WebhookId;

use super::lane::{Lanes, Next};
use super::turns::{Turns, WaitingLine};
use crate::config::DispatchSettings;
use crate::queue::{Pool, Pools};

/// A webhook that gets a slot, its next attempt, and the pool of the slot.
type GrantedSlot = (WebhookId, Next, Pool);

/// The slots for attempts, and the lanes that wait for one.
#[derive(Debug)]
pub(super) struct Slots {
    pools: Pools,
    turns: Turns,
    /// The pool that got a slot last. The other one is served first.
    served: Pool,
    /// For the slow and the prompt pool: true if the line in front got the pool's last slot.
    served_front: [bool; 2],
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
            turns: Turns::default(),
            served: Pool::Slow,
            served_front: [false; 2],
            per_webhook: settings.in_flight_per_webhook,
            for_new,
        }
    }

    /// Number of slots that a webhook of a line may have now.
    pub(super) fn share(&self, line: WaitingLine) -> usize {
        let kept = if line.is_in_front { 0 } else { self.for_new };
        self.pools.share(line.pool, self.per_webhook, kept)
    }

    /// Puts a lane into its line, if it could start an attempt.
    pub(super) fn join(&mut self, webhook: WebhookId, lanes: &mut Lanes) {
        if let Some(lane) = lanes.get_mut(webhook).filter(|lane| lane.can_start(self.per_webhook)) {
            lane.turn = Some(self.turns.join(lane.line(), webhook, lane.turn));
        }
    }

    /// True if no lane waits for a slot.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// Gives the free slots to lanes, in turn.
    pub(super) fn give(&mut self, lanes: &mut Lanes) -> Vec<GrantedSlot> {
        let mut given = Vec::new();
        for pool in [self.served.other(), self.served] {
            let [front, back] = [true, false].map(|is_in_front| WaitingLine { pool, is_in_front });
            // While slots become free one by one, the two lines of a pool take turns. Otherwise a
            // crowd of small webhooks in front would keep the slots from those with many
            // deliveries.
            if self.served_front[usize::from(pool == Pool::Prompt)] {
                self.give_in(back, 1, lanes, &mut given);
            }
            self.give_in(front, usize::MAX, lanes, &mut given);
            self.give_in(back, usize::MAX, lanes, &mut given);
        }
        given
    }

    /// Gives at most `most` slots to the lanes of a line.
    fn give_in(&mut self, from: WaitingLine, most: usize, lanes: &mut Lanes, given: &mut Vec<GrantedSlot>) {
        let (pool, mut passed_over, most) = (from.pool, Vec::new(), given.len().saturating_add(most));
        while given.len() < most
            && self.share(from) > 0
            && let Some((turn, webhook)) = self.turns.next(from)
        {
            self.turns.leave(turn);
            let Some(lane) = lanes.get_mut(webhook) else { continue };
            lane.turn = None;
            if let Some(next) = lane.start(self.share(from), self.per_webhook) {
                self.pools.take(pool, 1);
                self.served = pool;
                self.served_front[usize::from(pool == Pool::Prompt)] = from.is_in_front;
                given.push((webhook, next, pool));
                self.join(webhook, lanes);
            } else {
                passed_over.push(webhook);
            }
        }
        // These lanes have their share of slots. They wait in their lines until slots become free.
        for webhook in passed_over {
            self.join(webhook, lanes);
        }
    }

    /// Frees the slot of an attempt that has ended or could not be made.
    pub(super) fn free(&mut self, webhook: WebhookId, pool: Pool, lanes: &mut Lanes) {
        self.pools.free(pool, 1);
        if let Some(lane) = lanes.get_mut(webhook) {
            lane.in_flight -= 1;
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
        lanes: Lanes,
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
                lanes: Lanes::new(queue, 100),
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
            self.lanes.push(job(webhook, self.pushed));
            self.slots.join(webhook, &mut self.lanes);
        }

        /// The webhook's attempt in flight that began first ends, if there is one.
        fn end(&mut self, webhook: WebhookId, outcome: AttemptOutcome) {
            let Some(at) = self.in_flight.iter().position(|(of, ..)| *of == webhook) else { return };
            let (_, delivery, pool) = self.in_flight.remove(at);
            let took = Duration::from_millis(5);
            self.lanes.update(webhook, |latency| latency.add(outcome, took, 1, Instant::now()));
            self.slots.free(webhook, pool, &mut self.lanes);
            if outcome == TIMED_OUT {
                let due = self.now.plus_millis(1_000);
                self.waiting.insert((webhook, delivery), due);
                self.lanes.wait((webhook, delivery), due);
            }
            self.slots.join(webhook, &mut self.lanes);
        }

        fn pass(&mut self, millis: i64) {
            self.now = self.now.plus_millis(millis);
            while let Some(webhook) = self.lanes.next_due_by(self.now) {
                self.slots.join(webhook, &mut self.lanes);
            }
        }

        fn give(&mut self) {
            let due = |(_, due): &(&(WebhookId, i64), &Timestamp)| **due <= self.now;
            let mut due: HashSet<(WebhookId, i64)> =
                self.waiting.iter().filter(due).map(|(begun, _)| *begun).collect();
            for (webhook, next, pool) in self.slots.give(&mut self.lanes) {
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
            self.assert_shared();
        }

        /// Number of the webhook's attempts in flight.
        fn of(&self, webhook: WebhookId) -> usize {
            self.in_flight.iter().filter(|(of, ..)| *of == webhook).count()
        }

        /// No pool exceeds its limit, and no webhook without an attempt in flight waits while its
        /// pool has a free slot.
        fn assert_shared(&mut self) {
            let slow = self.in_flight.iter().filter(|(.., pool)| *pool == Pool::Slow).count();
            let (half, for_new) = ((self.all / 2).max(1), (self.all / 8).max(1));
            assert!(self.in_flight.len() <= self.all && slow <= half + for_new, "{:?}", self.in_flight);
            let is_free = self.in_flight.len() < self.all;
            for webhook in (0..self.webhooks).map(webhook) {
                let (per_webhook, in_flight) = (self.per_webhook, self.of(webhook));
                let Some(lane) = self.lanes.get_mut(webhook) else { continue };
                let WaitingLine { pool, is_in_front } = lane.line();
                let most = if is_in_front { half + for_new } else { half };
                let could = is_free && (slow < most || pool == Pool::Prompt);
                assert!(!(could && in_flight == 0 && lane.can_start(per_webhook)), "{lane:?} waits");
            }
        }
    }

    proptest! {
        /// Rules: ATTEMPT-10, ISOLATION-2, ISOLATION-3
        #[test]
        fn slots_are_shared_whatever_happens_and_each_delivery_has_its_turn(
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
                scene.give();
            }
            while !scene.in_flight.is_empty() || !scene.waiting.is_empty() {
                (0..12).for_each(|number| scene.end(webhook(number), ANSWERED));
                scene.pass(1_000);
                scene.give();
            }
            prop_assert!(scene.slots.is_idle());
            prop_assert_eq!(scene.first_attempts, scene.pushed);
        }
    }

    /// Rules: ISOLATION-3
    #[test]
    fn webhooks_with_much_have_their_turns_beside_a_crowd_with_little() {
        let mut scene = Scene::new(16, 8, 100);
        for number in 0..100 {
            scene.push(webhook(number));
            scene.give();
            scene.end(webhook(number), ANSWERED);
        }
        let (busy, mut attempts_of_busy) = (webhook(0), 0);
        for round in 0..60 {
            if round == 20 {
                (0..20).for_each(|_| scene.push(busy));
            }
            // The next delivery of an idle webhook comes at once.
            for number in 1..100 {
                let lane = scene.lanes.get_mut(webhook(number));
                if lane.is_some_and(|lane| lane.queue.is_empty() && lane.in_flight == 0) {
                    scene.push(webhook(number));
                }
            }
            scene.give();
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
            scene.give();
            scene.end(webhook(number), if number < 60 { ANSWERED } else { TIMED_OUT });
        }
        (0..60).for_each(|number| scene.push(webhook(number)));
        scene.give();
        // The retries of the slow ones are due, and every slot is taken.
        scene.pass(1_000);
        let new = webhook(150);
        scene.push(new);
        for _ in 0..4 {
            let (ended, ..) = scene.in_flight[0];
            scene.end(ended, ANSWERED);
            scene.give();
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
        scene.give();
        scene.end(prompt, ANSWERED);
        for number in 0..300 {
            (0..16).for_each(|_| scene.push(webhook(number)));
        }
        scene.give();
        for round in 0..20 {
            if round == 10 {
                scene.push(new);
            }
            scene.push(prompt);
            scene.give();
            assert_eq!(scene.of(prompt), 1, "round {round}");
            assert_eq!(scene.of(new), usize::from(round == 10), "round {round}");
            scene.end(prompt, ANSWERED);
            scene.end(new, ANSWERED);
            let hanging = scene.in_flight.clone();
            for (webhook, ..) in hanging {
                scene.end(webhook, TIMED_OUT);
            }
            scene.give();
        }
    }
}
