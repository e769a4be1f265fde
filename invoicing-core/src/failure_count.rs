//! The rule by which failed deliveries disable a webhook. The server's `dispatch::record` counts
//! them and disables it.

use crate::DeliveryOutcome;

/// Consecutive failed deliveries after which a webhook is disabled.
pub const DISABLE_AFTER_FAILURES: u32 = 10;

/// Consecutive failed deliveries of one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailureCount(pub u32);

impl FailureCount {
    /// The count after another delivery ended. It must not be called for pings, which do not count.
    #[must_use]
    pub fn after(self, end: DeliveryOutcome) -> Self {
        match end {
            DeliveryOutcome::Delivered => Self(0),
            DeliveryOutcome::Failed => Self(self.0.saturating_add(1)),
        }
    }

    /// True if the webhook must be disabled.
    pub fn disables_webhook(self) -> bool {
        self.0 >= DISABLE_AFTER_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Rules: WEBHOOK-11, WEBHOOK-12
        #[test]
        fn ten_failures_in_a_row_disable_and_a_success_starts_over(ends in proptest::collection::vec(any::<bool>(), 0..60)) {
            let mut count = FailureCount::default();
            let mut in_a_row = 0;
            for delivered in ends {
                in_a_row = if delivered { 0 } else { in_a_row + 1 };
                count = count.after(if delivered { DeliveryOutcome::Delivered } else { DeliveryOutcome::Failed });
                prop_assert_eq!(count.disables_webhook(), in_a_row >= 10);
            }
        }
    }
}
