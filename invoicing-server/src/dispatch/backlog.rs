//! Webhooks with deliveries in the table, in the order in which they are claimed for: in turn, from the moment on at which
//! a delivery is due. Slow webhooks and untried ones have turns of their own, since they wait for each other's places.
//!
//! A claim begins where the deliveries are that still wait, as far as that is known. While a session keeps the server from
//! removing old entries of the index, as a backup does, each claim would otherwise pass all that have ended since. Each poll
//! reads anew where the first one waits, so what a claim has left out waits for it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use invoicing_core::{Timestamp, WebhookId};

use super::pace::Health;
use crate::store::claims::Waiting;

/// How long before what is known a claim begins: other transactions may commit late what fell due then, and the clocks of
/// other nodes may be behind.
const OVERLAP_MS: i64 = 3_000;
const EARLIEST: Timestamp = Timestamp::from_millis(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The next delivery falls due.
    DueAt(Timestamp),
    /// In turn.
    Ready,
    /// It holds enough, until one of its deliveries is recorded.
    Full,
    /// It is being claimed for, from an instant on, unless something was put back since. What has fallen due since is not
    /// part of that claim.
    Claiming { from: Option<Timestamp>, due: Option<Timestamp> },
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    states: HashMap<WebhookId, State>,
    due: BTreeSet<(Timestamp, WebhookId)>,
    untried: VecDeque<WebhookId>,
    prompt: VecDeque<WebhookId>,
    slow: VecDeque<WebhookId>,
    /// Where claims begin for the webhooks whose deliveries the last poll has found or that have changed since.
    starts: HashMap<WebhookId, Timestamp>,
    /// Where they begin for all others, after a poll.
    start: Option<Timestamp>,
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
        match self.states.get_mut(&webhook) {
            None => self.set_due(webhook, at),
            Some(State::DueAt(due)) if at < *due => {
                self.due.remove(&(*due, webhook));
                self.set_due(webhook, at);
            }
            Some(State::Claiming { due, .. }) => *due = Some(due.map_or(at, |due| due.min(at))),
            Some(State::DueAt(_) | State::Ready | State::Full) => {}
        }
    }

    fn set_due(&mut self, webhook: WebhookId, at: Timestamp) {
        self.states.insert(webhook, State::DueAt(at));
        self.due.insert((at, webhook));
    }

    /// Puts the webhooks whose deliveries are due by now behind those that are in turn.
    pub(super) fn make_due_ready(&mut self, now: Timestamp, health: impl Fn(WebhookId) -> Health) {
        while self.due.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, webhook)) = self.due.pop_first()
        {
            self.make_ready(webhook, health(webhook));
        }
    }

    /// Puts a webhook behind those that are in turn.
    pub(super) fn make_ready(&mut self, webhook: WebhookId, health: Health) {
        self.states.insert(webhook, State::Ready);
        self.ready(health).push_back(webhook);
    }

    /// The next webhook in turn. The caller tells what becomes of it.
    pub(super) fn pop(&mut self, health: Health) -> Option<WebhookId> {
        self.ready(health).pop_front()
    }

    /// Puts a webhook back at the front.
    pub(super) fn put_back(&mut self, webhook: WebhookId, health: Health) {
        self.ready(health).push_front(webhook);
    }

    /// The webhook holds enough.
    pub(super) fn set_full(&mut self, webhook: WebhookId) {
        self.states.insert(webhook, State::Full);
    }

    /// The webhook may hold more than before.
    pub(super) fn has_room(&mut self, webhook: WebhookId, health: Health) {
        if self.states.get(&webhook) == Some(&State::Full) {
            self.make_ready(webhook, health);
        }
    }

    /// The webhook is claimed for.
    pub(super) fn set_claiming(&mut self, webhook: WebhookId) {
        let from = Some(self.known_start(webhook));
        self.states.insert(webhook, State::Claiming { from, due: None });
    }

    /// The claim has ended; the next delivery falls due then, and the last one that was claimed did.
    pub(super) fn claimed(&mut self, webhook: WebhookId, next: Option<Timestamp>, last: Option<Timestamp>) {
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
        if let Some(at) = next.into_iter().chain(meanwhile).min() {
            self.set_due(webhook, at);
        }
    }

    /// When the next delivery falls due that is not due yet.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Whether the webhook has deliveries in the table, due or not.
    pub(super) fn contains(&self, webhook: WebhookId) -> bool {
        self.states.contains_key(&webhook)
    }

    /// Whether deliveries of the webhook are due that are not in memory.
    pub(super) fn is_waiting(&self, webhook: WebhookId) -> bool {
        !matches!(self.states.get(&webhook), None | Some(State::DueAt(_)))
    }

    fn ready(&mut self, health: Health) -> &mut VecDeque<WebhookId> {
        match health {
            Health::Untried => &mut self.untried,
            Health::Prompt => &mut self.prompt,
            Health::Slow => &mut self.slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const PROMPT: Health = Health::Prompt;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn webhook(number: u128) -> WebhookId {
        WebhookId(Uuid::from_u128(number))
    }

    fn popped(backlog: &mut Backlog) -> Vec<u128> {
        std::iter::from_fn(|| backlog.pop(PROMPT)).map(|webhook| webhook.0.as_u128()).collect()
    }

    #[test]
    fn claims_begin_shortly_before_the_last_until_a_poll_tells_more_or_something_is_put_back() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        let found = |from| [Waiting { webhook: one, at: at(0), from: Some(at(from)) }];
        let start = |backlog: &Backlog| backlog.start(one, at(90_000)).as_millis();
        let claim = |backlog: &mut Backlog, last| {
            backlog.set_claiming(one);
            backlog.claimed(one, None, Some(at(last)));
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
        backlog.claimed(one, None, Some(at(40_000)));
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
    fn a_delivery_that_a_poll_finds_before_it_is_due_hides_none_that_comes_first() {
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
        assert_eq!(backlog.pop(PROMPT), Some(webhook(3)), "due first");
        backlog.set_claiming(webhook(3));
        // It has more, and is behind the others although its id or its instant is smaller.
        backlog.claimed(webhook(3), Some(at(0)), None);
        backlog.make_due_ready(at(20), |_| PROMPT);
        assert_eq!(popped(&mut backlog), [2, 1, 3]);
    }

    #[test]
    fn what_falls_due_during_a_claim_is_claimed_next() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        backlog.due_at(one, at(5));
        backlog.make_due_ready(at(5), |_| PROMPT);
        assert_eq!(backlog.pop(PROMPT), Some(one));
        backlog.set_claiming(one);
        backlog.due_at(one, at(9));
        backlog.due_at(one, at(7));
        backlog.claimed(one, Some(at(8)), None);
        assert_eq!(backlog.next_due(), Some(at(7)));
        backlog.due_at(one, at(6));
        assert_eq!(backlog.next_due(), Some(at(6)));
        assert!(!backlog.is_waiting(one));
        backlog.make_due_ready(at(7), |_| PROMPT);
        assert!(backlog.is_waiting(one));
        assert_eq!(popped(&mut backlog), [1]);
    }

    #[test]
    fn a_full_webhook_waits_for_room() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        backlog.due_at(one, at(0));
        backlog.make_due_ready(at(0), |_| PROMPT);
        backlog.pop(PROMPT);
        backlog.set_full(one);
        backlog.due_at(one, at(0));
        backlog.make_due_ready(at(0), |_| PROMPT);
        assert_eq!(popped(&mut backlog), []);
        backlog.has_room(one, PROMPT);
        backlog.has_room(one, PROMPT);
        assert_eq!(popped(&mut backlog), [1]);
        backlog.claimed(one, None, None);
        assert!(!backlog.contains(one));
    }
}
