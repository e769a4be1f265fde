//! Places in memory for deliveries, and how many of them each webhook may hold.
//!
//! A delivery is claimed when it gets its place, so there are no more than a lease can serve, also while slow webhooks and
//! untried ones use all the slots that they may. Places follow the same shares as the slots: the fewer are free, the fewer
//! a webhook may hold. The last quarter is for webhooks that hold none, and the last eighth for those of them that are
//! known to be prompt.

use std::collections::HashMap;

use invoicing_core::WebhookId;

use crate::config::DispatchSettings;

/// Most places of one webhook: enough that a claim and a recording are shared by many deliveries.
pub(crate) const LANE_ROOM: usize = 256;
/// A webhook that takes this many milliseconds for a delivery is slow.
pub(crate) const SLOW_MS: u64 = 250;
/// Shortest rest of a lease, beyond the limit of an attempt, with which an attempt is begun. In milliseconds; 1 s less than
/// any lease has at first, so that a fresh one always suffices.
pub(crate) const MIN_REST_MS: u64 = 5_000;

/// How many places a webhook may hold, by how soon its receiver answered lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LaneRoom {
    /// No attempt has ended yet: few, and it shares the places of untried webhooks.
    #[default]
    Untried,
    /// So many.
    Prompt(usize),
    /// So many, and it shares the places of slow webhooks.
    Slow(usize),
}

/// What `most` of one party shrinks to while `taken` of `all` are in use: none where none is free, one while no more than a
/// quarter is, and `most` from three eighths on.
pub(crate) fn share(all: usize, taken: usize, most: usize) -> usize {
    let Some(free) = all.checked_sub(taken).filter(|free| *free > 0) else { return 0 };
    let beyond = free.saturating_sub(all / 4).saturating_mul(most.saturating_sub(1));
    (1 + beyond / (all / 8).max(1)).min(most)
}

