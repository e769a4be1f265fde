//! Enums with a fixed text for each value: writing and reading that text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::VariantArray;

use crate::{
    ClientType, DeliveryStatus, DisabledReason, DocumentFormat, EInvoicing, EventKind, FailureClass, Invalid,
    InvoiceStatus, InvoiceType, OperationNature, PaymentMethod, PaymentSource, Plan, ProjectStatus,
    QuoteStatus, VatRegime,
};

/// The value with this text.
fn find<T: Copy + VariantArray + Into<&'static str>>(text: &str) -> Option<T> {
    T::VARIANTS.iter().copied().find(|value| (*value).into() == text)
}

/// The texts of an enum, for error messages.
fn words<T: Copy + VariantArray + Into<&'static str>>() -> String {
    T::VARIANTS.iter().map(|value| (*value).into()).collect::<Vec<_>>().join(" ")
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Copy + VariantArray + Into<&'static str>> Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", words::<T>())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        find(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Adds to enums whose texts `strum` derives: the list of values, the text, and the conversions
/// that refuse other texts with this crate's errors.
macro_rules! wire_enums {
    ($($name:ident)*) => {$(
        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &'static [Self] = Self::VARIANTS;

            /// The text of the value, as it is sent or stored.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let rule = || $crate::Rule::OneOf { choices: words::<Self>() };
                find(text).ok_or_else(|| Invalid::new(stringify!($name), rule()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(WordVisitor(PhantomData))
            }
        }
    )*};
}

wire_enums! {
    ClientType DeliveryStatus DisabledReason DocumentFormat EInvoicing EventKind FailureClass
    InvoiceStatus InvoiceType OperationNature PaymentMethod PaymentSource Plan ProjectStatus
    QuoteStatus VatRegime
}

#[cfg(test)]
mod tests;
