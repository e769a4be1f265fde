//! The deliveries of each webhook that are in memory, and what is known of its receiver.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::WebhookId;

use super::attempt::SentAttempt;
use super::pace::{Health, Pace};
use super::rounds::Turn;
use super::slots::Class;
use crate::queue::{Job, LaneRoom, Queue};

/// Most webhooks without deliveries of which the pace is remembered.
pub(super) const MAX_REMEMBERED: usize = 16_384;
/// How long an idle webhook counts as slow after its last late attempt. Then it is untried again: what made it late, such as
/// a start of its receiver, may be over.
const SLOW_REMEMBERED: Duration = Duration::from_mins(1);

/// The lane of one webhook.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) queue: VecDeque<Job>,
    pub(super) in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the webhook, so they are recorded
    /// before more attempts are begun.
    pub(super) failed: u32,
    pub(super) pace: Pace,
    pub(super) turn: Option<Turn>,
    /// When the last attempt ended, and the last one that was late.
    last_attempt: Option<Instant>,
    last_late: Option<Instant>,
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

    /// An attempt has ended while so many of the webhook were in flight, itself included.
    pub(super) fn attempted(&mut self, attempt: &SentAttempt, in_flight: usize, now: Instant) {
        let was_late = self.pace.add(attempt.outcome, attempt.duration, in_flight);
        self.last_attempt = Some(now);
        if was_late {
            self.last_late = Some(now);
        }
    }

    /// Whether it has nothing to do.
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && self.failed == 0 && self.turn.is_none()
    }

    /// Whether it is slow by attempts that are too long ago.
    fn is_outdated(&self, now: Instant) -> bool {
        let is_over = |at| now.saturating_duration_since(at) >= SLOW_REMEMBERED;
        self.pace.health() == Health::Slow && self.last_late.is_none_or(is_over)
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

    pub(super) fn get_or_insert(&mut self, webhook: WebhookId) -> &mut Lane {
        self.all.entry(webhook).or_default()
    }

    pub(super) fn health(&self, webhook: WebhookId) -> Health {
        self.all.get(&webhook).map_or(Health::Untried, |lane| lane.pace.health())
    }

    /// Begins with what an earlier run has found.
    pub(super) fn remember(&mut self, webhook: WebhookId, pace: Pace) {
        self.all.insert(webhook, Lane { pace, last_attempt: Some(Instant::now()), ..Lane::default() });
        self.queue.set_room(webhook, pace.room(self.per_webhook));
    }

    /// Lets the room of a lane follow its pace. Where it has changed, the deliveries that it may no longer hold.
    pub(super) fn update_room(&mut self, webhook: WebhookId) -> Option<Vec<Job>> {
        let lane = self.all.get_mut(&webhook)?;
        let room = lane.pace.room(self.per_webhook);
        if !self.queue.set_room(webhook, room) {
            return None;
        }
        Some(if let LaneRoom::Slow(most) = room { lane.surplus(most) } else { Vec::new() })
    }

    /// Removes an idle lane that tells nothing of its receiver.
    pub(super) fn remove_if_untried(&mut self, webhook: WebhookId) {
        if self.all.get(&webhook).is_some_and(|lane| lane.last_attempt.is_none() && lane.is_idle()) {
            self.all.remove(&webhook);
        }
    }

    /// Forgets idle lanes: those that are slow by attempts long ago, and of the others those whose last attempt is longest
    /// ago, where there are too many.
    pub(super) fn forget(&mut self, now: Instant) {
        let idle = self.all.iter().filter(|(_, lane)| lane.is_idle());
        let (outdated, mut others): (Vec<_>, Vec<_>) = idle
            .map(|(webhook, lane)| (lane.is_outdated(now), lane.last_attempt, *webhook))
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
    use invoicing_core::{AttemptOutcome, NextStep, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::config::DispatchSettings;
    use crate::env::Env;

    fn webhook(number: u64) -> WebhookId {
        WebhookId(Uuid::from_u128(number.into()))
    }

    fn lanes(most: usize) -> Lanes {
        let queue = Arc::new(Queue::new(&Env::system(), &DispatchSettings::default()));
        Lanes::new(queue, 8, most)
    }

    fn attempted(lanes: &mut Lanes, webhook: WebhookId, millis: u64, at: Instant) {
        let attempt = SentAttempt {
            at: Timestamp::from_millis(0),
            duration: Duration::from_millis(millis),
            outcome: AttemptOutcome::Answered { status: 200, retry_after: None },
            next: NextStep::RetryAt(Timestamp::from_millis(0)),
        };
        lanes.get_or_insert(webhook).attempted(&attempt, 1, at);
        lanes.update_room(webhook);
    }

    fn remembered(lanes: &Lanes) -> Vec<u64> {
        let number = |webhook: &WebhookId| u64::try_from(webhook.0.as_u128()).unwrap();
        let mut remembered: Vec<u64> = lanes.all.keys().map(number).collect();
        remembered.sort_unstable();
        remembered
    }

    /// Rules: ISOLATION-5
    #[test]
    fn the_lanes_that_were_idle_for_the_longest_time_are_forgotten_with_their_room() {
        let begun = Instant::now();
        let mut lanes = lanes(3);
        for number in 0..6 {
            attempted(&mut lanes, webhook(number), 5, begun + Duration::from_secs(10 - number));
        }
        lanes.get_or_insert(webhook(5)).in_flight = 1;
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
        lanes.get_or_insert(one).in_flight = 1;
        lanes.forget(after(60_000));
        assert_eq!(lanes.health(one), Health::Slow, "it is busy");
        lanes.get_or_insert(one).in_flight = 0;
        lanes.forget(after(60_000));
        assert_eq!((lanes.health(one), lanes.queue.remembered_rooms()), (Health::Untried, 0));
        attempted(&mut lanes, one, 5, after(70_000));
        lanes.forget(after(86_400_000));
        assert_eq!(lanes.health(one), Health::Prompt, "what is prompt is remembered");
    }
}
