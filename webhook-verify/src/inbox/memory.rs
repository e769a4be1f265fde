//! An inbox in memory: for tests, and for receivers that can lose what they have not handled.

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::{Answer, Claim, FAR, Inbox, Receipt, SHORTEST_MEMORY, millis};
use crate::{Clock, DedupKey};

/// Deliveries in memory. They end with the process, though the sender was told that they are kept: it is no inbox for
/// events that matter.
#[derive(Debug, Default)]
pub struct MemoryInbox {
    state: Mutex<State>,
    clock: Clock,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    letters: HashMap<String, Letter>,
    /// By the time at which they are due: Unix milliseconds and key.
    due: BTreeSet<(i64, String)>,
}

#[derive(Debug)]
struct Letter {
    received_at: i64,
    attempts: u32,
    progress: Progress,
}

enum Progress {
    Waiting { body: Bytes, due_at: i64 },
    Done { at: i64 },
}

impl MemoryInbox {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one with another clock, for tests.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn receive(&mut self, key: String, body: &Bytes, now: i64) -> Receipt {
        if self.letters.contains_key(&key) {
            return Receipt::Seen;
        }
        self.due.insert((now, key.clone()));
        let progress = Progress::Waiting { body: body.clone(), due_at: now };
        self.letters.insert(key, Letter { received_at: now, attempts: 0, progress });
        Receipt::New
    }

    fn claim(&mut self, now: i64, lease: Duration) -> Option<Claim> {
        let (_, key) = if self.due.first()?.0 <= now {
            self.due.pop_first()?
        } else if self.due.last()?.0 > now.saturating_add(millis(FAR)) {
            self.due.pop_last()?
        } else {
            return None;
        };
        let letter = self.letters.get_mut(&key)?;
        let Progress::Waiting { body, due_at } = &mut letter.progress else { return None };
        *due_at = now.saturating_add(millis(lease.min(FAR)));
        self.due.insert((*due_at, key.clone()));
        letter.attempts += 1;
        let (body, received_at, attempt) = (body.clone(), letter.received_at, letter.attempts);
        Some(Claim { key, body, received_at, attempt })
    }

    /// Moves a letter on, if the claim is still the last one of it.
    fn settle(&mut self, claim: &Claim, next: impl FnOnce(Bytes) -> Progress) -> bool {
        let Some(letter) = self.letters.get_mut(&claim.key) else { return false };
        let Progress::Waiting { body, due_at } = &letter.progress else { return false };
        if letter.attempts != claim.attempt {
            return false;
        }
        self.due.remove(&(*due_at, claim.key.clone()));
        letter.progress = next(body.clone());
        if let Progress::Waiting { due_at, .. } = letter.progress {
            self.due.insert((due_at, claim.key.clone()));
        }
        true
    }

    fn prune(&mut self, done_before: i64) -> usize {
        let before = self.letters.len();
        self.letters
            .retain(|_, letter| !matches!(letter.progress, Progress::Done { at } if at < done_before));
        before - self.letters.len()
    }
}

impl Inbox for MemoryInbox {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> Answer<'a, Receipt> {
        let receipt = self.state().receive(key.to_string(), body, self.clock.unix_millis());
        if receipt == Receipt::New {
            self.arrived.notify_one();
        }
        Box::pin(ready(Ok(receipt)))
    }

    fn claim(&self, lease: Duration) -> Answer<'_, Option<Claim>> {
        let claim = self.state().claim(self.clock.unix_millis(), lease);
        Box::pin(ready(Ok(claim)))
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> Answer<'a, bool> {
        let at = self.clock.unix_millis();
        let settled = self.state().settle(claim, |_| Progress::Done { at });
        Box::pin(ready(Ok(settled)))
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, _why: &'a str) -> Answer<'a, bool> {
        let due_at = self.clock.unix_millis().saturating_add(millis(pause.min(FAR)));
        let settled = self.state().settle(claim, |body| Progress::Waiting { body, due_at });
        Box::pin(ready(Ok(settled)))
    }

    fn prune(&self, memory: Duration) -> Answer<'_, u64> {
        let done_before = self.clock.unix_millis().saturating_sub(millis(memory.max(SHORTEST_MEMORY)));
        let pruned = self.state().prune(done_before);
        Box::pin(ready(Ok(u64::try_from(pruned).unwrap_or(u64::MAX))))
    }

    fn waiting(&self) -> Answer<'_, u64> {
        let waiting = self.state().due.len();
        Box::pin(ready(Ok(u64::try_from(waiting).unwrap_or(u64::MAX))))
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.arrived.notified())
    }
}

/// Shows no body.
impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Waiting { due_at, .. } => write!(f, "Waiting({due_at})"),
            Self::Done { at } => write!(f, "Done({at})"),
        }
    }
}
