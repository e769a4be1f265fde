//! Typed events from the raw body of a delivery.
//!
//! ```
//! use webhook_verify::events::{Event, EventData, QuoteStatus};
//!
//! let body = br#"{"event":"quote.signed","timestamp":"2026-09-14T09:41:07.123Z","data":{
//!     "id":"0199f3a2-7c1e-7d10-8f00-5a4b3c2d1e0f","number":"DEV-2026-0042","status":"ACCEPTED",
//!     "clientName":"Claire Dupont","clientEmail":null,"totalHT":1000.1,"totalTTC":1200.12,"tvaRate":20}}"#;
//! let event = Event::parse(body)?;
//! match &event.data {
//!     EventData::QuoteSigned(quote) => {
//!         assert_eq!(quote.status, QuoteStatus::Accepted);
//!         assert_eq!(quote.total_ttc.to_string(), "1200.12");
//!     }
//!     EventData::Unknown { event, .. } => println!("nothing to do for {event}"),
//!     _ => {}
//! }
//! # Ok::<(), webhook_verify::events::EventError>(())
//! ```
//!
//! Verify first: this module does not check signatures. Additions by later versions of the service
//! do not break a receiver: unknown fields are ignored, an unknown status is kept as
//! [`OpenEnum::Other`], an unknown kind as [`EventData::Unknown`] with its data unparsed. Amounts
//! are exact: they are read from the digits in the body, never through a binary float. An amount
//! that cannot be kept exactly is an error rather than a rounded value.
//!
//! Ids, amounts, statuses and instants are the types of `invoicing-core`, as in `invoicing-client`.
//! A call takes the id of an event without a conversion: `client.quotes().get(quote.id)`.

mod data;
mod envelope;
#[cfg(test)]
mod tests;

pub use data::{CreditNoteData, InvoiceData, PingData, ProjectData, QuoteData};
pub use envelope::{Envelope, EventError};
pub use invoicing_core::{
    CreditNoteId, InvoiceId, InvoiceStatus, InvoiceType, Money, OpenEnum, Percent, ProjectId, ProjectStatus,
    QuoteId, QuoteStatus, Timestamp, WebhookId,
};

use serde::ser::{Error as _, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An event with its time: the body of a delivery, `{"event", "timestamp", "data"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Instant of the event. Deliveries come in any order; this gives the order of the events.
    pub timestamp: Timestamp,
    /// The kind and the data of the event.
    pub data: EventData,
}

/// The data of an event, by kind. It holds the header and the totals of a document, never its
/// lines: fetch them with the id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventData {
    /// `quote.created`: a quote was saved, even as a draft.
    QuoteCreated(QuoteData),
    /// `quote.signed`: the client signed through the public link. A `quote.accepted` comes with it.
    QuoteSigned(QuoteData),
    /// `quote.accepted`: a quote moved to ACCEPTED, by signature or by hand.
    QuoteAccepted(QuoteData),
    /// `invoice.created`: an invoice was made from a quote.
    InvoiceCreated(InvoiceData),
    /// `invoice.paid`: an invoice moved to PAID. A partial payment sends no event.
    InvoicePaid(InvoiceData),
    /// `invoice.issued`: an invoice got its number and its document. Sent only to a webhook that
    /// names this kind.
    InvoiceIssued(InvoiceData),
    /// `credit_note.issued`: a credit note was issued. Sent only to a webhook that names this kind.
    CreditNoteIssued(CreditNoteData),
    /// `project.completed`: a project moved to COMPLETED. Sent each time.
    ProjectCompleted(ProjectData),
    /// `ping`: a test delivery, without an event.
    Ping(PingData),
    /// A kind that is unknown to this version. Answer it with a 2xx, or the webhook is disabled in
    /// time.
    Unknown {
        /// The kind, as text of the body.
        event: String,
        /// The `data` as unparsed JSON.
        data: String,
    },
}

impl Event {
    /// Reads a raw body.
    ///
    /// # Errors
    ///
    /// The body is not an envelope, or the data of a known kind is not as documented.
    pub fn parse(body: &[u8]) -> Result<Self, EventError> {
        Envelope::parse(body)?.event()
    }

    /// The kind as it is written on the wire, such as `quote.signed`.
    pub fn name(&self) -> &str {
        self.data.name()
    }
}

impl EventData {
    /// The kind as it is written on the wire, such as `quote.signed`.
    pub fn name(&self) -> &str {
        match self {
            Self::QuoteCreated(_) => "quote.created",
            Self::QuoteSigned(_) => "quote.signed",
            Self::QuoteAccepted(_) => "quote.accepted",
            Self::InvoiceCreated(_) => "invoice.created",
            Self::InvoicePaid(_) => "invoice.paid",
            Self::InvoiceIssued(_) => "invoice.issued",
            Self::CreditNoteIssued(_) => "credit_note.issued",
            Self::ProjectCompleted(_) => "project.completed",
            Self::Ping(_) => "ping",
            Self::Unknown { event, .. } => event,
        }
    }
}

/// Writes the body of a delivery again. Sign only the bytes that are sent: these bytes need not be
/// the received ones.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("Event", 3)?;
        body.serialize_field("event", self.name())?;
        body.serialize_field("timestamp", &self.timestamp)?;
        body.serialize_field("data", &self.data)?;
        body.end()
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::QuoteCreated(quote) | Self::QuoteSigned(quote) | Self::QuoteAccepted(quote) => {
                quote.serialize(serializer)
            }
            Self::InvoiceCreated(invoice) | Self::InvoicePaid(invoice) | Self::InvoiceIssued(invoice) => {
                invoice.serialize(serializer)
            }
            Self::CreditNoteIssued(note) => note.serialize(serializer),
            Self::ProjectCompleted(project) => project.serialize(serializer),
            Self::Ping(ping) => ping.serialize(serializer),
            Self::Unknown { data, .. } => {
                RawValue::from_string(data.clone()).map_err(S::Error::custom)?.serialize(serializer)
            }
        }
    }
}
