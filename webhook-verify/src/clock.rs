//! The system clock, read in this one place. Everything else takes the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// Whole seconds since the Unix epoch, rounded down; saturates beyond an `i64`.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate stands alone: a receiver has no `Env` to take time from"
)]
pub(crate) fn unix_seconds() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => {
            let before = before.duration();
            let up = u64::from(before.subsec_nanos() > 0);
            i64::try_from(before.as_secs().saturating_add(up)).map_or(i64::MIN, |seconds| -seconds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unix_seconds;

    #[test]
    fn the_clock_is_past_this_crate_and_counts_seconds() {
        let now = unix_seconds();
        assert!((1_700_000_000..100_000_000_000).contains(&now), "{now}");
    }
}
