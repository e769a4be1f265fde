//! How soon a receiver answered lately, and what follows for its webhook.

use std::time::Duration;

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::queue::{LANE_ROOM, LaneRoom, SLOW_MS, places_for};

/// A webhook that takes longer for a delivery on average is slow.
const SLOW: Duration = Duration::from_millis(SLOW_MS);
/// Part of an attempt in the average.
const WEIGHT: u32 = 8;
/// Most that an attempt counts. So one late answer among prompt ones makes no webhook slow; several do, and are remembered
/// for a few attempts.
const MOST_COUNTED: Duration = Duration::from_millis(1_750);
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
    /// Decaying average of the time per delivery. None before the first attempt.
    average: Option<Duration>,
    /// The last attempt timed out. The webhook gets one attempt at a time until one ends in time: more would time out as
    /// well.
    timed_out: bool,
}

impl Pace {
    /// Adds an attempt that ended while so many of the webhook were in flight, itself included. Whether it was late.
    ///
    /// They share its duration: a receiver that serves one request after the other is as slow as it is alone.
    pub(super) fn add(&mut self, outcome: AttemptOutcome, duration: Duration, in_flight: usize) -> bool {
        self.timed_out = outcome == AttemptOutcome::Failed(FailureClass::Timeout);
        let time = duration / u32::try_from(in_flight.max(1)).unwrap_or(u32::MAX);
        self.count(time);
        self.timed_out || time >= SLOW
    }

    /// Adds the time for a delivery to the average.
    pub(super) fn count(&mut self, time: Duration) {
        let counted = time.min(MOST_COUNTED);
        let average = |before: Duration| (before * (WEIGHT - 1) + counted) / WEIGHT;
        self.average = Some(self.average.map_or(counted, average));
    }

    pub(super) fn health(self) -> Health {
        match self.average {
            None => Health::Untried,
            Some(average) if self.timed_out || average >= SLOW => Health::Slow,
            Some(_) => Health::Prompt,
        }
    }

    /// Most slots of a webhook, of those that one may have.
    pub(super) fn most_slots(self, per_webhook: usize) -> usize {
        if self.timed_out { 1 } else { per_webhook }
    }

    /// Places in memory: what its slots serve soon.
    pub(super) fn room(self, per_webhook: usize) -> LaneRoom {
        let busy = places_for(self.most_slots(per_webhook));
        let Some(average) = self.average else { return LaneRoom::Untried };
        if self.health() == Health::Slow {
            return LaneRoom::Slow(busy);
        }
        let served = AHEAD.as_micros() / average.as_micros().max(1);
        LaneRoom::Prompt(usize::try_from(served).unwrap_or(usize::MAX).min(LANE_ROOM).max(busy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    const TIMED_OUT: AttemptOutcome = AttemptOutcome::Failed(FailureClass::Timeout);

    fn after(attempts: &[(AttemptOutcome, u64)]) -> Pace {
        let mut pace = Pace::default();
        for (outcome, ms) in attempts {
            pace.add(*outcome, Duration::from_millis(*ms), 1);
        }
        pace
    }

    /// Rules: ISOLATION-3
    #[test]
    fn late_answers_make_a_webhook_slow_and_prompt_ones_make_up_for_them() {
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
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 20]].concat(), Health::Prompt),
        ] {
            assert_eq!(after(&attempts).health(), health, "{attempts:?}");
        }
    }

    /// Each of the attempts at once takes as long as all of them together.
    ///
    /// Rules: ISOLATION-3
    #[test]
    fn a_receiver_that_serves_one_request_at_a_time_is_not_slow_because_it_gets_several() {
        for (each, health) in [(31, Health::Prompt), (100, Health::Prompt), (300, Health::Slow)] {
            let mut pace = Pace::default();
            for served in (1..=8).chain([8; 100]) {
                pace.add(ANSWERED, Duration::from_millis(each * served), 8);
            }
            assert_eq!(pace.health(), health, "{each} ms");
        }
        let mut pace = Pace::default();
        assert!(
            pace.add(ANSWERED, Duration::from_millis(4_300), 8),
            "however many at once, such answers are late"
        );
        assert_eq!(pace.health(), Health::Slow);
    }

    #[test]
    fn a_webhook_that_timed_out_has_one_slot_until_an_attempt_ends_in_time() {
        let mut pace = after(&[(ANSWERED, 5), (TIMED_OUT, 5_000)]);
        assert_eq!((pace.most_slots(8), pace.room(8)), (1, LaneRoom::Slow(2)));
        pace.add(ANSWERED, Duration::from_millis(5), 1);
        assert_eq!((pace.most_slots(8), pace.room(8)), (8, LaneRoom::Prompt(12)));
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
    }
}
