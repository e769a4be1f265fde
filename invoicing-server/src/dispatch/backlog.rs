//! Webhooks with deliveries in the table, in the order in which they are claimed for: in turn, from the moment on at which
//! a delivery is due. Each pool has turns of its own, since its webhooks wait for each other's places.
//!
//! A claim begins where the deliveries are that still wait, as far as that is known. While a session keeps the server from
//! removing old entries of the index, as a backup does, each claim would otherwise pass all that have ended since. Each poll
//! reads anew where the first one waits, so what a claim has left out waits for it.

use std::collections::{BTreeSet, HashMap, HashSet};

use invoicing_core::{Timestamp, WebhookId};

use super::latency::Standing;
use super::turns::{Line, Turn, Turns};
use crate::store::claims::Waiting;

/// How long before what is known a claim begins: other transactions may commit late what fell due then, and the clocks of
/// other nodes may be behind.
const OVERLAP_MS: i64 = 3_000;
/// How long after a claim that found no more the last one is made: first attempts are due at once, by the
/// clock of the node that has queued them, and clocks differ by a little less.
const LAST_CLAIM_MS: i64 = 25;
const EARLIEST: Timestamp = Timestamp::from_millis(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The next delivery falls due.
    DueAt(Timestamp),
    /// In turn.
    Ready(Turn),
    /// It holds enough, until one of its deliveries is recorded.
    Full,
    /// It is being claimed for, from an instant on, unless something was put back since. What has fallen due since is not
    /// part of that claim.
    Claiming { from: Option<Timestamp>, due: Option<Timestamp> },
}

/// Where a webhook waits to be claimed for. One of which nothing is known is in front of slow ones.
const fn line(standing: Standing) -> Line {
    Line { pool: standing.pool(), is_in_front: matches!(standing, Standing::New) }
}

/// The webhooks that wait to be claimed for, and where the claims begin.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    states: HashMap<WebhookId, State>,
    due: BTreeSet<(Timestamp, WebhookId)>,
    ready: Turns,
    /// Where claims begin for the webhooks whose deliveries the last poll has found or that have changed since.
    starts: HashMap<WebhookId, Timestamp>,
    /// Where they begin for all others, after a poll.
    start: Option<Timestamp>,
    /// The webhooks for which a last claim is to be made.
    last_claims: HashSet<WebhookId>,
    /// What was put back since a poll began, and from when on it waits. The poll may not have seen it.
    put_back: HashMap<WebhookId, Timestamp>,
}

impl Backlog {
    pub(super) fn poll_begins(&mut self) {
        self.put_back.clear();
    }

    /// Lets claims begin where a poll at `at` has found the first waiting delivery of each webhook.
    pub(super) fn polled(&mut self, at: Timestamp, waiting: &[Waiting]) {
        let start = |waiting: &Waiting| Some((waiting.webhook, waiting.from?.plus_millis(-OVERLAP_MS)));
        self.starts = waiting.iter().filter_map(start).collect();
        self.start = Some(at.plus_millis(-OVERLAP_MS));
        for (webhook, at) in std::mem::take(&mut self.put_back) {
            self.waits_from(webhook, at);
        }
    }

    /// From when on the webhook is claimed for. Never later than shortly before now: the first delivery that a poll has found
    /// may fall due later than the next one that is committed.
    pub(super) fn start(&self, webhook: WebhookId, now: Timestamp) -> Timestamp {
        self.known_start(webhook).min(now.plus_millis(-OVERLAP_MS))
    }

    fn known_start(&self, webhook: WebhookId) -> Timestamp {
        self.starts.get(&webhook).copied().or(self.start).unwrap_or(EARLIEST)
    }

    /// Notes a waiting delivery that falls due at `at`, which may have passed.
    pub(super) fn waits_from(&mut self, webhook: WebhookId, at: Timestamp) {
        let start = self.known_start(webhook).min(at);
        self.starts.insert(webhook, start);
        let put_back = self.put_back.entry(webhook).or_insert(at);
        *put_back = at.min(*put_back);
        if let Some(State::Claiming { from, .. }) = self.states.get_mut(&webhook) {
            *from = None;
        }
    }

    /// Notes waiting deliveries that may have fallen due at any time.
    pub(super) fn forget_start(&mut self, webhook: WebhookId) {
        self.waits_from(webhook, EARLIEST);
    }

    /// A delivery of the webhook falls due. While it is in turn, the claim will tell.
    pub(super) fn due_at(&mut self, webhook: WebhookId, at: Timestamp) {
        self.last_claims.remove(&webhook);
        match self.states.get_mut(&webhook) {
            None => self.set_due(webhook, at),
            Some(State::DueAt(due)) if at < *due => {
                self.due.remove(&(*due, webhook));
                self.set_due(webhook, at);
            }
            Some(State::Claiming { due, .. }) => *due = Some(due.map_or(at, |due| due.min(at))),
            Some(State::DueAt(_) | State::Ready(_) | State::Full) => {}
        }
    }

