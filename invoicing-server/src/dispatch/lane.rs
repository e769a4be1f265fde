//! The deliveries of each webhook that the dispatcher holds or waits for, and its receiver's
//! latency.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use invoicing_core::{DISABLE_AFTER_FAILURES, Timestamp, WebhookId};

use super::latency::{LatencyTracker, Standing};
use super::turns::{Turn, WaitingLine};
use crate::queue::{Job, Pool, Queue};

/// Most lanes that are kept for their standing only.
pub(super) const MAX_KEPT_LANES: usize = 16_384;

/// A delivery that has begun: at least one attempt was made.
pub(super) type BegunDelivery = (WebhookId, i64);

/// The next attempt of a lane.
#[derive(Debug)]
pub(super) enum Next {
    First(Job),
    /// A delivery that is claimed only once it has a slot. So the attempt has the whole lease, and
    /// the delivery needs no place in memory before.
    Retry(i64),
}

/// The lane of one webhook.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Deliveries without an attempt.
    pub(super) queue: VecDeque<Job>,
    /// Deliveries that have begun and wait in the table, or are being put back there, and when they
    /// are due.
    pub(super) waiting: HashMap<i64, Timestamp>,
    /// The waiting deliveries that are due.
    due: VecDeque<i64>,
    pub(super) in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the
    /// webhook, so they are recorded before more attempts are begun.
    pub(super) failed: u32,
    pub(super) latency: LatencyTracker,
    pub(super) turn: Option<Turn>,
}

impl Lane {
    pub(super) fn pool(&self) -> Pool {
        self.latency.standing().pool()
    }

    /// The line in which the lane waits for slots. A prompt webhook with one delivery and no slot
    /// is in front of those with many. A new webhook is in front of slow ones with its first
    /// attempt.
    pub(super) fn line(&self) -> WaitingLine {
        let has_little = match self.latency.standing() {
            Standing::Prompt => self.queue.len() + self.due.len() <= 1,
            Standing::New => true,
            Standing::Slow => false,
        };
        WaitingLine { pool: self.pool(), is_in_front: has_little && self.in_flight == 0 }
    }

    /// Number of deliveries that have begun and not ended. They alone count against the bound of a
    /// webhook, so that a retry never waits for a first attempt.
    fn under_way(&self) -> usize {
        self.in_flight + self.waiting.len()
    }

    /// True if the lane could start an attempt with a free slot and at most `most` deliveries under
    /// way.
    pub(super) fn can_start(&self, most: usize) -> bool {
        let can_begin = !self.queue.is_empty() && self.under_way() < most;
        self.failed < DISABLE_AFTER_FAILURES && (can_begin || !self.due.is_empty())
    }

    /// Takes the next delivery to attempt, while the webhook may have `share` slots. A retry needs
    /// only one free slot, even if the webhook has more than its share.
    pub(super) fn start(&mut self, share: usize, most: usize) -> Option<Next> {
        if share == 0 || !self.can_start(most) {
            return None;
        }
        let next = if let Some(delivery) = self.due.pop_front() {
            self.waiting.remove(&delivery);
            Next::Retry(delivery)
        } else if self.in_flight < share {
            Next::First(self.queue.pop_front()?)
        } else {
            return None;
        };
        self.in_flight += 1;
        Some(next)
    }

    /// Takes the deliveries that a slow webhook holds beyond `most`, newest first: their leases
    /// would end before they are attempted.
    pub(super) fn surplus(&mut self, most: usize) -> Vec<Job> {
        let kept = if self.latency.standing() == Standing::Slow { most } else { usize::MAX };
        self.queue.split_off(kept.min(self.queue.len())).into()
    }

    /// Removes the deliveries that have begun and wait.
    pub(super) fn clear_waiting(&mut self) {
        self.waiting.clear();
        self.due.clear();
    }

