//! Round-robin of the webhooks whose pending deliveries are due. Each pool has its own, since its
//! webhooks wait for each other's memory slots.
//!
//! A claim reads the table from a *watermark* on: the instant at which the first waiting delivery
//! of the webhook fell due, as far as the dispatcher has read it. Without it, a claim would pass
//! the index entries of all ended deliveries while a session, such as a backup, keeps the server
//! from removing them. Each poll sets the watermarks anew, so a delivery that is older than its
//! watermark is picked up by the next poll.

use std::collections::{BTreeSet, HashMap, HashSet};

use invoicing_core::{Timestamp, WebhookId};

use super::latency::LatencyClass;
use super::priority_queue::{Position, Priority, PriorityQueue};
use crate::store::claims::PendingWebhook;

/// Time by which a claim begins before the first known delivery: other transactions may commit
/// earlier deliveries late, and the clocks of other nodes may be behind.
const OVERLAP_MS: i64 = 3_000;
/// Time between a claim that found no more deliveries and the last claim of the webhook: first
/// attempts are due at once by the clock of the node that has queued them, and the clocks differ by
/// a little less.
const LAST_CLAIM_MS: i64 = 25;
const EARLIEST: Timestamp = Timestamp::from_millis(0);

/// The state of a webhook with pending deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    /// The next delivery falls due.
    DueAt(Timestamp),
    /// The webhook waits for a claim.
    Ready(Position),
    /// The webhook holds enough deliveries, or waits for too many retries, until one of these ends.
    Full,
    /// A claim is under way. `from` is its watermark, or `None` if a delivery was put back since.
    /// `due` is the first instant at which a delivery has fallen due since: that claim does not
    /// include it.
    Claiming { from: Option<Timestamp>, due: Option<Timestamp> },
}

/// The priority of a webhook that waits for a claim. A new webhook precedes slow ones.
const fn priority(class: LatencyClass) -> Priority {
    Priority { pool: class.pool(), is_high: matches!(class, LatencyClass::New) }
}

/// The webhooks that wait for claims, and the watermarks of these claims.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    states: HashMap<WebhookId, ClaimState>,
    due: BTreeSet<(Timestamp, WebhookId)>,
    ready: PriorityQueue,
    /// The watermarks of the webhooks that the last poll has found, or whose watermark has changed
    /// since.
    watermarks: HashMap<WebhookId, Timestamp>,
    /// The watermark of all other webhooks, after a poll.
    default_watermark: Option<Timestamp>,
    /// The webhooks whose next claim is the last one.
    last_claims: HashSet<WebhookId>,
    /// The watermarks of deliveries that were put back since the poll began, which the poll may
    /// have missed.
    put_back: HashMap<WebhookId, Timestamp>,
}

impl Backlog {
    pub(super) fn begin_poll(&mut self) {
        self.put_back.clear();
    }

    /// Sets the watermarks by the first waiting delivery of each webhook, from a poll at `at`.
    pub(super) fn polled(&mut self, at: Timestamp, waiting: &[PendingWebhook]) {
        let watermark =
            |waiting: &PendingWebhook| Some((waiting.webhook, waiting.from?.plus_millis(-OVERLAP_MS)));
        self.watermarks = waiting.iter().filter_map(watermark).collect();
        self.default_watermark = Some(at.plus_millis(-OVERLAP_MS));
        for (webhook, at) in std::mem::take(&mut self.put_back) {
            self.lower_watermark(webhook, at);
        }
    }

    /// The instant from which on a claim reads deliveries of the webhook. It is never later than
    /// shortly before now: the first delivery that a poll has found may fall due later than the
    /// next one that is committed.
    pub(super) fn claim_from(&self, webhook: WebhookId, now: Timestamp) -> Timestamp {
        self.watermark(webhook).min(now.plus_millis(-OVERLAP_MS))
    }

    fn watermark(&self, webhook: WebhookId) -> Timestamp {
        self.watermarks.get(&webhook).copied().or(self.default_watermark).unwrap_or(EARLIEST)
    }

    /// Lowers the watermark for a waiting delivery that falls due at `at`, which may have passed.
    pub(super) fn lower_watermark(&mut self, webhook: WebhookId, at: Timestamp) {
        let watermark = self.watermark(webhook).min(at);
        self.watermarks.insert(webhook, watermark);
        let put_back = self.put_back.entry(webhook).or_insert(at);
        *put_back = at.min(*put_back);
        if let Some(ClaimState::Claiming { from, .. }) = self.states.get_mut(&webhook) {
            *from = None;
        }
    }

    /// Removes the watermark for waiting deliveries that may have fallen due at any time.
    pub(super) fn reset_watermark(&mut self, webhook: WebhookId) {
        self.lower_watermark(webhook, EARLIEST);
    }

