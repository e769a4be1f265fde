//! The webhooks that wait for a slot or for a claim: a queue for each class.

use std::collections::BTreeMap;

use invoicing_core::WebhookId;

use super::latency::LatencyClass;

/// The position of a webhook in the queue of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    class: LatencyClass,
    number: u64,
}

/// The queues. A webhook has at most one position, as long as the caller passes it with each call.
#[derive(Debug, Default)]
pub(super) struct ClassQueues {
    waiting: BTreeMap<Position, WebhookId>,
    next_number: u64,
}

impl ClassQueues {
    /// Puts the webhook behind all others of this class, and removes it from its position in another
    /// queue. In the same one it keeps its position.
    pub(super) fn push(
        &mut self,
        class: LatencyClass,
        webhook: WebhookId,
        position: Option<Position>,
    ) -> Position {
        match position {
            Some(position) if position.class == class => return position,
            Some(position) => self.remove(position),
            None => {}
        }
        let position = Position { class, number: self.next_number };
        self.next_number += 1;
        self.waiting.insert(position, webhook);
        position
    }

    pub(super) fn remove(&mut self, position: Position) {
        self.waiting.remove(&position);
    }

    /// The first webhook of a class.
    pub(super) fn first(&self, class: LatencyClass) -> Option<(Position, WebhookId)> {
        let (position, webhook) = self.waiting.range(Position { class, number: 0 }..).next()?;
        (position.class == class).then_some((*position, *webhook))
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
    fn a_webhook_has_one_position_however_often_its_class_changes() {
        let mut queues = ClassQueues::default();
        let [one, two] = [1, 2].map(|number| WebhookId(Uuid::from_u128(number)));
        let classes = [LatencyClass::New, LatencyClass::Slow, LatencyClass::Prompt];
        let mut position = queues.push(classes[0], one, None);
        queues.push(classes[0], two, None);
        assert_eq!(queues.push(classes[0], one, Some(position)), position, "it keeps its position");
        for class in classes.into_iter().rev() {
            position = queues.push(class, one, Some(position));
        }
        let mut taken = Vec::new();
        while let Some((position, webhook)) = queues.first(classes[0]) {
            queues.remove(position);
            taken.push(webhook);
        }
        assert_eq!(taken, [two, one]);
        assert!(queues.is_empty());
    }
}