    /// True if the lane has no deliveries and waits for no slot.
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.under_way() == 0 && self.failed == 0 && self.turn.is_none()
    }

    /// True if the lane may be dropped: it is idle, and its latency is unknown or outdated.
    fn is_evictable(&self, now: Instant) -> bool {
        self.is_idle() && (self.latency.standing() == Standing::New || self.latency.is_outdated(now))
    }
}

/// All lanes.
pub(super) struct Lanes {
    all: HashMap<WebhookId, Lane>,
    /// When deliveries that have begun are due. Outdated entries are skipped: the delivery waits no
    /// longer, or its instant has changed.
    due: BTreeSet<(Timestamp, i64, WebhookId)>,
    /// Keeps the pool of each webhook.
    queue: Arc<Queue>,
    /// Most lanes; beyond it, idle ones are dropped.
    most: usize,
}

impl Lanes {
    pub(super) fn new(queue: Arc<Queue>, most: usize) -> Self {
        Self { all: HashMap::new(), due: BTreeSet::new(), queue, most }
    }

    pub(super) fn get_mut(&mut self, webhook: WebhookId) -> Option<&mut Lane> {
        self.all.get_mut(&webhook)
    }

    /// Adds a delivery without an attempt.
    pub(super) fn push(&mut self, job: Job) {
        let lane = self.all.entry(job.webhook).or_default();
        // A replay starts the attempts anew, also those of a delivery that waited for a retry here.
        lane.waiting.remove(&job.delivery);
        lane.queue.push_back(job);
    }

    /// Adds a delivery that has begun and waits in the table until it is due. A later call replaces
    /// the instant: the delivery may have been skipped and queued again.
    pub(super) fn wait(&mut self, (webhook, delivery): BegunDelivery, until: Timestamp) {
        self.all.entry(webhook).or_default().waiting.insert(delivery, until);
        self.due.insert((until, delivery, webhook));
    }

    /// Adds a delivery that a poll has found, unless it already waits.
    pub(super) fn found(&mut self, (webhook, delivery): BegunDelivery, due: Timestamp) {
        if !self.all.get(&webhook).is_some_and(|lane| lane.waiting.contains_key(&delivery)) {
            self.wait((webhook, delivery), due);
        }
    }

    /// The webhook of the next delivery that has begun and is due at `now`, which moves to the due
    /// ones of its lane.
    pub(super) fn next_due_by(&mut self, now: Timestamp) -> Option<WebhookId> {
        while let Some(&(at, delivery, webhook)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            if let Some(lane) = self.all.get_mut(&webhook)
                && lane.waiting.get(&delivery) == Some(&at)
            {
                lane.due.push_back(delivery);
                return Some(webhook);
            }
        }
        None
    }

