//! The reasons for which deliveries are skipped: their webhook is disabled or removed.
//!
//! Waiting deliveries are skipped by `bulk_batches`, claimed ones by `attempts`, and those of a new
//! event are inserted as skipped by `events`.

use invoicing_core::Timestamp;

/// Reason of a delivery that was skipped because its webhook is disabled.
pub(crate) const DISABLED: &str = "webhook_disabled";
/// Reason of a delivery that was skipped because its webhook was removed.
pub(crate) const REMOVED: &str = "webhook_removed";

/// The reason for which the deliveries of a webhook are skipped, and its first instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SkipReason {
    pub(crate) reason: &'static str,
    pub(crate) since: Timestamp,
}

impl SkipReason {
    /// The reason by the row of a webhook; `None` while it is neither disabled nor removed.
    pub(super) fn of(disabled_at: Option<i64>, removed_at: Option<i64>) -> Option<Self> {
        let removed = removed_at.map(|at| (REMOVED, at));
        let (reason, at) = removed.or_else(|| disabled_at.map(|at| (DISABLED, at)))?;
        Some(Self { reason, since: Timestamp::from_millis(at) })
    }

    /// True if deliveries of this kind are skipped: pings are sent to a disabled webhook too.
    pub(crate) fn concerns(self, is_ping: bool) -> bool {
        !is_ping || self.reason == REMOVED
    }
}
