//! Typed identifiers, so that a quote's id is never passed in place of a client's.
//!
//! Ids are made by the service, not here: this crate has no randomness.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Reads a UUID in its canonical spelling: 36 characters with hyphens.
///
/// The other spellings that UUID libraries accept (braces, `urn:uuid:`, no hyphens) would give one
/// record several addresses, so they are not ids here.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

/// The text is not a UUID in its canonical spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
#[non_exhaustive]
pub struct ParseIdError;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        /// Shows the bare UUID, as in an address or a log.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_uuid(text).map(Self).ok_or(ParseIdError)
            }
        }
    )*};
}

ids! {
    /// A company: the tenant to which all other records belong.
    CompanyId;
    /// A client of a company.
    ClientId;
    /// A quote.
    QuoteId;
    /// An invoice.
    InvoiceId;
    /// A credit note.
    CreditNoteId;
    /// A payment on an invoice.
    PaymentId;
    /// A project.
    ProjectId;
    /// A webhook registration.
    WebhookId;
    /// A recorded event. Each delivery of the event has this id in `X-Service-Event-Id`. The body
    /// has the id of the document.
    EventId;
    /// An API key (not the key itself).
    KeyId;
}

#[cfg(test)]
mod tests;