    /// Plans a claim for a delivery that falls due. A webhook that already waits for a claim stays
    /// as it is, because that claim finds the delivery.
    pub(super) fn due_at(&mut self, webhook: WebhookId, at: Timestamp) {
        self.last_claims.remove(&webhook);
        match self.states.get_mut(&webhook) {
            None => self.set_due(webhook, at),
            Some(ClaimState::DueAt(due)) if at < *due => {
                self.due.remove(&(*due, webhook));
                self.set_due(webhook, at);
            }
            Some(ClaimState::Claiming { due, .. }) => *due = Some(due.map_or(at, |due| due.min(at))),
            Some(ClaimState::DueAt(_) | ClaimState::Ready(_) | ClaimState::Full) => {}
        }
    }

    fn set_due(&mut self, webhook: WebhookId, at: Timestamp) {
        self.states.insert(webhook, ClaimState::DueAt(at));
        self.due.insert((at, webhook));
    }

    /// Enqueues the webhooks whose deliveries are due by now.
    pub(super) fn make_due_ready(&mut self, now: Timestamp, class: impl Fn(WebhookId) -> LatencyClass) {
        while self.due.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, webhook)) = self.due.pop_first()
        {
            self.make_ready(webhook, None, class(webhook));
        }
    }

    fn make_ready(&mut self, webhook: WebhookId, position: Option<Position>, class: LatencyClass) {
        let position = self.ready.push(priority(class), webhook, position);
        self.states.insert(webhook, ClaimState::Ready(position));
    }

    /// The next webhook to claim for. It stays the next one until the caller moves it to another
    /// state.
    pub(super) fn next(&self, class: LatencyClass) -> Option<WebhookId> {
        self.ready.first(priority(class)).map(|(_, webhook)| webhook)
    }

    /// Takes a webhook that holds enough deliveries out of the waiting ones.
    pub(super) fn set_full(&mut self, webhook: WebhookId) {
        self.leave_ready(webhook, ClaimState::Full);
    }

    /// Enqueues a full webhook again, and moves one that waits to the priority of its class.
    pub(super) fn requeue(&mut self, webhook: WebhookId, class: LatencyClass) {
        match self.states.get(&webhook) {
            Some(ClaimState::Full) => self.make_ready(webhook, None, class),
            Some(ClaimState::Ready(position)) => self.make_ready(webhook, Some(*position), class),
            _ => {}
        }
    }

    /// Takes a webhook out of the waiting ones for a claim.
    pub(super) fn set_claiming(&mut self, webhook: WebhookId) {
        let from = Some(self.watermark(webhook));
        self.leave_ready(webhook, ClaimState::Claiming { from, due: None });
    }

    fn leave_ready(&mut self, webhook: WebhookId, state: ClaimState) {
        if let Some(ClaimState::Ready(position)) = self.states.insert(webhook, state) {
            self.ready.remove(position);
        }
    }

    /// Ends a claim. `again` is the instant of the next claim, and `last` the one at which the last
    /// claimed delivery fell due.
    pub(super) fn claimed(
        &mut self,
        webhook: WebhookId,
        again: Option<Timestamp>,
        last: Option<Timestamp>,
        now: Timestamp,
    ) {
        let meanwhile = match self.states.remove(&webhook) {
            Some(ClaimState::Claiming { from, due }) => {
                // The watermark rises only if it has not changed meanwhile: the claim may have
                // missed a delivery that was put back or found since.
                if let (Some(from), Some(last)) = (from, last)
                    && from == self.watermark(webhook)
                {
                    self.watermarks.insert(webhook, last.plus_millis(-OVERLAP_MS).max(from));
                }
                due
            }
            _ => None,
        };
        if let Some(at) = again.into_iter().chain(meanwhile).min() {
            self.last_claims.remove(&webhook);
            self.set_due(webhook, at);
        } else if self.last_claims.insert(webhook) {
            // The claim found no more deliveries. A last one follows, because the clocks differ.
            self.set_due(webhook, now.plus_millis(LAST_CLAIM_MS));
        } else {
            self.last_claims.remove(&webhook);
        }
    }

    /// The instant of the next planned claim.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const PROMPT: LatencyClass = LatencyClass::Prompt;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn webhook(number: u128) -> WebhookId {
        WebhookId(Uuid::from_u128(number))
    }

    /// Starts a claim for one webhook after the other, and returns the webhooks.
    fn taken(backlog: &mut Backlog, class: LatencyClass) -> Vec<u128> {
        let mut taken = Vec::new();
        while let Some(webhook) = backlog.next(class) {
            backlog.set_claiming(webhook);
            taken.push(webhook.0.as_u128());
        }
        taken
    }

    #[test]
    fn claims_start_near_the_last_until_a_poll_or_a_requeue() {
        let mut backlog = Backlog::default();
        let one = webhook(1);
        let found = |from| [PendingWebhook { webhook: one, at: at(0), from: Some(at(from)) }];
        let start = |backlog: &Backlog| backlog.claim_from(one, at(90_000)).as_millis();
        let claim = |backlog: &mut Backlog, last| {
            backlog.set_claiming(one);
            backlog.claimed(one, None, Some(at(last)), at(90_000));
            start(backlog)
        };
        assert_eq!(start(&backlog), 0, "no watermark yet");
        backlog.polled(at(50_000), &found(20_000));
        assert_eq!(start(&backlog), 17_000);
        assert_eq!(claim(&mut backlog, 19_000), 17_000);
        assert_eq!(claim(&mut backlog, 30_000), 27_000);
        backlog.polled(at(50_000), &found(25_000));
        assert_eq!(start(&backlog), 22_000, "a delivery was committed late");
        backlog.lower_watermark(one, at(40_000));
        assert_eq!(start(&backlog), 22_000);
        backlog.lower_watermark(one, at(15_000));
        assert_eq!(start(&backlog), 15_000, "a delivery that was put back late fell due before");
        backlog.reset_watermark(one);
        assert_eq!(start(&backlog), 0);
        assert_eq!(claim(&mut backlog, 30_000), 27_000, "the claim took the delivery that had been put back");
        backlog.reset_watermark(one);
        backlog.set_claiming(one);
        backlog.reset_watermark(one);
        backlog.claimed(one, None, Some(at(40_000)), at(90_000));
        assert_eq!(start(&backlog), 0, "the claim may have missed the delivery that was put back meanwhile");
        backlog.begin_poll();
        backlog.polled(at(60_000), &[]);
        assert_eq!(start(&backlog), 57_000, "a delivery that waits later was committed later");
        assert_eq!(claim(&mut backlog, 70_000), 67_000);
    }

    #[test]
    fn a_poll_keeps_the_watermark_of_a_delivery_put_back_while_it_runs() {
        let mut backlog = Backlog::default();
        let (one, other) = (webhook(1), webhook(2));
        backlog.begin_poll();
        backlog.reset_watermark(one);
        backlog.lower_watermark(other, at(5_000));
        backlog.polled(at(50_000), &[PendingWebhook { webhook: one, at: at(0), from: Some(at(40_000)) }]);
        assert_eq!([one, other].map(|webhook| backlog.claim_from(webhook, at(60_000))), [at(0), at(5_000)]);
        backlog.begin_poll();
        backlog.polled(at(50_000), &[]);
        assert_eq!(backlog.claim_from(one, at(60_000)), at(47_000), "the next one does");
    }

    #[test]
    fn a_delivery_polled_before_it_is_due_hides_no_earlier_one() {
        let mut backlog = Backlog::default();
        let retried = PendingWebhook { webhook: webhook(1), at: at(55_000), from: Some(at(55_000)) };
        backlog.polled(at(50_000), &[retried]);
        assert_eq!(backlog.claim_from(webhook(1), at(50_100)), at(47_100));
        assert_eq!(backlog.claim_from(webhook(1), at(20_000)), at(17_000), "the clock was set back");
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
        // Its next claim is behind the others although its id and its instant are smaller.
        backlog.claimed(webhook(3), Some(at(0)), None, at(20));
        backlog.make_due_ready(at(20), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [2, 1, 3]);
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_waits_with_the_priority_of_its_present_class() {
        let mut backlog = Backlog::default();
        for number in 1..=4 {
            backlog.due_at(webhook(number), at(0));
        }
        let class = |webhook: WebhookId| {
            [LatencyClass::New, LatencyClass::Slow, LatencyClass::Slow, PROMPT]
                [usize::try_from(webhook.0.as_u128()).unwrap() - 1]
        };
        backlog.make_due_ready(at(0), class);
        backlog.requeue(webhook(2), PROMPT);
        backlog.requeue(webhook(3), LatencyClass::Slow);
        assert_eq!(taken(&mut backlog, PROMPT), [4, 2]);
        assert_eq!(taken(&mut backlog, LatencyClass::New), [1]);
        assert_eq!(taken(&mut backlog, LatencyClass::Slow), [3]);
    }

    #[test]
    fn a_delivery_due_during_a_claim_is_claimed_next() {
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
        backlog.requeue(one, PROMPT);
        backlog.requeue(one, PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
        backlog.claimed(one, None, None, at(0));
        assert_eq!(backlog.next_due(), Some(at(LAST_CLAIM_MS)), "another node's clock may be ahead");
        backlog.make_due_ready(at(LAST_CLAIM_MS), |_| PROMPT);
        assert_eq!(taken(&mut backlog, PROMPT), [1]);
        backlog.claimed(one, None, None, at(30));
        assert_eq!((backlog.next_due(), backlog.states.len(), backlog.last_claims.len()), (None, 0, 0));
    }
}
