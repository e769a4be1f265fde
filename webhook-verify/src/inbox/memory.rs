//! An inbox in memory: for tests, and for receivers that may lose unhandled messages.

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Claim, Inbox, InboxFuture, MAX_DELAY, MIN_RETENTION, Receipt, millis};
use crate::{Clock, DedupKey};

/// Deliveries in memory.
///
/// They are lost when the process ends, although the sender got a 2xx for them. Use it for events
/// that may be lost.
#[derive(Debug, Default)]
pub struct MemoryInbox {
    state: Mutex<State>,
    clock: Clock,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    messages: HashMap<String, Message>,
    /// The waiting messages, by the time at which they are due: Unix milliseconds and key.
    due: BTreeSet<(i64, String)>,
}

#[derive(Debug)]
struct Message {
    received_at: i64,
    attempts: u32,
    progress: Progress,
}

enum Progress {
    Waiting { body: Bytes, due_at: i64 },
    Done { at: i64 },
}

impl MemoryInbox {
    /// An empty inbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty inbox with this clock, for tests.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }
}

impl State {
    fn receive(&mut self, key: String, body: &Bytes, now: i64) -> Receipt {
        if self.messages.contains_key(&key) {
            return Receipt::Duplicate;
        }
        self.due.insert((now, key.clone()));
        let progress = Progress::Waiting { body: body.clone(), due_at: now };
        self.messages.insert(key, Message { received_at: now, attempts: 0, progress });
        Receipt::New
    }

    fn claim(&mut self, now: i64, lease: Duration) -> Option<Claim> {
        let (_, key) = if self.due.first()?.0 <= now {
            self.due.pop_first()?
        } else if self.due.last()?.0 > now.saturating_add(millis(MAX_DELAY)) {
            self.due.pop_last()?
        } else {
            return None;
        };
        let message = self.messages.get_mut(&key)?;
        let Progress::Waiting { body, due_at } = &mut message.progress else { return None };
        *due_at = now.saturating_add(millis(lease.min(MAX_DELAY)));
        self.due.insert((*due_at, key.clone()));
        message.attempts += 1;
        let (body, received_at, attempts) = (body.clone(), message.received_at, message.attempts);
        Some(Claim { key, body, received_at_millis: received_at, attempts })
    }

    /// Changes the progress of a message, if the claim is still the latest one.
    fn update(&mut self, claim: &Claim, next: impl FnOnce(Bytes) -> Progress) -> bool {
        let Some(message) = self.messages.get_mut(&claim.key) else { return false };
        let Progress::Waiting { body, due_at } = &message.progress else { return false };
        if message.attempts != claim.attempts {
            return false;
        }
        self.due.remove(&(*due_at, claim.key.clone()));
        message.progress = next(body.clone());
        if let Progress::Waiting { due_at, .. } = message.progress {
            self.due.insert((due_at, claim.key.clone()));
        }
        true
    }

    fn prune(&mut self, done_before: i64) -> usize {
        let before = self.messages.len();
        self.messages
            .retain(|_, message| !matches!(message.progress, Progress::Done { at } if at < done_before));
        before - self.messages.len()
    }
}

impl Inbox for MemoryInbox {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> InboxFuture<'a, Receipt> {
        let receipt = self.state.lock().receive(key.to_string(), body, self.clock.unix_millis());
        if receipt == Receipt::New {
            self.arrived.notify_one();
        }
        Box::pin(ready(Ok(receipt)))
    }

    fn claim(&self, lease: Duration) -> InboxFuture<'_, Option<Claim>> {
        let claim = self.state.lock().claim(self.clock.unix_millis(), lease);
        Box::pin(ready(Ok(claim)))
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> InboxFuture<'a, bool> {
        let at = self.clock.unix_millis();
        let updated = self.state.lock().update(claim, |_| Progress::Done { at });
        Box::pin(ready(Ok(updated)))
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, _why: &'a str) -> InboxFuture<'a, bool> {
        let due_at = self.clock.unix_millis().saturating_add(millis(pause.min(MAX_DELAY)));
        let updated = self.state.lock().update(claim, |body| Progress::Waiting { body, due_at });
        Box::pin(ready(Ok(updated)))
    }

    fn prune(&self, retention: Duration) -> InboxFuture<'_, u64> {
        let done_before = self.clock.unix_millis().saturating_sub(millis(retention.max(MIN_RETENTION)));
        let pruned = self.state.lock().prune(done_before);
        Box::pin(ready(Ok(u64::try_from(pruned).unwrap_or(u64::MAX))))
    }

    fn waiting(&self) -> InboxFuture<'_, u64> {
        let waiting = self.state.lock().due.len();
        Box::pin(ready(Ok(u64::try_from(waiting).unwrap_or(u64::MAX))))
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.arrived.notified())
    }
}

/// Leaves out the body.
impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Waiting { due_at, .. } => write!(f, "Waiting({due_at})"),
            Self::Done { at } => write!(f, "Done({at})"),
        }
    }
}
