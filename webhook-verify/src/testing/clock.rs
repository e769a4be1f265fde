//! A clock that moves only if a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::Clock;

/// A clock that a test moves, in Unix milliseconds. Its clones are the same clock.
///
/// ```
/// let clock = webhook_verify::testing::ManualClock::at(1_000);
/// let seen_by_a_receiver = clock.to_clock();
/// clock.advance(500);
/// assert_eq!(seen_by_a_receiver.unix_millis(), 1_500);
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(unix_millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(unix_millis)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, unix_millis: i64) {
        self.0.store(unix_millis, Ordering::SeqCst);
    }

    /// The clock for a receiver or an inbox.
    pub fn to_clock(&self) -> Clock {
        let time = Arc::clone(&self.0);
        Clock::from_fn(move || time.load(Ordering::SeqCst))
    }

    pub(super) fn millis(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
