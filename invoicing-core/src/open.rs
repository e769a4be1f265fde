//! A closed set as a reader sees it: it may have grown since.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A value of a set that this version knows, or the text of one that it does not.
///
/// v1 only grows: a reader of the API must go on when a new status appears. The service itself uses the closed
/// sets, so that its matches are exhaustive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Open<T> {
    /// A value that this version knows.
    Known(T),
    /// The text of a value that it does not know, kept as it was.
    Other(Box<str>),
}

impl<T: Copy> Open<T> {
    /// The value, if this version knows it.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Other(_) => None,
        }
    }
}

impl<T: PartialEq> PartialEq<T> for Open<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(value) if value == other)
    }
}

impl<T> From<T> for Open<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: fmt::Display> fmt::Display for Open<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl<T: Serialize> Serialize for Open<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::Other(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de, T: FromStr> Deserialize<'de> for Open<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);

        impl<T: FromStr> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Open<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Open<T>, E> {
                Ok(text.parse().map_or_else(|_| Open::Other(text.into()), Open::Known))
            }
        }

        deserializer.deserialize_str(Visitor(std::marker::PhantomData))
    }
}

/// Declares a closed set of wire words: the enum, its texts, and the conversions between them.
macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The value as it is written on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::Invalid;

            fn from_str(text: &str) -> Result<Self, crate::Invalid> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(crate::Invalid::new(stringify!($name), concat!("must be one of", $(" ", $text,)*))),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("one of", $(" ", $text,)*))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                    }
                }

                deserializer.deserialize_str(Visitor)
            }
        }
    };
}

pub(crate) use closed_set;

#[cfg(test)]
mod tests;
