//! Why a delivery is refused. Nothing here holds a secret, a MAC or a part of the body.

use core::error::Error;
use core::fmt;

/// A delivery that must not be trusted, and why.
///
/// The text is meant for the receiver's log. The sender needs no more than a status of 400 or 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The secret is empty, so any sender could sign. Only [`verify`](crate::verify) reports it here; a
    /// [`Verifier`](crate::Verifier) cannot be made of an empty secret.
    EmptySecret,
    /// The header is not a signature of this scheme.
    Malformed(Malformed),
    /// No `v1` is the MAC of this body under any of the secrets: changed body, wrong secret, or a forgery.
    NoMatch {
        /// How many `v1` the header holds.
        candidates: usize,
        /// How many secrets were tried.
        secrets: usize,
    },
    /// The signature is genuine but `t` lies too far back: replayed, delayed, or the clocks differ.
    TooOld {
        /// Seconds from `t` until now.
        age_seconds: u64,
        /// Seconds that would have passed.
        tolerance_seconds: u64,
    },
    /// The signature is genuine but `t` lies too far ahead: the clocks differ.
    TooNew {
        /// Seconds from now until `t`.
        ahead_seconds: u64,
        /// Seconds that would have passed.
        tolerance_seconds: u64,
    },
}

/// What is wrong with the form of a signature header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// There is no `t=`.
    TimestampMissing,
    /// There is more than one `t=`, so it is unclear which one was signed.
    TimestampRepeated,
    /// `t` is not a decimal number that fits an `i64`.
    TimestampInvalid,
    /// There is no `v1=`.
    SignatureMissing,
}

/// The secret is empty, or none was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmptySecret;

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptySecret => EmptySecret.fmt(f),
            Self::Malformed(_) => f.write_str("the signature header is malformed"),
            Self::NoMatch { candidates, secrets } => {
                write!(f, "no signature matches (v1 in the header: {candidates}, secrets tried: {secrets})")
            }
            Self::TooOld { age_seconds, tolerance_seconds } => {
                write!(f, "signed {age_seconds} s ago, more than the tolerated {tolerance_seconds} s")
            }
            Self::TooNew { ahead_seconds, tolerance_seconds } => {
                write!(
                    f,
                    "signed {ahead_seconds} s in the future, more than the tolerated {tolerance_seconds} s"
                )
            }
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampMissing => "it has no `t=`",
            Self::TimestampRepeated => "it has more than one `t=`",
            Self::TimestampInvalid => "its `t` is not a decimal 64-bit integer",
            Self::SignatureMissing => "it has no `v1=`",
        })
    }
}

impl fmt::Display for EmptySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signing secret is empty")
    }
}

impl Error for VerifyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Malformed(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Error for Malformed {}

impl Error for EmptySecret {}

impl From<EmptySecret> for VerifyError {
    fn from(EmptySecret: EmptySecret) -> Self {
        Self::EmptySecret
    }
}

impl From<Malformed> for VerifyError {
    fn from(reason: Malformed) -> Self {
        Self::Malformed(reason)
    }
}
