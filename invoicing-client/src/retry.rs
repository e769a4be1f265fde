//! The decision after an attempt: done, again, or give up. Pure; waiting and sending are done elsewhere.
//!
//! The rules are RETRY-1 to RETRY-5 of the contract: `GET`, `PATCH` and `POST` with an `externalId` are repeated after
//! connect errors, timeouts, 408, 429 and 5xx.

use std::time::Duration;

/// Ceiling of the first backoff; it doubles with every attempt.
const BACKOFF_START: Duration = Duration::from_millis(500);
/// Ceiling of every backoff.
const BACKOFF_CEILING: Duration = Duration::from_secs(8);
/// A longer `Retry-After` is the caller's business.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(90);

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The service, or something in front of it, answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// What the answer asks for.
        retry_after: Option<Duration>,
    },
    /// No whole answer: connect error, timeout, broken connection.
    Unanswered,
    /// There was an answer, and another would be no better: too large, redirected.
    Unusable,
}

/// Everything that the decision depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// Whether doing it twice is the same as doing it once.
    pub(crate) repeatable: bool,
    /// Which attempt it was, from 1.
    pub(crate) number: u32,
    /// How many there may be.
    pub(crate) max: u32,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// What is left of the call's deadline.
    pub(crate) remaining: Duration,
    /// Random bits, for the jitter.
    pub(crate) random: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A success: hand it over.
    Done,
    /// Wait, then try again.
    Again {
        /// How long.
        after: Duration,
    },
    /// Hand over the failure.
    GiveUp(GiveUp),
}

/// Why there is no other attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GiveUp {
    /// Another attempt would fail alike.
    Permanent,
    /// The call might be carried out twice.
    NotRepeatable,
    /// There were as many as allowed.
    AttemptsUsedUp,
    /// The service asks for more patience than a call has.
    RetryAfterTooLong,
    /// The wait would pass the deadline.
    Deadline,
}

impl Attempt {
    /// Decides.
    pub(crate) fn next(&self) -> Next {
        let retry_after = match self.outcome {
            Outcome::Answered { status: 200..=299, .. } => return Next::Done,
            Outcome::Answered { status: 408 | 429 | 500..=599, retry_after } => retry_after,
            Outcome::Unanswered => None,
            Outcome::Answered { .. } | Outcome::Unusable => return Next::GiveUp(GiveUp::Permanent),
        };
        if !self.repeatable {
            return Next::GiveUp(GiveUp::NotRepeatable);
        }
        if self.number >= self.max {
            return Next::GiveUp(GiveUp::AttemptsUsedUp);
        }
        let asked = retry_after.unwrap_or_default();
        if asked > LONGEST_RETRY_AFTER {
            return Next::GiveUp(GiveUp::RetryAfterTooLong);
        }
        let after = asked.max(backoff(self.number, self.random));
        if after >= self.remaining { Next::GiveUp(GiveUp::Deadline) } else { Next::Again { after } }
    }
}

/// Full jitter: anything between nothing and a ceiling that doubles from 0.5 s to 8 s.
fn backoff(number: u32, random: u64) -> Duration {
    let doublings = number.saturating_sub(1).min(16);
    let ceiling = BACKOFF_START.saturating_mul(1 << doublings).min(BACKOFF_CEILING);
    let nanos = u128::from(random) * ceiling.as_nanos() / u128::from(u64::MAX);
    // At most 8 s in nanoseconds, which 64 bits hold.
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attempt(outcome: Outcome) -> Attempt {
        Attempt {
            repeatable: true,
            number: 1,
            max: 4,
            outcome,
            remaining: Duration::from_mins(2),
            random: u64::MAX,
        }
    }

    fn answered(status: u16, retry_after: Option<u64>) -> Outcome {
        Outcome::Answered { status, retry_after: retry_after.map(Duration::from_secs) }
    }

    /// Rules: RETRY-1
    #[test]
    fn only_what_may_pass_is_tried_again() {
        for status in [408, 429, 500, 502, 503, 504, 599] {
            assert!(matches!(attempt(answered(status, None)).next(), Next::Again { .. }), "{status}");
        }
        assert!(matches!(attempt(Outcome::Unanswered).next(), Next::Again { .. }));
        for status in [301, 307, 400, 401, 403, 404, 405, 409, 413, 600] {
            assert_eq!(
                attempt(answered(status, Some(1))).next(),
                Next::GiveUp(GiveUp::Permanent),
                "{status}"
            );
        }
        assert_eq!(attempt(Outcome::Unusable).next(), Next::GiveUp(GiveUp::Permanent));
        assert_eq!(attempt(answered(201, None)).next(), Next::Done);
    }

    /// Rules: RETRY-4
    #[test]
    fn the_ceilings_double_from_half_a_second_to_eight() {
        let ceilings: Vec<_> = [1, 2, 3, 4, 5, 6, 60].map(|n| backoff(n, u64::MAX).as_millis()).into();
        assert_eq!(ceilings, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(backoff(u32::MAX, 0), Duration::ZERO);
    }

    /// Rules: RETRY-5
    #[test]
    fn ninety_seconds_are_waited_and_ninety_one_are_returned() {
        assert_eq!(attempt(answered(429, Some(90))).next(), Next::Again { after: Duration::from_secs(90) });
        assert_eq!(attempt(answered(429, Some(91))).next(), Next::GiveUp(GiveUp::RetryAfterTooLong));
    }

    fn outcomes() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            (100..=999_u16, proptest::option::of(0..200_u64))
                .prop_map(|(status, wait)| answered(status, wait)),
            Just(Outcome::Unanswered),
            Just(Outcome::Unusable),
        ]
    }

    proptest! {
        /// Rules: RETRY-1, RETRY-3, RETRY-4
        #[test]
        fn every_repetition_keeps_the_rules(
            repeatable: bool,
            number in 1..8_u32,
            max in 1..=4_u32,
            outcome in outcomes(),
            remaining in 0..200_000_u64,
            random: u64,
        ) {
            let remaining = Duration::from_millis(remaining);
            let next = Attempt { repeatable, number, max, outcome, remaining, random }.next();
            if let Next::Again { after } = next {
                prop_assert!(repeatable && number < max && after < remaining);
                prop_assert!(after <= LONGEST_RETRY_AFTER);
                match outcome {
                    Outcome::Answered { status, retry_after } => {
                        prop_assert!(matches!(status, 408 | 429 | 500..=599));
                        prop_assert!(after >= retry_after.unwrap_or_default());
                        prop_assert!(after <= retry_after.unwrap_or_default().max(BACKOFF_CEILING));
                    }
                    Outcome::Unanswered => prop_assert!(after <= BACKOFF_CEILING),
                    Outcome::Unusable => prop_assert!(false),
                }
            }
            let success = matches!(outcome, Outcome::Answered { status: 200..=299, .. });
            prop_assert_eq!(next == Next::Done, success);
        }
    }
}
