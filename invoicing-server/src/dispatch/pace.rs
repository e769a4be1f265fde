//! How soon a receiver answered lately, and what follows for its webhook.

use std::time::Duration;

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::queue::{LANE_ROOM, LaneRoom, few};

/// A webhook whose attempts take longer on average is slow. At this pace the deliveries in memory are served within a lease.
const SLOW: Duration = Duration::from_millis(250);
/// Part of an attempt in the average.
const WEIGHT: u32 = 8;
/// Most that an attempt counts. So one late answer among prompt ones makes no webhook slow; several do, and are remembered
/// for a few attempts.
const MOST_COUNTED: Duration = Duration::from_millis(1_750);
/// For how long a lane's places in memory suffice.
const AHEAD: Duration = Duration::from_secs(2);

/// What is known of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    /// No attempt has ended.
    Untried,
    Prompt,
    Slow,
}

/// See the module's text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Decaying average of the durations of attempts. None before the first.
    average: Option<Duration>,
    /// The last attempt timed out. The webhook gets one attempt at a time until one ends in time: more would time out as
    /// well.
    timed_out: bool,
}

impl Pace {
    pub(super) fn add(&mut self, outcome: AttemptOutcome, duration: Duration) {
        self.timed_out = outcome == AttemptOutcome::Failed(FailureClass::Timeout);
        let counted = duration.min(MOST_COUNTED);
        let average = |before: Duration| (before * (WEIGHT - 1) + counted) / WEIGHT;
        self.average = Some(self.average.map_or(counted, average));
    }

    pub(super) fn speed(self) -> Speed {
        match self.average {
            None => Speed::Untried,
            Some(average) if self.timed_out || average >= SLOW => Speed::Slow,
            Some(_) => Speed::Prompt,
        }
    }

    /// Most slots of a webhook, of those that one may have.
    pub(super) fn most_slots(self, per_webhook: usize) -> usize {
        if self.timed_out { 1 } else { per_webhook }
    }

    /// Places in memory: what its slots serve soon.
    pub(super) fn room(self, per_webhook: usize) -> LaneRoom {
        let few = few(self.most_slots(per_webhook));
        let Some(average) = self.average else { return LaneRoom::New };
        if self.speed() == Speed::Slow {
            return LaneRoom::Slow(few);
        }
        let served = AHEAD.as_micros() / average.as_micros().max(1);
        let served = usize::try_from(served).unwrap_or(usize::MAX).saturating_mul(per_webhook);
        LaneRoom::Prompt(served.min(LANE_ROOM).max(few))
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
            pace.add(*outcome, Duration::from_millis(*ms));
        }
        pace
    }

    /// Rules: ISOLATION-3
    #[test]
    fn late_answers_make_a_webhook_slow_and_prompt_ones_make_up_for_them() {
        let network = AttemptOutcome::Failed(FailureClass::Network);
        for (attempts, speed) in [
            (vec![], Speed::Untried),
            (vec![(ANSWERED, 5)], Speed::Prompt),
            (vec![(ANSWERED, 300)], Speed::Slow),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300)], Speed::Prompt),
            (vec![(ANSWERED, 5), (ANSWERED, 4_300), (ANSWERED, 4_300)], Speed::Slow),
            (vec![(network, 4_300)], Speed::Slow),
            (vec![(network, 1)], Speed::Prompt),
            (vec![(ANSWERED, 5), (TIMED_OUT, 100)], Speed::Slow),
            ([(ANSWERED, 4_300), (ANSWERED, 5)].repeat(20), Speed::Slow),
            ([vec![(ANSWERED, 4_300)], vec![(ANSWERED, 5); 20]].concat(), Speed::Prompt),
        ] {
            assert_eq!(after(&attempts).speed(), speed, "{attempts:?}");
        }
    }

    #[test]
    fn a_webhook_that_timed_out_has_one_slot_until_an_attempt_ends_in_time() {
        let mut pace = after(&[(ANSWERED, 5), (TIMED_OUT, 5_000)]);
        assert_eq!((pace.most_slots(8), pace.room(8)), (1, LaneRoom::Slow(2)));
        pace.add(ANSWERED, Duration::from_millis(5));
        assert_eq!((pace.most_slots(8), pace.room(8)), (8, LaneRoom::Prompt(80)));
    }

    #[test]
    fn the_places_of_a_webhook_follow_its_pace() {
        for (ms, room) in [
            (1, LaneRoom::Prompt(256)),
            (60, LaneRoom::Prompt(256)),
            (200, LaneRoom::Prompt(80)),
            (250, LaneRoom::Slow(12)),
        ] {
            assert_eq!(after(&[(ANSWERED, ms)]).room(8), room, "{ms} ms");
        }
        assert_eq!(Pace::default().room(8), LaneRoom::New);
    }
}
