//! The deliveries of each webhook that are in memory, and what is known of its receiver.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use invoicing_core::WebhookId;

use super::pace::{Health, Pace};
use super::retries::Begun;
use super::rounds::Turn;
use super::slots::Class;
use crate::queue::{Job, LaneRoom, Queue};

/// Most webhooks without deliveries of which the pace is remembered.
pub(super) const MAX_REMEMBERED: usize = 16_384;

/// The lane of one webhook.
#[derive(Default)]
pub(super) struct Lane {
    /// Deliveries without an attempt.
    pub(super) queue: VecDeque<Job>,
    /// Deliveries that have begun and are to be attempted again now.
    pub(super) retries: VecDeque<Job>,
    /// Deliveries that have begun and wait in the table, or are being put back there.
    pub(super) waiting: HashSet<i64>,
    pub(super) in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the webhook, so they are recorded
    /// before more attempts are begun.
    pub(super) failed: u32,
    pub(super) pace: Pace,
    pub(super) turn: Option<Turn>,
}

impl Lane {
    /// What it is as it competes for slots, where a webhook may have so many. `is_waiting`: deliveries of it wait in the
    /// table.
    pub(super) fn class(&self, per_webhook: usize, is_waiting: bool) -> Class {
        let has_backlog = is_waiting || self.in_flight > 0 || self.queue.len() > per_webhook;
        match (self.pace.health(), has_backlog) {
            (Health::Prompt, false) => Class::Sparse,
            (Health::Prompt, true) => Class::Busy,
            (Health::Untried, false) => Class::Untried,
            // With a backlog it can wait for its first attempt.
            (Health::Untried, true) | (Health::Slow, _) => Class::Slow,
        }
    }

    /// Deliveries that have begun and not ended. Those alone count against the bound of a webhook, so that a retry never
    /// waits for a first attempt.
    pub(super) fn under_way(&self) -> usize {
        self.in_flight + self.retries.len() + self.waiting.len()
    }

    /// Whether it has deliveries in memory that wait for an attempt.
    pub(super) fn has_jobs(&self) -> bool {
        !(self.queue.is_empty() && self.retries.is_empty())
    }

    /// Whether its own bound permits an attempt, where a webhook may have so many deliveries under way.
    pub(super) fn may_start(&self, per_webhook: usize) -> bool {
        !self.retries.is_empty() || self.under_way() < per_webhook
    }

    /// The next delivery to attempt, where its webhook may have so many slots now. A retry takes any that is left.
    pub(super) fn next(&mut self, share: usize) -> Option<Job> {
        if share == 0 {
            return None;
        }
        let first = |lane: &mut Self| if lane.in_flight < share { lane.queue.pop_front() } else { None };
        self.retries.pop_front().or_else(|| first(self))
    }

    /// Whether it has nothing to do.
    fn is_idle(&self) -> bool {
        !self.has_jobs() && self.under_way() == 0 && self.failed == 0 && self.turn.is_none()
    }

    /// Takes the deliveries that a slow webhook holds beyond so many, newest first: their leases would end before they are
    /// attempted.
    fn surplus(&mut self, most: usize) -> Vec<Job> {
        let kept = most.saturating_sub(self.in_flight).min(self.queue.len());
        self.queue.split_off(kept).into()
    }
}

/// The lanes, and their room in the queue.
pub(super) struct Lanes {
    all: HashMap<WebhookId, Lane>,
    queue: Arc<Queue>,
    per_webhook: usize,
    /// Most lanes that are kept though they are idle.
    most: usize,
}

impl Lanes {
    pub(super) fn new(queue: Arc<Queue>, per_webhook: usize, most: usize) -> Self {
        Self { all: HashMap::new(), queue, per_webhook, most }
    }

    pub(super) fn get_mut(&mut self, webhook: WebhookId) -> Option<&mut Lane> {
        self.all.get_mut(&webhook)
    }

    /// Adds a delivery. Those that its lane may not hold: room was reserved for them before the webhook was slow.
    pub(super) fn push(&mut self, job: Job) -> Vec<Job> {
        let lane = self.all.entry(job.webhook).or_default();
        lane.waiting.remove(&job.delivery);
        if job.attempts > 0 {
            lane.retries.push_back(job);
            return Vec::new();
        }
        lane.queue.push_back(job);
        match lane.pace.room(self.per_webhook) {
            LaneRoom::Slow(most) => lane.surplus(most),
            LaneRoom::Untried | LaneRoom::Prompt(_) => Vec::new(),
        }
    }

