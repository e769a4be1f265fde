//! The way from a commit to the dispatcher of the same process.
//!
//! Bounded: an operation reserves a place before it inserts a delivery as claimed. Where there is no place, or no
//! dispatcher, the delivery waits in the table instead. Nothing here needs to survive: the table knows everything.

use std::collections::HashMap;

use bytes::Bytes;
use invoicing_core::{CompanyId, Timestamp, WebhookId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::env::Env;

/// Deliveries of one webhook that are held in memory: enough that a claim and a recording are shared by many. Where
/// attempts take so long that the lease would end first, the rest is given back.
pub(crate) const LANE_ROOM: usize = 256;
/// Of these, how many only a claim takes, and takes at least where the webhook holds others: so that what is handed over
/// does not keep out what waits in the table, and few claims look over what is held.
const CLAIM_ROOM: usize = LANE_ROOM / 4;
/// Deliveries that are held in memory in all.
const TOTAL_ROOM: usize = 32_768;
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
    /// What it was claimed with.
    pub(crate) token: i64,
}

/// A delivery that has just been committed.
#[derive(Debug)]
pub(crate) enum FreshJob {
    /// Claimed by this process, with a reserved place.
    Held(Job),
    /// Due in the table.
    Waiting(WebhookId),
}

impl FreshJob {
    fn held(&self) -> Option<i64> {
        match self {
            Self::Held(job) => Some(job.delivery),
            Self::Waiting(_) => None,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    /// The number of the run under way, or of the last one.
    run: u64,
    /// The claims of the run under way.
    token: i64,
    /// Whether the one that runs still takes deliveries: not while it is ending.
    open: bool,
    held: HashMap<WebhookId, usize>,
    total: usize,
    inbox: Vec<FreshJob>,
    /// What runs that have ended held and could not give back.
    left: Vec<i64>,
    /// The table is to be looked at.
    look: bool,
}

impl State {
    /// Takes places, as long as the webhook holds no more than `limit`; how many it took.
    fn take_places(&mut self, webhook: WebhookId, wanted: usize, limit: usize) -> usize {
        let held = self.held.get(&webhook).copied().unwrap_or(0);
        let taken = wanted.min(limit.saturating_sub(held)).min(TOTAL_ROOM.saturating_sub(self.total));
        if taken > 0 {
            self.held.insert(webhook, held + taken);
            self.total += taken;
        }
        taken
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Handoff {
    state: Mutex<State>,
    wake: Notify,
    /// How long a claim holds, in milliseconds.
    lease_ms: i64,
}

impl Handoff {
    pub(crate) fn new(env: &Env, lease_ms: u64) -> Self {
        // Never 0, which is "not claimed".
        let token = i64::from_le_bytes(env.bytes()) | 1;
        let lease_ms = i64::try_from(lease_ms).unwrap_or(i64::MAX);
        Self { state: Mutex::new(State { token, ..State::default() }), wake: Notify::new(), lease_ms }
    }

    /// When a claim that is made now runs out.
    pub(crate) fn lease_from(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(self.lease_ms)
    }

    /// What the dispatcher that runs now writes into its claims. Each run has its own, so that nothing that was
    /// claimed for an earlier one is taken for its own.
    pub(crate) fn token(&self) -> i64 {
        self.state().token
    }

    /// Takes a place for a delivery that is claimed with this token, if its dispatcher runs and has room for the
    /// webhook.
    pub(crate) fn reserve(&self, webhook: WebhookId, token: i64) -> bool {
        let mut state = self.state();
        state.open && state.token == token && state.take_places(webhook, 1, LANE_ROOM - CLAIM_ROOM) == 1
    }

    /// Takes up to `wanted` places for a claim; how many it took.
    pub(crate) fn reserve_many(&self, webhook: WebhookId, wanted: usize) -> usize {
        let mut state = self.state();
        let held = state.held.get(&webhook).copied().unwrap_or(0);
        if !state.open || held + CLAIM_ROOM > LANE_ROOM {
            return 0;
        }
        state.take_places(webhook, wanted, LANE_ROOM)
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
            if let FreshJob::Held(job) = job
                && job.token == self.token()
            {
                self.release(job.webhook, 1);
            }
        }
    }

    /// Passes on what has been committed. What was claimed for a run that has ended in the meantime comes back: the start
    /// of a run in a file of its own releases that, elsewhere it has to be released.
    pub(crate) fn hand_over(&self, jobs: Vec<FreshJob>) -> Vec<Job> {
        let mut untaken = Vec::new();
        let mut state = self.state();
        let (open, token) = (state.open, state.token);
        for job in jobs {
            match job {
                FreshJob::Held(job) if !open || job.token != token => {
                    state.inbox.extend(open.then_some(FreshJob::Waiting(job.webhook)));
                    untaken.push(job);
                }
                job => state.inbox.extend(open.then_some(job)),
            }
        }
        drop(state);
        if open {
            self.wake.notify_one();
        }
        untaken
    }

    /// Leaves deliveries that the run under way holds to the next one: it could not give them back.
    pub(crate) fn leave(&self, deliveries: impl IntoIterator<Item = i64>) {
        self.state().left.extend(deliveries);
    }

    /// What earlier runs of this process left, and what it is claimed with. To be released before the next run
    /// [opens](Self::open) the hand-off.
    pub(crate) fn left(&self) -> (Vec<i64>, i64) {
        let state = self.state();
        (state.left.clone(), state.token)
    }

    /// Takes the right to be the one dispatcher. False where one runs already.
    pub(crate) fn start(&self) -> bool {
        let mut state = self.state();
        let starts = !std::mem::replace(&mut state.running, true);
        state.run += u64::from(starts);
        starts
    }

    /// The number of the run under way.
    pub(crate) fn run(&self) -> u64 {
        self.state().run
    }

    /// Takes deliveries for a run from now on: not before what an earlier one left has been released, and not where that
    /// turns out to be done only when another one has started.
    pub(crate) fn open(&self, run: u64) {
        let mut state = self.state();
        if state.running && state.run == run {
            // Stays odd, and so never 0.
            let token = state.token.wrapping_add(2);
            *state = State { running: true, run, open: true, token, ..State::default() };
        }
    }

    /// Takes no more deliveries; what was handed over and not taken. Nobody else may start before [`Self::stop`], or the
    /// one that ends would take the hand-off from its successor.
    pub(crate) fn close(&self) -> Vec<i64> {
        let mut state = self.state();
        state.open = false;
        std::mem::take(&mut state.inbox).iter().filter_map(FreshJob::held).collect()
    }

    /// Has ended: another dispatcher may start.
    pub(crate) fn stop(&self) {
        let untaken = self.close();
        let mut state = self.state();
        let mut left = std::mem::take(&mut state.left);
        left.extend(untaken);
        *state = State { run: state.run, token: state.token, left, ..State::default() };
    }

    /// Makes the dispatcher look at the table: something may have been missed.
    #[cfg(feature = "postgres")]
    pub(crate) fn look(&self) {
        self.state().look = true;
        self.wake.notify_one();
    }

    /// Whether the table is to be looked at.
    pub(crate) fn take_look(&self) -> bool {
        std::mem::take(&mut self.state().look)
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
        self.state.lock()
    }
}