    /// When the next delivery that has begun is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, ..)| *at)
    }

    pub(super) fn standing(&self, webhook: WebhookId) -> Standing {
        self.all.get(&webhook).map_or(Standing::New, |lane| lane.latency.standing())
    }

    /// Changes the latency of a receiver, and the pool of its webhook with it.
    pub(super) fn update(&mut self, webhook: WebhookId, change: impl FnOnce(&mut LatencyTracker)) {
        let lane = self.all.entry(webhook).or_default();
        let before = lane.pool();
        change(&mut lane.latency);
        if lane.pool() != before {
            self.queue.set_pool(webhook, lane.pool());
        }
    }

    /// Drops idle lanes: those whose latency is unknown or outdated, and, if too many are left,
    /// those whose last attempt is longest ago.
    pub(super) fn evict_idle(&mut self, now: Instant) {
        self.all.retain(|_, lane| !lane.is_evictable(now));
        let surplus = self.all.len().saturating_sub(self.most);
        if surplus == 0 {
            return;
        }
        let idle = self.all.iter().filter(|(_, lane)| lane.is_idle());
        let mut idle: Vec<_> = idle.map(|(id, lane)| (lane.latency.last_attempt(), *id)).collect();
        idle.sort_unstable();
        for (_, webhook) in idle.into_iter().take(surplus) {
            self.all.remove(&webhook);
            // Without a lane the webhook counts as new, and new webhooks are in the slow pool.
            self.queue.set_pool(webhook, Pool::Slow);
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

    fn lanes(most: usize) -> Lanes {
        let queue = Arc::new(Queue::new(&Env::system(), &DispatchSettings::default()));
        Lanes::new(queue, most)
    }

    fn attempted(lanes: &mut Lanes, webhook: WebhookId, millis: u64, at: Instant) {
        lanes.update(webhook, |latency| latency.add(ANSWERED, Duration::from_millis(millis), 1, at));
    }

    fn kept(lanes: &Lanes) -> Vec<u64> {
        let number = |webhook: &WebhookId| u64::try_from(webhook.0.as_u128()).unwrap();
        let mut kept: Vec<u64> = lanes.all.keys().map(number).collect();
        kept.sort_unstable();
        kept
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Rules: ATTEMPT-10, ISOLATION-2
    #[test]
    fn retries_come_first_and_first_attempts_only_below_the_bound() {
        let mut lanes = lanes(10);
        let one = webhook(1);
        (1..=4).for_each(|delivery| lanes.push(job(one, delivery)));
        let start = |lanes: &mut Lanes, share| match lanes.get_mut(one)?.start(share, 2)? {
            Next::First(job) => Some(job.delivery),
            Next::Retry(delivery) => Some(-delivery),
        };
        assert_eq!([8, 1, 8, 8].map(|share| start(&mut lanes, share)), [Some(1), None, Some(2), None]);
        lanes.get_mut(one).unwrap().in_flight = 0;
        lanes.wait((one, 1), at(10));
        lanes.wait((one, 2), at(20));
        assert_eq!(lanes.next_due_by(at(9)), None);
        assert_eq!(start(&mut lanes, 8), None, "as many wait as may be under way");
        assert_eq!([(); 3].map(|()| lanes.next_due_by(at(20))), [Some(one), Some(one), None]);
        lanes.get_mut(one).unwrap().in_flight = 5;
        assert_eq!(
            [0, 1, 1].map(|share| start(&mut lanes, share)),
            [None, Some(-1), Some(-2)],
            "of any slot"
        );
        assert_eq!(start(&mut lanes, 8), None);
        lanes.get_mut(one).unwrap().in_flight = 1;
        assert_eq!([8, 8].map(|share| start(&mut lanes, share)), [Some(3), None]);
    }

    /// Rules: ATTEMPT-10
    #[test]
    fn a_delivery_that_is_put_back_again_is_due_once_at_its_new_instant() {
        let one = webhook(1);
        for (first, then) in [(30, 20), (20, 30)] {
            let mut lanes = lanes(10);
            lanes.wait((one, 1), at(first));
            lanes.wait((one, 1), at(then));
            lanes.found((one, 1), at(10));
            assert_eq!(lanes.next_due_by(at(then - 1)), None);
            assert_eq!([then, 90].map(|now| lanes.next_due_by(at(now))), [Some(one), None]);
            lanes.found((one, 1), at(10));
            assert_eq!(lanes.next_due_by(at(90)), None, "it is due already");
            lanes.get_mut(one).unwrap().clear_waiting();
            lanes.found((one, 1), at(95));
            assert_eq!((lanes.next_due(), lanes.next_due_by(at(99))), (Some(at(95)), Some(one)));
        }
    }

    /// Rules: ISOLATION-3
    #[test]
    fn small_webhooks_precede_large_ones_and_new_ones_precede_slow_ones() {
        let (mut lanes, one, now) = (lanes(10), webhook(1), Instant::now());
        let line = |lanes: &mut Lanes| {
            let WaitingLine { pool, is_in_front } = lanes.get_mut(one).unwrap().line();
            (pool, is_in_front)
        };
        (1..=3).for_each(|delivery| lanes.push(job(one, delivery)));
        assert_eq!(line(&mut lanes), (Pool::Slow, true));
        lanes.get_mut(one).unwrap().start(8, 8);
        assert_eq!(line(&mut lanes), (Pool::Slow, false), "its first attempt shows more");
        attempted(&mut lanes, one, 5, now);
        assert_eq!(line(&mut lanes), (Pool::Prompt, false));
        lanes.get_mut(one).unwrap().in_flight = 0;
        assert_eq!(line(&mut lanes), (Pool::Prompt, false), "two wait");
        lanes.get_mut(one).unwrap().queue.pop_front();
        assert_eq!(line(&mut lanes), (Pool::Prompt, true));
        (0..2).for_each(|_| attempted(&mut lanes, one, 4_300, now));
        assert_eq!(line(&mut lanes), (Pool::Slow, false));
    }

    /// Rules: ISOLATION-5
    #[test]
    fn the_lanes_idle_for_longest_are_dropped_with_their_pool() {
        let begun = Instant::now();
        let mut lanes = lanes(3);
        for number in 0..6 {
            attempted(&mut lanes, webhook(number), 5, begun + Duration::from_secs(10 - number));
        }
        lanes.get_mut(webhook(5)).unwrap().in_flight = 1;
        lanes.evict_idle(begun);
        assert_eq!(kept(&lanes), [0, 1, 5], "one that is busy is kept");
        assert_eq!(lanes.queue.prompt_webhooks(), 3);
        for number in 6..100 {
            attempted(&mut lanes, webhook(number), 5, begun + Duration::from_secs(number));
            lanes.evict_idle(begun);
        }
        assert_eq!(kept(&lanes), [5, 98, 99]);
        assert_eq!(lanes.queue.prompt_webhooks(), 3);
        lanes.push(job(webhook(1), 1));
        lanes.get_mut(webhook(1)).unwrap().queue.clear();
        lanes.evict_idle(begun);
        assert_eq!(kept(&lanes), [5, 98, 99], "the latency of one without attempts is unknown");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_that_was_late_once_is_slow_for_a_minute_and_then_tried_anew() {
        let begun = Instant::now();
        let mut lanes = lanes(10);
        let one = webhook(1);
        let after = |millis| begun + Duration::from_millis(millis);
        attempted(&mut lanes, one, 4_300, begun);
        attempted(&mut lanes, one, 5, after(30_000));
        lanes.evict_idle(after(59_999));
        assert_eq!(lanes.standing(one), Standing::Slow);
        lanes.get_mut(one).unwrap().in_flight = 1;
        lanes.evict_idle(after(60_000));
        assert_eq!(lanes.standing(one), Standing::Slow, "it is busy");
        lanes.get_mut(one).unwrap().in_flight = 0;
        lanes.evict_idle(after(60_000));
        assert_eq!((lanes.standing(one), lanes.queue.prompt_webhooks()), (Standing::New, 0));
        attempted(&mut lanes, one, 5, after(70_000));
        lanes.evict_idle(after(86_400_000));
        assert_eq!(lanes.standing(one), Standing::Prompt, "a prompt one is kept");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_that_turns_slow_keeps_no_more_than_slow_ones_may_hold() {
        let (mut lanes, one, now) = (lanes(10), webhook(1), Instant::now());
        attempted(&mut lanes, one, 5, now);
        (0..100).for_each(|delivery| lanes.push(job(one, delivery)));
        assert_eq!(lanes.get_mut(one).unwrap().surplus(8).len(), 0, "it is prompt");
        (0..2).for_each(|_| attempted(&mut lanes, one, 4_300, now));
        let surplus = lanes.get_mut(one).unwrap().surplus(8);
        let surplus: Vec<i64> = surplus.into_iter().map(|job| job.delivery).collect();
        assert_eq!(surplus, (8..100).collect::<Vec<i64>>(), "the newest");
        assert_eq!(lanes.queue.prompt_webhooks(), 0);
    }
}
