//! One attempt of a call: its result, and the part of it that decides on the next one.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Response, StatusCode};
use invoicing_core::{ApiErrorBody, ApiErrorDetail, ErrorCode};

use crate::retry_after::retry_after;
use crate::{TransportError, TransportErrorKind};

/// A response with any status, or none.
pub(crate) type AttemptResult = Result<Response<Bytes>, TransportError>;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    /// The service, or an intermediary, answered.
    Response {
        /// HTTP status.
        status: u16,
        /// `Retry-After` of the response.
        retry_after: Option<Duration>,
        /// The service refused the request before it did anything.
        did_nothing: bool,
    },
    /// No complete response: connect error, timeout, broken connection.
    NoResponse,
    /// A response that a retry would not improve: too large, redirected.
    Unusable,
}

impl AttemptOutcome {
    /// `now` is for a `Retry-After` that is a date.
    pub(crate) fn of(result: &AttemptResult, now: SystemTime) -> Self {
        match result {
            Ok(response) => Self::Response {
                status: response.status().as_u16(),
                retry_after: retry_after(response.headers(), now),
                did_nothing: did_nothing(response),
            },
            Err(error) => match error.kind {
                TransportErrorKind::Connect
                | TransportErrorKind::Timeout
                | TransportErrorKind::Interrupted => Self::NoResponse,
                TransportErrorKind::TooLarge | TransportErrorKind::Redirected => Self::Unusable,
            },
        }
    }
}

/// True for the two refusals before which nothing is done: 429, from an intermediary too, and 503 `overloaded`. Any other
/// 503 may come after the change was stored.
fn did_nothing(response: &Response<Bytes>) -> bool {
    let is_overloaded =
        || api_error(response.body()).is_some_and(|error| error.code == ErrorCode::Overloaded);
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => is_overloaded(),
        _ => false,
    }
}

/// The error in a body of the usual shape.
pub(crate) fn api_error(body: &[u8]) -> Option<ApiErrorDetail> {
    serde_json::from_slice::<ApiErrorBody>(body).ok().map(|body| body.error)
}
