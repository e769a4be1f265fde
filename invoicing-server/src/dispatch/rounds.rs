//! Lanes that could start an attempt, in turn, by class.

use std::collections::BTreeMap;

use invoicing_core::WebhookId;

use super::slots::Class;

/// Where a lane stands in the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    class: Class,
    number: u64,
}

/// See the module's text. A lane has one turn at most.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    sparse: BTreeMap<u64, WebhookId>,
    untried: BTreeMap<u64, WebhookId>,
    busy: BTreeMap<u64, WebhookId>,
    slow: BTreeMap<u64, WebhookId>,
    next_number: u64,
    slow_first: bool,
}

impl Rounds {
    /// The lane is in the round of this class, behind the others. Where it is there already, it keeps its turn.
    pub(super) fn join(&mut self, class: Class, webhook: WebhookId, turn: Option<Turn>) -> Turn {
        match turn {
            Some(turn) if turn.class == class => return turn,
            Some(Turn { class, number }) => self.round(class).remove(&number),
            None => None,
        };
        let number = self.next_number;
        self.next_number += 1;
        self.round(class).insert(number, webhook);
        Turn { class, number }
    }

    /// Takes the next lane of a round.
    pub(super) fn pop(&mut self, class: Class) -> Option<WebhookId> {
        self.round(class).pop_first().map(|(_, webhook)| webhook)
    }

    /// The order in which the classes get free slots. Those with a backlog take turns.
    pub(super) fn order(&mut self) -> [Class; 4] {
        self.slow_first = !self.slow_first;
        let (third, last) =
            if self.slow_first { (Class::Slow, Class::Busy) } else { (Class::Busy, Class::Slow) };
        [Class::Sparse, Class::Untried, third, last]
    }

    pub(super) fn is_empty(&self) -> bool {
        [&self.sparse, &self.untried, &self.busy, &self.slow].into_iter().all(BTreeMap::is_empty)
    }

    fn round(&mut self, class: Class) -> &mut BTreeMap<u64, WebhookId> {
        match class {
            Class::Sparse => &mut self.sparse,
            Class::Untried => &mut self.untried,
            Class::Busy => &mut self.busy,
            Class::Slow => &mut self.slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_lane_has_one_turn_however_often_its_class_changes() {
        let mut rounds = Rounds::default();
        let [one, two] = [1, 2].map(|number| WebhookId(Uuid::from_u128(number)));
        let mut turn = rounds.join(Class::Busy, one, None);
        rounds.join(Class::Busy, two, None);
        assert_eq!(rounds.join(Class::Busy, one, Some(turn)), turn, "it keeps its place");
        for class in [Class::Sparse, Class::Untried, Class::Slow, Class::Busy] {
            turn = rounds.join(class, one, Some(turn));
        }
        assert_eq!([(); 3].map(|()| rounds.pop(Class::Busy)), [Some(two), Some(one), None]);
        assert!(rounds.is_empty());
    }
}
