//! What is known of the key's quota, as a value: who holds how much of it, and until when. Pure.
//!
//! The service counts a request when it *accepts* it, which is some time between our sending it and its answer's
//! arrival. So a request in flight counts from the moment it is sent, and for a whole window after its answer came:
//! whatever the network does, everything in the service's window is in this one.
//!
//! Proof that nobody is refused while all requests are ours: take any requests that the service accepted within one
//! window, and of these the one that was sent last. When it was sent, each of the others was in flight, or its answer
//! had come within a window. So all of them counted, and together they were at most the limit.
//!
//! A request that is given up without an answer counts from then on. Should the service accept it later still, there
//! can be a 429 after all; nobody on this side could know.
//!
//! *What was there before.* A process that begins knows neither the limit nor what an earlier one has used. So requests
//! go one by one until one of them is answered; what that answer says of others is exact, and they hold it until it must
//! have left the window. Answers that have company only say how much others hold at least, as it is not known which of
//! ours were counted before. So these never lower it; the next one without company does. The very first request can
//! be refused.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Requests that a key has in [`WINDOW`] where the service does not say otherwise (contract, "Limits").
const LIMIT: u32 = 30;
/// As much as is kept count of, whatever a header says: more than anybody sends in a minute.
const LARGEST_LIMIT: u32 = 100_000;
/// 60 s, the millisecond by which the service rounds, and what two clocks may differ by in a minute (800 ppm).
pub(super) const WINDOW: Duration = Duration::from_millis(60_050);
/// How long a 429 without `Retry-After` holds everybody up: the least that the contract lets it say.
const UNSTATED_WAIT: Duration = Duration::from_secs(1);
/// A refusal holds calls up for at most this long; then one of them looks whether it still stands.
const LONGEST_WAIT: Duration = crate::retry::LONGEST_RETRY_AFTER;

/// What a time in whole seconds may be off.
const ROUNDING: Duration = Duration::from_secs(1);

/// The quota as far as this process knows it.
#[derive(Debug)]
pub(super) struct Window {
    limit: u32,
    /// Whether the service has ever answered.
    is_known: bool,
    in_flight: u32,
    /// When the answers came that still count, oldest first.
    answered: VecDeque<Instant>,
    others: Others,
    /// Nobody goes before this: a 429 said so.
    shut_until: Option<Instant>,
    /// How many were ever let go.
    sent: u64,
    /// How many of these the service did not count: refused, or never arrived.
    returned: u64,
}

/// What other users of the same key hold.
#[derive(Debug, Clone, Copy)]
struct Others {
    count: u32,
    /// When the first of it is given back.
    first: Instant,
    /// When the last of it is.
    last: Instant,
}

/// A request that was let go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// How many of ours counted when it was sent, itself included.
    counted: u64,
    /// [`Window::sent`] and [`Window::returned`] at that time.
    totals: (u64, u64),
    /// Whether no other was in flight.
    is_alone: bool,
}

