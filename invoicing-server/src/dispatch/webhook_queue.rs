//! The deliveries of each webhook that the dispatcher holds or waits for, and its receiver's
//! latency.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use invoicing_core::{DISABLE_AFTER_FAILURES, Timestamp, WebhookId};

use super::latency::{LatencyClass, LatencyTracker};
use super::priority_queue::{Position, Priority};
use crate::queue::{Job, Pool, Queue};

/// Maximum number of queues that are kept for their class only.
pub(super) const MAX_KEPT_QUEUES: usize = 16_384;

/// A delivery that has begun: at least one attempt was made.
pub(super) type BegunDelivery = (WebhookId, i64);

/// The next attempt of a webhook.
#[derive(Debug)]
pub(super) enum Next {
    First(Job),
    /// A delivery that is claimed only once it has a slot. So the attempt has the whole lease, and
    /// the delivery needs no memory slot before.
    Retry(i64),
}

/// The deliveries of one webhook that the dispatcher holds or waits for.
#[derive(Debug, Default)]
pub(super) struct WebhookQueue {
    /// Deliveries without an attempt.
    pub(super) new: VecDeque<Job>,
    /// Deliveries that have begun and wait in the table, or are being put back there, and when they
    /// are due.
    pub(super) waiting: HashMap<i64, Timestamp>,
    /// The waiting deliveries that are due.
    due: VecDeque<i64>,
    /// Size of the last claim, or 0 since deliveries were released without an attempt.
    claimed: usize,
    pub(super) in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the
    /// webhook, so they are recorded before more attempts are begun.
    pub(super) failed: u32,
    pub(super) latency: LatencyTracker,
    /// Its position among the webhooks that wait for a slot.
    pub(super) position: Option<Position>,
}

impl WebhookQueue {
    pub(super) fn pool(&self) -> Pool {
        self.latency.class().pool()
    }

    /// The priority with which the webhook waits for slots. It is high for a prompt webhook with
    /// one delivery and no slot, and for the first attempt of a new webhook, which precedes slow
    /// ones.
    pub(super) fn priority(&self) -> Priority {
        let has_little = match self.latency.class() {
            LatencyClass::Prompt => self.new.len() + self.due.len() <= 1,
            LatencyClass::New => true,
            LatencyClass::Slow => false,
        };
        Priority { pool: self.pool(), is_high: has_little && self.in_flight == 0 }
    }

    /// Number of deliveries that have begun and not ended. They alone count against the bound of a
    /// webhook, so that a retry never waits for a first attempt.
    fn under_way(&self) -> usize {
        self.in_flight + self.waiting.len()
    }

    /// True if the webhook could start an attempt with a free slot and at most `max` deliveries
    /// under way.
    pub(super) fn can_start(&self, max: usize) -> bool {
        let can_begin = !self.new.is_empty() && self.under_way() < max;
        self.failed < DISABLE_AFTER_FAILURES && (can_begin || !self.due.is_empty())
    }

    /// Takes the next delivery to attempt, while the webhook may have `limit` slots. A retry needs
    /// only one free slot, even if the webhook has more than `limit`.
    pub(super) fn start(&mut self, limit: usize, max: usize) -> Option<Next> {
        if limit == 0 || !self.can_start(max) {
            return None;
        }
        let next = if let Some(delivery) = self.due.pop_front() {
            self.waiting.remove(&delivery);
            Next::Retry(delivery)
        } else if self.in_flight < limit {
            Next::First(self.new.pop_front()?)
        } else {
            return None;
        };
        self.in_flight += 1;
        Some(next)
    }

    /// Takes the deliveries without an attempt that are held beyond the limit, newest first.
    pub(super) fn surplus(&mut self, max: usize) -> Vec<Job> {
        let surplus: Vec<Job> = self.new.split_off(self.held_limit(max).min(self.new.len())).into();
        if !surplus.is_empty() {
            self.claimed = 0;
        }
        surplus
    }

    /// Maximum number of deliveries without an attempt, while `max` may be under way. Beyond it
    /// those of a slow webhook would outlive their leases. If retries alone reach `max`, nothing can
    /// begin for seconds, and other webhooks need the memory slots.
    fn held_limit(&self, max: usize) -> usize {
        match max.saturating_sub(self.waiting.len()) {
            0 => 0,
            left if self.latency.class() == LatencyClass::Slow => left,
            _ => usize::MAX,
        }
    }