    /// Notes a delivery that has begun and waits in the table.
    pub(super) fn wait(&mut self, (webhook, delivery): Begun) {
        self.all.entry(webhook).or_default().waiting.insert(delivery);
    }

    pub(super) fn health(&self, webhook: WebhookId) -> Health {
        self.all.get(&webhook).map_or(Health::Untried, |lane| lane.pace.health())
    }

    /// Begins with what is on record of an earlier run; not where an attempt has told more.
    pub(super) fn remember(&mut self, webhook: WebhookId, pace: Pace) -> bool {
        let lane = self.all.entry(webhook).or_default();
        let is_untried = lane.pace.health() == Health::Untried;
        if is_untried {
            lane.pace = pace;
            self.queue.set_room(webhook, pace.room(self.per_webhook));
        }
        is_untried
    }

    /// Lets the room of a lane follow its pace. Where it has changed, the deliveries that it may no longer hold.
    pub(super) fn update_room(&mut self, webhook: WebhookId) -> Option<Vec<Job>> {
        let lane = self.all.get_mut(&webhook)?;
        let room = lane.pace.room(self.per_webhook);
        let most = self.queue.set_room(webhook, room)?;
        Some(if lane.pace.health() == Health::Slow { lane.surplus(most) } else { Vec::new() })
    }

    /// Removes an idle lane that tells nothing of its receiver.
    pub(super) fn remove_if_untried(&mut self, webhook: WebhookId) {
        if self.all.get(&webhook).is_some_and(|lane| lane.pace.health() == Health::Untried && lane.is_idle())
        {
            self.all.remove(&webhook);
        }
    }

