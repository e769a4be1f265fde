//! What the three listed resources have in common.

use invoicing_core::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Clients, Invoices, Quotes};

/// Quotes, invoices or clients. Implemented here and nowhere else.
pub trait Resource: sealed::Sealed + Send + Sync + 'static {
    /// A record as a list shows it.
    type Item: DeserializeOwned + Send + 'static;

    /// The name, as in the path: `quotes`.
    const NAME: &'static str;

    /// Whether a list can include lines.
    const HAS_LINES: bool;

    /// The name of the list call in errors and logs.
    #[doc(hidden)]
    const LIST: &'static str;

    /// The name of the call that reads one, in errors and logs.
    #[doc(hidden)]
    const DETAIL: &'static str;

    /// What the names of the events begin with that tell of a record that can be read by its id.
    #[doc(hidden)]
    const EVENTS: Option<&'static str>;

    /// Which version of which record it is.
    fn version(item: &Self::Item) -> Version;
}

/// A version of a record: what duplicates are recognised by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// When it came to be. First, so that versions sort by age.
    pub updated_at: Timestamp,
    /// The record.
    pub id: Uuid,
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! resource {
    ($handle:ident, $item:ty, $name:literal, $list:literal, $detail:literal, events: $events:expr, lines: $lines:literal $(, stamps: $stamps:ident)?) => {
        impl sealed::Sealed for $handle {}

        impl Resource for $handle {
            type Item = $item;
            const NAME: &'static str = $name;
            const HAS_LINES: bool = $lines;
            const LIST: &'static str = $list;
            const DETAIL: &'static str = $detail;
            const EVENTS: Option<&'static str> = $events;

            fn version(item: &$item) -> Version {
                let stamps = &item$(.$stamps)?;
                Version { updated_at: stamps.updated_at, id: stamps.id.0 }
            }
        }
    };
}

resource!(Quotes, crate::QuoteItem, "quotes", "quotes.list", "quotes.get", events: Some("quote."), lines: true, stamps: summary);
resource!(Invoices, crate::InvoiceItem, "invoices", "invoices.list", "invoices.get", events: Some("invoice."), lines: true, stamps: summary);
// No event tells of clients, and none is read by its id.
resource!(Clients, crate::Client, "clients", "clients.list", "clients.get", events: None, lines: false);
