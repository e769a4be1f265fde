//! A webhook as its owner sees it.

use std::fmt;

use invoicing_core::{EventKind, Timestamp, WebhookId};
use sha2::{Digest, Sha256};

use crate::secret::shown_url;

/// Why a webhook is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisabledReason {
    /// By its owner.
    Manual,
    /// 10 deliveries in a row ended failed.
    Failures,
}

impl DisabledReason {
    /// The reason as it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Failures => "consecutive_failures",
        }
    }

    pub(crate) fn of(stored: &str) -> Self {
        if stored == Self::Failures.as_str() { Self::Failures } else { Self::Manual }
    }
}

impl fmt::Display for DisabledReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A webhook as its owner sees it. The secret was shown once, at registration or rotation.
///
/// `Debug` shows of the URL where it leads, without path and query: these may carry a token of the receiver.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Webhook {
    /// Identifier; each delivery names it in `X-Service-Webhook-Id`.
    pub id: WebhookId,
    /// Where deliveries go.
    pub url: String,
    /// What it subscribes to, in the order of the contract's table.
    pub events: Vec<EventKind>,
    /// How many further kinds it subscribes to that a newer version has added. Changes by this version leave them as they are.
    pub unknown_events: u32,
    /// Deliveries that ended failed since the last success, or since it was enabled.
    pub consecutive_failures: u32,
    /// When the first delivery after its last success ended failed. Enabling it does not change this.
    pub failing_since: Option<Timestamp>,
    /// Since when and why it is disabled.
    pub disabled: Option<(Timestamp, DisabledReason)>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Until when attempts are signed with the secret before the last rotation as well. In the past once that has ended,
    /// until the next sweep wipes it.
    pub previous_secret_until: Option<Timestamp>,
}

impl Webhook {
    /// Scheme, host and port of the URL, as `https://example.com/..`: for pages and logs, as path and query may carry a token of
    /// the receiver.
    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }

    /// Another one for each state of the URL and the events. Shows nothing of the URL.
    pub(crate) fn version(&self) -> String {
        let mut hash = Sha256::new_with_prefix(&self.url);
        for kind in &self.events {
            hash.update("\n");
            hash.update(kind.as_str());
        }
        hash.update(self.unknown_events.to_be_bytes());
        hex::encode(&hash.finalize()[..8])
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
            .finish()
    }
}

impl Webhook {
    /// From when on it has missed deliveries: since its first failure after its last success, or since it was disabled.
    /// `None` while it is enabled. Another node's clock may have dated either one later than it was.
    pub fn missed_since(&self) -> Option<Timestamp> {
        let (disabled_at, _) = self.disabled?;
        Some(self.failing_since.map_or(disabled_at, |failing_since| failing_since.min(disabled_at)))
    }
}
