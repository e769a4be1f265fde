//! Whether the database was away a moment ago.
//!
//! While it is away nobody can record what has become of his attempts, and leases run out all the same. So whoever finds
//! it back leaves them to those who held them for a while: they record first, and nothing is sent again that has arrived.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long what others held is left to them: much longer than it takes to notice that the database is back, and to
/// record.
const LEFT_FOR: Duration = Duration::from_secs(5);

/// When somebody on this node last noticed that it was away.
#[derive(Debug, Default)]
pub(super) struct Absence(Mutex<Option<Instant>>);

impl Absence {
    pub(super) fn noticed(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(super) fn is_recent(&self) -> bool {
        let noticed = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noticed.is_some_and(|noticed| noticed.elapsed() < LEFT_FOR)
    }
}
