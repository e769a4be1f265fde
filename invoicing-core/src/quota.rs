//! The quota of one key: a sliding window, exact.

use std::collections::VecDeque;

use crate::Timestamp;

/// Length of the window, in milliseconds.
pub const QUOTA_WINDOW_MS: i64 = 60_000;

/// The requests of one key that were accepted within the last 60 s.
///
/// In no window of 60 s are more than `limit` requests accepted. Refused requests do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaWindow {
    /// Instants of the accepted requests in milliseconds, oldest first.
    accepted: VecDeque<i64>,
}

/// Whether a request may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may, and has been counted.
    Accepted {
        /// How many more would pass now.
        remaining: u32,
        /// Milliseconds until the oldest counted request leaves the window.
        reset_ms: i64,
    },
    /// It may not, and has not been counted.
    Refused {
        /// Milliseconds until the next one would pass, at least 1.
        wait_ms: i64,
    },
}

impl QuotaWindow {
    /// Counts `n` requests at that instant, for instance those that another process may have accepted.
    pub fn count(&mut self, n: usize, at: Timestamp) {
        let at = self.not_before_the_last(at);
        self.accepted.extend(std::iter::repeat_n(at, n));
    }

    /// Decides about a request that arrives now, and counts it where it may pass.
    pub fn admit(&mut self, limit: u32, now: Timestamp) -> Admission {
        let admission = self.peek(limit, now);
        if let Admission::Accepted { .. } = admission {
            self.accepted.push_back(self.not_before_the_last(now));
        }
        admission
    }

    /// Decides about a request that arrives now without counting it.
    pub fn peek(&mut self, limit: u32, now: Timestamp) -> Admission {
        let now = self.not_before_the_last(now);
        // Strictly older: two requests exactly 60 s apart stand in one closed window, and instants are truncated to
        // the millisecond, so "60,001 ms apart" is what guarantees 60 s of real time.
        while self.accepted.front().is_some_and(|at| now - at > QUOTA_WINDOW_MS) {
            self.accepted.pop_front();
        }
        let used = u32::try_from(self.accepted.len()).unwrap_or(u32::MAX);
        if used < limit {
            let oldest = self.accepted.front().copied().unwrap_or(now);
            return Admission::Accepted { remaining: limit - used - 1, reset_ms: leaves_in(oldest, now) };
        }
        // Where the limit has just been lowered, several must leave before one passes.
        let index = self.accepted.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX).max(1));
        let blocking = self.accepted.get(index).copied().unwrap_or(now);
        Admission::Refused { wait_ms: leaves_in(blocking, now) }
    }

    /// The accepted instants that still count, oldest first, in milliseconds.
    pub fn instants(&self) -> impl Iterator<Item = Timestamp> {
        self.accepted.iter().map(|at| Timestamp::from_millis(*at))
    }

    /// A clock that was set back must not open the window again.
    fn not_before_the_last(&self, at: Timestamp) -> i64 {
        at.as_millis().max(self.accepted.back().copied().unwrap_or(i64::MIN))
    }
}

fn leaves_in(at: i64, now: i64) -> i64 {
    (at + QUOTA_WINDOW_MS + 1 - now).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_thirty_first_request_waits_until_the_first_leaves() {
        let mut window = QuotaWindow::default();
        let start = Timestamp::from_millis(1_000_000);
        for n in 0..30 {
            let admission = window.admit(30, start.plus_millis(n));
            assert!(
                matches!(admission, Admission::Accepted { remaining, .. } if i64::from(remaining) == 29 - n)
            );
        }
        assert_eq!(window.admit(30, start.plus_millis(100)), Admission::Refused { wait_ms: 59_901 });
        assert!(matches!(window.admit(30, start.plus_millis(60_000)), Admission::Refused { wait_ms: 1 }));
        assert!(matches!(window.admit(30, start.plus_millis(60_001)), Admission::Accepted { .. }));
    }

    proptest! {
        #[test]
        fn no_window_of_60_s_holds_more_than_the_limit(
            limit in 1_u32..40,
            steps in proptest::collection::vec(prop_oneof![Just(0_i64), 0..50_i64, 0..5_000_i64, 59_000..61_500_i64, -70_000..0_i64], 1..400),
        ) {
            let mut window = QuotaWindow::default();
            let mut now = 10_000_000;
            // A reference that never forgets, on a clock that only goes forward.
            let (mut latest, mut accepted) = (i64::MIN, Vec::<i64>::new());
            for step in steps {
                now += step;
                latest = latest.max(now);
                let counted = accepted.iter().filter(|at| latest - **at <= QUOTA_WINDOW_MS).count();
                match window.admit(limit, Timestamp::from_millis(now)) {
                    Admission::Accepted { remaining, .. } => {
                        prop_assert!(counted < limit as usize);
                        prop_assert_eq!(remaining as usize, limit as usize - counted - 1);
                        // The window's own clock stands at the last accepted request.
                        let at = now.max(accepted.last().copied().unwrap_or(i64::MIN));
                        accepted.push(at);
                    }
                    Admission::Refused { wait_ms } => {
                        prop_assert!(wait_ms >= 1);
                        // Waiting that long is enough, and one millisecond less is not.
                        let clock = now.max(accepted.last().copied().unwrap_or(i64::MIN));
                        let mut later = window.clone();
                        let after = Timestamp::from_millis(clock + wait_ms);
                        let passes = matches!(later.admit(limit, after), Admission::Accepted { .. });
                        prop_assert!(passes);
                        if wait_ms > 1 {
                            let before = Timestamp::from_millis(clock + wait_ms - 1);
                            let passes = matches!(window.clone().admit(limit, before), Admission::Accepted { .. });
                            prop_assert!(!passes);
                        }
                    }
                }
                latest = now.max(accepted.last().copied().unwrap_or(i64::MIN));
            }
            for window in accepted.windows(limit as usize + 1) {
                prop_assert!(window[limit as usize] - window[0] > QUOTA_WINDOW_MS);
            }
        }
    }
}
