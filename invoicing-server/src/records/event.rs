//! Events, alone and in pages.

use invoicing_core::{DeliveryStatus, EventId, Timestamp};
use serde::Deserialize;
use uuid::Uuid;

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// Identifier of the record. The ids order the events of a company by commit, so the last id
    /// that was read is a cursor that misses nothing.
    pub id: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Instant of the event.
    pub timestamp: Timestamp,
    /// The exact text that each delivery of the event carries.
    pub body: String,
    /// The id of the request that caused the event; `None` if the host's call named none
    /// ([`CompanyHandle::for_request`](crate::CompanyHandle::for_request)).
    pub request_id: Option<String>,
}

/// An event in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventItem {
    /// Identifier.
    pub id: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Instant of the event.
    pub timestamp: Timestamp,
    /// The record that the event is about; `None` if the body names none.
    pub subject: Option<EventSubject>,
    /// States of its deliveries.
    pub deliveries: DeliveryCounts,
}

/// Deliveries by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeliveryCounts {
    /// Deliveries that wait or are being attempted.
    pub pending: u32,
    /// Deliveries that a receiver has answered with 2xx.
    pub delivered: u32,
    /// Deliveries without a successful attempt.
    pub failed: u32,
    /// Deliveries that were not attempted because the webhook is disabled or removed.
    pub skipped: u32,
}

/// A part of the events of a company.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPage {
    /// Newest first. May be fewer than the limit, or none, although a next page follows.
    pub items: Vec<EventItem>,
    /// Start of the next page; `None` at the end.
    pub next: Option<EventId>,
}

impl DeliveryCounts {
    pub(crate) fn add(&mut self, status: DeliveryStatus) {
        match status {
            DeliveryStatus::Delivered => self.delivered += 1,
            DeliveryStatus::Failed => self.failed += 1,
            DeliveryStatus::Skipped => self.skipped += 1,
            _ => self.pending += 1,
        }
    }
}

/// The record that an event is about, with its name at that time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSubject {
    /// Identifier of the quote, the invoice or the project; for a test, that of its webhook.
    pub id: Uuid,
    /// Number of the quote or the invoice, or name of the project. An invoice has no number before
    /// it is issued; a test has none.
    pub name: Option<String>,
    /// Name of the client.
    pub client: Option<String>,
}

#[derive(Deserialize)]
struct Body {
    data: Data,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    id: Uuid,
    number: Option<String>,
    name: Option<String>,
    client_name: Option<String>,
}

impl EventSubject {
    /// `None` if the body is of another version and names no record like this.
    pub(crate) fn read(body: &str) -> Option<Self> {
        let Body { data } = serde_json::from_str(body).ok()?;
        Some(Self { id: data.id, name: data.number.or(data.name), client: data.client_name })
    }
}
