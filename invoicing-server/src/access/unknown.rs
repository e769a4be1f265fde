//! A short memory of texts that are not keys, by their hashes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// A text is remembered for two periods at most: up to 5 s.
const PERIOD: Duration = Duration::from_millis(2_500);
/// Maximum number of texts of one period. Further ones end it early.
const MAX_TEXTS: usize = 4_096;

/// The texts of the present period and the one before it.
#[derive(Debug)]
pub(super) struct UnknownKeys {
    recent: HashSet<[u8; 32]>,
    older: HashSet<[u8; 32]>,
    /// When the present period began.
    begun: Instant,
}

impl UnknownKeys {
    pub(super) fn new(now: Instant) -> Self {
        Self { recent: HashSet::new(), older: HashSet::new(), begun: now }
    }

    pub(super) fn contains(&mut self, hash: &[u8; 32], now: Instant) -> bool {
        self.advance(now);
        self.recent.contains(hash) || self.older.contains(hash)
    }

    pub(super) fn insert(&mut self, hash: [u8; 32], now: Instant) {
        self.advance(now);
        if self.recent.len() >= MAX_TEXTS {
            self.begin(now);
        }
        self.recent.insert(hash);
    }

    pub(super) fn clear(&mut self) {
        self.recent.clear();
        self.older.clear();
    }

    /// Begins the periods that have passed.
    fn advance(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.begun);
        if age >= 2 * PERIOD {
            self.clear();
            self.begun = now;
        } else if age >= PERIOD {
            self.begin(self.begun + PERIOD);
        }
    }

    fn begin(&mut self, now: Instant) {
        self.older = std::mem::take(&mut self.recent);
        self.begun = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> [u8; 32] {
        std::array::from_fn(|index| n.to_le_bytes().get(index).copied().unwrap_or_default())
    }

    #[test]
    fn a_text_is_remembered_for_one_period_at_least_and_two_at_most() {
        let start = Instant::now();
        for inserted in [0, 1, 1_250, 2_499, 2_500, 4_000, 20_000].map(Duration::from_millis) {
            for asked in [0, 1, 1_250, 2_499, 2_500, 4_999, 5_000, 60_000].map(Duration::from_millis) {
                let mut unknown = UnknownKeys::new(start);
                unknown.insert(hash(1), start + inserted);
                let found = unknown.contains(&hash(1), start + inserted + asked);
                assert!(found || asked >= PERIOD, "{inserted:?}, {asked:?}: forgotten");
                assert!(!found || asked < 2 * PERIOD, "{inserted:?}, {asked:?}: remembered");
                assert!(!unknown.contains(&hash(2), start + inserted + asked));
            }
        }
    }

    #[test]
    fn the_memory_is_bounded_and_can_be_cleared() {
        let now = Instant::now();
        let mut unknown = UnknownKeys::new(now);
        for n in 0..3 * MAX_TEXTS {
            unknown.insert(hash(n), now);
            assert!(unknown.contains(&hash(n), now));
        }
        assert_eq!(unknown.recent.len() + unknown.older.len(), 2 * MAX_TEXTS);
        assert!(!unknown.contains(&hash(0), now), "the oldest are forgotten");
        unknown.clear();
        assert!(!unknown.contains(&hash(3 * MAX_TEXTS - 1), now));
    }
}