/// How many one claim may take of `all` while `taken` are in use: nothing of the last quarter but a single one.
fn claimable(all: usize, taken: usize) -> usize {
    let free = all.saturating_sub(taken);
    free.saturating_sub(all / 4).max(1).min(free)
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Room {
    all: usize,
    /// Places of all untried webhooks.
    untried: usize,
    /// Places of all slow webhooks.
    slow: usize,
    /// Most places of an untried webhook.
    per_untried: usize,
    held: HashMap<WebhookId, usize>,
    /// Of the webhooks that are not untried.
    rooms: HashMap<WebhookId, LaneRoom>,
    held_in_all: usize,
    held_by_untried: usize,
    held_by_slow: usize,
}

impl Room {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let DispatchSettings { in_flight, attempt_timeout_ms, .. } = *settings;
        let usable_ms = settings.lease_ms.saturating_sub(attempt_timeout_ms + MIN_REST_MS);
        let served = |slots: usize, within_ms: u64, each_ms: u64| {
            let by_slot = usize::try_from(within_ms / each_ms).unwrap_or(usize::MAX).max(1);
            slots.max(1).saturating_mul(by_slot)
        };
        // An eighth of the slots is left to untried webhooks, and an eighth to prompt ones with a backlog.
        Self {
            all: in_flight.saturating_add(served(in_flight / 8, usable_ms, SLOW_MS)),
            untried: served(in_flight / 8, usable_ms, attempt_timeout_ms),
            slow: served(in_flight / 2, usable_ms / 2, attempt_timeout_ms),
            per_untried: places_for(settings.in_flight_per_webhook),
            held: HashMap::new(),
            rooms: HashMap::new(),
            held_in_all: 0,
            held_by_untried: 0,
            held_by_slow: 0,
        }
    }

    /// Forgets what is held. The limits stay.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.rooms.clear();
        (self.held_in_all, self.held_by_untried, self.held_by_slow) = (0, 0, 0);
    }

    /// Sets how many places a webhook may hold from now on. Where that is a change, how many it may hold now.
    pub(super) fn set(&mut self, webhook: WebhookId, room: LaneRoom) -> Option<usize> {
        if self.room_of(webhook) == room {
            return None;
        }
        let held = self.held_by(webhook);
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind -= held;
        }
        match room {
            LaneRoom::Untried => self.rooms.remove(&webhook),
            room => self.rooms.insert(webhook, room),
        };
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind += held;
        }
        Some(self.limit(webhook))
    }

    /// Takes a place for a new delivery. A quarter of the webhook's places is kept for claims, so that new deliveries
    /// cannot keep out those that wait in the table.
    pub(super) fn take_one(&mut self, webhook: WebhookId) -> bool {
        let limit = self.limit(webhook);
        let is_free = self.held_by(webhook) < limit - limit / 4;
        if is_free {
            self.take(webhook, 1);
        }
        is_free
    }

    /// Takes places for a claim; for how many deliveries. 0 where the webhook holds enough, `None` where no place is left
    /// for any webhook of its kind. A claim is made only while a quarter of the webhook's places is free, so that few
    /// claims read past rows that are held.
    pub(super) fn take_for_claim(&mut self, webhook: WebhookId, wanted: usize) -> Option<usize> {
        // One delivery tells how soon the receiver answers.
        let most = if self.room_of(webhook) == LaneRoom::Untried { 1 } else { usize::MAX };
        let limit = self.limit(webhook).min(most);
        if limit == 0 {
            return None;
        }
        let held = self.held_by(webhook);
        if held + limit.div_ceil(4) > limit {
            return Some(0);
        }
        let mut taken = wanted.min(limit - held).min(claimable(self.all, self.held_in_all));
        if matches!(self.room_of(webhook), LaneRoom::Slow(_)) {
            taken = taken.min(claimable(self.slow, self.held_by_slow));
        }
        self.take(webhook, taken);
        Some(taken)
    }

    /// Frees places.
    pub(super) fn free(&mut self, webhook: WebhookId, deliveries: usize) {
        let Some(held) = self.held.get_mut(&webhook) else { return };
        let freed = deliveries.min(*held);
        *held -= freed;
        if *held == 0 {
            self.held.remove(&webhook);
        }
        self.held_in_all -= freed;
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind -= freed;
        }
    }

    fn take(&mut self, webhook: WebhookId, deliveries: usize) {
        *self.held.entry(webhook).or_default() += deliveries;
        self.held_in_all += deliveries;
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind += deliveries;
        }
    }

    /// Most places that the webhook may hold now.
    fn limit(&self, webhook: WebhookId) -> usize {
        let unproven = |of_kind, held, most| {
            share(self.all - self.all / 8, self.held_in_all, most).min(share(of_kind, held, most))
        };
        match self.room_of(webhook) {
            LaneRoom::Untried => unproven(self.untried, self.held_by_untried, self.per_untried),
            LaneRoom::Prompt(most) => share(self.all, self.held_in_all, most),
            LaneRoom::Slow(most) => unproven(self.slow, self.held_by_slow, most),
        }
    }

    /// Of how many webhooks it knows a room.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.rooms.len()
    }

    fn held_by(&self, webhook: WebhookId) -> usize {
        self.held.get(&webhook).copied().unwrap_or(0)
    }

    fn room_of(&self, webhook: WebhookId) -> LaneRoom {
        self.rooms.get(&webhook).copied().unwrap_or_default()
    }

    /// What all webhooks of its kind hold, if it is not prompt.
    fn held_by_kind(&mut self, webhook: WebhookId) -> Option<&mut usize> {
        match self.room_of(webhook) {
            LaneRoom::Untried => Some(&mut self.held_by_untried),
            LaneRoom::Prompt(_) => None,
            LaneRoom::Slow(_) => Some(&mut self.held_by_slow),
        }
    }
}

/// Places that keep so many slots busy, and few more.
pub(crate) fn places_for(slots: usize) -> usize {
    slots + slots.div_ceil(2)
}

#[cfg(test)]
mod tests;
