//! [`ChangeEvent`]: the part of a webhook's body that [`Follow`](crate::Follow) uses.

use invoicing_core::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use crate::error_chain::debug_as_chain;

/// A webhook's report that a record has changed.
///
/// The rest of the body is not used: the record itself is read from the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeEvent {
    /// The kind of event, such as `quote.accepted`.
    pub kind: String,
    /// Id of the record.
    pub id: Uuid,
    /// Time of the change.
    pub timestamp: Timestamp,
}

/// The body is not that of an event.
#[derive(thiserror::Error)]
#[error("not the body of an event")]
pub struct ChangeEventError(#[source] serde_json::Error);

debug_as_chain! { ChangeEventError }

#[derive(Deserialize)]
struct Body {
    event: String,
    timestamp: Timestamp,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    id: Uuid,
}

impl ChangeEvent {
    /// Parses the body of a delivery **whose signature is verified**. Unknown events and fields are accepted.
    ///
    /// ```
    /// use invoicing_client::ChangeEvent;
    ///
    /// let body = br#"{"event":"quote.signed","timestamp":"2026-09-14T09:41:07.123Z",
    ///     "data":{"id":"019235a0-0000-7000-8000-000000000001","number":"DEV-2026-0042"}}"#;
    /// let event = ChangeEvent::from_body(body)?;
    /// assert_eq!(event.kind, "quote.signed");
    /// # Ok::<(), invoicing_client::ChangeEventError>(())
    /// ```
    pub fn from_body(body: &[u8]) -> Result<Self, ChangeEventError> {
        let Body { event, timestamp, data } = serde_json::from_slice(body).map_err(ChangeEventError)?;
        Ok(Self { kind: event, id: data.id, timestamp })
    }
}
