//! [`ReadQueue`]: a bounded queue, without duplicates, of the ids that events have reported.

use std::collections::VecDeque;

use invoicing_core::Timestamp;
use uuid::Uuid;

use super::ChangeEvent;
use crate::Resource;

/// With more ids than this a pass is cheaper, as it reads a hundred records with one request.
pub(super) const CAPACITY: usize = 8;

#[derive(Debug, Default)]
pub(super) struct ReadQueue {
    /// Oldest first, without duplicates.
    waiting: VecDeque<Uuid>,
    /// Ids being read. A new event about one of them queues it again, as the response may be older than the event.
    in_progress: Vec<Uuid>,
    /// Ids were dropped because the queue was full: a pass must read them.
    has_overflowed: bool,
    /// The pass that reads the dropped ids is in progress.
    recovers_overflow: bool,
}

impl ReadQueue {
    /// Queues the record of an event, if it is of this resource and the event is not older than `acknowledged_until`.
    pub(super) fn offer<R: Resource>(&mut self, event: &ChangeEvent, acknowledged_until: Timestamp) {
        let is_relevant = R::EVENT_PREFIX.is_some_and(|prefix| event.kind.starts_with(prefix));
        if is_relevant && event.timestamp >= acknowledged_until {
            self.push(event.id);
        }
    }

    fn push(&mut self, id: Uuid) {
        if self.has_overflowed || self.waiting.contains(&id) {
            return;
        }
        if self.waiting.len() == CAPACITY {
            // The pass reads the queued records too.
            self.waiting.clear();
            self.has_overflowed = true;
        } else {
            self.waiting.push_back(id);
        }
    }

    /// True if a pass is necessary.
    pub(super) fn has_overflowed(&self) -> bool {
        self.has_overflowed
    }

    /// Number of queued ids. An overflow counts as one more than the capacity.
    pub(super) fn len(&self) -> usize {
        if self.has_overflowed { CAPACITY + 1 } else { self.waiting.len() }
    }

    /// Takes the oldest id to be read.
    pub(super) fn take_next(&mut self) -> Option<Uuid> {
        let id = self.waiting.pop_front()?;
        self.in_progress.push(id);
        Some(id)
    }

    /// Takes all ids for a pass.
    pub(super) fn take_all(&mut self) {
        self.in_progress.extend(self.waiting.drain(..));
        self.recovers_overflow |= std::mem::take(&mut self.has_overflowed);
    }

    /// Forgets the ids taken: they have been read, or are left to the next pass.
    pub(super) fn complete(&mut self) {
        self.in_progress.clear();
        self.recovers_overflow = false;
    }

    /// Queues the ids taken again: they have not been read.
    pub(super) fn restore(&mut self) {
        for id in std::mem::take(&mut self.in_progress) {
            self.push(id);
        }
        self.has_overflowed |= std::mem::take(&mut self.recovers_overflow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    #[test]
    fn an_event_is_queued_for_its_own_resource_only() {
        let queued = |kind: &str| {
            let timestamp = Timestamp::from_millis(1);
            let event = ChangeEvent { kind: kind.to_owned(), id: id(1), timestamp };
            let (mut invoices, mut notes) = (ReadQueue::default(), ReadQueue::default());
            invoices.offer::<crate::Invoices>(&event, timestamp);
            notes.offer::<crate::CreditNotes>(&event, timestamp);
            (invoices.len(), notes.len())
        };
        assert_eq!(queued("invoice.issued"), (1, 0));
        assert_eq!(queued("credit_note.issued"), (0, 1));
        assert_eq!(queued("quote.signed"), (0, 0));
    }

    #[test]
    fn ids_are_queued_once_and_again_during_their_read() {
        let mut read_queue = ReadQueue::default();
        for n in [1, 2, 1, 1] {
            read_queue.push(id(n));
        }
        assert_eq!(read_queue.take_next(), Some(id(1)));
        read_queue.push(id(1));
        read_queue.complete();
        assert_eq!(
            [read_queue.take_next(), read_queue.take_next(), read_queue.take_next()],
            [Some(id(2)), Some(id(1)), None]
        );
        read_queue.restore();
        assert_eq!([read_queue.take_next(), read_queue.take_next()], [Some(id(2)), Some(id(1))]);
    }

    #[test]
    fn an_overflow_requires_a_pass() {
        let mut read_queue = ReadQueue::default();
        (0..CAPACITY).for_each(|n| read_queue.push(id(n)));
        assert!(!read_queue.has_overflowed());
        read_queue.push(id(CAPACITY - 1));
        assert!(!read_queue.has_overflowed(), "it is queued already");
        read_queue.push(id(CAPACITY));
        assert!(read_queue.has_overflowed());
        assert_eq!(read_queue.take_next(), None);
        read_queue.take_all();
        assert_eq!(read_queue.len(), 0);
        // The pass fails. During the next one, a record changes.
        read_queue.restore();
        assert!(read_queue.has_overflowed());
        read_queue.take_all();
        read_queue.push(id(1));
        read_queue.complete();
        assert_eq!(read_queue.take_next(), Some(id(1)));
    }
}
