//! Errors of the domain, and the error bodies of the API.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ConflictReason, Rule};

/// Input that is well-formed but breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{field}: {rule}")]
pub struct Invalid {
    /// The field or parameter, in its wire spelling (`lines[3].unitPrice`).
    pub field: Cow<'static, str>,
    /// The rule, whose text ends a sentence that begins with the field.
    pub rule: Rule,
}

impl Invalid {
    /// An error about this field and this rule.
    pub fn new(field: impl Into<Cow<'static, str>>, rule: impl Into<Rule>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    /// An error about a rule of the host, such as that of its renderer. `rule` ends a sentence that
    /// begins with the field.
    pub fn of_host(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(field, Rule::OfHost(rule.into()))
    }

    /// The same rule about another field, such as the field of a host that a number was entered in.
    ///
    /// ```
    /// # use invoicing_core::Money;
    /// let refused = "12,5".parse::<Money>().map_err(|invalid| invalid.in_field("deposit")).unwrap_err();
    /// assert_eq!(refused.to_string(), r#"deposit: must be a decimal number such as 12.5, not "12,5""#);
    /// ```
    #[must_use]
    pub fn in_field(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), ..self }
    }
}

/// The state of the record does not allow the operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct Conflict {
    /// The rule that the operation would break, as a sentence without a full stop.
    pub reason: ConflictReason,
}

impl From<ConflictReason> for Conflict {
    fn from(reason: ConflictReason) -> Self {
        Self { reason }
    }
}

impl From<ConflictReason> for DomainError {
    fn from(reason: ConflictReason) -> Self {
        Self::Conflict(reason.into())
    }
}

/// The domain refuses an operation. No record has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// The input is not acceptable.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The record's state does not allow it.
    #[error(transparent)]
    Conflict(#[from] Conflict),
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $status:literal;)*) => {
        /// `error.code` of the API's error body. New codes may appear; a reader keeps the text of
        /// an unknown code.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
            /// A code that is unknown to this version.
            Other(Box<str>),
        }

        impl ErrorCode {
            /// Every code of this version.
            pub const KNOWN: &'static [ErrorCode] = &[$(ErrorCode::$variant),*];

            /// The code as it is written on the wire.
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $text,)* Self::Other(text) => text }
            }

            /// The HTTP status of the code; `None` for a code that is unknown to this version.
            pub fn status(&self) -> Option<u16> {
                match self { $(Self::$variant => Some($status),)* Self::Other(_) => None }
            }
        }

        impl From<&str> for ErrorCode {
            fn from(text: &str) -> Self {
                match text { $($text => Self::$variant,)* other => Self::Other(other.into()) }
            }
        }
    };
}

codes! {
    /// Missing, unknown, revoked or idle key.
    Unauthorized = "unauthorized", 401;
    /// The company's plan is not the team plan.
    PlanRequired = "plan_required", 403;
    /// The quota of the key is used up (flat body, see [`TooManyRequestsBody`]).
    TooManyRequests = "TOO_MANY_REQUESTS", 429;
    /// Well-formed input that breaks a rule.
    ValidationError = "validation_error", 400;
    /// A request that cannot be read.
    BadRequest = "bad_request", 400;
    /// Unknown route or id.
    NotFound = "not_found", 404;
    /// A known path with a method that it does not have.
    MethodNotAllowed = "method_not_allowed", 405;
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408;
    /// The record's state does not allow it.
    Conflict = "conflict", 409;
    /// The quote is still in DRAFT: it has no frozen document.
    DocumentUnavailable = "document_unavailable", 409;
    /// The request body is over the limit.
    PayloadTooLarge = "payload_too_large", 413;
    /// The request expects something other than `100-continue`.
    ExpectationFailed = "expectation_failed", 417;
    /// The service failed.
    ServerError = "server_error", 500;
    /// The database or the document store is unavailable.
    StorageUnavailable = "storage_unavailable", 503;
    /// The service is at capacity and has done nothing. A retry after `Retry-After` succeeds.
    Overloaded = "overloaded", 503;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(Cow::<str>::deserialize(deserializer)?.as_ref()))
    }
}

/// The API's error body: `{"error": {"code", "message"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiErrorBody {
    /// The one member.
    pub error: ApiErrorDetail,
}

/// The error, for programs and for humans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiErrorDetail {
    /// The code, for programs.
    pub code: ErrorCode,
    /// The message, for humans.
    pub message: String,
}

/// The flat body of a 429: `{"code": "TOO_MANY_REQUESTS", "message"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TooManyRequestsBody {
    /// Always [`ErrorCode::TooManyRequests`].
    pub code: ErrorCode,
    /// The message, for humans.
    pub message: String,
}

#[cfg(test)]
mod tests;
