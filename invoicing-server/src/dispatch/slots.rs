//! The slots for attempts, and how many of them a webhook may have.
//!
//! A slot may stay busy for the whole timeout of an attempt, so one webhook may not take them all:
//! - The fewer slots are free, the fewer a webhook may have, and the last quarter is for webhooks that have none. So
//!   receivers that answer late, or hang now and then, leave slots to the others before they are known to be slow.
//! - Webhooks whose last attempt took long get at most half of the slots together, and share them by the same rule.

use std::time::Duration;

use invoicing_core::{AttemptOutcome, FailureClass};

use crate::config::DispatchSettings;

/// An attempt that takes longer makes its webhook slow.
const SLOW: Duration = Duration::from_secs(1);

/// What the last attempt tells of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Health {
    /// It was answered soon, or there was none yet.
    #[default]
    Ok,
    /// It took long.
    Slow,
    /// It timed out. The webhook gets one attempt at a time until one succeeds: more would time out as well.
    TimingOut,
}

impl Health {
    pub(super) fn of(outcome: AttemptOutcome, duration: Duration) -> Self {
        match outcome {
            AttemptOutcome::Failed(FailureClass::Timeout) => Self::TimingOut,
            _ if duration >= SLOW => Self::Slow,
            _ => Self::Ok,
        }
    }

    fn is_slow(self) -> bool {
        self != Self::Ok
    }
}

/// See the module's text.
pub(super) struct Slots {
    all: usize,
    per_webhook: usize,
    taken: usize,
    taken_by_slow: usize,
}

impl Slots {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let (all, per_webhook) = (settings.in_flight, settings.in_flight_per_webhook);
        Self { all, per_webhook, taken: 0, taken_by_slow: 0 }
    }

    pub(super) fn is_any_free(&self) -> bool {
        self.taken < self.all
    }

    /// Most slots that a webhook may have, however many are free.
    pub(super) fn most(&self, health: Health) -> usize {
        if health == Health::TimingOut { 1 } else { self.per_webhook }
    }

    /// How many slots a webhook may have now.
    pub(super) fn share(&self, health: Health) -> usize {
        let share = self.share_of(self.all, self.taken);
        if health.is_slow() {
            share.min(self.share_of((self.all / 2).max(1), self.taken_by_slow))
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

    pub(super) fn take(&mut self, health: Health) {
        self.taken += 1;
        self.taken_by_slow += usize::from(health.is_slow());
    }

    pub(super) fn free(&mut self, health: Health) {
        self.taken -= 1;
        self.taken_by_slow -= usize::from(health.is_slow());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(in_flight: usize, in_flight_per_webhook: usize) -> Slots {
        Slots::new(&DispatchSettings { in_flight, in_flight_per_webhook, ..DispatchSettings::default() })
    }

    /// Webhooks take slots in turn until none may take more; how many each has.
    fn fill(slots: &mut Slots, health: Health, webhooks: usize) -> Vec<usize> {
        let mut held = vec![0; webhooks];
        loop {
            let before = slots.taken;
            for held in &mut held {
                if *held < slots.share(health).min(slots.most(health)) {
                    slots.take(health);
                    *held += 1;
                }
            }
            if slots.taken == before {
                return held;
            }
        }
    }

    #[test]
    fn an_attempt_that_takes_long_makes_its_webhook_slow() {
        let answered = AttemptOutcome::Answered { status: 200, retry_after: None };
        let failed = AttemptOutcome::Failed;
        let ms = Duration::from_millis;
        for (outcome, duration, health) in [
            (answered, ms(999), Health::Ok),
            (answered, ms(4_900), Health::Slow),
            (failed(FailureClass::Dns), ms(4_900), Health::Slow),
            (failed(FailureClass::Network), ms(1), Health::Ok),
            (failed(FailureClass::Timeout), ms(100), Health::TimingOut),
        ] {
            assert_eq!(Health::of(outcome, duration), health, "{outcome:?} after {duration:?}");
        }
    }

    #[test]
    fn the_webhooks_of_one_company_do_not_limit_each_other() {
        let mut slots = slots(256, 8);
        assert_eq!(fill(&mut slots, Health::Ok, 20), [8; 20]);
    }

    #[test]
    fn a_few_slow_webhooks_are_not_limited() {
        let mut slots = slots(256, 8);
        assert_eq!(fill(&mut slots, Health::Slow, 8), [8; 8]);
    }

    #[test]
    fn webhooks_that_time_out_get_one_slot_each_up_to_half_of_all() {
        let mut slots = slots(256, 8);
        let held = fill(&mut slots, Health::TimingOut, 200);
        assert_eq!(held.iter().sum::<usize>(), 128);
        assert!(held.iter().all(|held| *held <= 1));
        assert_eq!(fill(&mut slots, Health::Ok, 4), [8; 4]);
    }

    proptest! {
        /// However many slots other webhooks take and keep, slow or not, in turn or one after the other.
        #[test]
        fn the_last_quarter_is_left_to_webhooks_that_have_none(
            (all, per_webhook) in (1..400_usize, 1..20_usize),
            groups in proptest::collection::vec((0..60_usize, prop_oneof![Just(Health::Ok), Just(Health::Slow)]), 1..8),
        ) {
            let mut slots = slots(all, per_webhook);
            let mut webhooks = 0;
            for (group, health) in groups {
                fill(&mut slots, health, group);
                webhooks += group;
                prop_assert!(slots.taken <= all && slots.taken_by_slow <= (all / 2).max(1));
                let left = all - slots.taken;
                prop_assert!(left >= (all / 4).saturating_sub(webhooks), "{left} left");
                prop_assert_eq!(slots.is_any_free(), left > 0);
            }
            prop_assert!(webhooks >= all / 4 || slots.share(Health::Ok) > 0);
        }
    }
}
