//! [`Resource`]: the common interface of the four listed resources.

use invoicing_core::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Quotes, invoices, credit notes or clients. This trait is sealed.
pub trait Resource: sealed::Sealed + Send + Sync + 'static {
    /// A record in a list, which handlers of a catch-up are given: [`QuoteItem`](crate::QuoteItem),
    /// [`InvoiceItem`](crate::InvoiceItem), [`CreditNoteItem`](crate::CreditNoteItem) or [`Client`](crate::Client).
    type Item: DeserializeOwned + Send + 'static;

    /// The name in the path, such as `quotes`.
    const NAME: &'static str;

    /// True if a list can include lines.
    const HAS_LINES: bool;

    /// Name of the list operation in errors and logs.
    #[doc(hidden)]
    const LIST_OPERATION: &'static str;

    /// Name of the operation that reads one record, in errors and logs.
    #[doc(hidden)]
    const GET_OPERATION: &'static str;

    /// Prefix of the events about this resource. `None` if there are none, or if records cannot be read by id.
    #[doc(hidden)]
    const EVENT_PREFIX: Option<&'static str>;

    /// Identifies the record and its version.
    fn version(item: &Self::Item) -> RecordVersion;
}

/// Identifies one version of one record, to recognise duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordVersion {
    /// Modification stamp of this version. The first field, so that versions sort by age.
    pub updated_at: Timestamp,
    /// Id of the record.
    pub id: Uuid,
}

pub(crate) mod sealed {
    pub trait Sealed {}
}