    /// Forgets idle lanes: those that are slow by attempts long ago, and of the others those whose last attempt is longest
    /// ago, where there are too many.
    pub(super) fn forget(&mut self, now: Instant) {
        let idle = self.all.iter().filter(|(_, lane)| lane.is_idle());
        let (outdated, mut others): (Vec<_>, Vec<_>) = idle
            .map(|(webhook, lane)| (lane.pace.is_outdated(now), lane.pace.last_attempt(), *webhook))
            .partition(|(is_outdated, ..)| *is_outdated);
        let surplus = (self.all.len() - outdated.len()).saturating_sub(self.most);
        if surplus > 0 {
            others.sort_unstable();
        }
        for (.., webhook) in outdated.into_iter().chain(others.into_iter().take(surplus)) {
            self.all.remove(&webhook);
            self.queue.set_room(webhook, LaneRoom::Untried);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use invoicing_core::{AttemptOutcome, CompanyId, EventId, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::config::DispatchSettings;
    use crate::env::Env;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };

    fn webhook(number: u64) -> WebhookId {
        WebhookId(Uuid::from_u128(number.into()))
    }

    fn lanes(most: usize) -> Lanes {
        let queue = Arc::new(Queue::new(&Env::system(), &DispatchSettings::default()));
        Lanes::new(queue, 8, most)
    }

    fn attempted(lanes: &mut Lanes, webhook: WebhookId, millis: u64, at: Instant) {
        let lane = lanes.all.entry(webhook).or_default();
        lane.pace.add(ANSWERED, Duration::from_millis(millis), 1, at);
        lanes.update_room(webhook);
    }

    fn job(number: u64) -> Job {
        Job {
            cause: None,
            delivery: i64::try_from(number).unwrap(),
            company: CompanyId(Uuid::nil()),
            webhook: webhook(1),
            event: EventId(Uuid::nil()),
            body: Bytes::new(),
            is_ping: false,
            attempts: 0,
            claims: 1,
            number: 1,
            lease_until: Timestamp::from_millis(60_000),
            token: 1,
        }
    }

    fn remembered(lanes: &Lanes) -> Vec<u64> {
        let number = |webhook: &WebhookId| u64::try_from(webhook.0.as_u128()).unwrap();
        let mut remembered: Vec<u64> = lanes.all.keys().map(number).collect();
        remembered.sort_unstable();
        remembered
    }

    /// Rules: ATTEMPT-10, ISOLATION-2
    #[test]
    fn retries_come_first_and_first_attempts_only_below_the_bound() {
        let mut lane = Lane::default();
        let next = |lane: &mut Lane, share| {
            let job = if lane.may_start(2) { lane.next(share) } else { None };
            lane.in_flight += usize::from(job.is_some());
            job.map(|job| job.delivery)
        };
        lane.queue.extend((1..=4).map(job));
        assert_eq!([8, 1, 8, 8].map(|share| next(&mut lane, share)), [Some(1), None, Some(2), None]);
        (lane.in_flight, lane.waiting) = (0, HashSet::from([1, 2]));
        assert_eq!(next(&mut lane, 8), None, "as many wait as may be under way");
        lane.waiting.clear();
        lane.retries.extend([1, 2].map(|number| Job { attempts: 1, ..job(number) }));
        lane.in_flight = 5;
        assert_eq!([0, 1, 1].map(|share| next(&mut lane, share)), [None, Some(1), Some(2)], "of any slot");
        assert_eq!(next(&mut lane, 8), None);
        lane.in_flight = 1;
        assert_eq!([8, 8].map(|share| next(&mut lane, share)), [Some(3), None]);
    }

    /// Rules: ISOLATION-5
    #[test]
    fn the_lanes_that_were_idle_for_the_longest_time_are_forgotten_with_their_room() {
        let begun = Instant::now();
        let mut lanes = lanes(3);
        for number in 0..6 {
            attempted(&mut lanes, webhook(number), 5, begun + Duration::from_secs(10 - number));
        }
        lanes.get_mut(webhook(5)).unwrap().in_flight = 1;
        lanes.forget(begun);
        assert_eq!(remembered(&lanes), [0, 1, 5], "one that is busy is kept");
        assert_eq!(lanes.queue.remembered_rooms(), 3);
        for number in 6..100 {
            attempted(&mut lanes, webhook(number), 5, begun + Duration::from_secs(number));
            lanes.forget(begun);
        }
        assert_eq!(remembered(&lanes), [5, 98, 99]);
        assert_eq!(lanes.queue.remembered_rooms(), 3);
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
        lanes.forget(after(59_999));
        assert_eq!(lanes.health(one), Health::Slow);
        lanes.get_mut(one).unwrap().in_flight = 1;
        lanes.forget(after(60_000));
        assert_eq!(lanes.health(one), Health::Slow, "it is busy");
        lanes.get_mut(one).unwrap().in_flight = 0;
        lanes.forget(after(60_000));
        assert_eq!((lanes.health(one), lanes.queue.remembered_rooms()), (Health::Untried, 0));
        attempted(&mut lanes, one, 5, after(70_000));
        lanes.forget(after(86_400_000));
        assert_eq!(lanes.health(one), Health::Prompt, "what is prompt is remembered");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_that_turns_slow_keeps_no_more_than_slow_ones_may_hold_whatever_was_claimed_before() {
        let (mut lanes, one, now) = (lanes(10), webhook(1), Instant::now());
        attempted(&mut lanes, one, 5, now);
        let first: Vec<Job> = (0..100).flat_map(|number| lanes.push(job(number))).collect();
        assert_eq!(first.len(), 0, "it is prompt");
        for _ in 0..2 {
            lanes.get_mut(one).unwrap().pace.add(ANSWERED, Duration::from_millis(4_300), 1, now);
        }
        lanes.get_mut(one).unwrap().in_flight = 4;
        assert_eq!(lanes.update_room(one).map(|surplus| surplus.len()), Some(92));
        let late: Vec<i64> =
            (200..228).flat_map(|number| lanes.push(job(number))).map(|job| job.delivery).collect();
        assert_eq!(late, (200..228).collect::<Vec<i64>>(), "the newest");
        assert_eq!(lanes.get_mut(one).unwrap().queue.len(), 8);
    }

    /// Rules: ISOLATION-5
    #[test]
    fn what_is_on_record_of_an_earlier_run_replaces_no_attempt_of_this_one() {
        let (mut lanes, now) = (lanes(10), Instant::now());
        let recalled = Pace::recalled(Duration::from_millis(5), now);
        attempted(&mut lanes, webhook(2), 4_300, now);
        lanes.push(job(1));
        assert_eq!([1, 2, 3].map(|number| lanes.remember(webhook(number), recalled)), [true, false, true]);
        let health = [1, 2, 3].map(|number| lanes.health(webhook(number)));
        assert_eq!(health, [Health::Prompt, Health::Slow, Health::Prompt]);
        assert_eq!(lanes.queue.remembered_rooms(), 3);
    }
}
