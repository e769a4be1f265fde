//! The way from a commit to the dispatcher of the same process.
//!
//! Bounded: an operation reserves a place before it inserts a delivery as claimed. Where there is no place, or no
//! dispatcher, the delivery waits in the table instead. Nothing here needs to survive: the table knows everything.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use invoicing_core::{CompanyId, Timestamp, WebhookId};
use tokio::sync::Notify;

use crate::env::Env;

/// Deliveries of one webhook that are held in memory. Small enough that all of them are attempted, or given back,
/// before their lease ends, also where each attempt takes its full time.
pub(crate) const LANE_ROOM: usize = 64;
/// Deliveries that are held in memory in all.
const TOTAL_ROOM: usize = 32_768;
/// How long a claim holds, in milliseconds. Many times the limit of an attempt.
const LEASE_MS: i64 = 60_000;

/// When a claim that is made now runs out.
pub(crate) fn lease_from(now: Timestamp) -> Timestamp {
    now.plus_millis(LEASE_MS)
}

/// A claimed delivery.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Row id.
    pub(crate) delivery: i64,
    pub(crate) company: CompanyId,
    pub(crate) webhook: WebhookId,
    /// What every attempt sends.
    pub(crate) body: Bytes,
    pub(crate) is_ping: bool,
    /// Attempts recorded since it was queued.
    pub(crate) attempts: u32,
    /// Claims since it was queued, this one included.
    pub(crate) claims: u32,
    pub(crate) lease_until: Timestamp,
}

/// A delivery that has just been committed.
#[derive(Debug)]
pub(crate) enum FreshJob {
    /// Claimed by this process, with a reserved place.
    Held(Job),
    /// Due in the table.
    Waiting(WebhookId),
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    /// Whether the one that runs still takes deliveries: not while it is ending.
    open: bool,
    held: HashMap<WebhookId, usize>,
    total: usize,
    inbox: Vec<FreshJob>,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Handoff {
    /// What this process writes into the claims it holds.
    token: i64,
    state: Mutex<State>,
    wake: Notify,
}

impl Handoff {
    pub(crate) fn new(env: &Env) -> Self {
        // Never 0, which is "not claimed".
        let token = i64::from_le_bytes(env.bytes()) | 1;
        Self { token, state: Mutex::default(), wake: Notify::new() }
    }

    pub(crate) fn token(&self) -> i64 {
        self.token
    }

    /// Takes a place for a delivery, if the dispatcher runs here and has room for this webhook.
    pub(crate) fn reserve(&self, webhook: WebhookId) -> bool {
        let mut state = self.state();
        if !state.open || state.total >= TOTAL_ROOM {
            return false;
        }
        let held = state.held.entry(webhook).or_default();
        if *held >= LANE_ROOM {
            return false;
        }
        *held += 1;
        state.total += 1;
        true
    }

    /// Takes up to `wanted` places; how many it took.
    pub(crate) fn reserve_many(&self, webhook: WebhookId, wanted: usize) -> usize {
        (0..wanted).take_while(|_| self.reserve(webhook)).count()
    }

    /// Gives places back.
    pub(crate) fn release(&self, webhook: WebhookId, places: usize) {
        let mut state = self.state();
        let Some(held) = state.held.get_mut(&webhook) else { return };
        let freed = places.min(*held);
        *held -= freed;
        if *held == 0 {
            state.held.remove(&webhook);
        }
        state.total -= freed;
    }

    /// Gives back the places of deliveries that were not committed after all.
    pub(crate) fn give_back(&self, undone: &[FreshJob]) {
        for job in undone {
            if let FreshJob::Held(job) = job {
                self.release(job.webhook, 1);
            }
        }
    }

    /// Passes on what has been committed.
    pub(crate) fn hand_over(&self, jobs: Vec<FreshJob>) {
        let mut state = self.state();
        if state.open {
            state.inbox.extend(jobs);
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Begins to take deliveries. False where a dispatcher runs already.
    pub(crate) fn start(&self) -> bool {
        let mut state = self.state();
        if state.running {
            return false;
        }
        *state = State { running: true, open: true, ..State::default() };
        true
    }

    /// Takes no more deliveries; what has been handed over meanwhile. Nobody else may start before [`Self::stop`], or
    /// the one that ends would take the hand-off from its successor.
    pub(crate) fn close(&self) -> Vec<FreshJob> {
        let mut state = self.state();
        state.open = false;
        std::mem::take(&mut state.inbox)
    }

    /// Has ended: another dispatcher may start.
    pub(crate) fn stop(&self) {
        *self.state() = State::default();
    }

    /// What has been handed over since the last call.
    pub(crate) fn take(&self) -> Vec<FreshJob> {
        std::mem::take(&mut self.state().inbox)
    }

    /// Waits until something is handed over. A hand-over before the call is not missed.
    pub(crate) async fn wait(&self) {
        self.wake.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
