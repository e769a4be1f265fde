//! Memory slots for deliveries, and their division among webhooks.
//!
//! A delivery is claimed when it gets its memory slot, so each pool has no more memory slots than
//! its attempts serve within a lease, by the default settings. A delivery whose lease is nearly
//! over is released instead of attempted.

use std::collections::{HashMap, HashSet};

use invoicing_core::WebhookId;

use super::pools::{Pool, Pools};
use crate::config::DispatchSettings;

/// Maximum number of memory slots of one webhook: enough that a claim and a recording are shared by
/// many deliveries.
const PER_WEBHOOK: usize = 256;
/// Memory slots for each attempt in flight, and for each that slow webhooks may have: the
/// deliveries that are served within a part of a lease. With half as many for prompt webhooks,
/// twenty busy ones would be limited by each other.
const PER_ATTEMPT: usize = 32;
const PER_SLOW_ATTEMPT: usize = 4;

/// The memory slots, and the webhooks that hold them.
#[derive(Debug)]
pub(super) struct MemorySlots {
    pools: Pools,
    per_prompt: usize,
    per_slow: usize,
    held: HashMap<WebhookId, usize>,
    /// The webhooks in the prompt pool.
    prompt: HashSet<WebhookId>,
}

impl MemorySlots {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let in_flight = settings.in_flight;
        let (all, slow) =
            (in_flight.saturating_mul(PER_ATTEMPT), in_flight.saturating_mul(PER_SLOW_ATTEMPT / 2));
        // With more, a single webhook could take the memory slots that are left to webhooks without
        // any.
        let limit = |memory_slots: usize, max: usize| max.min(memory_slots / 8).max(1);
        Self {
            pools: Pools::new(all, slow),
            per_prompt: limit(all, PER_WEBHOOK),
            per_slow: limit(slow, settings.in_flight_per_webhook.saturating_mul(2)),
            held: HashMap::new(),
            prompt: HashSet::new(),
        }
    }

    /// Moves a webhook to a pool, with its memory slots.
    pub(super) fn set_pool(&mut self, webhook: WebhookId, pool: Pool) {
        let (held, before) = (self.held_by(webhook), self.pool_of(webhook));
        match pool {
            Pool::Prompt => self.prompt.insert(webhook),
            Pool::Slow => self.prompt.remove(&webhook),
        };
        self.pools.free(before, held);
        self.pools.take(pool, held);
    }

    /// Takes a memory slot for a new delivery. A quarter of the webhook's memory slots is kept for
    /// claims, so that new deliveries cannot keep out the older ones in the table.
    pub(super) fn take_one(&mut self, webhook: WebhookId) -> bool {
        let limit = self.limit(webhook);
        let is_free = self.held_by(webhook) < limit - limit / 4;
        if is_free {
            self.take(webhook, 1);
        }
        is_free
    }

    /// Takes memory slots for a claim, and returns their number: 0 if none is wanted or the webhook
    /// holds enough, `None` if no memory slot is left for any webhook of its pool. A claim is made only while a
    /// quarter of the webhook's memory slots is free, so that few claims read past rows that are
    /// held.
    pub(super) fn take_for_claim(&mut self, webhook: WebhookId, wanted: usize) -> Option<usize> {
        let limit = self.limit(webhook);
        if limit == 0 {
            return None;
        }
        let held = self.held_by(webhook);
        if wanted == 0 || held + limit.div_ceil(4) > limit {
            return Some(0);
        }
        let taken = wanted.min(limit - held);
        self.take(webhook, taken);
        Some(taken)
    }

    /// Frees memory slots.
    pub(super) fn free(&mut self, webhook: WebhookId, deliveries: usize) {
        let Some(held) = self.held.get_mut(&webhook) else { return };
        let freed = deliveries.min(*held);
        *held -= freed;
        if *held == 0 {
            self.held.remove(&webhook);
        }
        self.pools.free(self.pool_of(webhook), freed);
    }

    fn take(&mut self, webhook: WebhookId, deliveries: usize) {
        *self.held.entry(webhook).or_default() += deliveries;
        self.pools.take(self.pool_of(webhook), deliveries);
    }

    /// Maximum number of memory slots that the webhook may hold now.
    fn limit(&self, webhook: WebhookId) -> usize {
        match self.pool_of(webhook) {
            Pool::Prompt => self.pools.limit(Pool::Prompt, self.per_prompt, 0),
            Pool::Slow => self.pools.limit(Pool::Slow, self.per_slow, 0),
        }
    }

    fn held_by(&self, webhook: WebhookId) -> usize {
        self.held.get(&webhook).copied().unwrap_or(0)
    }

    fn pool_of(&self, webhook: WebhookId) -> Pool {
        if self.prompt.contains(&webhook) { Pool::Prompt } else { Pool::Slow }
    }

    /// Number of webhooks in the prompt pool.
    #[cfg(test)]
    pub(super) fn prompt_webhooks(&self) -> usize {
        self.prompt.len()
    }
}

#[cfg(test)]
mod tests;
