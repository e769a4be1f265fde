//! The order of changes that render a number of a series before they allocate it, in this process.

use std::time::Duration;

use invoicing_core::CompanyId;

use crate::error::Error;
use crate::keyed_semaphore::{KeyedSemaphore, Permit};

/// Creations of a company that run at once while one that renders again waits for their end.
pub(super) const CREATIONS_AT_ONCE: u32 = 1_024;

/// Longest time for which a creation keeps the other creations of its company and process from
/// allocating numbers.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Longest wait of an issue for its turn: that of a rendering. A company may issue a hundred invoices
/// at once.
const ISSUE_WAIT: Duration = Duration::from_secs(30);

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
    /// [`Error::StorageUnavailable`] if the issues before it last longer than [`ISSUE_WAIT`].
    pub(super) async fn turn_to_issue(&self, company: CompanyId) -> Result<Permit, Error> {
        self.issues.acquire_within(company, 1, ISSUE_WAIT).await
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_issue_waits_for_its_turn_and_delays_no_other_company() {
        let numbering = Numbering::default();
        let company = |n| CompanyId(Uuid::from_u128(n));
        let turn = numbering.turn_to_issue(company(1)).await.unwrap();
        let begun = tokio::time::Instant::now();
        assert!(matches!(numbering.turn_to_issue(company(1)).await, Err(Error::StorageUnavailable(_))));
        assert_eq!(begun.elapsed(), ISSUE_WAIT);
        drop(numbering.turn_to_issue(company(2)).await.unwrap());
        assert_eq!(begun.elapsed(), ISSUE_WAIT);
        drop(turn);
        drop(numbering.turn_to_issue(company(1)).await.unwrap());
    }
}
