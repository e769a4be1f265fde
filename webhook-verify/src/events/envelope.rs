//! The outer object of a body, and the deduplication key in it. The data stays unparsed until the
//! caller needs its type.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use invoicing_core::Timestamp;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, value};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Event, EventData};
use crate::DedupKey;

/// The body of a delivery of any kind, read as far as needed to recognise it.
///
/// ```
/// use webhook_verify::events::Envelope;
///
/// let body = br#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z","data":{"id":"42"}}"#;
/// assert_eq!(Envelope::parse(body)?.key().to_string(), "ping 42 2026-09-14T09:41:07.123Z");
/// # Ok::<(), webhook_verify::events::EventError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Envelope<'a> {
    event: Cow<'a, str>,
    timestamp: Cow<'a, str>,
    data: &'a RawValue,
    id: Cow<'a, str>,
}

/// The reason why a body is not a documented event. The text may quote a value of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventError {
    event: Option<String>,
    reason: String,
}

#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct WithId<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

impl<'a> Envelope<'a> {
    /// Reads a raw body.
    ///
    /// # Errors
    ///
    /// The body is not a JSON object with the texts `event` and `timestamp` and with `data`.
    pub fn parse(body: &'a [u8]) -> Result<Self, EventError> {
        // Without this, an array of the three values would pass for the object.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(EventError { event: None, reason: "the body is not a JSON object".to_owned() });
        }
        let Outer { event, timestamp, data } = serde_json::from_slice(body)
            .map_err(|error| EventError { event: None, reason: error.to_string() })?;
        let id = serde_json::from_str::<WithId<'a>>(data.get())
            .map_or_else(|_| Cow::Owned(fingerprint(data.get())), |data| data.id);
        Ok(Self { event, timestamp, data, id })
    }

    /// The kind, such as `quote.signed`.
    pub fn name(&self) -> &str {
        &self.event
    }

    /// The key that keeps real repeats apart: kind, `data.id` and time.
    ///
    /// An event without an `id` in its data is recognised by the SHA-256 of its data instead: every
    /// attempt carries the same bytes, and two events of one instant must not be taken for one.
    pub fn key(&self) -> DedupKey<'_> {
        DedupKey::recommended(&self.event, &self.id, &self.timestamp)
    }

    /// The documented pair of kind and `data.id`, which takes a real second occurrence for a
    /// repeat.
    pub fn documented_key(&self) -> DedupKey<'_> {
        DedupKey::documented(&self.event, &self.id)
    }

    /// The typed event.
    ///
    /// # Errors
    ///
    /// `timestamp` is not an instant, or the data of a known kind is not as documented.
    pub fn event(&self) -> Result<Event, EventError> {
        let timestamp = Timestamp::deserialize(StrDeserializer::<value::Error>::new(&self.timestamp))
            .map_err(|error| self.error(format!("timestamp {:?}: {error}", self.timestamp)))?;
        let data = match &*self.event {
            "quote.created" => EventData::QuoteCreated(self.typed()?),
            "quote.signed" => EventData::QuoteSigned(self.typed()?),
            "quote.accepted" => EventData::QuoteAccepted(self.typed()?),
            "invoice.created" => EventData::InvoiceCreated(self.typed()?),
            "invoice.paid" => EventData::InvoicePaid(self.typed()?),
            "invoice.issued" => EventData::InvoiceIssued(self.typed()?),
            "credit_note.issued" => EventData::CreditNoteIssued(self.typed()?),
            "project.completed" => EventData::ProjectCompleted(self.typed()?),
            "ping" => EventData::Ping(self.typed()?),
            other => EventData::Unknown { event: other.to_owned(), data: self.data.get().to_owned() },
        };
        Ok(Event { timestamp, data })
    }

    fn typed<T: DeserializeOwned>(&self) -> Result<T, EventError> {
        serde_json::from_str(self.data.get()).map_err(|error| self.error(format!("data: {error}")))
    }

    fn error(&self, reason: String) -> EventError {
        EventError { event: Some(self.event.clone().into_owned()), reason }
    }
}

/// The text in place of an id: `sha256:` and 64 hex digits.
fn fingerprint(data: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(data).iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.event {
            Some(event) => write!(f, "not a {} as documented: {:.200}", event.escape_debug(), self.reason),
            None => write!(f, "not the body of an event: {:.200}", self.reason),
        }
    }
}

impl Error for EventError {}
