//! Deliveries of the last day by webhook.

use invoicing_core::{Timestamp, WebhookId};

/// How the deliveries of a company went of late.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayCounts {
    /// From when on successes are counted: 24 hours ago, or later where 10,000 attempts were made since.
    pub since: Timestamp,
    /// Those of each webhook, in the order of the list of webhooks.
    pub webhooks: Vec<WebhookDayStats>,
}

/// How the deliveries of a webhook went of late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookDayStats {
    /// The webhook.
    pub webhook: WebhookId,
    /// Deliveries that its receiver took since then.
    pub delivered: u64,
    /// Deliveries that ended failed within 24 hours and stay so, at most 10,000.
    pub failed: u64,
    /// More have ended failed than are counted.
    pub has_more_failed: bool,
}