/// What `RateLimit-*` headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Quota {
    /// `RateLimit-Limit`.
    pub(crate) limit: Option<u32>,
    /// `RateLimit-Remaining`.
    pub(crate) remaining: Option<u32>,
    /// `RateLimit-Reset`: until the oldest counted request leaves the window.
    pub(crate) reset: Option<Duration>,
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        let others = Others { count: 0, first: now, last: now };
        let answered = VecDeque::new();
        Self {
            limit: LIMIT,
            is_known: false,
            in_flight: 0,
            answered,
            others,
            shut_until: None,
            sent: 0,
            returned: 0,
        }
    }

    /// Lets a request go, or says when to ask again; `None` is when the one that is in flight has ended.
    pub(super) fn send(&mut self, now: Instant) -> Result<Sent, Option<Instant>> {
        let at = self.earliest(0, now);
        if at > now {
            return Err(Some(at));
        }
        let is_alone = self.in_flight == 0;
        if !self.is_known && !is_alone {
            return Err(None);
        }
        self.sent += 1;
        self.in_flight += 1;
        let counted = u64::from(self.in_flight) + self.answered.len() as u64;
        Ok(Sent { counted, totals: (self.sent, self.returned), is_alone })
    }

    /// When a request can go that has `ahead` others before it; sooner is not possible unless one of ours fails to
    /// reach the service.
    pub(super) fn earliest(&mut self, ahead: usize, now: Instant) -> Instant {
        while self.answered.front().is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW) {
            self.answered.pop_front();
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        // Every place can be taken again, a window later.
        let rounds = u32::try_from(ahead / limit).unwrap_or(u32::MAX);
        let opens = self.opens(limit - ahead % limit, now) + WINDOW.saturating_mul(rounds);
        self.shut_until.map_or(opens, |shut| opens.max(shut))
    }

    /// When fewer than `places` are held.
    fn opens(&self, places: usize, now: Instant) -> Instant {
        let held = self.in_flight as usize + self.answered.len() + self.others.held(now) as usize;
        let Some(blocking) = held.checked_sub(places) else { return now };
        // Those in flight are held for a window after an answer that has not come yet.
        let mut until: Vec<_> = std::iter::repeat_n(now + WINDOW, self.in_flight as usize)
            .chain(self.answered.iter().map(|at| *at + WINDOW))
            .chain(self.others.until(now))
            .collect();
        until.sort_unstable();
        until.get(blocking).copied().unwrap_or(now)
    }

    /// The request never reached the service.
    pub(super) fn unsent(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.returned += 1;
    }

    /// The request was answered and counted.
    pub(super) fn answered(&mut self, sent: Sent, quota: Quota, now: Instant) {
        self.take_limit(quota);
        if let Some(remaining) = quota.remaining {
            let used = self.limit.saturating_sub(remaining);
            self.see_others(sent, used, quota.reset.unwrap_or(WINDOW), now);
        }
        self.given_up(now);
    }

    /// Nobody knows whether the request was counted.
    pub(super) fn given_up(&mut self, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.answered.push_back(now);
    }

    /// The request was refused with 429, which does not count: whatever we do not hold, others do.
    pub(super) fn refused(&mut self, sent: Sent, quota: Quota, wait: Option<Duration>, now: Instant) {
        self.take_limit(quota);
        self.unsent();
        let wait = wait.or(quota.reset).unwrap_or(UNSTATED_WAIT).min(LONGEST_WAIT);
        self.see_others(sent, self.limit, wait, now);
        self.shut_until = self.shut_until.max(Some(now + wait));
    }

    fn take_limit(&mut self, quota: Quota) {
        self.is_known = true;
        // A quota of 0 would let nobody through, and its answers would not come.
        self.limit =
            quota.limit.filter(|limit| *limit > 0).map_or(self.limit, |limit| limit.min(LARGEST_LIMIT));
    }

    /// The service counts `used` requests. At most so many of them are ours: those that counted here when this one was
    /// sent and those sent since, without those that the service did not count.
    fn see_others(&mut self, sent: Sent, used: u32, first: Duration, now: Instant) {
        let (since, returned) = (self.sent - sent.totals.0, self.returned - sent.totals.1);
        let ours = (sent.counted + since).saturating_sub(returned);
        let count = u32::try_from(u64::from(used).saturating_sub(ours)).unwrap_or(u32::MAX);
        let has_company = !sent.is_alone || since > 0;
        if has_company && count < self.others.held(now) {
            return;
        }
        let last = now + WINDOW;
        // The oldest request that the service counts is ours, unless none of ours leaves that soon.
        let first = last.min(now + first);
        let is_ours = self.answered.front().is_some_and(|at| *at + WINDOW <= first + ROUNDING);
        self.others = Others { count, first: if is_ours { last } else { first }, last };
    }
}

impl Others {
    /// How many places they hold.
    fn held(self, now: Instant) -> u32 {
        match (now < self.first, now < self.last) {
            (true, _) => self.count,
            (false, true) => self.count.saturating_sub(1),
            (false, false) => 0,
        }
    }

    /// Until when they hold each of them.
    fn until(self, now: Instant) -> impl Iterator<Item = Instant> {
        let first = (now < self.first && self.count > 0).then_some(self.first);
        let rest = if now < self.last { self.count.saturating_sub(1) } else { 0 };
        first.into_iter().chain(std::iter::repeat_n(self.last, rest as usize))
    }
}
