//! The answers of [`explain()`](super::explain), and their texts.

use core::fmt;

use super::{BodyChange, SecretChange};
use crate::error::{HeaderError, SecretError, VerifyError};
use crate::header::elements;
use crate::key::HEX_LENGTH;

/// The likely fault of a delivery. Its text has the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnosis {
    /// No fault: the delivery verifies.
    Valid,
    /// A secret is empty, or none was given.
    SecretEmpty,
    /// An API key was given in place of a secret.
    SecretIsApiKey,
    /// A secret has white space inside.
    SecretHasWhiteSpace,
    /// The request has no signature header.
    HeaderMissing,
    /// The request has several signature headers.
    HeaderRepeated {
        /// Number of headers that were given.
        count: usize,
        /// Number of headers that would verify alone.
        valid: usize,
    },
    /// The header is written in another signature scheme.
    OtherScheme(Scheme),
    /// The header has white space around its elements.
    HeaderSpaced,
    /// The header is malformed in another way.
    HeaderMalformed(HeaderError),
    /// The `v1` would match in lower case.
    SignatureUpperCase,
    /// No `v1` has 64 characters.
    SignatureLength {
        /// Length of the first one, in bytes.
        characters: usize,
    },
    /// The body is not the signed one. The value is the change.
    BodyChanged(BodyChange),
    /// The body is empty and an empty body was not signed.
    BodyEmpty,
    /// The body holds U+FFFD, the mark that a lossy conversion to text leaves. This is a guess, as
    /// the lost bytes cannot be tried.
    BodyDecoded,
    /// A secret differs from the one that signed.
    SecretChanged {
        /// Index of the secret among the given ones.
        index: usize,
        /// The difference.
        change: SecretChange,
    },
    /// The signature is genuine but old.
    TooOld {
        /// Seconds from `t` until now.
        age_seconds: u64,
        /// Largest difference in seconds that passes.
        tolerance_seconds: u64,
    },
    /// The signature is genuine but from the future.
    TooNew {
        /// Seconds from now until `t`.
        ahead_seconds: u64,
        /// Largest difference in seconds that passes.
        tolerance_seconds: u64,
    },
    /// The signature is genuine, and `now` was given in milliseconds.
    NowInMilliseconds,
    /// No signature matches, even with any change undone.
    Unexplained {
        /// Number of `v1` in the header.
        candidates: usize,
        /// Number of secrets that were tried.
        secrets: usize,
    },
}

/// A signature scheme other than this crate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// `sha256=<hex>` or another hash's name: GitHub's form.
    HashPrefix,
    /// `v1,<base64>`: Standard Webhooks.
    StandardWebhooks,
    /// 64 hex characters, without any prefix.
    BareHex,
    /// `t=…` with `v0=…`, `v2=…` or the like, and no `v1=…`.
    OtherVersion,
}

impl Scheme {
    /// Recognises a scheme in a header that is malformed in ours.
    pub(super) fn recognise(header: &[u8]) -> Option<Self> {
        let header = header.trim_ascii();
        let starts = |prefix: &&[u8]| header.starts_with(prefix);
        if [&b"sha256="[..], b"sha1=", b"sha512="].iter().any(starts) {
            Some(Self::HashPrefix)
        } else if header.starts_with(b"v1,") && elements(header).count() == 2 {
            Some(Self::StandardWebhooks)
        } else if header.len() == HEX_LENGTH && header.iter().all(u8::is_ascii_hexdigit) {
            Some(Self::BareHex)
        } else {
            let versions = || elements(header).filter_map(version);
            (versions().next().is_some() && versions().all(|digits| digits != b"1"))
                .then_some(Self::OtherVersion)
        }
    }
}

/// The digits in `v<digits>=…`.
fn version(element: &[u8]) -> Option<&[u8]> {
    let rest = element.trim_ascii().strip_prefix(b"v")?;
    let digits = &rest[..rest.iter().position(|byte| *byte == b'=')?];
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HeaderRepeated { count, valid } => write!(
                f,
                "the signature header came {count} times (verifying alone: {valid}): find the proxy or client that \
                 adds it, and refuse such requests"
            ),
            Self::SecretIsApiKey => SecretError::ApiKey.fmt(f),
            Self::SecretHasWhiteSpace => SecretError::WhiteSpace.fmt(f),
            Self::OtherScheme(scheme) => write!(f, "{scheme}: this crate reads `t=<unix seconds>,v1=<hex>`"),
            Self::HeaderMalformed(reason) => write!(f, "the signature header is malformed: {reason}"),
            Self::SignatureLength { characters } => write!(
                f,
                "`v1` has {characters} characters in place of {HEX_LENGTH}: cut off, or not the hex form of a SHA-256"
            ),
            Self::BodyChanged(change) => write!(f, "{change}: pass the raw bytes as they were received"),
            Self::SecretChanged { index, change } => write!(f, "secret number {index} (from 0): {change}"),
            Self::TooOld { age_seconds, tolerance_seconds } => {
                write!(f, "{}", VerifyError::TooOld { age_seconds, tolerance_seconds })?;
                f.write_str(", and genuine: a replay, a slow queue before the check, or a wrong clock")
            }
            Self::TooNew { ahead_seconds, tolerance_seconds } => {
                write!(f, "{}", VerifyError::TooNew { ahead_seconds, tolerance_seconds })?;
                f.write_str(", and genuine: this machine's clock is slow, or `now` is not in Unix seconds")
            }
            Self::Unexplained { candidates, secrets } => {
                write!(f, "{}: ", VerifyError::NoMatch { candidates, secrets })?;
                f.write_str(
                    "most likely the secret of another webhook, or a body that was parsed and printed again; \
                     or a forgery",
                )
            }
            _ => f.write_str(self.plain_text()),
        }
    }
}

impl Diagnosis {
    /// The text of the answers without numbers in them.
    const fn plain_text(self) -> &'static str {
        match self {
            Self::Valid => "the delivery verifies",
            Self::SecretEmpty => "a secret is empty, or there is none: is the setting read?",
            Self::HeaderMissing => {
                "the request has no signature header: check its name (case does not matter), and that no proxy drops it"
            }
            Self::HeaderSpaced => {
                "the signature header has white space around its elements: something rewrote it"
            }
            Self::SignatureUpperCase => "`v1` matches in lower case only: something rewrote the header",
            Self::BodyEmpty => "the body is empty: something may have read it before, such as a body parser",
            Self::BodyDecoded => {
                "the body holds U+FFFD: it was probably converted to text; pass the raw bytes as they were received"
            }
            Self::NowInMilliseconds => {
                "the signature is genuine, but `now` is in milliseconds; pass Unix seconds"
            }
            _ => "",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HashPrefix => "the header is a hash's name and a digest, as GitHub writes it",
            Self::StandardWebhooks => "the header is written as Standard Webhooks has it",
            Self::BareHex => "the header is nothing but a digest",
            Self::OtherVersion => "the header has only signatures of other versions than `v1`",
        })
    }
}
