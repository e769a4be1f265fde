//! Deliveries of the last day, counted by webhook.

use invoicing_core::{Timestamp, WebhookId};

/// Results of the recent deliveries of a company.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayCounts {
    /// Start of the count of successes: 24 hours ago, or later if 10,000 attempts were made since.
    pub since: Timestamp,
    /// Counts of each webhook, in the order of the list of webhooks.
    pub webhooks: Vec<WebhookDayStats>,
}

/// Results of the recent deliveries to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookDayStats {
    /// The webhook.
    pub webhook: WebhookId,
    /// Deliveries that its receiver took since [`DayCounts::since`].
    pub delivered: u64,
    /// Deliveries that ended failed within 24 hours and stay so, at most 10,000.
    pub failed: u64,
    /// More have ended failed than are counted.
    pub has_more_failed: bool,
}
