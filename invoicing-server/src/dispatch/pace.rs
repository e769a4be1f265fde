//! How soon a receiver answered lately, and what follows for its webhook.

use std::time::{Duration, Instant};

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::queue::{LANE_ROOM, LaneRoom, SLOW_MS, places_for};

/// An attempt is late that takes so long for a delivery.
pub(super) const LATE: Duration = Duration::from_millis(SLOW_MS);
/// So is one that takes this long, however many others share it.
const LATE_ALONE: Duration = Duration::from_secs(2);
/// A webhook is slow once its attempts were late for longer than this and a tenth of the time. So one late answer makes no
/// webhook slow, nor do short ones once in a while, as when this process stalls.
const TOLERATED: Duration = Duration::from_secs(6);
const TOLERATED_PART: u32 = 10;
/// Most late time that counts. So a webhook is no longer slow a minute after it was last late.
const MOST_COUNTED: Duration = Duration::from_secs(12);
/// Part of an attempt in the average.
const WEIGHT: u32 = 8;
/// For how long a lane's places in memory suffice.
const AHEAD: Duration = Duration::from_secs(2);

/// What is known of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// No attempt has ended, or none that still tells anything.
    Untried,
    Prompt,
    Slow,
}

/// See the module's text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// When the last attempt ended, or earlier ones were read. None before that.
    last_attempt: Option<Instant>,
    /// Decaying average of the time per delivery.
    average: Duration,
    /// Time of late attempts, less what was tolerated until the last attempt ended.
    late: Duration,
}

impl Pace {
    /// Of a receiver that took so long on average before the dispatcher was started.
    pub(super) fn recalled(average: Duration, now: Instant) -> Self {
        Self { last_attempt: Some(now), average, ..Self::default() }
    }

    /// Adds an attempt that ended while so many of the webhook were in flight, itself included.
    ///
    /// They share its duration: a receiver that serves one request after the other is as slow as it is alone.
    pub(super) fn add(
        &mut self,
        outcome: AttemptOutcome,
        duration: Duration,
        in_flight: usize,
        now: Instant,
    ) {
        let time = duration / u32::try_from(in_flight.max(1)).unwrap_or(u32::MAX);
        let is_late = time >= LATE || duration >= LATE_ALONE;
        let is_first = self.last_attempt.is_none();
        let timed_out = outcome == AttemptOutcome::Failed(FailureClass::Timeout);
        self.late = if timed_out || (is_late && is_first) {
            MOST_COUNTED
        } else {
            let more = if is_late { duration } else { Duration::ZERO };
            self.late_at(now).saturating_add(more).min(MOST_COUNTED)
        };
        self.average = if is_first { time } else { (self.average * (WEIGHT - 1) + time) / WEIGHT };
        self.last_attempt = Some(now);
    }

    /// Late time that is not tolerated by now.
    fn late_at(&self, now: Instant) -> Duration {
        let passed = self.last_attempt.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.late.saturating_sub(passed / TOLERATED_PART)
    }

    pub(super) fn last_attempt(self) -> Option<Instant> {
        self.last_attempt
    }

    pub(super) fn health(self) -> Health {
        match self.last_attempt {
            None => Health::Untried,
            Some(_) if self.late > TOLERATED => Health::Slow,
            Some(_) => Health::Prompt,
        }
    }

    /// Whether it is slow by attempts that are too long ago: what made them late, such as a start of the receiver, may be
    /// over.
    pub(super) fn is_outdated(self, now: Instant) -> bool {
        self.health() == Health::Slow && self.late_at(now) <= TOLERATED
    }

    /// Places in memory: what its slots serve soon.
    pub(super) fn room(self, per_webhook: usize) -> LaneRoom {
        let busy = places_for(per_webhook);
        let served = AHEAD.as_micros() / self.average.as_micros().max(1);
        match self.health() {
            Health::Untried => LaneRoom::Untried,
            Health::Prompt => {
                LaneRoom::Prompt(usize::try_from(served).unwrap_or(usize::MAX).min(LANE_ROOM).max(busy))
            }
            Health::Slow => LaneRoom::Slow(busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    const TIMED_OUT: AttemptOutcome = AttemptOutcome::Failed(FailureClass::Timeout);

    /// One attempt after the other.
    fn after(attempts: &[(AttemptOutcome, u64)]) -> Pace {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        for (outcome, ms) in attempts {
            let duration = Duration::from_millis(*ms);
            now += duration;
            pace.add(*outcome, duration, 1, now);
        }
        pace
    }

    /// Rules: ISOLATION-3
    #[test]
    fn a_webhook_is_slow_that_was_late_at_first_or_again() {
        let network = AttemptOutcome::Failed(FailureClass::Network);
        for (attempts, health) in [
            (vec![], Health::Untried),
            (vec![(ANSWERED, 5)], Health::Prompt),
            (vec![(ANSWERED, 300)], Health::Slow),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300)], Health::Prompt),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300), (ANSWERED, 4_300)], Health::Slow),
            (vec![(network, 4_300)], Health::Slow),
            (vec![(network, 1)], Health::Prompt),
            (vec![(ANSWERED, 5), (TIMED_OUT, 100)], Health::Slow),
            ([(ANSWERED, 4_300), (ANSWERED, 5)].repeat(20), Health::Slow),
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 20]].concat(), Health::Slow),
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 12_000]].concat(), Health::Prompt),
        ] {
            let shown = &attempts[..attempts.len().min(40)];
            assert_eq!(after(&attempts).health(), health, "{shown:?}");
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
            assert_eq!(after(&[&first[..], &round.repeat(20)].concat()).health(), Health::Slow, "{late} ms");
        }
        // As seldom as for a tenth of the time.
        let seldom = [vec![(ANSWERED, 5); 800], vec![(ANSWERED, 400)]].concat();
        assert_eq!(after(&seldom.repeat(50)).health(), Health::Prompt);
    }

    /// Each of the attempts at once takes as long as all of them together.
    ///
    /// Rules: ISOLATION-3
    #[test]
    fn a_receiver_that_serves_one_request_at_a_time_is_not_slow_because_it_gets_several() {
        for (each, health) in [(31, Health::Prompt), (100, Health::Prompt), (300, Health::Slow)] {
            let (mut pace, mut now) = (Pace::default(), Instant::now());
            for served in (1..=8).chain([8; 100]) {
                now += Duration::from_millis(each);
                pace.add(ANSWERED, Duration::from_millis(each * served), 8, now);
            }
            assert_eq!(pace.health(), health, "{each} ms");
        }
        let mut pace = Pace::default();
        pace.add(ANSWERED, Duration::from_millis(4_300), 100, Instant::now());
        assert_eq!(pace.health(), Health::Slow, "however many at once, such answers are late");
    }

    #[test]
    fn the_places_of_a_webhook_follow_its_pace() {
        for (ms, room) in [
            (1, LaneRoom::Prompt(256)),
            (50, LaneRoom::Prompt(40)),
            (200, LaneRoom::Prompt(12)),
            (250, LaneRoom::Slow(12)),
        ] {
            assert_eq!(after(&[(ANSWERED, ms)]).room(8), room, "{ms} ms");
        }
        assert_eq!(Pace::default().room(8), LaneRoom::Untried);
        assert_eq!(after(&[(ANSWERED, 5), (TIMED_OUT, 5_000)]).room(8), LaneRoom::Slow(12));
    }
}
