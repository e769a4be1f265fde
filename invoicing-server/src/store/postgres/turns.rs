//! Calls that wait for a task, which takes several at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

use super::calls::{Call, Group};

/// Most calls in one transaction. Bounds how long the first one waits for the last.
pub(super) const GROUP: usize = 64;

/// The calls that wait for each task. A key without an entry has no task.
pub(super) struct Turns<K>(Arc<Mutex<HashMap<K, Group>>>);

impl<K: Copy + Eq + Hash> Turns<K> {
    /// Lets a call wait for the task of a key, which is begun where there is none.
    pub(super) fn join(&self, key: K, call: Box<dyn Call>, begin: impl FnOnce(Turn<K>)) {
        match self.0.lock().entry(key) {
            Entry::Occupied(mut waiting) => return waiting.get_mut().push(call),
            Entry::Vacant(none) => drop(none.insert(vec![call])),
        }
        begin(Turn { turns: Self(Arc::clone(&self.0)), key, has_left: false });
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
    has_left: bool,
}

impl<K: Copy + Eq + Hash> Turn<K> {
    /// The next calls. Of each company the first ones, so that one with many delays no other.
    pub(super) fn take(&self, at_most: usize) -> Group {
        let mut keys = self.turns.0.lock();
        let Some(waiting) = keys.get_mut(&self.key) else { return Group::new() };
        if waiting.len() > at_most {
            let mut places = HashMap::new();
            waiting.sort_by_cached_key(|call| {
                let place = places.entry(call.company()).or_insert(0_usize);
                *place += 1;
                *place
            });
        }
        let taken = waiting.len().min(at_most);
        waiting.drain(..taken).collect()
    }

    /// Ends the turn if no call waits. Whether it has.
    pub(super) fn leave(&mut self) -> bool {
        let mut keys = self.turns.0.lock();
        self.has_left = keys.get(&self.key).is_none_or(Vec::is_empty);
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
    use uuid::Uuid;

    use super::*;
    use crate::Error;
    use crate::store::tx::Tx;

    /// A call of a company that nothing runs.
    struct Idle(u128);

    impl Call for Idle {
        fn run<'t>(&'t mut self, _tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>> {
            Box::pin(async { Ok(()) })
        }

        fn company(&self) -> Option<CompanyId> {
            Some(CompanyId(Uuid::from_u128(self.0)))
        }

        fn is_wanted(&self) -> bool {
            true
        }

        fn begun(&self) -> Instant {
            Instant::now()
        }

        fn answer(self: Box<Self>, _committed: Result<(), Error>) {}
    }

    /// The calls of these companies wait for a task.
    fn waiting(companies: &[u128]) -> (Turns<u8>, Turn<u8>) {
        let (turns, mut turn) = (Turns::default(), None);
        for company in companies {
            turns.join(0, Box::new(Idle(*company)), |begun| turn = Some(begun));
        }
        (turns, turn.expect("the first call begins a turn"))
    }

    fn companies(calls: &Group) -> Vec<u128> {
        calls.iter().filter_map(|call| call.company()).map(|company| company.0.as_u128()).collect()
    }

    #[test]
    fn a_company_with_many_calls_lets_others_in_before_its_next() {
        let (_turns, turn) = waiting(&[1, 1, 1, 1, 2, 1, 3, 2]);
        assert_eq!(companies(&turn.take(4)), [1, 2, 3, 1]);
        assert_eq!(companies(&turn.take(4)), [2, 1, 1, 1]);
        assert!(turn.take(4).is_empty());
    }

    #[test]
    fn a_turn_ends_when_no_call_waits() {
        let (turns, mut turn) = waiting(&[1, 2]);
        assert!(!turn.leave());
        turn.take(2);
        assert!(turn.leave());
        assert!(!turns.has(0));
    }

    #[test]
    fn the_calls_of_a_task_that_ends_early_are_dropped() {
        let (turns, turn) = waiting(&[1, 2]);
        drop(turn);
        assert!(!turns.has(0), "the next call begins another task");
    }
}
