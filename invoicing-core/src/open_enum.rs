//! Enums that later versions extend, for readers of the API.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A value of this version, or the text of a value that a later version added.
///
/// v1 only grows, so a reader of the API must accept new statuses and types. The service itself
/// uses the enum alone and refuses unknown texts.
///
/// ```
/// use invoicing_core::{OpenEnum, QuoteStatus};
///
/// let status: OpenEnum<QuoteStatus> = serde_json::from_str(r#""ACCEPTED""#)?;
/// assert_eq!(status, QuoteStatus::Accepted);
///
/// let later: OpenEnum<QuoteStatus> = serde_json::from_str(r#""ARCHIVED""#)?;
/// assert_eq!((later.known(), later.to_string()), (None, "ARCHIVED".to_owned()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OpenEnum<T> {
    /// A value of this version.
    Known(T),
    /// The text of an unknown value, kept unchanged.
    Other(Box<str>),
}

impl<T: Copy> OpenEnum<T> {
    /// The value, if this version has it.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Other(_) => None,
        }
    }
}

impl<T: PartialEq> PartialEq<T> for OpenEnum<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(value) if value == other)
    }
}

impl<T> From<T> for OpenEnum<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: fmt::Display> fmt::Display for OpenEnum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl<T: Serialize> Serialize for OpenEnum<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::Other(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de, T: FromStr> Deserialize<'de> for OpenEnum<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);

        impl<T: FromStr> serde::de::Visitor<'_> for Visitor<T> {
            type Value = OpenEnum<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<OpenEnum<T>, E> {
                Ok(text.parse().map_or_else(|_| OpenEnum::Other(text.into()), OpenEnum::Known))
            }
        }

        deserializer.deserialize_str(Visitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests;
