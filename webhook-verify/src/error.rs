//! The reasons why a delivery is refused. None of them holds a secret, a MAC or a part of the body.

use core::error::Error;
use core::fmt;

/// The reason why a delivery must not be trusted.
///
/// The text is meant for the receiver's log. The sender needs no more than a status of 400 or 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The secret is not a signing secret. Only [`verify`](crate::verify) reports it here; a
    /// [`Verifier`](crate::Verifier) cannot be made of such a secret.
    Secret(SecretError),
    /// The header is not a signature of this scheme.
    Malformed(HeaderError),
    /// No `v1` is the MAC of this body under any of the secrets: changed body, wrong secret, or a
    /// forgery.
    NoMatch {
        /// Number of `v1` in the header.
        candidates: usize,
        /// Number of secrets that were tried.
        secrets: usize,
    },
    /// The signature is genuine but `t` lies too far back: replayed, delayed, or the clocks differ.
    TooOld {
        /// Seconds from `t` until now.
        age_seconds: u64,
        /// Largest difference in seconds that passes.
        tolerance_seconds: u64,
    },
    /// The signature is genuine but `t` lies too far ahead: the clocks differ.
    TooNew {
        /// Seconds from now until `t`.
        ahead_seconds: u64,
        /// Largest difference in seconds that passes.
        tolerance_seconds: u64,
    },
}

/// The fault in the form of a signature header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// There is no `t=`.
    TimestampMissing,
    /// There is more than one `t=`, so it is unclear which one was signed.
    TimestampRepeated,
    /// `t` is not a decimal number that fits an `i64`.
    TimestampInvalid,
    /// There is no `v1=`.
    SignatureMissing,
}

/// The text is not a signing secret.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretError {
    /// The secret is empty, or none was given: any sender could sign.
    Empty,
    /// The text is an API key (`isk_…`), given in place of the secret.
    ApiKey,
    /// The secret has white space inside, such as a line break between two secrets. White space
    /// around it is no part of it.
    WhiteSpace,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret(error) => error.fmt(f),
            Self::Malformed(reason) => write!(f, "the signature header is malformed: {reason}"),
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

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampMissing => "it has no `t=`",
            Self::TimestampRepeated => "it has more than one `t=`",
            Self::TimestampInvalid => "its `t` is not a decimal 64-bit integer",
            Self::SignatureMissing => "it has no `v1=`",
        })
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the signing secret is empty: is the setting read?",
            Self::ApiKey => {
                "this is an API key (isk_…), not a signing secret: give the webhook's secret, which begins with whsec_"
            }
            Self::WhiteSpace => "the signing secret has white space inside: give each secret by itself",
        })
    }
}

/// Shows the text, as `main` prints the `Debug` form of an error that it returns.
impl fmt::Debug for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for VerifyError {}

impl Error for HeaderError {}

impl Error for SecretError {}

impl From<SecretError> for VerifyError {
    fn from(error: SecretError) -> Self {
        Self::Secret(error)
    }
}

impl From<HeaderError> for VerifyError {
    fn from(reason: HeaderError) -> Self {
        Self::Malformed(reason)
    }
}
