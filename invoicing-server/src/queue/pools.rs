//! Two pools of each resource that is divided among all webhooks: slots for attempts, and memory
//! slots.
//!
//! An attempt may stay in flight for its whole time limit, so no number of webhooks may take a
//! whole resource:
//! - Slow and new webhooks together have a bounded part. Prompt ones have the rest.
//! - The less is free, the less a webhook may have. The last quarter is for webhooks that have
//!   none.

/// A pool: the webhooks that a part of a resource is divided among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pool {
    /// Webhooks whose receivers answered soon.
    Prompt,
    /// All other webhooks: slow ones and new ones.
    Slow,
}

impl Pool {
    pub(crate) const fn other(self) -> Self {
        if matches!(self, Self::Prompt) { Self::Slow } else { Self::Prompt }
    }
}

/// The units of a resource that are taken, by pool.
#[derive(Debug)]
pub(crate) struct Pools {
    all: usize,
    /// Maximum number of units of the slow pool.
    slow: usize,
    taken: usize,
    taken_by_slow: usize,
}

impl Pools {
    pub(crate) const fn new(all: usize, slow: usize) -> Self {
        Self { all, slow, taken: 0, taken_by_slow: 0 }
    }

    /// Number of units that a webhook may have now, `max` at most. Of the slow pool, `reserved`
    /// units are for other webhooks.
    pub(crate) fn limit(&self, pool: Pool, max: usize, reserved: usize) -> usize {
        let of_all = limit(self.all, self.taken, max);
        match pool {
            Pool::Prompt => of_all,
            Pool::Slow => limit(self.slow.saturating_sub(reserved), self.taken_by_slow, max).min(of_all),
        }
    }

    pub(crate) fn take(&mut self, pool: Pool, count: usize) {
        self.taken += count;
        if pool == Pool::Slow {
            self.taken_by_slow += count;
        }
    }

    pub(crate) fn free(&mut self, pool: Pool, count: usize) {
        self.taken -= count;
        if pool == Pool::Slow {
            self.taken_by_slow -= count;
        }
    }
}

/// The limit of one webhook while `taken` of `all` are in use: none if none is free, one while no
/// more than a quarter is, and `max` from three eighths on.
fn limit(all: usize, taken: usize, max: usize) -> usize {
    let Some(free) = all.checked_sub(taken).filter(|free| *free > 0) else { return 0 };
    let beyond = free.saturating_sub(all / 4).saturating_mul(max.saturating_sub(1));
    (1 + beyond / (all / 8).max(1)).min(max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lets webhooks take units one after the other until none may take more, each at most `max`.
    /// Returns the number of each.
    fn fill(pools: &mut Pools, pool: Pool, webhooks: usize, max: usize) -> Vec<usize> {
        let mut held = vec![0; webhooks];
        loop {
            let before = pools.taken;
            for held in &mut held {
                if *held < pools.limit(pool, max, 0) {
                    pools.take(pool, 1);
                    *held += 1;
                }
            }
            if pools.taken == before {
                return held;
            }
        }
    }

    #[test]
    fn a_few_webhooks_do_not_limit_each_other() {
        assert_eq!(fill(&mut Pools::new(256, 128), Pool::Prompt, 20, 8), [8; 20]);
        assert_eq!(fill(&mut Pools::new(256, 128), Pool::Slow, 8, 8), [8; 8]);
    }

    /// Rules: ISOLATION-3
    #[test]
    fn slow_webhooks_get_their_part_and_leave_the_rest_to_prompt_ones() {
        for slow in [128, 180, 1_000] {
            let mut pools = Pools::new(256, 128);
            assert_eq!(fill(&mut pools, Pool::Slow, slow, 8).iter().sum::<usize>(), 128, "{slow}");
            assert_eq!(fill(&mut pools, Pool::Prompt, 4, 8), [8; 4], "{slow}");
            assert_eq!(fill(&mut pools, Pool::Prompt, 400, 8).iter().sum::<usize>(), 96, "{slow}");
        }
    }

    /// As when prompt webhooks begin to hang, beside slow ones that have all their part.
    ///
    /// Rules: ISOLATION-1, ISOLATION-3
    #[test]
    fn ninety_webhooks_with_as_many_as_they_may_have_leave_some_to_others() {
        for slow in [0, 200] {
            let mut pools = Pools::new(256, 128);
            fill(&mut pools, Pool::Slow, slow, 8);
            fill(&mut pools, Pool::Prompt, 90, 8);
            assert_eq!(fill(&mut pools, Pool::Prompt, 30, 1), [1; 30], "{slow}");
        }
    }

    proptest! {
        /// The rule holds however many units all other webhooks take and keep, one by one or group
        /// by group.
        ///
        /// Rules: ISOLATION-3
        #[test]
        fn the_last_quarter_is_left_to_webhooks_that_have_none(
            (all, max) in (1..400_usize, 1..20_usize),
            groups in proptest::collection::vec((0..200_usize, prop_oneof![Just(Pool::Prompt), Just(Pool::Slow)]), 1..8),
        ) {
            let slow = (all / 2).max(1);
            let mut pools = Pools::new(all, slow);
            let (mut webhooks, max) = (0, max.min((all / 8).max(1)));
            for (group, pool) in groups {
                fill(&mut pools, pool, group, max);
                webhooks += group;
                prop_assert!(pools.taken <= all && pools.taken_by_slow <= slow);
                let left = all - pools.taken;
                prop_assert!(left >= (all / 4).saturating_sub(webhooks), "{left} left");
                prop_assert_eq!(pools.limit(Pool::Prompt, max, 0) > 0, left > 0);
            }
            pools.free(Pool::Slow, pools.taken_by_slow);
            pools.free(Pool::Prompt, pools.taken);
            prop_assert_eq!(pools.limit(Pool::Slow, max, 0), max.min(limit(slow, 0, max)));
        }
    }
}
