//! A webhook as its owner sees it.

use std::fmt;

use invoicing_core::{DisabledReason, EventKind, Timestamp, WebhookId};

use crate::log::shown_url;

/// A webhook as its owner sees it. The secret was shown once, at registration or rotation.
///
/// `Debug` shows only scheme, host and port of the URL: path and query may carry a token of the
/// receiver.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Webhook {
    /// Identifier; each delivery names it in `X-Service-Webhook-Id`.
    pub id: WebhookId,
    /// Target of the deliveries.
    pub url: String,
    /// The kinds of events that it subscribes to, in the order of the contract's table.
    pub events: Vec<EventKind>,
    /// Number of further kinds that it subscribes to and that a newer version has added. Changes by
    /// this version leave them as they are.
    pub unknown_events: u32,
    /// Deliveries that ended failed since the last success, or since it was enabled.
    pub consecutive_failures: u32,
    /// End of the first failed delivery after its last success. Enabling it does not change this.
    pub failing_since: Option<Timestamp>,
    /// Instant and reason of its disabling, while it is disabled.
    pub disabled: Option<(Timestamp, DisabledReason)>,
    /// Instant of the registration.
    pub created_at: Timestamp,
    /// The instant until which attempts are also signed with the secret before the last rotation.
    /// An instant in the past stays until the next sweep wipes that secret.
    pub previous_secret_until: Option<Timestamp>,
    /// Instant of the last rotation of the secret, if it was rotated.
    pub rotated_at: Option<Timestamp>,
}

impl Webhook {
    /// Scheme, host and port of the URL, as `https://example.com/..`: for pages and logs, as path
    /// and query may carry a token of the receiver.
    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            url,
            events,
            unknown_events,
            consecutive_failures,
            failing_since,
            disabled,
            created_at,
            previous_secret_until,
            rotated_at,
        } = self;
        f.debug_struct("Webhook")
            .field("id", id)
            .field("url", &shown_url(url))
            .field("events", events)
            .field("unknown_events", unknown_events)
            .field("consecutive_failures", consecutive_failures)
            .field("failing_since", failing_since)
            .field("disabled", disabled)
            .field("created_at", created_at)
            .field("previous_secret_until", previous_secret_until)
            .field("rotated_at", rotated_at)
            .finish()
    }
}

impl Webhook {
    /// The instant since which it has missed deliveries: its first failure after its last success,
    /// or the instant at which it was disabled. `None` while it is enabled. Another node's clock
    /// may have dated either one later than it was.
    pub fn missed_since(&self) -> Option<Timestamp> {
        let (disabled_at, _) = self.disabled?;
        Some(self.failing_since.map_or(disabled_at, |failing_since| failing_since.min(disabled_at)))
    }
}
