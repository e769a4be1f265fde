//! Figures over all cases: a model whose steps are all refused would agree with everything.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use invoicing_tests::Database;

type Counts = Mutex<BTreeMap<String, u64>>;

/// Figures of the cases on either database.
static COUNTS: [Counts; 2] = [const { Mutex::new(BTreeMap::new()) }; 2];

fn counts(db: Database) -> MutexGuard<'static, BTreeMap<String, u64>> {
    COUNTS[db.either(0, 1)].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to a figure.
pub(crate) fn count(db: Database, what: &str, more: u64) {
    let mut counts = counts(db);
    match counts.get_mut(what) {
        Some(count) => *count += more,
        None => {
            counts.insert(what.to_owned(), more);
        }
    }
}

/// A figure.
pub(crate) fn of(db: Database, what: &str) -> u64 {
    counts(db).get(what).copied().unwrap_or(0)
}

/// All figures, a line each.
pub(crate) fn text(db: Database) -> String {
    let counts = counts(db);
    counts.iter().fold(String::new(), |mut text, (what, count)| {
        let _ = writeln!(text, "{count:8} {what}");
        text
    })
}
