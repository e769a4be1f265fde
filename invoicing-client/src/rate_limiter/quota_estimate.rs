//! The client's estimate of the key's quota: how much of it is in use, by which requests, and until when. No I/O.
//!
//! The service counts a request when it *accepts* it: at some moment between the sending and the arrival of the
//! response. The estimate therefore counts a request while it is in flight and for one window after its response.
//! With any network delay, every request in the service's window is also in the estimate.
//!
//! **Without other users of the key, no request is refused**, as long as the headers of the quota arrive. Proof: take any requests that the service accepted within
//! one window, and among them the one sent last. When it was sent, each of the others was in flight or had been answered
//! less than a window before. All of them counted, so together they were at most the limit.
//!
//! An abandoned request counts from the moment it is abandoned. If the service accepts it later, a 429 is possible; the
//! client cannot detect this.
//!
//! **Requests of earlier processes.** A new process has neither the limit nor the usage of an earlier one.
//! It sends one request at a time until the first response. A response to a request without concurrent ones states the
//! usage of others exactly. That usage counts until it must have left the window. With concurrent requests, a
//! response gives only a lower bound, as it is unknown which of them the service had counted before. Such a response
//! never lowers the estimate. Only before the first response can a request be refused.
//!
//! **A service without a quota** states none in its responses. After a success without any of the headers there is none
//! here either, unless a request was refused lately: then an intermediary removes the headers, and the limit of the API
//! contract holds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Requests per [`WINDOW`] unless the service states another limit; the API contract sets this number.
const DEFAULT_QUOTA: u32 = 30;
/// Bound for the limit in a header, and so for the memory of the estimate. No client sends that much in a minute.
const MAX_QUOTA: u32 = 100_000;
/// 60 s, plus 1 ms for the service's rounding, plus the drift of two clocks in a minute (800 ppm).
pub(super) const WINDOW: Duration = Duration::from_millis(60_050);
/// Wait after a 429 without `Retry-After`: the smallest value that the API contract allows.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest wait after a refusal. Then one request finds out whether the refusal still holds.
const MAX_RETRY_AFTER: Duration = crate::retry::MAX_RETRY_AFTER;
/// For how long a 429 shows that there is a quota which the headers do not state.
const REFUSAL_COUNTS: Duration = Duration::from_mins(10);
/// Error of a time stated in whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// Quota usage in the view of this process.
#[derive(Debug)]
pub(super) struct QuotaEstimate {
    limit: u32,
    /// The service has answered at least once.
    is_known: bool,
    /// The service has no quota.
    is_unlimited: bool,
    /// When the last 429 was received.
    refused_at: Option<Instant>,
    in_flight: u32,
    /// Arrival times of the responses that still count, oldest first.
    answered: VecDeque<Instant>,
    others: OtherUsage,
    /// A 429 forbids requests before this instant.
    blocked_until: Option<Instant>,
    /// Requests ever sent.
    sent: u64,
    /// Requests that the service did not count: refused, or never arrived.
    uncounted: u64,
}

/// Usage by other users of the same key.
#[derive(Debug, Clone, Copy)]
struct OtherUsage {
    count: u32,
    /// The first of these requests leaves the window.
    first_leaves: Instant,
    /// The others leave the window.
    rest_leaves: Instant,
}

/// State at the moment of sending, needed to interpret the response.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentRequest {
    /// Own requests that counted at that moment, this one included.
    counted: u64,
    /// [`QuotaEstimate::sent`] and [`QuotaEstimate::uncounted`] at that moment.
    totals: (u64, u64),
    /// No other request was in flight.
    is_alone: bool,
}

/// Values of the `RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RateLimitHeaders {
    /// `RateLimit-Limit`. One of 0 is not used.
    pub(crate) limit: Option<u32>,
    /// `RateLimit-Remaining`.
    pub(crate) remaining: Option<u32>,
    /// `RateLimit-Reset`: time until the oldest counted request leaves the window.
    pub(crate) reset: Option<Duration>,
}

