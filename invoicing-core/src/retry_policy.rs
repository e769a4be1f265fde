//! Decisions after a delivery attempt: delivered, failed, or the time of the next attempt. The
//! server's `dispatch::attempt` calls them.

use crate::{AttemptOutcome, DeliveryOutcome, Timestamp};

/// The decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The delivery has ended.
    End(DeliveryOutcome),
    /// Another attempt, not before this instant.
    RetryAt(Timestamp),
}

/// The number and the times of the attempts of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in total, the first included. At least 1.
    pub max_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 3 }
    }
}

impl RetryPolicy {
    /// Gaps between attempts in milliseconds; the last one repeats if a host allows more attempts.
    pub const GAPS_MS: [i64; 3] = [1_000, 5_000, 30_000];

    /// Longest gap that `Retry-After` can cause, in milliseconds.
    pub const RETRY_AFTER_LIMIT_MS: i64 = 30_000;

    /// Maximum part of a gap that chance adds to it, in percent.
    pub const JITTER_PERCENT: i64 = 10;

    /// The gap after attempt number `attempt` in milliseconds, without the addition by chance.
    pub fn gap_ms(attempt: u32) -> i64 {
        let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        Self::GAPS_MS.get(index).copied().unwrap_or(Self::GAPS_MS[2])
    }

    /// Decides after attempt number `attempt` (the first is 1), which ended at `now`. `jitter` is a
    /// random number; it lengthens the gap by at most [`Self::JITTER_PERCENT`] and never shortens
    /// it.
    pub fn after(&self, attempt: u32, outcome: AttemptOutcome, now: Timestamp, jitter: u16) -> NextStep {
        let retry_after = match outcome {
            AttemptOutcome::Answered { status: 200..=299, .. } => {
                return NextStep::End(DeliveryOutcome::Delivered);
            }
            AttemptOutcome::Answered { status: 429 | 503, retry_after } => retry_after,
            AttemptOutcome::Answered { status: 500..=599, .. } => None,
            AttemptOutcome::Failed(class) if class.is_transient() => None,
            AttemptOutcome::Answered { .. } | AttemptOutcome::Failed(_) => {
                return NextStep::End(DeliveryOutcome::Failed);
            }
        };
        if attempt >= self.max_attempts {
            return NextStep::End(DeliveryOutcome::Failed);
        }
        let gap = Self::gap_ms(attempt);
        let asked = retry_after.map_or(0, |seconds| {
            i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000).min(Self::RETRY_AFTER_LIMIT_MS)
        });
        let added = gap / 100 * Self::JITTER_PERCENT * i64::from(jitter) / i64::from(u16::MAX);
        NextStep::RetryAt(now.plus_millis((gap + added).max(asked)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FailureClass;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn gap(attempt: u32, outcome: AttemptOutcome, jitter: u16) -> Option<i64> {
        match (RetryPolicy { max_attempts: 9 }).after(attempt, outcome, NOW, jitter) {
            NextStep::RetryAt(at) => Some(at.as_millis() - NOW.as_millis()),
            NextStep::End(_) => None,
        }
    }

    fn answered(status: u16) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: None }
    }

    /// Rules: ATTEMPT-2
    #[test]
    fn gaps_are_1_5_and_30_seconds() {
        let gaps: Vec<_> = (1..6).map(|n| gap(n, answered(500), 0).unwrap()).collect();
        assert_eq!(gaps, [1_000, 5_000, 30_000, 30_000, 30_000]);
    }

    /// Rules: ATTEMPT-1
    #[test]
    fn three_attempts_are_the_default() {
        let policy = RetryPolicy::default();
        let timeout = AttemptOutcome::Failed(FailureClass::Timeout);
        assert!(matches!(policy.after(2, timeout, NOW, 0), NextStep::RetryAt(_)));
        assert_eq!(policy.after(3, timeout, NOW, 0), NextStep::End(DeliveryOutcome::Failed));
    }

    /// Rules: ATTEMPT-4
    #[test]
    fn retry_after_lengthens_the_gap_up_to_30_seconds_on_429_and_503_only() {
        let asks = |status, seconds| AttemptOutcome::Answered { status, retry_after: Some(seconds) };
        assert_eq!(gap(1, asks(429, 7), 0), Some(7_000));
        assert_eq!(gap(1, asks(503, 7), 0), Some(7_000));
        assert_eq!(gap(1, asks(429, u64::MAX), 0), Some(30_000));
        assert_eq!(gap(2, asks(429, 2), 0), Some(5_000));
        assert_eq!(gap(1, asks(500, 7), 0), Some(1_000));
    }

    /// Rules: ATTEMPT-7, TARGET-6
    #[test]
    fn failures_on_the_way_are_attempted_again_and_those_before_it_are_final() {
        use FailureClass::{Abandoned, TargetRefused, Unsendable};
        for class in FailureClass::ALL {
            let is_final = matches!(class, TargetRefused | Unsendable | Abandoned);
            assert_eq!(gap(1, AttemptOutcome::Failed(*class), 0).is_none(), is_final, "{class}");
        }
    }

    proptest! {
        /// Rules: ATTEMPT-6, ATTEMPT-7, ATTEMPT-8
        #[test]
        fn every_status_ends_or_retries_as_the_contract_says(status in 100_u16..1_000) {
            let step = RetryPolicy::default().after(1, answered(status), NOW, 0);
            let expected = match status {
                200..=299 => "delivered",
                429 | 500..=599 => "retry",
                _ => "failed",
            };
            let found = match step {
                NextStep::End(DeliveryOutcome::Delivered) => "delivered",
                NextStep::End(DeliveryOutcome::Failed) => "failed",
                NextStep::RetryAt(_) => "retry",
            };
            prop_assert_eq!(found, expected);
        }

        /// Rules: ATTEMPT-3
        #[test]
        fn a_gap_is_never_shortened_and_at_most_a_tenth_longer(attempt in 1..u32::MAX, jitter: u16) {
            let bare = RetryPolicy { max_attempts: u32::MAX };
            let NextStep::RetryAt(at) = bare.after(attempt, answered(500), NOW, jitter) else { panic!("ended") };
            let base = match attempt { 1 => 1_000, 2 => 5_000, _ => 30_000 };
            let gap = at.as_millis() - NOW.as_millis();
            prop_assert!((base..=base + base / 10).contains(&gap));
        }
    }
}
