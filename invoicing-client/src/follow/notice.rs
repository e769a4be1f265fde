//! What a webhook tells: which record changed, and when. Verifying the delivery is its receiver's business.

use invoicing_core::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

/// That a record changed, as a webhook tells it.
///
/// Nothing else of the delivery is used: the record itself is read from the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The kind of event, such as `quote.accepted`.
    pub event: String,
    /// The record that it is about.
    pub id: Uuid,
    /// When it happened.
    pub timestamp: Timestamp,
}

/// The body is not that of an event.
#[derive(Debug, thiserror::Error)]
#[error("not the body of an event")]
pub struct NoticeError(#[source] serde_json::Error);

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

impl Notice {
    /// Reads the body of a delivery **whose signature has been verified**. Unknown events and fields are fine.
    ///
    /// ```
    /// use invoicing_client::Notice;
    ///
    /// let body = br#"{"event":"quote.signed","timestamp":"2026-09-14T09:41:07.123Z",
    ///     "data":{"id":"019235a0-0000-7000-8000-000000000001","number":"DEV-2026-0042"}}"#;
    /// let notice = Notice::from_body(body)?;
    /// assert_eq!(notice.event, "quote.signed");
    /// # Ok::<(), invoicing_client::NoticeError>(())
    /// ```
    pub fn from_body(body: &[u8]) -> Result<Self, NoticeError> {
        let Body { event, timestamp, data } = serde_json::from_slice(body).map_err(NoticeError)?;
        Ok(Self { event, id: data.id, timestamp })
    }
}
