//! The places for attempts, and how many of them a webhook may have.
//!
//! A place that is given to an attempt may be gone for as long as an attempt may take. So nobody is given all of them:
//! - The fewer are free, the fewer a webhook may have at once, and the last quarter is for those that have none. So
//!   receivers that answer late, or hang now and then, leave places to the others without having been noticed before.
//! - A webhook whose last attempt took long is a *suspect*. All suspects together get at most half of the places, which
//!   they share in the same way.

use std::time::Duration;

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::config::DispatchSettings;

/// Who takes longer to answer is a suspect.
const SLOW: Duration = Duration::from_secs(1);

/// How a webhook's last attempt went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pace {
    /// Well, or there was none yet.
    #[default]
    Prompt,
    /// It took long.
    Slow,
    /// It took all its time. Until one goes better, the webhook gets one attempt at a time: more would fail as well.
    Hanging,
}

impl Pace {
    /// What an attempt tells of its webhook.
    pub(super) fn of(outcome: AttemptOutcome, duration: Duration) -> Self {
        match outcome {
            AttemptOutcome::Failed(FailureClass::Timeout) => Self::Hanging,
            _ if duration >= SLOW => Self::Slow,
            _ => Self::Prompt,
        }
    }

    fn is_suspect(self) -> bool {
        self != Self::Prompt
    }
}

/// See the module's text.
pub(super) struct Places {
    all: usize,
    per_webhook: usize,
    taken: usize,
    taken_by_suspects: usize,
}

impl Places {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let (all, per_webhook) = (settings.in_flight, settings.in_flight_per_webhook);
        Self { all, per_webhook, taken: 0, taken_by_suspects: 0 }
    }

    pub(super) fn is_any_free(&self) -> bool {
        self.taken < self.all
    }

    /// Most that a webhook may have, however many are free.
    pub(super) fn most(&self, pace: Pace) -> usize {
        if pace == Pace::Hanging { 1 } else { self.per_webhook }
    }

    /// How many a webhook may have now.
    pub(super) fn share(&self, pace: Pace) -> usize {
        let share = self.share_of(self.all, self.taken);
        if pace.is_suspect() {
            share.min(self.share_of((self.all / 2).max(1), self.taken_by_suspects))
        } else {
            share
        }
    }

    /// None where none is free, one while no more than a quarter is, all that a webhook may have from three eighths on.
    fn share_of(&self, all: usize, taken: usize) -> usize {
        let Some(free) = all.checked_sub(taken).filter(|free| *free > 0) else { return 0 };
        let beyond = free.saturating_sub(all / 4).saturating_mul(self.per_webhook - 1);
        (1 + beyond / (all / 8).max(1)).min(self.per_webhook)
    }

    pub(super) fn take(&mut self, pace: Pace) {
        self.taken += 1;
        self.taken_by_suspects += usize::from(pace.is_suspect());
    }

    pub(super) fn give_back(&mut self, pace: Pace) {
        self.taken -= 1;
        self.taken_by_suspects -= usize::from(pace.is_suspect());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(in_flight: usize, in_flight_per_webhook: usize) -> Places {
        Places::new(&DispatchSettings { in_flight, in_flight_per_webhook, ..DispatchSettings::default() })
    }

    /// Lets webhooks in turn take what they may have, until nobody may have more. How many each has got.
    fn fill(places: &mut Places, pace: Pace, webhooks: usize) -> Vec<usize> {
        let mut held = vec![0; webhooks];
        loop {
            let before = places.taken;
            for held in &mut held {
                if *held < places.share(pace).min(places.most(pace)) {
                    places.take(pace);
                    *held += 1;
                }
            }
            if places.taken == before {
                return held;
            }
        }
    }

    #[test]
    fn what_takes_long_is_a_suspect() {
        let answered = AttemptOutcome::Answered { status: 200, retry_after: None };
        let failed = AttemptOutcome::Failed;
        let ms = Duration::from_millis;
        for (outcome, duration, pace) in [
            (answered, ms(999), Pace::Prompt),
            (answered, ms(4_900), Pace::Slow),
            (failed(FailureClass::Dns), ms(4_900), Pace::Slow),
            (failed(FailureClass::Network), ms(1), Pace::Prompt),
            (failed(FailureClass::Timeout), ms(100), Pace::Hanging),
        ] {
            assert_eq!(Pace::of(outcome, duration), pace, "{outcome:?} after {duration:?}");
        }
    }

    #[test]
    fn a_company_with_all_its_webhooks_is_not_held_back_by_itself() {
        let mut places = places(256, 8);
        assert_eq!(fill(&mut places, Pace::Prompt, 20), [8; 20]);
    }

    #[test]
    fn slow_webhooks_are_not_held_back_while_they_are_few() {
        let mut places = places(256, 8);
        assert_eq!(fill(&mut places, Pace::Slow, 8), [8; 8]);
    }

    #[test]
    fn hanging_webhooks_get_one_place_each_up_to_half_of_all() {
        let mut places = places(256, 8);
        let held = fill(&mut places, Pace::Hanging, 200);
        assert_eq!(held.iter().sum::<usize>(), 128);
        assert!(held.iter().all(|held| *held <= 1));
        assert_eq!(fill(&mut places, Pace::Prompt, 4), [8; 4]);
    }

    proptest! {
        /// Whatever others take and do not give back, prompt or slow, in turn or one after the other.
        #[test]
        fn the_last_quarter_is_left_to_webhooks_that_have_none(
            (all, per_webhook) in (1..400_usize, 1..20_usize),
            crowds in proptest::collection::vec((0..60_usize, prop_oneof![Just(Pace::Prompt), Just(Pace::Slow)]), 1..8),
        ) {
            let mut places = places(all, per_webhook);
            let mut webhooks = 0;
            for (crowd, pace) in crowds {
                fill(&mut places, pace, crowd);
                webhooks += crowd;
                prop_assert!(places.taken <= all && places.taken_by_suspects <= (all / 2).max(1));
                let left = all - places.taken;
                prop_assert!(left >= (all / 4).saturating_sub(webhooks), "{left} left");
                prop_assert_eq!(places.is_any_free(), left > 0);
            }
            prop_assert!(webhooks >= all / 4 || places.share(Pace::Prompt) > 0);
        }
    }
}
