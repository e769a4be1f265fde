//! Calls that wait for a task, which takes several at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::store::call::{Call, Group};

/// Most calls in one transaction. Bounds how long the first one waits for the last.
pub(super) const GROUP: usize = 64;

/// The calls that wait for each task. A key without an entry has no task.
pub(super) struct Turns<K>(Arc<Mutex<HashMap<K, Waiting>>>);

struct Waiting {
    calls: Group,
    /// Tells the task that a call waits.
    arrived: Arc<Notify>,
}

impl<K: Copy + Eq + Hash> Turns<K> {
    /// Lets a call wait for the task of a key, which is begun where there is none.
    pub(super) fn join(&self, key: K, call: Box<dyn Call>, begin: impl FnOnce(Turn<K>)) {
        let arrived = Arc::new(Notify::new());
        match self.0.lock().entry(key) {
            Entry::Occupied(mut waiting) => {
                waiting.get_mut().calls.push(call);
                return waiting.get().arrived.notify_one();
            }
            Entry::Vacant(none) => {
                none.insert(Waiting { calls: vec![call], arrived: Arc::clone(&arrived) });
            }
        }
        begin(Turn { turns: Self(Arc::clone(&self.0)), key, arrived, has_left: false });
    }

    /// Whether a key has a task.
    pub(super) fn has(&self, key: K) -> bool {
        self.0.lock().contains_key(&key)
    }
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// What the task of a key has. Where it ends early, the callers hear that it has.
pub(super) struct Turn<K: Copy + Eq + Hash> {
    turns: Turns<K>,
    key: K,
    arrived: Arc<Notify>,
    has_left: bool,
}

impl<K: Copy + Eq + Hash> Turn<K> {
    /// The next calls.
    pub(super) fn take(&self, at_most: usize) -> Group {
        let mut keys = self.turns.0.lock();
        let Some(Waiting { calls, .. }) = keys.get_mut(&self.key) else { return Group::new() };
        calls.drain(..calls.len().min(at_most)).collect()
    }

    /// Waits until a call does, but no longer than that.
    pub(super) async fn wait(&self, limit: Duration) {
        let arrived = async {
            while !self.is_wanted() {
                self.arrived.notified().await;
            }
        };
        // Either way the next thing is to look.
        let _ = timeout(limit, arrived).await;
    }

    /// Whether a call waits.
    fn is_wanted(&self) -> bool {
        self.turns.0.lock().get(&self.key).is_some_and(|waiting| !waiting.calls.is_empty())
    }

    /// Ends the turn if no call waits. Whether it has.
    pub(super) fn leave(&mut self) -> bool {
        let mut keys = self.turns.0.lock();
        self.has_left = keys.get(&self.key).is_none_or(|waiting| waiting.calls.is_empty());
        if self.has_left {
            keys.remove(&self.key);
        }
        self.has_left
    }
}

impl<K: Copy + Eq + Hash> Drop for Turn<K> {
    fn drop(&mut self) {
        if !self.has_left {
            let ended = self.turns.0.lock().remove(&self.key);
            // What an operation holds is dropped after the lock.
            drop(ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use futures_util::future::BoxFuture;
    use invoicing_core::CompanyId;

    use super::*;
    use crate::Error;
    use crate::store::Prefetch;
    use crate::store::tx::Tx;

    /// A call that nothing runs.
    struct Idle;

    impl Call for Idle {
        fn run<'t>(&'t mut self, _tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>> {
            Box::pin(async { Ok(()) })
        }

        fn company(&self) -> Option<CompanyId> {
            None
        }

        fn prefetches(&self) -> &[Prefetch] {
            &[]
        }

        fn is_wanted(&self) -> bool {
            true
        }

        fn begun(&self) -> Instant {
            Instant::now()
        }

        fn answer(self: Box<Self>, _committed: Result<(), Error>) {}
    }

    /// Two calls wait for a task.
    fn waiting() -> (Turns<u8>, Turn<u8>) {
        let (turns, mut turn) = (Turns::default(), None);
        for _ in 0..2 {
            turns.join(0, Box::new(Idle), |begun| turn = Some(begun));
        }
        (turns, turn.expect("the first call begins a turn"))
    }

    #[test]
    fn a_turn_ends_when_no_call_waits() {
        let (turns, mut turn) = waiting();
        assert_eq!(turn.take(1).len(), 1);
        assert!(!turn.leave());
        assert_eq!(turn.take(2).len(), 1);
        assert!(turn.leave());
        assert!(!turns.has(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_waits_for_the_next_call_but_not_for_ever() {
        const LIMIT: Duration = Duration::from_secs(1);
        let (turns, turn) = waiting();
        let begun = tokio::time::Instant::now();
        turn.wait(LIMIT).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "two wait");
        turn.take(2);
        let late = async {
            tokio::time::sleep(LIMIT / 2).await;
            turns.join(0, Box::new(Idle), |_| unreachable!("there is a task"));
        };
        tokio::join!(turn.wait(LIMIT), late);
        assert_eq!((begun.elapsed(), turn.take(2).len()), (LIMIT / 2, 1));
        turn.wait(LIMIT).await;
        assert_eq!(begun.elapsed(), LIMIT / 2 + LIMIT, "none came");
    }

    #[test]
    fn the_calls_of_a_task_that_ends_early_are_dropped() {
        let (turns, turn) = waiting();
        drop(turn);
        assert!(!turns.has(0), "the next call begins another task");
    }
}
