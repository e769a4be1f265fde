//! The decision after an attempt: succeed, retry or give up. No I/O: `send` waits and sends.
//! After a 429 the rate limiter holds all other calls back too (`rate_limiter::quota_estimate`).
//!
//! The rules are those of the API contract: `GET`, `PATCH` and `POST` with an `externalId` are retried after connect
//! errors, timeouts, 408, 429 and 5xx. Any other `POST` is retried after a refusal that did nothing: 429, 503 `overloaded`.

use std::time::Duration;

use crate::attempt::AttemptOutcome;

/// Upper bound of the first backoff. It doubles with every attempt.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
/// Upper bound of every backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// A longer `Retry-After` is returned to the caller instead of waited for.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(90);

/// The inputs of the decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// Repeating the call has the same effect as making it once.
    pub(crate) is_idempotent: bool,
    /// Number of this attempt, from 1.
    pub(crate) number: u32,
    pub(crate) max_attempts: u32,
    pub(crate) outcome: AttemptOutcome,
    /// Time left until the call's deadline.
    pub(crate) remaining: Duration,
    /// Random bits for the jitter.
    pub(crate) random: u64,
}

/// The step after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Return the response.
    Succeed,
    /// Wait, then make another attempt.
    Retry {
        /// How long to wait.
        after: Duration,
    },
    /// Return the failure.
    GiveUp(GiveUpReason),
}

/// Why there is no other attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GiveUpReason {
    /// Another attempt would fail in the same way.
    Permanent,
    /// The service might carry the call out twice.
    NotIdempotent,
    AttemptsExhausted,
    /// `Retry-After` is above [`MAX_RETRY_AFTER`].
    RetryAfterTooLong,
    /// The wait would end after the deadline.
    Deadline,
}

impl Attempt {
    pub(crate) fn decide(&self) -> Decision {
        let (retry_after, did_nothing) = match self.outcome {
            AttemptOutcome::Response { status: 200..=299, .. } => return Decision::Succeed,
            AttemptOutcome::Response { status: 408 | 429 | 500..=599, retry_after, did_nothing } => {
                (retry_after, did_nothing)
            }
            AttemptOutcome::NoResponse => (None, false),
            AttemptOutcome::Response { .. } | AttemptOutcome::Unusable => {
                return Decision::GiveUp(GiveUpReason::Permanent);
            }
        };
        if !self.is_idempotent && !did_nothing {
            return Decision::GiveUp(GiveUpReason::NotIdempotent);
        }
        if self.number >= self.max_attempts {
            return Decision::GiveUp(GiveUpReason::AttemptsExhausted);
        }
        let requested = retry_after.unwrap_or_default();
        if requested > MAX_RETRY_AFTER {
            return Decision::GiveUp(GiveUpReason::RetryAfterTooLong);
        }
        let after = requested.max(backoff(self.number, self.random));
        if after >= self.remaining {
            Decision::GiveUp(GiveUpReason::Deadline)
        } else {
            Decision::Retry { after }
        }
    }
}

/// Full jitter: a random time between 0 and an upper bound that doubles from 0.5 s to 8 s.
fn backoff(number: u32, random: u64) -> Duration {
    let doublings = number.saturating_sub(1).min(16);
    let bound = INITIAL_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
    let nanos = u128::from(random) * bound.as_nanos() / u128::from(u64::MAX);
    // At most 8 s in nanoseconds, which fits 64 bits.
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attempt(outcome: AttemptOutcome) -> Attempt {
        Attempt {
            is_idempotent: true,
            number: 1,
            max_attempts: 4,
            outcome,
            remaining: Duration::from_mins(2),
            random: u64::MAX,
        }
    }

    fn response(status: u16, retry_after: Option<u64>) -> AttemptOutcome {
        let did_nothing = status == 429;
        AttemptOutcome::Response { status, retry_after: retry_after.map(Duration::from_secs), did_nothing }
    }

    /// Rules: RETRY-1
    #[test]
    fn only_transient_failures_are_retried() {
        for status in [408, 429, 500, 502, 503, 504, 599] {
            assert!(matches!(attempt(response(status, None)).decide(), Decision::Retry { .. }), "{status}");
        }
        assert!(matches!(attempt(AttemptOutcome::NoResponse).decide(), Decision::Retry { .. }));
        for status in [301, 307, 400, 401, 403, 404, 405, 409, 413, 600] {
            assert_eq!(
                attempt(response(status, Some(1))).decide(),
                Decision::GiveUp(GiveUpReason::Permanent),
                "{status}"
            );
        }
        assert_eq!(attempt(AttemptOutcome::Unusable).decide(), Decision::GiveUp(GiveUpReason::Permanent));
        assert_eq!(attempt(response(201, None)).decide(), Decision::Succeed);
    }

    /// Rules: RETRY-4
    #[test]
    fn the_backoff_bound_doubles_from_half_a_second_to_eight() {
        let bounds: Vec<_> = [1, 2, 3, 4, 5, 6, 60].map(|n| backoff(n, u64::MAX).as_millis()).into();
        assert_eq!(bounds, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(backoff(u32::MAX, 0), Duration::ZERO);
    }

    /// Rules: RETRY-5
    #[test]
    fn a_retry_after_of_90_s_is_waited_for_and_one_of_91_s_is_returned() {
        assert_eq!(
            attempt(response(429, Some(90))).decide(),
            Decision::Retry { after: Duration::from_secs(90) }
        );
        assert_eq!(
            attempt(response(429, Some(91))).decide(),
            Decision::GiveUp(GiveUpReason::RetryAfterTooLong)
        );
    }

    fn outcomes() -> impl Strategy<Value = AttemptOutcome> {
        prop_oneof![
            (100..=999_u16, proptest::option::of(0..200_u64), any::<bool>()).prop_map(
                |(status, wait, did_nothing)| {
                    let retry_after = wait.map(Duration::from_secs);
                    AttemptOutcome::Response { status, retry_after, did_nothing }
                }
            ),
            Just(AttemptOutcome::NoResponse),
            Just(AttemptOutcome::Unusable),
        ]
    }

    proptest! {
        /// Rules: RETRY-1, RETRY-2, RETRY-3, RETRY-4
        #[test]
        fn every_retry_obeys_the_rules(
            is_idempotent: bool,
            number in 1..8_u32,
            max_attempts in 1..=4_u32,
            outcome in outcomes(),
            remaining in 0..200_000_u64,
            random: u64,
        ) {
            let remaining = Duration::from_millis(remaining);
            let decision = Attempt { is_idempotent, number, max_attempts, outcome, remaining, random }.decide();
            if let Decision::Retry { after } = decision {
                prop_assert!(number < max_attempts && after < remaining);
                let did_nothing =
                    matches!(outcome, AttemptOutcome::Response { did_nothing: true, .. });
                prop_assert!(is_idempotent || did_nothing);
                prop_assert!(after <= MAX_RETRY_AFTER);
                match outcome {
                    AttemptOutcome::Response { status, retry_after, .. } => {
                        prop_assert!(matches!(status, 408 | 429 | 500..=599));
                        prop_assert!(after >= retry_after.unwrap_or_default());
                        prop_assert!(after <= retry_after.unwrap_or_default().max(MAX_BACKOFF));
                    }
                    AttemptOutcome::NoResponse => prop_assert!(after <= MAX_BACKOFF),
                    AttemptOutcome::Unusable => prop_assert!(false),
                }
            }
            let is_success = matches!(outcome, AttemptOutcome::Response { status: 200..=299, .. });
            prop_assert_eq!(decision == Decision::Succeed, is_success);
        }
    }
}
