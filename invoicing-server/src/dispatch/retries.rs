//! Deliveries that wait in the table for another attempt, by the instant at which it is due.
//!
//! Each is claimed by its id at that instant. So no first attempt, of its own webhook or of another, is before it, as they
//! are in a [backlog](super::backlog). Those of slow webhooks are apart: they may have to wait for each other's slots.

use std::collections::{BTreeSet, HashMap, VecDeque};

use invoicing_core::{Timestamp, WebhookId};

/// A delivery that has begun.
pub(super) type Begun = (WebhookId, i64);

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// When each delivery is due, so that none is there twice.
    instants: HashMap<i64, Timestamp>,
    waiting: BTreeSet<(Timestamp, i64, WebhookId)>,
    /// Those that are due.
    due: VecDeque<Begun>,
    due_of_slow: VecDeque<Begun>,
}

impl Retries {
    /// A delivery has been put back, and is due at an instant. What was known of it before is out of date: it may have been
    /// skipped and queued again.
    pub(super) fn wait_until(&mut self, at: Timestamp, (webhook, delivery): Begun) {
        let before = self.instants.insert(delivery, at);
        if before.is_none_or(|before| self.waiting.remove(&(before, delivery, webhook))) {
            self.waiting.insert((at, delivery, webhook));
        }
    }

    /// A poll has found a delivery, which may have been put back since.
    pub(super) fn found(&mut self, at: Timestamp, begun: Begun) {
        if !self.instants.contains_key(&begun.1) {
            self.wait_until(at, begun);
        }
    }

    /// Takes the deliveries that are due, so many of slow webhooks and so many of others, in order.
    pub(super) fn take_due(
        &mut self,
        now: Timestamp,
        is_slow: impl Fn(WebhookId) -> bool,
        most_of_slow: usize,
        most: usize,
    ) -> Vec<(Begun, bool)> {
        while self.waiting.first().is_some_and(|(at, ..)| *at <= now)
            && let Some((_, delivery, webhook)) = self.waiting.pop_first()
        {
            let due = if is_slow(webhook) { &mut self.due_of_slow } else { &mut self.due };
            due.push_back((webhook, delivery));
        }
        let (of_slow, of_others) = (most_of_slow.min(self.due_of_slow.len()), most.min(self.due.len()));
        let of_slow = self.due_of_slow.drain(..of_slow).map(|begun| (begun, true));
        let taken: Vec<_> = of_slow.chain(self.due.drain(..of_others).map(|begun| (begun, false))).collect();
        for ((_, delivery), _) in &taken {
            self.instants.remove(delivery);
        }
        taken
    }

    /// When the next delivery is due that is not due yet.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|(at, ..)| *at)
    }

    /// Whether deliveries are due.
    pub(super) fn has_due(&self) -> bool {
        !(self.due.is_empty() && self.due_of_slow.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn begun(number: i64) -> Begun {
        (WebhookId(Uuid::from_u128(number.unsigned_abs().into())), number)
    }

    fn taken(retries: &mut Retries, now: i64, most_of_slow: usize) -> Vec<i64> {
        let is_slow = |webhook: WebhookId| webhook.0.as_u128() >= 10;
        let taken = retries.take_due(at(now), is_slow, most_of_slow, 2);
        taken.into_iter().map(|((_, delivery), _)| delivery).collect()
    }

    /// Rules: ATTEMPT-10
    #[test]
    fn retries_are_taken_when_they_are_due_and_slow_webhooks_keep_none_back() {
        let mut retries = Retries::default();
        for (millis, delivery) in [(30, 1), (10, 11), (20, 12), (20, 13), (40, 2), (50, 3), (60, 4)] {
            retries.wait_until(at(millis), begun(delivery));
        }
        assert!(taken(&mut retries, 9, 9).is_empty());
        assert_eq!(taken(&mut retries, 50, 1), [11, 1, 2]);
        assert!(retries.has_due());
        assert_eq!(taken(&mut retries, 50, 0), [3]);
        assert_eq!(retries.next_due(), Some(at(60)));
        assert_eq!(taken(&mut retries, 60, 9), [12, 13, 4]);
        assert!(!retries.has_due() && retries.next_due().is_none() && retries.instants.is_empty());
    }

    #[test]
    fn a_delivery_that_is_put_back_again_is_taken_once_at_its_new_instant() {
        let mut retries = Retries::default();
        for (first, then) in [(30, 20), (20, 30)] {
            retries.wait_until(at(first), begun(1));
            retries.wait_until(at(then), begun(1));
            retries.found(at(10), begun(1));
            assert!(taken(&mut retries, then - 1, 9).is_empty());
            assert_eq!(taken(&mut retries, then, 9), [1]);
            assert!(taken(&mut retries, 90, 9).is_empty());
        }
        retries.wait_until(at(10), begun(11));
        assert!(taken(&mut retries, 10, 0).is_empty());
        retries.found(at(10), begun(11));
        assert_eq!(taken(&mut retries, 90, 9), [11]);
        assert!(taken(&mut retries, 90, 9).is_empty());
    }
}
