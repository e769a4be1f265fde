//! Places in memory for deliveries, and how many of them each webhook may hold.
//!
//! Places follow the same shares as the slots for attempts. The fewer are free, the fewer a webhook may hold. The last
//! quarter is for webhooks that hold none, and the last eighth for those of them that are known to be prompt. Slow
//! webhooks together hold what their slots serve within half a lease, since what is held longer is released and claimed
//! again. For new ones no more than that is claimed.

use std::collections::HashMap;

use invoicing_core::WebhookId;

use crate::config::DispatchSettings;

/// Most places of one webhook: enough that a claim and a recording are shared by many deliveries.
pub(crate) const LANE_ROOM: usize = 256;
/// Places in all, for each slot.
const PER_SLOT: usize = 128;
/// Shortest rest of a lease, beyond the limit of an attempt, with which an attempt is begun. In milliseconds; 1 s less than
/// any lease has at first, so that a fresh one always suffices.
pub(crate) const MIN_REST_MS: u64 = 5_000;

/// How many places a webhook may hold, by how soon its receiver answered lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LaneRoom {
    /// No attempt has ended yet.
    #[default]
    New,
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
    /// Places of all slow webhooks.
    slow: usize,
    /// Most places of a new webhook.
    new: usize,
    held: HashMap<WebhookId, usize>,
    /// Of the webhooks that are not new.
    rooms: HashMap<WebhookId, LaneRoom>,
    held_in_all: usize,
    held_by_new: usize,
    held_by_slow: usize,
}

impl Room {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let usable_ms = settings.lease_ms.saturating_sub(settings.attempt_timeout_ms + MIN_REST_MS);
        let served_by_slot =
            usize::try_from(usable_ms / (2 * settings.attempt_timeout_ms)).unwrap_or(usize::MAX);
        let slow_slots = (settings.in_flight / 2).max(1);
        Self {
            all: settings.in_flight.saturating_mul(PER_SLOT),
            slow: slow_slots.saturating_mul(served_by_slot.max(1)),
            new: few(settings.in_flight_per_webhook),
            held: HashMap::new(),
            rooms: HashMap::new(),
            held_in_all: 0,
            held_by_new: 0,
            held_by_slow: 0,
        }
    }

    /// Forgets what is held. The limits stay.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.rooms.clear();
        (self.held_in_all, self.held_by_new, self.held_by_slow) = (0, 0, 0);
    }

    /// Sets how many places a webhook may hold from now on.
    pub(super) fn set(&mut self, webhook: WebhookId, room: LaneRoom) {
        let held = self.held_by(webhook);
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind -= held;
        }
        match room {
            LaneRoom::New => self.rooms.remove(&webhook),
            room => self.rooms.insert(webhook, room),
        };
        if let Some(of_kind) = self.held_by_kind(webhook) {
            *of_kind += held;
        }
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
        let limit = match self.room_of(webhook) {
            LaneRoom::New if self.held_by_new >= self.slow => 0,
            // One delivery tells how soon the receiver answers.
            LaneRoom::New => self.limit(webhook).min(1),
            _ => self.limit(webhook),
        };
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
        let of_all = |most| share(self.all, self.held_in_all, most);
        match self.room_of(webhook) {
            LaneRoom::New => share(self.all - self.all / 8, self.held_in_all, self.new),
            LaneRoom::Prompt(most) => of_all(most),
            LaneRoom::Slow(most) => of_all(most).min(share(self.slow, self.held_by_slow, most)),
        }
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
            LaneRoom::New => Some(&mut self.held_by_new),
            LaneRoom::Prompt(_) => None,
            LaneRoom::Slow(_) => Some(&mut self.held_by_slow),
        }
    }
}

/// Places that keep so many slots busy, and few more.
pub(crate) fn few(slots: usize) -> usize {
    slots + slots.div_ceil(2)
}

#[cfg(test)]
mod tests;
