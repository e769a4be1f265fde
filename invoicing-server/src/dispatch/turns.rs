//! Lines of webhooks that wait for their turn.

use std::collections::BTreeMap;

use invoicing_core::WebhookId;

use crate::queue::Pool;

/// A line of webhooks. In each pool, the line in front is served before the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitingLine {
    pub(super) pool: Pool,
    pub(super) is_in_front: bool,
}

/// A place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) line: WaitingLine,
    number: u64,
}

/// The lines. A webhook stands in at most one of them, as long as the caller passes its turn with
/// each call.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: BTreeMap<Turn, WebhookId>,
    next_number: u64,
}

impl Turns {
    /// Puts the webhook at the end of this line, and removes it from any other. If it stands in
    /// this line already, it keeps its turn.
    pub(super) fn join(&mut self, line: WaitingLine, webhook: WebhookId, turn: Option<Turn>) -> Turn {
        match turn {
            Some(turn) if turn.line == line => return turn,
            Some(turn) => self.leave(turn),
            None => {}
        }
        let turn = Turn { line, number: self.next_number };
        self.next_number += 1;
        self.waiting.insert(turn, webhook);
        turn
    }

    pub(super) fn leave(&mut self, turn: Turn) {
        self.waiting.remove(&turn);
    }

    /// The next webhook of a line.
    pub(super) fn next(&self, line: WaitingLine) -> Option<(Turn, WebhookId)> {
        let (turn, webhook) = self.waiting.range(Turn { line, number: 0 }..).next()?;
        (turn.line == line).then_some((*turn, *webhook))
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
    fn a_webhook_has_one_turn_however_often_its_line_changes() {
        let mut turns = Turns::default();
        let [one, two] = [1, 2].map(|number| WebhookId(Uuid::from_u128(number)));
        let lines = [Pool::Prompt, Pool::Slow]
            .map(|pool| [false, true].map(|is_in_front| WaitingLine { pool, is_in_front }))
            .concat();
        let mut turn = turns.join(lines[0], one, None);
        turns.join(lines[0], two, None);
        assert_eq!(turns.join(lines[0], one, Some(turn)), turn, "it keeps its place");
        for line in lines.iter().rev() {
            turn = turns.join(*line, one, Some(turn));
        }
        let mut taken = Vec::new();
        while let Some((turn, webhook)) = turns.next(lines[0]) {
            turns.leave(turn);
            taken.push(webhook);
        }
        assert_eq!(taken, [two, one]);
        assert!(turns.is_empty());
    }
}
