//! The order of changes that render a number of a series before they allocate it, in this process.

use std::time::Duration;

use invoicing_core::CompanyId;

use crate::Error;
use crate::keyed_semaphore::{KeyedSemaphore, Permit};

/// Creations of a company that run at once while one that renders again waits for their end.
pub(super) const CREATIONS_AT_ONCE: u32 = 1_024;

/// Longest time for which a creation keeps the other creations of its company and process from
/// allocating numbers, and longest wait of an issue for its turn.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The locks that keep the changes of a process from taking the numbers that others have rendered.
/// They serve liveness; the check in the transaction keeps numbers correct.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// Held by creations that render again, one per company at a time.
    pub(super) rendered_again: KeyedSemaphore,
    /// Held by other creations while such a creation of the company waits or runs, and as a whole
    /// by that creation.
    pub(super) numbers: KeyedSemaphore,
    /// Held by each issue of an invoice or a credit note, one per company at a time.
    issues: KeyedSemaphore,
}

impl Numbering {
    /// The turn to issue an invoice or a credit note of a company.
    ///
    /// # Errors
    /// [`Error::StorageUnavailable`] if the issues before it last longer than [`LOCK_LIMIT`].
    pub(super) async fn turn_to_issue(&self, company: CompanyId) -> Result<Permit, Error> {
        self.issues.acquire_within(company, 1, LOCK_LIMIT).await
    }
}

impl Default for Numbering {
    fn default() -> Self {
        Self {
            rendered_again: KeyedSemaphore::new(1),
            numbers: KeyedSemaphore::new(CREATIONS_AT_ONCE),
            issues: KeyedSemaphore::new(1),
        }
    }
}
