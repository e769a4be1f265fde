//! The version in which a change must find its record. A transaction of a handle with a version
//! that has compared none is refused by [`Comparison::check_done`], so no operation can ignore it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use invoicing_core::{Conflict, ConflictReason, Invalid, Rule};

use crate::records::Version;

/// The version in which the changes of a handle must find their record.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    version: Version,
    /// True once a record had another version.
    is_stale: Arc<AtomicBool>,
}

impl Expected {
    pub(crate) fn new(version: Version) -> Self {
        Self { version, is_stale: Arc::default() }
    }

    #[cfg(feature = "console")]
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Refuses to change a record that no longer has this version. `record`: with its article.
    pub(crate) fn check(&self, record: &'static str, found: impl Into<Version>) -> Result<(), Conflict> {
        if found.into() == self.version {
            return Ok(());
        }
        self.is_stale.store(true, Ordering::Relaxed);
        Err(ConflictReason::Changed { record }.into())
    }
}

/// The comparison of one transaction.
#[derive(Debug)]
pub(crate) struct Comparison {
    expected: Expected,
    is_done: AtomicBool,
}

impl Comparison {
    pub(crate) fn new(expected: Expected) -> Self {
        Self { expected, is_done: AtomicBool::new(false) }
    }

    pub(super) fn check(&self, record: &'static str, found: impl Into<Version>) -> Result<(), Conflict> {
        self.is_done.store(true, Ordering::Relaxed);
        self.expected.check(record, found)
    }

    /// Refuses a change that has compared no version: it made a record.
    pub(super) fn check_done(&self) -> Result<(), Invalid> {
        if self.is_done.load(Ordering::Relaxed) { Ok(()) } else { Err(no_version()) }
    }
}

/// The refusal of a version where none is compared.
pub(crate) fn no_version() -> Invalid {
    Invalid::new("version", Rule::VersionOfNothing)
}