    /// Size of the next claim: none while retries keep first attempts from beginning, and at most
    /// twice the last one, so that few deliveries are claimed in vain.
    fn claim_size(&self, max: usize) -> usize {
        if !self.waiting.is_empty() && self.under_way() >= max {
            return 0;
        }
        let room = self.held_limit(max).saturating_sub(self.new.len());
        room.min(self.claimed.saturating_mul(2).max(max))
    }

    /// Removes the deliveries that have begun and wait.
    pub(super) fn clear_waiting(&mut self) {
        self.waiting.clear();
        self.due.clear();
    }

    /// True if there is no delivery, and the webhook waits for no slot.
    fn is_idle(&self) -> bool {
        self.new.is_empty() && self.under_way() == 0 && self.failed == 0 && self.position.is_none()
    }

    /// True if the queue may be dropped: it is idle, and its latency is unknown or outdated.
    fn is_evictable(&self, now: Instant) -> bool {
        self.is_idle() && (self.latency.class() == LatencyClass::New || self.latency.is_outdated(now))
    }
}

/// The queues of all webhooks.
pub(super) struct WebhookQueues {
    all: HashMap<WebhookId, WebhookQueue>,
    /// When deliveries that have begun are due. Outdated entries are skipped: the delivery waits no
    /// longer, or its instant has changed.
    due: BTreeSet<(Timestamp, i64, WebhookId)>,
    /// Keeps the pool of each webhook.
    shared: Arc<Queue>,
    /// Maximum number of queues; beyond it, idle ones are dropped.
    max: usize,
}

impl WebhookQueues {
    pub(super) fn new(shared: Arc<Queue>, max: usize) -> Self {
        Self { all: HashMap::new(), due: BTreeSet::new(), shared, max }
    }

    pub(super) fn get_mut(&mut self, webhook: WebhookId) -> Option<&mut WebhookQueue> {
        self.all.get_mut(&webhook)
    }

    /// Adds a delivery without an attempt.
    pub(super) fn push(&mut self, job: Job) {
        let queue = self.all.entry(job.webhook).or_default();
        // A replay starts the attempts anew, also those of a delivery that waited for a retry here.
        queue.waiting.remove(&job.delivery);
        queue.new.push_back(job);
    }

    /// Adds a delivery that has begun and waits in the table until it is due. A later call replaces
    /// the instant: the delivery may have been skipped and queued again.
    pub(super) fn wait(&mut self, (webhook, delivery): BegunDelivery, until: Timestamp) {
        self.all.entry(webhook).or_default().waiting.insert(delivery, until);
        self.due.insert((until, delivery, webhook));
    }

    /// Adds a delivery that a poll has found, unless it already waits.
    pub(super) fn found(&mut self, (webhook, delivery): BegunDelivery, due: Timestamp) {
        if !self.all.get(&webhook).is_some_and(|queue| queue.waiting.contains_key(&delivery)) {
            self.wait((webhook, delivery), due);
        }
    }

    /// The webhook of the next delivery that has begun and is due at `now`, which moves to the due
    /// ones of its queue.
    pub(super) fn next_due_by(&mut self, now: Timestamp) -> Option<WebhookId> {
        while let Some(&(at, delivery, webhook)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            if let Some(queue) = self.all.get_mut(&webhook)
                && queue.waiting.get(&delivery) == Some(&at)
            {
                queue.due.push_back(delivery);
                return Some(webhook);
            }
        }
        None
    }

