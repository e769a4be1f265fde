//! The order of changes that render a number of a series before they allocate it, in this process.

use crate::keyed_semaphore::KeyedSemaphore;

/// Creations of a company that run at once while an import of the company waits for their end.
pub(super) const CREATIONS_AT_ONCE: u32 = 1_024;

/// The locks that keep the changes of a process from taking the numbers that others have rendered.
/// They serve liveness; the check in the transaction keeps numbers correct.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// Held by imports that render again, one per company at a time.
    pub(super) imports: KeyedSemaphore,
    /// Held by creations while an import of the company waits or runs, and as a whole by that
    /// import.
    pub(super) numbers: KeyedSemaphore,
    /// Held by each issue of an invoice or a credit note, one per company at a time.
    pub(super) issues: KeyedSemaphore,
}

impl Default for Numbering {
    fn default() -> Self {
        Self {
            imports: KeyedSemaphore::new(1),
            numbers: KeyedSemaphore::new(CREATIONS_AT_ONCE),
            issues: KeyedSemaphore::new(1),
        }
    }
}
