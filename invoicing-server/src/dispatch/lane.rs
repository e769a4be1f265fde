//! The deliveries of one webhook that are in memory, and what is known of its receiver.

use std::collections::VecDeque;
use std::time::Instant;

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
