//! The error of the API: its code, message and headers. Errors of operations are converted here
//! only.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderName, HeaderValue, Method, header};
use invoicing_core::{ApiErrorBody, ApiErrorDetail, ErrorCode, Invalid, TooManyRequestsBody};

use crate::config::MAX_BODY_BYTES;
use crate::error::Error;
use crate::log::{ErrorChain, PeerText, without_secrets};
use crate::telemetry::spans;

/// `Retry-After` while storage is unavailable, in seconds.
const STORAGE_RETRY_SECONDS: u64 = 5;

/// `Retry-After` of an overloaded service, in seconds. Short, as requests take milliseconds.
const OVERLOADED_RETRY_SECONDS: u64 = 1;

/// The reason why a request is refused or has failed.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// No key, or one that is not valid. The message is the same for every cause.
    Unauthorized,
    /// The company's plan does not include the API.
    PlanRequired,
    /// The quota of the key is used up.
    QuotaUsedUp {
        /// Seconds until a request would pass, at least 1.
        retry_seconds: u64,
    },
    /// The path does not have the method.
    MethodNotAllowed {
        /// The value of `Allow`.
        allow: String,
    },
    /// The request is malformed.
    BadRequest(Cow<'static, str>),
    /// A parameter, or a property of the body, that is not one of the endpoint's, or no value of
    /// it. `rule` ends a sentence that begins with its name.
    Unreadable { name: Cow<'static, str>, rule: Cow<'static, str> },
    /// The body has a `Content-Encoding`.
    EncodedBody,
    /// The body is over the limit.
    PayloadTooLarge,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The request has an `Expect` other than `100-continue`.
    ExpectationFailed,
    /// The limit on concurrent work is reached.
    Overloaded,
    /// The error of an operation.
    Operation(Error),
    /// A bug: a handler panicked. The panic hook has printed the place.
    Panicked,
}

impl ApiError {
    pub(crate) const NOT_FOUND: Self = Self::Operation(Error::NotFound);

    pub(crate) const fn bad_request(message: &'static str) -> Self {
        Self::BadRequest(Cow::Borrowed(message))
    }

    pub(crate) fn unreadable(name: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::Unreadable { name: name.into(), rule: rule.into() }
    }

    /// The code, which determines the status.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Unauthorized => ErrorCode::Unauthorized,
            Self::PlanRequired => ErrorCode::PlanRequired,
            Self::QuotaUsedUp { .. } => ErrorCode::TooManyRequests,
            Self::MethodNotAllowed { .. } => ErrorCode::MethodNotAllowed,
            Self::BadRequest(_) | Self::EncodedBody => ErrorCode::BadRequest,
            Self::Unreadable { .. } => ErrorCode::ValidationError,
            Self::PayloadTooLarge => ErrorCode::PayloadTooLarge,
            Self::RequestTimeout => ErrorCode::RequestTimeout,
            Self::ExpectationFailed => ErrorCode::ExpectationFailed,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::Operation(error) => error.code(),
            Self::Panicked => ErrorCode::ServerError,
        }
    }

    /// The message for the caller, without internal details.
    pub(crate) fn message(&self) -> Cow<'static, str> {
        match self {
            Self::Unauthorized => "A valid API key is required: Authorization: Bearer <API_KEY>".into(),
            Self::PlanRequired => "The API is part of the team plan".into(),
            Self::QuotaUsedUp { retry_seconds } => {
                format!("The quota of this key is used up; try again in {retry_seconds} s").into()
            }
            Self::MethodNotAllowed { allow } => format!("This path has only {allow}").into(),
            Self::BadRequest(message) => message.clone(),
            Self::Unreadable { name, rule } => format!("{name}: {rule}").into(),
            Self::EncodedBody => "The body must be sent as it is, without a Content-Encoding".into(),
            Self::PayloadTooLarge => format!("The body must have at most {MAX_BODY_BYTES} bytes").into(),
            Self::RequestTimeout => "The request did not arrive in time".into(),
            Self::ExpectationFailed => "The only Expect that is understood is 100-continue".into(),
            Self::Overloaded | Self::Operation(Error::Overloaded) => {
                "Too much is being done at the moment; try again later".into()
            }
            Self::Operation(Error::NotFound) => "There is no such route or record".into(),
            Self::Operation(Error::Invalid(invalid)) => invalid.to_string().into(),
            Self::Operation(Error::Conflict(conflict)) => conflict.to_string().into(),
            Self::Operation(Error::DocumentUnavailable) => "The record has no frozen document".into(),
            Self::Operation(Error::StorageUnavailable(_)) => {
                "Storage is unavailable at the moment; try again later".into()
            }
            Self::Operation(Error::Internal(_)) | Self::Panicked => {
                "The service failed; X-Request-Id identifies this request in its log".into()
            }
        }
    }

    /// The body of the response.
    pub(crate) fn body(&self) -> Vec<u8> {
        let (code, message) = (self.code(), self.message().into_owned());
        let body = if code == ErrorCode::TooManyRequests {
            serde_json::to_vec(&TooManyRequestsBody { code, message })
        } else {
            serde_json::to_vec(&ApiErrorBody { error: ApiErrorDetail { code, message } })
        };
        // Serialising two strings cannot fail.
        body.unwrap_or_default()
    }

    /// The header that belongs to the code.
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthorized => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::MethodNotAllowed { allow } => Some((header::ALLOW, HeaderValue::from_str(allow).ok()?)),
            Self::QuotaUsedUp { retry_seconds } => Some((header::RETRY_AFTER, (*retry_seconds).into())),
            Self::Operation(Error::StorageUnavailable(_)) => {
                Some((header::RETRY_AFTER, STORAGE_RETRY_SECONDS.into()))
            }
            Self::Overloaded | Self::Operation(Error::Overloaded) => {
                Some((header::RETRY_AFTER, OVERLOADED_RETRY_SECONDS.into()))
            }
            _ => None,
        }
    }

    /// Logs the error, once a request; if the service has failed, with every cause and the path.
    /// The query is left out, as it may hold the signature of a document URL. A refusal is logged
    /// without texts of the caller: they may hold an address or a name, and the answer holds them.
    /// `path`: the part of the request's path that the log may show.
    pub(crate) fn log_at(&self, method: &Method, path: &str, request_id: &HeaderValue) {
        let (method, path) = (spans::known(method), without_secrets(path));
        let (path, error) = (PeerText(&path), FailureCause(self));
        let request_id = request_id.to_str().unwrap_or_default();
        match self.code() {
            ErrorCode::ServerError => {
                tracing::error!(method, %path, request_id, %error, "request failed");
            }
            ErrorCode::StorageUnavailable => {
                tracing::warn!(method, %path, request_id, %error, "storage unavailable");
            }
            code => {
                tracing::debug!(method, request_id, %code, "request refused");
            }
        }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::Operation(Error::Invalid(invalid))
    }
}

