//! The recent latency of a receiver, and the class of its webhook.

use std::time::{Duration, Instant};

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::queue::Pool;

/// Shortest duration of a late attempt, divided by the attempts in flight.
pub(super) const LATE: Duration = Duration::from_millis(250);
/// Shortest duration of an attempt that is late however many others are in flight.
const LATE_ALONE: Duration = Duration::from_secs(2);
/// A webhook is slow once its late attempts took longer than this plus a tenth of the time. So
/// neither one late answer makes a webhook slow, nor short ones once in a while, as when this
/// process stalls.
const TOLERATED: Duration = Duration::from_secs(6);
const TOLERATED_PART: u32 = 10;
/// Longest late time that counts. The 6 s beyond `TOLERATED` wear off at a tenth of the time, so a
/// webhook stops being slow a minute after its last late attempt.
const MAX_COUNTED: Duration = Duration::from_secs(12);

/// The class of a webhook by its latency, which decides its pool and its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LatencyClass {
    /// No attempt has ended.
    New,
    Prompt,
    Slow,
}

impl LatencyClass {
    pub(super) const fn pool(self) -> Pool {
        match self {
            Self::Prompt => Pool::Prompt,
            Self::New | Self::Slow => Pool::Slow,
        }
    }
}

/// Tracks how late the attempts of a webhook are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LatencyTracker {
    /// When the last attempt ended, or the attempts on record were read. `None` before that.
    last_attempt: Option<Instant>,
    /// Time of late attempts, less the time tolerated until the last attempt ended.
    late: Duration,
}

impl LatencyTracker {
    /// The tracker of a receiver that was prompt before the dispatcher was started.
    pub(super) fn prompt(now: Instant) -> Self {
        Self { last_attempt: Some(now), late: Duration::ZERO }
    }

    /// Adds an attempt that ended while `in_flight` of the webhook were in flight, itself included.
    ///
    /// The attempts in flight share its duration, so a receiver that serves its requests one by one
    /// is not slower for having several.
    pub(super) fn add(
        &mut self,
        outcome: AttemptOutcome,
        duration: Duration,
        in_flight: usize,
        now: Instant,
    ) {
        let time = duration / u32::try_from(in_flight.max(1)).unwrap_or(u32::MAX);
        let is_late = time >= LATE || duration >= LATE_ALONE;
        let timed_out = outcome == AttemptOutcome::Failed(FailureClass::Timeout);
        // A timeout, or a late first attempt, makes the webhook slow at once.
        self.late = if timed_out || (is_late && self.last_attempt.is_none()) {
            MAX_COUNTED
        } else {
            let more = if is_late { duration } else { Duration::ZERO };
            self.late_at(now).saturating_add(more).min(MAX_COUNTED)
        };
        self.last_attempt = Some(now);
    }

    /// The late time that is left at `now`, less the time tolerated since the last attempt.
    fn late_at(&self, now: Instant) -> Duration {
        let passed = self.last_attempt.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.late.saturating_sub(passed / TOLERATED_PART)
    }

    pub(super) fn last_attempt(self) -> Option<Instant> {
        self.last_attempt
    }

    pub(super) fn class(self) -> LatencyClass {
        match self.last_attempt {
            None => LatencyClass::New,
            Some(_) if self.late > TOLERATED => LatencyClass::Slow,
            Some(_) => LatencyClass::Prompt,
        }
    }

    /// True if the webhook is slow only by attempts of long ago: their cause, such as a start of
    /// the receiver, may be over.
    pub(super) fn is_outdated(self, now: Instant) -> bool {
        self.class() == LatencyClass::Slow && self.late_at(now) <= TOLERATED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    const TIMED_OUT: AttemptOutcome = AttemptOutcome::Failed(FailureClass::Timeout);

    /// One attempt after the other.
    fn after(attempts: &[(AttemptOutcome, u64)]) -> LatencyTracker {
        let (mut tracker, mut now) = (LatencyTracker::default(), Instant::now());
        for (outcome, ms) in attempts {
            let duration = Duration::from_millis(*ms);
            now += duration;
            tracker.add(*outcome, duration, 1, now);
        }
        tracker
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_is_slow_that_was_late_at_first_or_again() {
        let network = AttemptOutcome::Failed(FailureClass::Network);
        for (attempts, class) in [
            (vec![], LatencyClass::New),
            (vec![(ANSWERED, 5)], LatencyClass::Prompt),
            (vec![(ANSWERED, 300)], LatencyClass::Slow),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300)], LatencyClass::Prompt),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300), (ANSWERED, 4_300)], LatencyClass::Slow),
            (vec![(network, 4_300)], LatencyClass::Slow),
            (vec![(network, 1)], LatencyClass::Prompt),
            (vec![(ANSWERED, 5), (TIMED_OUT, 100)], LatencyClass::Slow),
            ([(ANSWERED, 4_300), (ANSWERED, 5)].repeat(20), LatencyClass::Slow),
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 20]].concat(), LatencyClass::Slow),
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 12_000]].concat(), LatencyClass::Prompt),
        ] {
            let shown = &attempts[..attempts.len().min(40)];
            assert_eq!(after(&attempts).class(), class, "{shown:?}");
        }
    }

    /// Its attempts are prompt on average, while it has a slot nearly all the time.
    ///
    /// Rules: ISOLATION-1, ISOLATION-3
    #[test]
    fn a_webhook_that_is_late_once_in_16_attempts_is_slow() {
        let first = [(ANSWERED, 5)];
        for late in [4_900, 1_900, 400] {
            let round = [vec![(ANSWERED, late)], vec![(ANSWERED, 5); 15]].concat();
            assert_eq!(
                after(&[&first[..], &round.repeat(20)].concat()).class(),
                LatencyClass::Slow,
                "{late} ms"
            );
        }
        // Late for less than a tenth of the time.
        let seldom = [vec![(ANSWERED, 5); 800], vec![(ANSWERED, 400)]].concat();
        assert_eq!(after(&seldom.repeat(50)).class(), LatencyClass::Prompt);
    }

    /// Each of the attempts at once takes as long as all of them together.
    ///
    /// Rules: ISOLATION-3
    #[test]
    fn a_serial_receiver_is_not_slow_because_it_gets_several_requests() {
        for (each, class) in
            [(31, LatencyClass::Prompt), (100, LatencyClass::Prompt), (300, LatencyClass::Slow)]
        {
            let (mut tracker, mut now) = (LatencyTracker::default(), Instant::now());
            for served in (1..=8).chain([8; 100]) {
                now += Duration::from_millis(each);
                tracker.add(ANSWERED, Duration::from_millis(each * served), 8, now);
            }
            assert_eq!(tracker.class(), class, "{each} ms");
        }
        let mut tracker = LatencyTracker::default();
        tracker.add(ANSWERED, Duration::from_millis(4_300), 100, Instant::now());
        assert_eq!(tracker.class(), LatencyClass::Slow, "however many at once, such answers are late");
    }
}
