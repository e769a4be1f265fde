//! The order of creations and imports of quotes in this process.

use crate::keyed_semaphore::KeyedSemaphore;

/// Creations of a company that run at once while an import of the company waits for their end.
pub(super) const CREATIONS_AT_ONCE: u32 = 1_024;

/// The locks that keep the creations of a process from taking the numbers that its imports have
/// rendered. They serve liveness; the check in the transaction keeps numbers correct.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// Held by imports that render again, one per company at a time.
    pub(super) imports: KeyedSemaphore,
    /// Held by creations while an import of the company waits or runs, and as a whole by that
    /// import.
    pub(super) numbers: KeyedSemaphore,
}

impl Default for Numbering {
    fn default() -> Self {
        Self { imports: KeyedSemaphore::new(1), numbers: KeyedSemaphore::new(CREATIONS_AT_ONCE) }
    }
}
