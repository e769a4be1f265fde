//! What a key has used of its quota. SQLite has it as JSON: pairs of an instant and how many requests were accepted by
//! then, last those that were reserved; PostgreSQL has the instants of the requests.

use super::Moment;

/// How far back the instants are kept, in milliseconds. The window is a minute long; the rest is for clocks that were
/// set.
const KEPT_MS: i64 = 60 * 60 * 1_000;

/// When the requests were accepted, oldest first, by the clock of PostgreSQL. What was reserved counts as used at the
/// moment of the copy, and so does what a clock that was set back has in the future.
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
