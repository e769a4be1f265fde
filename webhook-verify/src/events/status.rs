//! Statuses. Later versions may add some, so an unknown one is kept as its text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A status unknown to this version, unchanged.
            Other(Box<str>),
        }

        impl $name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.into()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self::from(&*String::deserialize(deserializer)?))
            }
        }
    };
}

open_enum! {
    /// State of a quote.
    QuoteStatus {
        /// Being written.
        Draft = "DRAFT",
        /// With the client.
        Sent = "SENT",
        /// Signed, or accepted by hand. Final.
        Accepted = "ACCEPTED",
        /// Declined.
        Rejected = "REJECTED",
        /// Past its validity.
        Expired = "EXPIRED",
    }
}

open_enum! {
    /// State of an invoice.
    InvoiceStatus {
        /// Being written.
        Draft = "DRAFT",
        /// With the client.
        Sent = "SENT",
        /// Nothing is due any more.
        Paid = "PAID",
        /// Past its due date with something due.
        Overdue = "OVERDUE",
        /// Given up; keeps its number.
        Canceled = "CANCELED",
    }
}

open_enum! {
    /// State of a project.
    ProjectStatus {
        /// Under way.
        Open = "OPEN",
        /// Done.
        Completed = "COMPLETED",
        /// Given up.
        Canceled = "CANCELED",
    }
}
