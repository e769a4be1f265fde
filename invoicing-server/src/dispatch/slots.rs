//! The slots for attempts, and how many of them a webhook may have.
//!
//! A slot may stay busy for the whole timeout of an attempt, so no number of webhooks may take them all:
//! - The fewer slots are free, the fewer a webhook may have. The last quarter is for prompt webhooks that have neither a
//!   slot nor a backlog. These leave an eighth to all others.
//! - Slow webhooks get at most half of the slots together, and share them by the same rule.
//! - Untried webhooks may turn out to be slow. Together with those that are, they get at most five eighths: an eighth is
//!   theirs alone.

use crate::config::DispatchSettings;
use crate::queue::share;

/// What a webhook is as it competes for slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A prompt webhook without a slot, with few deliveries in memory and none that wait in the table.
    Sparse,
    /// The same where no attempt has ended yet.
    Untried,
    /// A prompt webhook with more.
    Busy,
    /// A slow webhook, or an untried one with a backlog.
    Slow,
}

/// See the module's text.
pub(super) struct Slots {
    all: usize,
    pub(super) per_webhook: usize,
    taken: usize,
    taken_by_sparse: usize,
    taken_by_untried: usize,
    taken_by_slow: usize,
}

impl Slots {
    pub(super) fn new(settings: &DispatchSettings) -> Self {
        let (all, per_webhook) = (settings.in_flight, settings.in_flight_per_webhook);
        Self { all, per_webhook, taken: 0, taken_by_sparse: 0, taken_by_untried: 0, taken_by_slow: 0 }
    }

    /// How many slots a webhook may have now.
    pub(super) fn share(&self, class: Class) -> usize {
        let free = self.all - self.taken;
        let of_all = share(self.all, self.taken, self.per_webhook);
        let is_unproven_full = self.taken_by_untried + self.taken_by_slow >= self.unproven();
        let eighth = (self.all / 8).max(1);
        let is_last_for_sparse = free <= self.all / 4 && self.taken - self.taken_by_sparse >= eighth;
        match class {
            _ if free == 0 => 0,
            Class::Sparse => usize::from(self.taken_by_sparse < (self.all - eighth).max(1)),
            _ if is_last_for_sparse => 0,
            Class::Busy => of_all,
            Class::Untried | Class::Slow if is_unproven_full => 0,
            Class::Untried => 1,
            Class::Slow => share(self.slow(), self.taken_by_slow, self.per_webhook).min(of_all),
        }
    }

    /// Most slots of all slow webhooks.
    fn slow(&self) -> usize {
        (self.all / 2).max(1)
    }

    /// Most slots of all slow and untried webhooks.
    fn unproven(&self) -> usize {
        self.slow() + (self.all / 8).max(1)
    }

    pub(super) fn take(&mut self, class: Class) {
        self.taken += 1;
        self.taken_by_sparse += usize::from(class == Class::Sparse);
        self.taken_by_untried += usize::from(class == Class::Untried);
        self.taken_by_slow += usize::from(class == Class::Slow);
    }

    pub(super) fn free(&mut self, class: Class) {
        self.taken -= 1;
        self.taken_by_sparse -= usize::from(class == Class::Sparse);
        self.taken_by_untried -= usize::from(class == Class::Untried);
        self.taken_by_slow -= usize::from(class == Class::Slow);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(in_flight: usize, in_flight_per_webhook: usize) -> Slots {
        Slots::new(&DispatchSettings { in_flight, in_flight_per_webhook, ..DispatchSettings::default() })
    }

    /// Webhooks take slots in turn until none may take more, each at most so many; how many each has.
    fn fill(slots: &mut Slots, class: Class, webhooks: usize, most: usize) -> Vec<usize> {
        let mut held = vec![0; webhooks];
        loop {
            let before = slots.taken;
            for held in &mut held {
                if *held < slots.share(class).min(most) {
                    slots.take(class);
                    *held += 1;
                }
            }
            if slots.taken == before {
                return held;
            }
        }
    }

    #[test]
    fn the_webhooks_of_one_company_do_not_limit_each_other() {
        assert_eq!(fill(&mut slots(256, 8), Class::Busy, 20, 8), [8; 20]);
    }

    #[test]
    fn a_few_slow_webhooks_are_not_limited() {
        assert_eq!(fill(&mut slots(256, 8), Class::Slow, 8, 8), [8; 8]);
    }

    #[test]
    fn slow_webhooks_with_one_delivery_each_get_up_to_half_of_all() {
        let mut slots = slots(256, 8);
        let held = fill(&mut slots, Class::Slow, 200, 1);
        assert_eq!(held.iter().sum::<usize>(), 128);
        assert!(held.iter().all(|held| *held <= 1));
        assert_eq!(fill(&mut slots, Class::Busy, 4, 8), [8; 4]);
    }

    /// Rules: ISOLATION-3
    #[test]
    fn slow_webhooks_leave_slots_to_untried_ones_and_both_leave_slots_to_prompt_ones_with_a_backlog() {
        let taken = |slots: &mut Slots, class, most| fill(slots, class, 500, most).iter().sum::<usize>();
        for order in [[Class::Slow, Class::Untried], [Class::Untried, Class::Slow]] {
            let mut slots = slots(256, 8);
            let [first, second] = order.map(|class| taken(&mut slots, class, 1));
            assert_eq!(first + second, 160);
            assert!(second == 32 || order[1] == Class::Slow, "{second} for untried ones");
            assert_eq!(taken(&mut slots, Class::Busy, 8), 32);
        }
    }

    /// Rules: ISOLATION-3
    #[test]
    fn prompt_webhooks_without_a_backlog_leave_slots_to_each_other_class() {
        for class in [Class::Untried, Class::Busy, Class::Slow] {
            let mut slots = slots(256, 8);
            let sparse = fill(&mut slots, Class::Sparse, 400, 1).iter().sum::<usize>();
            let others = fill(&mut slots, class, 400, 8).iter().sum::<usize>();
            assert_eq!((sparse, others), (224, 32), "{class:?}");
        }
        for class in [Class::Sparse, Class::Busy] {
            assert_eq!(fill(&mut slots(1, 8), class, 10, 8).iter().sum::<usize>(), 1);
        }
    }

    proptest! {
        /// However many slots all other webhooks take and keep, in turn or one after the other.
        ///
        /// Rules: ISOLATION-3
        #[test]
        fn the_last_quarter_is_left_to_prompt_webhooks_without_a_backlog(
            (all, per_webhook) in (1..400_usize, 1..20_usize),
            groups in proptest::collection::vec(
                (0..200_usize, prop_oneof![Just(Class::Busy), Just(Class::Slow), Just(Class::Untried)]),
                1..8,
            ),
        ) {
            let mut slots = slots(all, per_webhook);
            for (group, class) in groups {
                fill(&mut slots, class, group, per_webhook);
                prop_assert!(slots.taken <= all && slots.taken_by_slow <= slots.slow());
                prop_assert!(slots.taken_by_slow + slots.taken_by_untried <= slots.unproven());
                let left = all - slots.taken;
                prop_assert!(left >= all / 4, "{left} left");
                prop_assert_eq!(slots.share(Class::Sparse), left.min(1));
            }
        }
    }
}
