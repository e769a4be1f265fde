//! What the cases came to in all: a model that never gets anywhere would agree with everything.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Adds to a figure.
pub(crate) fn count(what: &str, more: u64) {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    match counts.get_mut(what) {
        Some(count) => *count += more,
        None => {
            counts.insert(what.to_owned(), more);
        }
    }
}

/// A figure.
pub(crate) fn of(what: &str) -> u64 {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner).get(what).copied().unwrap_or(0)
}

/// All figures, a line each.
pub(crate) fn text() -> String {
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    counts.iter().fold(String::new(), |mut text, (what, count)| {
        let _ = writeln!(text, "{count:8} {what}");
        text
    })
}
