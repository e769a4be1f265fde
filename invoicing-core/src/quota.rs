//! The quota of one key: a sliding window, exact.

use std::collections::VecDeque;

use crate::Timestamp;

/// Length of the window, in milliseconds.
pub const QUOTA_WINDOW_MS: i64 = 60_000;

/// The requests of one key that were accepted within the last 60 s.
///
/// In no window of 60 s are more than `limit` requests accepted. Refused requests do not count. If
/// the clock is set back, all counted requests move back with it, so that the window neither opens
/// early nor stays shut until the clock has caught up. A clock that jumps ahead opens it: elapsed
/// time is measured by the clock alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaWindow {
    /// Instants of the accepted requests in milliseconds, oldest first.
    accepted: VecDeque<i64>,
    /// The last instant that the clock showed, in milliseconds.
    latest: Option<i64>,
}

/// The decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaDecision {
    /// The request is accepted and counted.
    Accepted {
        /// Further requests that would be accepted now.
        remaining: u32,
        /// Milliseconds until the oldest counted request leaves the window.
        reset_ms: i64,
    },
    /// The request is refused and not counted.
    Refused {
        /// Milliseconds until a request would be accepted, at least 1.
        wait_ms: i64,
    },
}

impl QuotaWindow {
    /// Counts `n` requests at that instant, or at the last counted one if that is later: for
    /// instance requests that another process may have accepted.
    pub fn record(&mut self, n: usize, at: Timestamp) {
        let at = at.as_millis().max(self.accepted.back().copied().unwrap_or(i64::MIN));
        self.accepted.extend(std::iter::repeat_n(at, n));
        self.latest = self.latest.max(Some(at));
    }

    /// Decides about a request that arrives now, and counts it if it is accepted.
    pub fn try_acquire(&mut self, limit: u32, now: Timestamp) -> QuotaDecision {
        let decision = self.peek(limit, now);
        if let QuotaDecision::Accepted { .. } = decision {
            self.accepted.push_back(now.as_millis());
        }
        decision
    }

    /// Decides about a request that arrives now without counting it.
    pub fn peek(&mut self, limit: u32, now: Timestamp) -> QuotaDecision {
        let now = self.follow(now);
        // Strictly older: two requests exactly 60 s apart stand in one closed window, and instants
        // are truncated to the millisecond, so only 60,001 ms guarantee 60 s of real time.
        while self.accepted.front().is_some_and(|at| now - at > QUOTA_WINDOW_MS) {
            self.accepted.pop_front();
        }
        let used = u32::try_from(self.accepted.len()).unwrap_or(u32::MAX);
        if used < limit {
            let oldest = self.accepted.front().copied().unwrap_or(now);
            return QuotaDecision::Accepted { remaining: limit - used - 1, reset_ms: leaves_in(oldest, now) };
        }
        // If the limit has just been lowered, several must leave before one passes.
        let index = self.accepted.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX).max(1));
        let blocking = self.accepted.get(index).copied().unwrap_or(now);
        QuotaDecision::Refused { wait_ms: leaves_in(blocking, now) }
    }

    /// The accepted instants that still count, oldest first, in milliseconds.
    pub fn instants(&self) -> impl Iterator<Item = Timestamp> {
        self.accepted.iter().map(|at| Timestamp::from_millis(*at))
    }

    /// Follows the clock, forwards and backwards.
    fn follow(&mut self, now: Timestamp) -> i64 {
        let now = now.as_millis();
        if let Some(back) = self.latest.map(|latest| latest - now).filter(|back| *back > 0) {
            for at in &mut self.accepted {
                *at -= back;
            }
        }
        self.latest = Some(now);
        now
    }
}

fn leaves_in(at: i64, now: i64) -> i64 {
    (at + QUOTA_WINDOW_MS + 1 - now).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rules: QUOTA-4
    #[test]
    fn the_thirty_first_request_waits_until_the_first_leaves() {
        let mut window = QuotaWindow::default();
        let start = Timestamp::from_millis(1_000_000);
        for n in 0..30 {
            let decision = window.try_acquire(30, start.plus_millis(n));
            assert!(
                matches!(decision, QuotaDecision::Accepted { remaining, .. } if i64::from(remaining) == 29 - n)
            );
        }
        assert_eq!(
            window.try_acquire(30, start.plus_millis(100)),
            QuotaDecision::Refused { wait_ms: 59_901 }
        );
        assert!(matches!(
            window.try_acquire(30, start.plus_millis(60_000)),
            QuotaDecision::Refused { wait_ms: 1 }
        ));
        assert!(matches!(window.try_acquire(30, start.plus_millis(60_001)), QuotaDecision::Accepted { .. }));
    }

    proptest! {
        /// Rules: QUOTA-1
        #[test]
        fn no_window_of_60_s_holds_more_than_the_limit(
            limit in 1_u32..40,
            steps in proptest::collection::vec(prop_oneof![Just(0_i64), 0..50_i64, 0..5_000_i64, 59_000..61_500_i64, -70_000..0_i64], 1..400),
        ) {
            let mut window = QuotaWindow::default();
            // The clock can be set back, but elapsed time cannot.
            let (mut clock, mut passed) = (10_000_000, 0);
            let mut accepted = Vec::<i64>::new();
            for step in steps {
                clock += step;
                passed += step.max(0);
                let counted = accepted.iter().filter(|at| passed - **at <= QUOTA_WINDOW_MS).count();
                let now = Timestamp::from_millis(clock);
                prop_assert_eq!(window.clone().peek(limit, now), window.clone().try_acquire(limit, now));
                match window.try_acquire(limit, now) {
                    QuotaDecision::Accepted { remaining, .. } => {
                        prop_assert!(counted < limit as usize);
                        prop_assert_eq!(remaining as usize, limit as usize - counted - 1);
                        accepted.push(passed);
                    }
                    QuotaDecision::Refused { wait_ms } => {
                        prop_assert!(counted >= limit as usize);
                        // A wait of this length is enough, and one millisecond less is not.
                        let later = |ms| window.clone().try_acquire(limit, now.plus_millis(ms));
                        let passes = matches!(later(wait_ms), QuotaDecision::Accepted { .. });
                        prop_assert!(passes);
                        if wait_ms > 1 {
                            let passes = matches!(later(wait_ms - 1), QuotaDecision::Accepted { .. });
                            prop_assert!(!passes);
                        }
                    }
                }
            }
            for window in accepted.windows(limit as usize + 1) {
                prop_assert!(window[limit as usize] - window[0] > QUOTA_WINDOW_MS);
            }
        }

        #[test]
        fn what_was_counted_before_counts_until_it_is_60_s_old(limit in 1_u32..40, used in 0_usize..60, age in 0_i64..70_000) {
            let now = Timestamp::from_millis(10_000_000);
            let mut window = QuotaWindow::default();
            window.record(used, now.plus_millis(-age));
            let free = if age > QUOTA_WINDOW_MS { limit } else { limit.saturating_sub(u32::try_from(used).unwrap()) };
            let passed = (0..limit).filter(|_| matches!(window.try_acquire(limit, now), QuotaDecision::Accepted { .. })).count();
            prop_assert_eq!(passed, free as usize);
        }
    }
}
