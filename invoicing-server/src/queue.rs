//! The queue in memory between a commit and the dispatcher of the same process.
//!
//! The queue is bounded: an operation reserves a memory slot before it inserts a delivery as
//! leased. Without a free memory slot or a dispatcher, the operation inserts the delivery as
//! pending, and it waits in the table. The queue may be lost at any time, because the table is
//! complete.

mod memory_slots;
mod pools;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::cause::Cause;
use crate::config::DispatchSettings;
use crate::env::Env;
use memory_slots::MemorySlots;
pub(crate) use pools::{Pool, Pools};

/// A claimed delivery.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Row id.
    pub(crate) delivery: i64,
    pub(crate) company: CompanyId,
    pub(crate) webhook: WebhookId,
    pub(crate) event: EventId,
    /// The cause of the event, if it is known.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The bytes that every attempt sends.
    pub(crate) body: Bytes,
    pub(crate) is_ping: bool,
    /// Attempts recorded since it was queued.
    pub(crate) attempts: u32,
    /// Claims since it was queued, this one included.
    pub(crate) claims: u32,
    /// Number of the attempt that this claim is for. No other claim of the delivery has it.
    pub(crate) number: u32,
    pub(crate) lease_until: Timestamp,
    /// Token of the claim.
    pub(crate) token: i64,
}

/// A delivery that has just been committed.
#[derive(Debug)]
pub(crate) enum NewDelivery {
    /// Claimed by this process, with a memory slot.
    Leased(Job),
    /// Due in the table.
    Pending(WebhookId),
}

/// The state of the queue, behind its lock.
#[derive(Debug)]
struct QueueState {
    /// Token of the claims of the current or the last run.
    token: i64,
    /// True if a run takes deliveries.
    open: bool,
    memory_slots: MemorySlots,
    inbox: Vec<NewDelivery>,
    /// Webhooks that have changed since the dispatcher last took them.
    changed: HashSet<WebhookId>,
    /// Deliveries that the last run held when it ended.
    unreleased: Vec<i64>,
    /// True if the dispatcher is to poll the table.
    poll: bool,
}

impl QueueState {
    fn new(token: i64, open: bool, settings: &DispatchSettings) -> Self {
        Self {
            token,
            open,
            memory_slots: MemorySlots::new(settings),
            inbox: Vec::new(),
            changed: HashSet::new(),
            unreleased: Vec::new(),
            poll: false,
        }
    }

    /// True if the run with this token takes deliveries.
    fn takes(&self, token: i64) -> bool {
        self.open && self.token == token
    }
}

/// The queue. Operations and the dispatcher share it.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    wake: Notify,
    settings: DispatchSettings,
}

impl Queue {
    pub(crate) fn new(env: &Env, settings: &DispatchSettings) -> Self {
        // Odd, and so never 0, which means "not claimed".
        let token = i64::from_le_bytes(env.bytes()) | 1;
        let state = QueueState::new(token, false, settings);
        Self { state: Mutex::new(state), wake: Notify::new(), settings: settings.clone() }
    }

    /// End of the lease of a claim that is made now.
    pub(crate) fn lease_from(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(i64::try_from(self.settings.lease_ms).unwrap_or(i64::MAX))
    }

    /// Token of the claims of the current run. Each run has another token, so that no run mistakes
    /// a claim of an earlier run for its own.
    pub(crate) fn token(&self) -> i64 {
        self.state.lock().token
    }

