//! The version of a record.

use std::fmt;

use invoicing_core::{Company, Timestamp};
use sha2::{Digest, Sha256};

use super::{KeyRecord, Webhook};

/// The version of a record, for [`CompanyHandle::if_unchanged`](crate::CompanyHandle::if_unchanged).
/// A text, so that the form of a page can hold it.
///
/// - Of a quote, an invoice, a client or a project: its `updatedAt`, by `From<Timestamp>`. The page
///   of a quote also stands for its signing links, and that of an invoice for its payments. A change
///   of the internal costs of a quote alone leaves its version.
/// - Of a webhook, by `From<&Webhook>`: its URL and events, whether it is enabled, and the instant of
///   its last rotation. Failures that do not disable it change no version.
/// - Of the company's own record, by `From<&Company>`.
/// - Of a key, by `From<&KeyRecord>`: its name and whether it is revoked.
///
/// A text that is no version, such as an empty one, is the version of no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// A version of a record without a stamp: differs for each state, and reveals nothing of it.
    fn of_state(state: impl AsRef<[u8]>) -> Self {
        Self(hex::encode(&Sha256::digest(state)[..16]))
    }
}

impl From<Timestamp> for Version {
    fn from(updated_at: Timestamp) -> Self {
        Self(updated_at.to_string())
    }
}

impl From<&Webhook> for Version {
    fn from(webhook: &Webhook) -> Self {
        let Webhook { url, events, unknown_events, disabled, rotated_at, .. } = webhook;
        let events: Vec<_> = events.iter().map(|kind| kind.as_str()).collect();
        Self::of_state(format!("{url}\n{events:?}\n{unknown_events}\n{disabled:?}\n{rotated_at:?}"))
    }
}

impl From<&Company> for Version {
    fn from(company: &Company) -> Self {
        Self::of_state(serde_json::to_vec(company).unwrap_or_default())
    }
}

impl From<&KeyRecord> for Version {
    fn from(key: &KeyRecord) -> Self {
        let KeyRecord { label, revoked_at, .. } = key;
        Self::of_state(format!("{revoked_at:?}\n{label}"))
    }
}

impl From<&str> for Version {
    /// The version that a form has kept as a text.
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
