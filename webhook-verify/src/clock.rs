//! The system clock, read in this one place. All other code takes the time as an argument or from a
//! [`Clock`].

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock of a receiver or an inbox: the system's, or one that a test sets.
///
/// ```
/// use webhook_verify::Clock;
///
/// assert!(Clock::default().unix_millis() > 1_700_000_000_000);
/// assert_eq!(Clock::from_fn(|| 5_000).unix_seconds(), 5);
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that calls a function for Unix milliseconds.
    pub fn from_fn(unix_millis: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(unix_millis))
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix_millis(&self) -> i64 {
        (self.0)()
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub fn unix_seconds(&self) -> i64 {
        self.unix_millis().div_euclid(1000)
    }
}

/// The system's clock.
impl Default for Clock {
    fn default() -> Self {
        Self::from_fn(unix_millis)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Whole seconds since the Unix epoch, rounded down.
pub(crate) fn unix_seconds() -> i64 {
    unix_millis().div_euclid(1000)
}

/// Whole milliseconds since the Unix epoch, rounded down; saturates beyond an `i64`.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate stands alone: a receiver has no `Env` to take time from"
)]
fn unix_millis() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            let before = before.duration();
            let up = u128::from(before.subsec_nanos() % 1_000_000 > 0);
            i64::try_from(before.as_millis().saturating_add(up)).map_or(i64::MIN, |millis| -millis)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, unix_seconds};

    #[test]
    fn the_clock_is_past_this_crate_and_counts_seconds() {
        let now = unix_seconds();
        assert!((1_700_000_000..100_000_000_000).contains(&now), "{now}");
        assert!(Clock::default().unix_seconds() - now <= 1);
    }

    #[test]
    fn seconds_are_rounded_down_before_1970_too() {
        assert_eq!(Clock::from_fn(|| -1).unix_seconds(), -1);
        assert_eq!(Clock::from_fn(|| 1_999).unix_seconds(), 1);
    }
}
