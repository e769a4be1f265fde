//! A queue of webhooks that wait for a slot or for a claim, by priority.

use std::collections::BTreeMap;

use invoicing_core::WebhookId;

use crate::queue::Pool;

/// The priority of a webhook that waits. In each pool, high priority is served before normal one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Priority {
    pub(super) pool: Pool,
    pub(super) is_high: bool,
}

/// The position of a webhook in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    priority: Priority,
    number: u64,
}

/// The queue. A webhook has at most one position, as long as the caller passes it with each call.
#[derive(Debug, Default)]
pub(super) struct PriorityQueue {
    waiting: BTreeMap<Position, WebhookId>,
    next_number: u64,
}

impl PriorityQueue {
    /// Puts the webhook behind all others of this priority, and removes it from its position at
    /// another one. At the same priority it keeps its position.
    pub(super) fn push(
        &mut self,
        priority: Priority,
        webhook: WebhookId,
        position: Option<Position>,
    ) -> Position {
        match position {
            Some(position) if position.priority == priority => return position,
            Some(position) => self.remove(position),
            None => {}
        }
        let position = Position { priority, number: self.next_number };
        self.next_number += 1;
        self.waiting.insert(position, webhook);
        position
    }

    pub(super) fn remove(&mut self, position: Position) {
        self.waiting.remove(&position);
    }

    /// The first webhook of a priority.
    pub(super) fn first(&self, priority: Priority) -> Option<(Position, WebhookId)> {
        let (position, webhook) = self.waiting.range(Position { priority, number: 0 }..).next()?;
        (position.priority == priority).then_some((*position, *webhook))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_has_one_position_however_often_its_priority_changes() {
        let mut queue = PriorityQueue::default();
        let [one, two] = [1, 2].map(|number| WebhookId(Uuid::from_u128(number)));
        let priorities = [Pool::Prompt, Pool::Slow]
            .map(|pool| [false, true].map(|is_high| Priority { pool, is_high }))
            .concat();
        let mut position = queue.push(priorities[0], one, None);
        queue.push(priorities[0], two, None);
        assert_eq!(queue.push(priorities[0], one, Some(position)), position, "it keeps its position");
        for priority in priorities.iter().rev() {
            position = queue.push(*priority, one, Some(position));
        }
        let mut taken = Vec::new();
        while let Some((position, webhook)) = queue.first(priorities[0]) {
            queue.remove(position);
            taken.push(webhook);
        }
        assert_eq!(taken, [two, one]);
        assert!(queue.is_empty());
    }
}
