//! The ids that notices told of and nobody has read yet: each once, and only a few.

use std::collections::VecDeque;

use invoicing_core::Timestamp;
use uuid::Uuid;

use super::Notice;
use crate::Resource;

/// Most ids that wait. A pass reads a hundred records with one request: where more wait, it is the better means.
pub(super) const CAPACITY: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Waiting, the oldest first, each once.
    waiting: VecDeque<Uuid>,
    /// Being read. What is told of them again waits once more: the answer may be older than the notice.
    in_hand: Vec<Uuid>,
    /// There were more than can wait; only a pass can make up for it.
    is_full: bool,
    /// The pass that makes up for it is being made.
    was_full: bool,
}

impl Inbox {
    /// Takes in what a notice tells, if it is about this resource and not about what was acknowledged long ago.
    pub(super) fn hear<R: Resource>(&mut self, notice: &Notice, known_until: Timestamp) {
        let concerns = R::EVENTS.is_some_and(|prefix| notice.event.starts_with(prefix));
        if concerns && notice.timestamp >= known_until {
            self.put(notice.id);
        }
    }

    fn put(&mut self, id: Uuid) {
        if self.is_full || self.waiting.contains(&id) {
            return;
        }
        if self.waiting.len() == CAPACITY {
            // The pass will read those that wait as well.
            self.waiting.clear();
            self.is_full = true;
        } else {
            self.waiting.push_back(id);
        }
    }

    /// Whether it takes a pass.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Grows with whatever is heard that waits.
    pub(super) fn count(&self) -> usize {
        if self.is_full { CAPACITY + 1 } else { self.waiting.len() }
    }

    /// Takes one to be read.
    pub(super) fn take_one(&mut self) -> Option<Uuid> {
        let id = self.waiting.pop_front()?;
        self.in_hand.push(id);
        Some(id)
    }

    /// A pass begins: it will read all of them.
    pub(super) fn take_all(&mut self) {
        self.in_hand.extend(self.waiting.drain(..));
        self.was_full |= std::mem::take(&mut self.is_full);
    }

    /// What was taken has been read, or is left to the next pass.
    pub(super) fn settle(&mut self) {
        self.in_hand.clear();
        self.was_full = false;
    }

    /// What was taken has not been read: it waits again.
    pub(super) fn put_back(&mut self) {
        for id in std::mem::take(&mut self.in_hand) {
            self.put(id);
        }
        self.is_full |= std::mem::take(&mut self.was_full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    #[test]
    fn each_waits_once_and_waits_again_while_it_is_read() {
        let mut inbox = Inbox::default();
        for n in [1, 2, 1, 1] {
            inbox.put(id(n));
        }
        assert_eq!(inbox.take_one(), Some(id(1)));
        inbox.put(id(1));
        inbox.settle();
        assert_eq!([inbox.take_one(), inbox.take_one(), inbox.take_one()], [Some(id(2)), Some(id(1)), None]);
        inbox.put_back();
        assert_eq!([inbox.take_one(), inbox.take_one()], [Some(id(2)), Some(id(1))]);
    }

    #[test]
    fn too_many_are_a_pass() {
        let mut inbox = Inbox::default();
        (0..CAPACITY).for_each(|n| inbox.put(id(n)));
        assert!(!inbox.is_full());
        inbox.put(id(CAPACITY - 1));
        assert!(!inbox.is_full(), "it waits already");
        inbox.put(id(CAPACITY));
        assert!(inbox.is_full());
        assert_eq!(inbox.take_one(), None);
        inbox.take_all();
        assert_eq!(inbox.count(), 0);
        // The pass fails, then another is made, and while it is made something changes.
        inbox.put_back();
        assert!(inbox.is_full());
        inbox.take_all();
        inbox.put(id(1));
        inbox.settle();
        assert_eq!(inbox.take_one(), Some(id(1)));
    }
}