    /// True if a run takes deliveries.
    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().open
    }

    /// Reserves a memory slot for a delivery that is claimed with this token, if its run is still
    /// the current one.
    pub(crate) fn reserve(&self, webhook: WebhookId, token: i64) -> bool {
        let mut state = self.state.lock();
        state.takes(token) && state.memory_slots.take_one(webhook)
    }

    /// Reserves memory slots for a claim of up to `wanted` deliveries, and returns their number: 0
    /// if the webhook holds enough, `None` if no memory slot is left for any webhook of its pool.
    pub(crate) fn reserve_many(&self, webhook: WebhookId, wanted: usize) -> Option<usize> {
        let mut state = self.state.lock();
        if state.open { state.memory_slots.take_for_claim(webhook, wanted) } else { None }
    }

    /// Moves a webhook to a pool, with the memory slots that it holds. A new webhook is in the slow
    /// pool.
    pub(crate) fn set_pool(&self, webhook: WebhookId, pool: Pool) {
        self.state.lock().memory_slots.set_pool(webhook, pool);
    }

    /// Number of webhooks in the prompt pool.
    #[cfg(test)]
    pub(crate) fn prompt_webhooks(&self) -> usize {
        self.state.lock().memory_slots.prompt_webhooks()
    }

    /// Frees the memory slots of `deliveries` deliveries.
    pub(crate) fn free(&self, webhook: WebhookId, deliveries: usize) {
        self.state.lock().memory_slots.free(webhook, deliveries);
    }

    /// Frees the memory slots of deliveries that were rolled back.
    pub(crate) fn undo(&self, rolled_back: &[NewDelivery]) {
        for delivery in rolled_back {
            if let NewDelivery::Leased(job) = delivery
                && job.token == self.token()
            {
                self.free(job.webhook, 1);
            }
        }
    }

    /// Passes committed deliveries to the dispatcher. Returns the deliveries that were claimed for
    /// a run that has ended: on SQLite the start of the next run releases them, on PostgreSQL the
    /// caller has to.
    pub(crate) fn hand_over(&self, deliveries: Vec<NewDelivery>) -> Vec<Job> {
        let mut untaken = Vec::new();
        let mut state = self.state.lock();
        for delivery in deliveries {
            match delivery {
                NewDelivery::Leased(job) if !state.takes(job.token) => untaken.push(job),
                delivery if state.open => state.inbox.push(delivery),
                // Without a run, pending deliveries need no hand-over: the next run begins with a
                // poll of the table.
                _ => {}
            }
        }
        drop(state);
        self.wake.notify_one();
        untaken
    }

    /// Takes deliveries for a new run from now on. The caller has released the
    /// [unreleased](Self::unreleased) ones before.
    pub(crate) fn open(&self) {
        let mut state = self.state.lock();
        // The token stays odd, and so never 0.
        *state = QueueState::new(state.token.wrapping_add(2), true, &self.settings);
    }

    /// Takes no more deliveries. The deliveries of the run, and those in the inbox, become the
    /// [unreleased](Self::unreleased) ones.
    pub(crate) fn close(&self, held: impl IntoIterator<Item = i64>) {
        let mut state = self.state.lock();
        state.open = false;
        let inbox = std::mem::take(&mut state.inbox);
        let untaken = inbox.into_iter().filter_map(|delivery| match delivery {
            NewDelivery::Leased(job) => Some(job.delivery),
            NewDelivery::Pending(_) => None,
        });
        state.unreleased.extend(untaken.chain(held));
    }

    /// Deliveries that the last run has left, and the token of their claims.
    pub(crate) fn unreleased(&self) -> (Vec<i64>, i64) {
        let state = self.state.lock();
        (state.unreleased.clone(), state.token)
    }

    /// Notifies the dispatcher of a webhook that has changed.
    pub(crate) fn webhook_changed(&self, webhook: WebhookId) {
        let mut state = self.state.lock();
        if state.open {
            state.changed.insert(webhook);
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Webhooks that have changed since the last call.
    pub(crate) fn take_changed(&self) -> HashSet<WebhookId> {
        std::mem::take(&mut self.state.lock().changed)
    }

    /// Makes the dispatcher poll the table: a notification may have been missed.
    pub(crate) fn request_poll(&self) {
        self.state.lock().poll = true;
        self.wake.notify_one();
    }

    /// True if a poll was requested since the last call.
    pub(crate) fn take_poll_request(&self) -> bool {
        std::mem::take(&mut self.state.lock().poll)
    }

    /// Deliveries handed over since the last call.
    pub(crate) fn take(&self) -> Vec<NewDelivery> {
        std::mem::take(&mut self.state.lock().inbox)
    }

    /// Waits until a delivery is handed over. A hand-over before the call is not missed.
    pub(crate) async fn wait(&self) {
        self.wake.notified().await;
    }
}