    /// When the next delivery that has begun is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, ..)| *at)
    }

    /// Size of the next claim of the webhook, while `max` of its deliveries may be under way.
    pub(super) fn claim_size(&self, webhook: WebhookId, max: usize) -> usize {
        self.all.get(&webhook).map_or(max, |queue| queue.claim_size(max))
    }

    /// Notes the size of a claim.
    pub(super) fn claimed(&mut self, webhook: WebhookId, size: usize) {
        if let Some(queue) = self.all.get_mut(&webhook) {
            queue.claimed = size;
        }
    }

    pub(super) fn class(&self, webhook: WebhookId) -> LatencyClass {
        self.all.get(&webhook).map_or(LatencyClass::New, |queue| queue.latency.class())
    }

    /// Changes the latency of a receiver, and the pool of its webhook with it.
    pub(super) fn update(&mut self, webhook: WebhookId, change: impl FnOnce(&mut LatencyTracker)) {
        let queue = self.all.entry(webhook).or_default();
        let before = queue.pool();
        change(&mut queue.latency);
        if queue.pool() != before {
            self.shared.set_pool(webhook, queue.pool());
        }
    }

    /// Drops idle queues: those whose latency is unknown or outdated, and, if too many are left,
    /// those whose last attempt is longest ago.
    pub(super) fn evict_idle(&mut self, now: Instant) {
        self.all.retain(|_, queue| !queue.is_evictable(now));
        let surplus = self.all.len().saturating_sub(self.max);
        if surplus == 0 {
            return;
        }
        let idle = self.all.iter().filter(|(_, queue)| queue.is_idle());
        let mut idle: Vec<_> = idle.map(|(id, queue)| (queue.latency.last_attempt(), *id)).collect();
        idle.sort_unstable();
        for (_, webhook) in idle.into_iter().take(surplus) {
            self.all.remove(&webhook);
            // Without a queue the webhook counts as new, and new webhooks are in the slow pool.
            self.shared.set_pool(webhook, Pool::Slow);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use invoicing_core::AttemptOutcome;

    use super::*;
    use crate::config::DispatchSettings;
    use crate::dispatch::tests::{job, webhook};
    use crate::env::Env;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };

    fn queues(max: usize) -> WebhookQueues {
        let shared = Arc::new(Queue::new(&Env::system(), &DispatchSettings::default()));
        WebhookQueues::new(shared, max)
    }

    fn attempted(queues: &mut WebhookQueues, webhook: WebhookId, millis: u64, at: Instant) {
        queues.update(webhook, |latency| latency.add(ANSWERED, Duration::from_millis(millis), 1, at));
    }

    fn kept(queues: &WebhookQueues) -> Vec<u64> {
        let number = |webhook: &WebhookId| u64::try_from(webhook.0.as_u128()).unwrap();
        let mut kept: Vec<u64> = queues.all.keys().map(number).collect();
        kept.sort_unstable();
        kept
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Rules: ATTEMPT-10, ISOLATION-2
    #[test]
    fn retries_come_first_and_first_attempts_only_below_the_bound() {
        let mut queues = queues(10);
        let one = webhook(1);
        (1..=4).for_each(|delivery| queues.push(job(one, delivery)));
        let start = |queues: &mut WebhookQueues, limit| match queues.get_mut(one)?.start(limit, 2)? {
            Next::First(job) => Some(job.delivery),
            Next::Retry(delivery) => Some(-delivery),
        };
        assert_eq!([8, 1, 8, 8].map(|limit| start(&mut queues, limit)), [Some(1), None, Some(2), None]);
        queues.get_mut(one).unwrap().in_flight = 0;
        queues.wait((one, 1), at(10));
        queues.wait((one, 2), at(20));
        assert_eq!(queues.next_due_by(at(9)), None);
        assert_eq!(start(&mut queues, 8), None, "as many wait as may be under way");
        assert_eq!([(); 3].map(|()| queues.next_due_by(at(20))), [Some(one), Some(one), None]);
        queues.get_mut(one).unwrap().in_flight = 5;
        assert_eq!(
            [0, 1, 1].map(|limit| start(&mut queues, limit)),
            [None, Some(-1), Some(-2)],
            "of any slot"
        );
        assert_eq!(start(&mut queues, 8), None);
        queues.get_mut(one).unwrap().in_flight = 1;
        assert_eq!([8, 8].map(|limit| start(&mut queues, limit)), [Some(3), None]);
    }

    /// Rules: ATTEMPT-10
    #[test]
    fn a_delivery_that_is_put_back_again_is_due_once_at_its_new_instant() {
        let one = webhook(1);
        for (first, then) in [(30, 20), (20, 30)] {
            let mut queues = queues(10);
            queues.wait((one, 1), at(first));
            queues.wait((one, 1), at(then));
            queues.found((one, 1), at(10));
            assert_eq!(queues.next_due_by(at(then - 1)), None);
            assert_eq!([then, 90].map(|now| queues.next_due_by(at(now))), [Some(one), None]);
            queues.found((one, 1), at(10));
            assert_eq!(queues.next_due_by(at(90)), None, "it is due already");
            queues.get_mut(one).unwrap().clear_waiting();
            queues.found((one, 1), at(95));
            assert_eq!((queues.next_due(), queues.next_due_by(at(99))), (Some(at(95)), Some(one)));
        }
    }

    /// Rules: ISOLATION-3
    #[test]
    fn small_webhooks_precede_large_ones_and_new_ones_precede_slow_ones() {
        let (mut queues, one, now) = (queues(10), webhook(1), Instant::now());
        let priority = |queues: &mut WebhookQueues| {
            let Priority { pool, is_high } = queues.get_mut(one).unwrap().priority();
            (pool, is_high)
        };
        (1..=3).for_each(|delivery| queues.push(job(one, delivery)));
        assert_eq!(priority(&mut queues), (Pool::Slow, true));
        queues.get_mut(one).unwrap().start(8, 8);
        assert_eq!(priority(&mut queues), (Pool::Slow, false), "its first attempt shows more");
        attempted(&mut queues, one, 5, now);
        assert_eq!(priority(&mut queues), (Pool::Prompt, false));
        queues.get_mut(one).unwrap().in_flight = 0;
        assert_eq!(priority(&mut queues), (Pool::Prompt, false), "two wait");
        queues.get_mut(one).unwrap().new.pop_front();
        assert_eq!(priority(&mut queues), (Pool::Prompt, true));
        (0..2).for_each(|_| attempted(&mut queues, one, 4_300, now));
        assert_eq!(priority(&mut queues), (Pool::Slow, false));
    }

    /// Rules: ISOLATION-5
    #[test]
    fn the_queues_idle_for_longest_are_dropped_with_their_pool() {
        let begun = Instant::now();
        let mut queues = queues(3);
        for number in 0..6 {
            attempted(&mut queues, webhook(number), 5, begun + Duration::from_secs(10 - number));
        }
        queues.get_mut(webhook(5)).unwrap().in_flight = 1;
        queues.evict_idle(begun);
        assert_eq!(kept(&queues), [0, 1, 5], "one that is busy is kept");
        assert_eq!(queues.shared.prompt_webhooks(), 3);
        for number in 6..100 {
            attempted(&mut queues, webhook(number), 5, begun + Duration::from_secs(number));
            queues.evict_idle(begun);
        }
        assert_eq!(kept(&queues), [5, 98, 99]);
        assert_eq!(queues.shared.prompt_webhooks(), 3);
        queues.push(job(webhook(1), 1));
        queues.get_mut(webhook(1)).unwrap().new.clear();
        queues.evict_idle(begun);
        assert_eq!(kept(&queues), [5, 98, 99], "the latency of one without attempts is unknown");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_that_was_late_once_is_slow_for_a_minute_and_then_tried_anew() {
        let begun = Instant::now();
        let mut queues = queues(10);
        let one = webhook(1);
        let after = |millis| begun + Duration::from_millis(millis);
        attempted(&mut queues, one, 4_300, begun);
        attempted(&mut queues, one, 5, after(30_000));
        queues.evict_idle(after(59_999));
        assert_eq!(queues.class(one), LatencyClass::Slow);
        queues.get_mut(one).unwrap().in_flight = 1;
        queues.evict_idle(after(60_000));
        assert_eq!(queues.class(one), LatencyClass::Slow, "it is busy");
        queues.get_mut(one).unwrap().in_flight = 0;
        queues.evict_idle(after(60_000));
        assert_eq!((queues.class(one), queues.shared.prompt_webhooks()), (LatencyClass::New, 0));
        attempted(&mut queues, one, 5, after(70_000));
        queues.evict_idle(after(86_400_000));
        assert_eq!(queues.class(one), LatencyClass::Prompt, "a prompt one is kept");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_that_turns_slow_keeps_no_more_than_slow_ones_may_hold() {
        let (mut queues, one, now) = (queues(10), webhook(1), Instant::now());
        attempted(&mut queues, one, 5, now);
        (0..100).for_each(|delivery| queues.push(job(one, delivery)));
        assert_eq!(queues.get_mut(one).unwrap().surplus(8).len(), 0, "it is prompt");
        (0..2).for_each(|_| attempted(&mut queues, one, 4_300, now));
        let surplus = queues.get_mut(one).unwrap().surplus(8);
        let surplus: Vec<i64> = surplus.into_iter().map(|job| job.delivery).collect();
        assert_eq!(surplus, (8..100).collect::<Vec<i64>>(), "the newest");
        assert_eq!(queues.shared.prompt_webhooks(), 0);
    }
}
