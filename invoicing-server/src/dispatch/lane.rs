//! The deliveries of one webhook that are in memory, and what is known of its receiver.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use invoicing_core::WebhookId;

use super::pace::{Pace, Speed};
use super::rounds::Turn;
use super::slots::Class;
use crate::queue::{Job, LaneRoom};

/// See the module's text.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) queue: VecDeque<Job>,
    pub(super) in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may disable the webhook, so they are recorded
    /// before more attempts are begun.
    pub(super) failed: u32,
    pub(super) pace: Pace,
    /// The room that the queue knows of.
    pub(super) room: LaneRoom,
    pub(super) turn: Option<Turn>,
    /// When the last attempt ended.
    pub(super) last_attempt: Option<Instant>,
}

impl Lane {
    /// What it is as it competes for slots, where a webhook may have so many. `is_waiting`: deliveries of it wait in the
    /// table.
    pub(super) fn class(&self, per_webhook: usize, is_waiting: bool) -> Class {
        let has_backlog = is_waiting || self.in_flight > 0 || self.queue.len() > per_webhook;
        match (self.pace.speed(), has_backlog) {
            (Speed::Prompt, false) => Class::Sparse,
            (Speed::Prompt, true) => Class::Busy,
            (Speed::Untried, false) => Class::Untried,
            // With a backlog it can wait for its first attempt.
            (Speed::Untried, true) | (Speed::Slow, _) => Class::Slow,
        }
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && self.failed == 0 && self.turn.is_none()
    }

    /// Takes the deliveries that a slow webhook holds beyond its room, newest first: their leases would end before they
    /// are attempted.
    pub(super) fn surplus(&mut self) -> Vec<Job> {
        let LaneRoom::Slow(most) = self.room else { return Vec::new() };
        let kept = most.saturating_sub(self.in_flight).min(self.queue.len());
        self.queue.split_off(kept).into()
    }
}

/// The idle lanes beyond so many: those whose last attempt is longest ago.
pub(super) fn longest_idle(lanes: &HashMap<WebhookId, Lane>, most: usize) -> Vec<WebhookId> {
    if lanes.len() <= most {
        return Vec::new();
    }
    let idle = lanes.iter().filter(|(_, lane)| lane.is_idle());
    let mut idle: Vec<_> = idle.map(|(webhook, lane)| (lane.last_attempt, *webhook)).collect();
    idle.sort_unstable();
    idle.truncate(lanes.len() - most);
    idle.into_iter().map(|(_, webhook)| webhook).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    /// Rules: ISOLATION-5
    #[test]
    fn the_lanes_that_were_idle_for_the_longest_time_are_forgotten() {
        let begun = Instant::now();
        let webhook = |number: u64| WebhookId(Uuid::from_u128(number.into()));
        let lane = |number: u64| Lane {
            last_attempt: Some(begun + Duration::from_secs(100 - number)),
            ..Lane::default()
        };
        let mut lanes: HashMap<_, _> = (0..10).map(|number| (webhook(number), lane(number))).collect();
        assert_eq!(longest_idle(&lanes, 10), []);
        assert_eq!(longest_idle(&lanes, 7), [9, 8, 7].map(webhook));
        lanes.get_mut(&webhook(9)).unwrap().in_flight = 1;
        assert_eq!(longest_idle(&lanes, 7), [8, 7, 6].map(webhook), "one that is busy is kept");
    }
}