    fn set_due(&mut self, webhook: WebhookId, at: Timestamp) {
        self.states.insert(webhook, State::DueAt(at));
        self.due.insert((at, webhook));
    }

    /// Gives the webhooks whose deliveries are due by now their turns.
    pub(super) fn make_due_ready(&mut self, now: Timestamp, standing: impl Fn(WebhookId) -> Standing) {
        while self.due.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, webhook)) = self.due.pop_first()
        {
            self.make_ready(webhook, None, standing(webhook));
        }
    }

    fn make_ready(&mut self, webhook: WebhookId, turn: Option<Turn>, standing: Standing) {
        let turn = self.ready.join(line(standing), webhook, turn);
        self.states.insert(webhook, State::Ready(turn));
    }

    /// The next webhook in turn. It stays that until the caller has decided about it.
    pub(super) fn next(&self, standing: Standing) -> Option<WebhookId> {
        self.ready.next(line(standing)).map(|(_, webhook)| webhook)
    }

    /// The webhook holds enough.
    pub(super) fn set_full(&mut self, webhook: WebhookId) {
        self.end_turn(webhook, State::Full);
    }

    /// The webhook may hold more than before, or has another standing.
    pub(super) fn has_room(&mut self, webhook: WebhookId, standing: Standing) {
        match self.states.get(&webhook) {
            Some(State::Full) => self.make_ready(webhook, None, standing),
            Some(State::Ready(turn)) => self.make_ready(webhook, Some(*turn), standing),
            _ => {}
        }
    }

    /// The webhook is claimed for.
    pub(super) fn set_claiming(&mut self, webhook: WebhookId) {
        let from = Some(self.known_start(webhook));
        self.end_turn(webhook, State::Claiming { from, due: None });
    }

    fn end_turn(&mut self, webhook: WebhookId, state: State) {
        if let Some(State::Ready(turn)) = self.states.insert(webhook, state) {
            self.ready.leave(turn);
        }
    }

    /// The claim has ended. The webhook is claimed for again then, and the last delivery that was
    /// claimed fell due at `last`.
    pub(super) fn claimed(
        &mut self,
        webhook: WebhookId,
        again: Option<Timestamp>,
        last: Option<Timestamp>,
        now: Timestamp,
    ) {
        let meanwhile = match self.states.remove(&webhook) {
            Some(State::Claiming { from, due }) => {
                // If something was put back or found meanwhile, the claim may not have seen it.
                if let (Some(from), Some(last)) = (from, last)
                    && from == self.known_start(webhook)
                {
                    self.starts.insert(webhook, last.plus_millis(-OVERLAP_MS).max(from));
                }
                due
            }
            _ => None,
        };
        if let Some(at) = again.into_iter().chain(meanwhile).min() {
            self.last_claims.remove(&webhook);
            self.set_due(webhook, at);
        } else if self.last_claims.insert(webhook) {
            self.set_due(webhook, now.plus_millis(LAST_CLAIM_MS));
        } else {
            self.last_claims.remove(&webhook);
        }
    }

    /// When the next delivery falls due that is not due yet.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const PROMPT: Standing = Standing::Prompt;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn webhook(number: u128) -> WebhookId {
        WebhookId(Uuid::from_u128(number))
    }

    /// The webhooks in turn, each of which is claimed for.
    fn taken(backlog: &mut Backlog, standing: Standing) -> Vec<u128> {
        let mut taken = Vec::new();
        while let Some(webhook) = backlog.next(standing) {
            backlog.set_claiming(webhook);
            taken.push(webhook.0.as_u128());
        }
        taken
    }

    #[test]
    fn claims_start_near_the_last_until_a_poll_or_a_requeue() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        let found = |from| [Waiting { webhook: one, at: at(0), from: Some(at(from)) }];
        let start = |backlog: &Backlog| backlog.start(one, at(90_000)).as_millis();
        let claim = |backlog: &mut Backlog, last| {
            backlog.set_claiming(one);
            backlog.claimed(one, None, Some(at(last)), at(90_000));
            start(backlog)
        };
        assert_eq!(start(&backlog), 0, "nothing is known");
        backlog.polled(at(50_000), &found(20_000));
        assert_eq!(start(&backlog), 17_000);
        assert_eq!(claim(&mut backlog, 19_000), 17_000);
        assert_eq!(claim(&mut backlog, 30_000), 27_000);
        backlog.polled(at(50_000), &found(25_000));
        assert_eq!(start(&backlog), 22_000, "a delivery was committed late");
        backlog.waits_from(one, at(40_000));
        assert_eq!(start(&backlog), 22_000);
        backlog.waits_from(one, at(15_000));
        assert_eq!(start(&backlog), 15_000, "what was put back late fell due before");
        backlog.forget_start(one);
        assert_eq!(start(&backlog), 0);
        assert_eq!(claim(&mut backlog, 30_000), 27_000, "the claim took what had been put back");
        backlog.forget_start(one);
        backlog.set_claiming(one);
        backlog.forget_start(one);
        backlog.claimed(one, None, Some(at(40_000)), at(90_000));
        assert_eq!(start(&backlog), 0, "the claim may not have seen what was put back meanwhile");
        backlog.poll_begins();
        backlog.polled(at(60_000), &[]);
        assert_eq!(start(&backlog), 57_000, "what waits later was committed later");
        assert_eq!(claim(&mut backlog, 70_000), 67_000);
    }

    #[test]
    fn a_poll_knows_nothing_of_what_is_put_back_while_it_runs() {
        let mut backlog = Backlog::default();
        let (one, other) = (webhook(1), webhook(2));
        backlog.poll_begins();
        backlog.forget_start(one);
        backlog.waits_from(other, at(5_000));
        backlog.polled(at(50_000), &[Waiting { webhook: one, at: at(0), from: Some(at(40_000)) }]);
        assert_eq!([one, other].map(|webhook| backlog.start(webhook, at(60_000))), [at(0), at(5_000)]);
        backlog.poll_begins();
        backlog.polled(at(50_000), &[]);
        assert_eq!(backlog.start(one, at(60_000)), at(47_000), "the next one does");
    }

    #[test]
    fn a_delivery_polled_before_it_is_due_hides_no_earlier_one() {
        let mut backlog = Backlog::default();
        let retried = Waiting { webhook: webhook(1), at: at(55_000), from: Some(at(55_000)) };
        backlog.polled(at(50_000), &[retried]);
        assert_eq!(backlog.start(webhook(1), at(50_100)), at(47_100));
        assert_eq!(backlog.start(webhook(1), at(20_000)), at(17_000), "the clock was set back");
    }

    /// Rules: ISOLATION-3
    #[test]
    fn webhooks_are_claimed_for_in_turn_and_not_by_id() {
        let mut backlog = Backlog::default();
        for number in [2, 1, 3] {
            backlog.due_at(webhook(number), at(i64::try_from(10 - number).unwrap()));
        }
        backlog.make_due_ready(at(20), |_| PROMPT);
        assert_eq!(backlog.next(PROMPT), Some(webhook(3)), "due first");
        backlog.set_claiming(webhook(3));
        // It has more, and is behind the others although its id or its instant is smaller.
        backlog.claimed(webhook(3), Some(at(0)), None, at(20));
        backlog.make_due_ready(at(20), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [2, 1, 3]);
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_waits_among_those_of_its_standing_also_when_that_changes() {
        let mut backlog = Backlog::default();
        for number in 1..=4 {
            backlog.due_at(webhook(number), at(0));
        }
        let standing = |webhook: WebhookId| {
            [Standing::New, Standing::Slow, Standing::Slow, PROMPT]
                [usize::try_from(webhook.0.as_u128()).unwrap() - 1]
        };
        backlog.make_due_ready(at(0), standing);
        backlog.has_room(webhook(2), PROMPT);
        backlog.has_room(webhook(3), Standing::Slow);
        assert_eq!(taken(&mut backlog, PROMPT), [4, 2]);
        assert_eq!(taken(&mut backlog, Standing::New), [1]);
        assert_eq!(taken(&mut backlog, Standing::Slow), [3]);
    }

    #[test]
    fn what_falls_due_during_a_claim_is_claimed_next() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        backlog.due_at(one, at(5));
        backlog.make_due_ready(at(5), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
        backlog.due_at(one, at(9));
        backlog.due_at(one, at(7));
        backlog.claimed(one, Some(at(8)), None, at(5));
        assert_eq!(backlog.next_due(), Some(at(7)));
        backlog.due_at(one, at(6));
        assert_eq!(backlog.next_due(), Some(at(6)));
        backlog.make_due_ready(at(5), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), []);
        backlog.make_due_ready(at(7), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
    }

    #[test]
    fn a_full_webhook_waits_for_room() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        backlog.due_at(one, at(0));
        backlog.make_due_ready(at(0), |_| PROMPT);
        backlog.set_full(one);
        backlog.due_at(one, at(0));
        backlog.make_due_ready(at(0), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), []);
        backlog.has_room(one, PROMPT);
        backlog.has_room(one, PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
        backlog.claimed(one, None, None, at(0));
        assert_eq!(backlog.next_due(), Some(at(LAST_CLAIM_MS)), "another node's clock may be ahead");
        backlog.make_due_ready(at(LAST_CLAIM_MS), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
        backlog.claimed(one, None, None, at(30));
        assert_eq!((backlog.next_due(), backlog.states.len(), backlog.last_claims.len()), (None, 0, 0));
    }
}