impl QuotaEstimate {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            limit: DEFAULT_QUOTA,
            is_known: false,
            is_unlimited: false,
            refused_at: None,
            in_flight: 0,
            answered: VecDeque::new(),
            others: OtherUsage { count: 0, first_leaves: now, rest_leaves: now },
            blocked_until: None,
            sent: 0,
            uncounted: 0,
        }
    }

    /// Counts a request as sent, or returns when to try again. `None` means: when the request in flight has ended.
    pub(super) fn try_send(&mut self, now: Instant) -> Result<SentRequest, Option<Instant>> {
        let at = self.earliest_send(0, now);
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
        Ok(SentRequest { counted, totals: (self.sent, self.uncounted), is_alone })
    }

    /// The earliest instant at which a request with `ahead` requests before it can be sent.
    ///
    /// Only a request that fails to reach the service can make it earlier.
    pub(super) fn earliest_send(&mut self, ahead: usize, now: Instant) -> Instant {
        if self.is_unlimited {
            return now;
        }
        while self.answered.front().is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW) {
            self.answered.pop_front();
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        // The capacity is used up once per window by those ahead.
        let windows = u32::try_from(ahead / limit).unwrap_or(u32::MAX);
        let free = self.usage_below(limit - ahead % limit, now) + WINDOW.saturating_mul(windows);
        self.blocked_until.map_or(free, |blocked| free.max(blocked))
    }

    /// The instant from which usage is below `capacity`.
    fn usage_below(&self, capacity: usize, now: Instant) -> Instant {
        let used = self.in_flight as usize + self.answered.len() + self.others.count_at(now) as usize;
        let Some(blocking) = used.checked_sub(capacity) else { return now };
        // A request in flight counts for a window after a response that is still to come.
        let mut leaves: Vec<_> = std::iter::repeat_n(now + WINDOW, self.in_flight as usize)
            .chain(self.answered.iter().map(|at| *at + WINDOW))
            .chain(self.others.leaves(now))
            .collect();
        leaves.sort_unstable();
        leaves.get(blocking).copied().unwrap_or(now)
    }

    /// The request never reached the service.
    pub(super) fn not_sent(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.uncounted += 1;
    }

    /// The request was answered and counted.
    pub(super) fn answered(
        &mut self,
        sent: SentRequest,
        is_success: bool,
        headers: RateLimitHeaders,
        now: Instant,
    ) {
        self.update_limit(headers);
        let was_refused =
            self.refused_at.is_some_and(|at| now.saturating_duration_since(at) < REFUSAL_COUNTS);
        let states_none = headers == RateLimitHeaders::default() && !was_refused;
        self.is_unlimited = states_none && (is_success || self.is_unlimited);
        if let Some(remaining) = headers.remaining {
            let used = self.limit.saturating_sub(remaining);
            self.update_others(sent, used, headers.reset.unwrap_or(WINDOW), now);
        }
        self.abandoned(now);
    }

    /// The request may have been counted: assumes so.
    pub(super) fn abandoned(&mut self, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.is_unlimited {
            self.answered.clear();
        } else {
            self.answered.push_back(now);
        }
    }

    /// The request was refused with 429 and not counted: usage beyond this client's own is other users'.
    pub(super) fn refused(
        &mut self,
        sent: SentRequest,
        headers: RateLimitHeaders,
        wait: Option<Duration>,
        now: Instant,
    ) {
        self.update_limit(headers);
        (self.refused_at, self.is_unlimited) = (Some(now), false);
        self.not_sent();
        let wait = wait.or(headers.reset).unwrap_or(DEFAULT_RETRY_AFTER).min(MAX_RETRY_AFTER);
        self.update_others(sent, self.limit, wait, now);
        self.blocked_until = self.blocked_until.max(Some(now + wait));
    }

    fn update_limit(&mut self, headers: RateLimitHeaders) {
        self.is_known = true;
        // A limit of 0 is ignored: no request would be sent, and no response could correct it.
        self.limit =
            headers.limit.filter(|limit| *limit > 0).map_or(self.limit, |limit| limit.min(MAX_QUOTA));
    }

    /// Derives the usage of others from the service's count `used`.
    ///
    /// That count contains at most these own requests: those counted here at the time of sending and those sent since,
    /// less the uncounted ones.
    fn update_others(&mut self, sent: SentRequest, used: u32, first: Duration, now: Instant) {
        let (since, uncounted) = (self.sent - sent.totals.0, self.uncounted - sent.totals.1);
        let own = (sent.counted + since).saturating_sub(uncounted);
        let count = u32::try_from(u64::from(used).saturating_sub(own)).unwrap_or(u32::MAX);
        let was_concurrent = !sent.is_alone || since > 0;
        if was_concurrent && count < self.others.count_at(now) {
            return;
        }
        let rest_leaves = now + WINDOW;
        let first = rest_leaves.min(now + first);
        // The oldest request in the service's count is an own one if any of these leaves that soon.
        let is_own = self.answered.front().is_some_and(|at| *at + WINDOW <= first + ROUNDING);
        let first_leaves = if is_own { rest_leaves } else { first };
        self.others = OtherUsage { count, first_leaves, rest_leaves };
    }
}

impl OtherUsage {
    /// The requests that still count at this instant.
    fn count_at(self, now: Instant) -> u32 {
        match (now < self.first_leaves, now < self.rest_leaves) {
            (true, _) => self.count,
            (false, true) => self.count.saturating_sub(1),
            (false, false) => 0,
        }
    }

    /// When each request that still counts leaves the window.
    fn leaves(self, now: Instant) -> impl Iterator<Item = Instant> {
        let first = (now < self.first_leaves && self.count > 0).then_some(self.first_leaves);
        let rest = if now < self.rest_leaves { self.count.saturating_sub(1) } else { 0 };
        first.into_iter().chain(std::iter::repeat_n(self.rest_leaves, rest as usize))
    }
}
