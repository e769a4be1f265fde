//! The used quota of a key. SQLite stores it as JSON: pairs of an instant and the number of
//! requests accepted by then, and last the reserved ones. PostgreSQL stores the instants of the
//! requests.

use super::Moment;

/// Age up to which instants are kept, in milliseconds. The window is a minute long; the rest allows
/// for clocks that were set.
const KEPT_MS: i64 = 60 * 60 * 1_000;

/// The instants of the accepted requests, oldest first, by the clock of PostgreSQL. Reserved
/// requests count as used at the moment of the copy, and so do requests in the future, from a clock
/// that was set back.
pub(super) fn accepted(log: &str, moment: Moment) -> Result<Vec<i64>, serde_json::Error> {
    let log: Vec<(i64, u32)> = serde_json::from_str(log)?;
    let mut accepted = Vec::new();
    let mut last = i64::MIN;
    for (at, count) in log {
        last = at.min(moment.at).max(last);
        if moment.at.saturating_sub(last) <= KEPT_MS {
            accepted.extend(std::iter::repeat_n(last.saturating_add(moment.ahead), count as usize));
        }
    }
    Ok(accepted)
}