/// The cause of a failed request, for the log.
struct FailureCause<'e>(&'e ApiError);

impl fmt::Display for FailureCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ApiError::Operation(error) => write!(f, "{}", ErrorChain(error)),
            error => write!(f, "{}", PeerText(&error.message())),
        }
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ConflictReason, Rule};

    use super::*;

    fn every_error() -> Vec<ApiError> {
        let internal = || std::io::Error::other("internal detail");
        vec![
            ApiError::Unauthorized,
            ApiError::PlanRequired,
            ApiError::QuotaUsedUp { retry_seconds: 12 },
            ApiError::MethodNotAllowed { allow: "GET, HEAD".to_owned() },
            ApiError::bad_request("x"),
            ApiError::EncodedBody,
            ApiError::PayloadTooLarge,
            ApiError::RequestTimeout,
            ApiError::ExpectationFailed,
            ApiError::Overloaded,
            ApiError::NOT_FOUND,
            Invalid::new("name", Rule::Email).into(),
            ApiError::unreadable("name", "is required"),
            Error::from(ConflictReason::KeepsChanging).into(),
            Error::DocumentUnavailable.into(),
            Error::Overloaded.into(),
            Error::unavailable(internal()).into(),
            Error::internal(internal()).into(),
            ApiError::Panicked,
        ]
    }

    /// Rules: ERROR-13
    #[test]
    fn every_error_has_a_status_and_a_message_without_internal_details() {
        for error in every_error() {
            assert!(error.code().status().is_some(), "{error:?}");
            assert!(!error.message().is_empty() && !error.message().contains("internal"), "{error:?}");
        }
    }

    /// Rules: ERROR-18
    #[test]
    fn an_operation_s_error_has_the_code_and_the_status_of_the_api() {
        let operations = every_error().into_iter().filter_map(|error| match error {
            ApiError::Operation(error) => Some(error),
            _ => None,
        });
        let mut answers = Vec::new();
        for error in operations {
            let (code, status) = (error.code(), error.status());
            let body = error.body().error;
            assert_eq!((&body.code, &body.message), (&code, &error.to_string()));
            assert!(!body.message.contains("internal detail"), "{error:?}");
            let answer = ApiError::from(error);
            assert_eq!((answer.code(), answer.response().status()), (code.clone(), status));
            answers.push((code.to_string(), status.as_u16()));
        }
        let expected = [
            ("not_found", 404),
            ("validation_error", 400),
            ("conflict", 409),
            ("document_unavailable", 409),
            ("overloaded", 503),
            ("storage_unavailable", 503),
            ("server_error", 500),
        ];
        assert_eq!(answers, expected.map(|(code, status)| (code.to_owned(), status)));
    }

    #[test]
    fn every_code_is_used() {
        let used: Vec<_> = every_error().iter().map(ApiError::code).collect();
        assert!(ErrorCode::KNOWN.iter().all(|code| used.contains(code)), "{used:?}");
    }

    #[test]
    fn the_log_line_has_every_cause() {
        let error = ApiError::from(Error::internal(std::io::Error::other("the row is bad")));
        assert_eq!(FailureCause(&error).to_string(), "internal failure: the row is bad");
    }
}
