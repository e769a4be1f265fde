//! The response: status, body, and the headers of every response.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use invoicing_core::{ErrorCode, QuotaDecision};
use serde::Serialize;

use super::error::ApiError;
use super::request_id::X_REQUEST_ID;
use crate::Error;
use crate::error::status_of;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

const RATE_LIMIT_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Most headers of a JSON response: its own, those of [`complete`], and one of an error.
const MAX_HEADERS: usize = 12;

/// Bodies that are the same for all, so that the refusals of callers without a key take no memory.
static SHARED_BODIES: LazyLock<[(ErrorCode, Bytes); 4]> = LazyLock::new(|| {
    let errors = [ApiError::Overloaded, ApiError::Unauthorized, ApiError::PlanRequired, ApiError::NOT_FOUND];
    errors.map(|error| (error.code(), error.body().into()))
});

/// The result of a handler, to which [`complete`] adds the headers of every response.
pub(super) type ApiResult = Result<Response<Bytes>, ApiError>;

/// JSON that is already serialised.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut headers = HeaderMap::with_capacity(MAX_HEADERS);
    headers.insert(header::CONTENT_TYPE, JSON);
    with_headers(status, headers, body.into())
}

/// A record, serialised to JSON.
pub(super) fn record(status: StatusCode, record: &impl Serialize) -> ApiResult {
    Ok(json(status, serde_json::to_vec(record).map_err(Error::internal)?))
}

impl ApiError {
    /// The body, where it is the same for all.
    pub(super) fn shared_body(&self) -> Option<Bytes> {
        let code = self.code();
        SHARED_BODIES.iter().find(|(shared, _)| *shared == code).map(|(_, body)| body.clone())
    }

    /// The response, without the headers of every response.
    pub(super) fn response(&self) -> Response<Bytes> {
        let status = status_of(&self.code());
        let body = self.shared_body().unwrap_or_else(|| self.body().into());
        let mut response = json(status, body);
        response.headers_mut().extend(self.header());
        response
    }
}

/// A response with headers of its own.
pub(crate) fn with_headers(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The response to `OPTIONS`, with the value of `Allow`.
pub(super) fn allowed(allow: &str) -> ApiResult {
    let mut headers = HeaderMap::new();
    headers.insert(header::ALLOW, HeaderValue::from_str(allow).map_err(Error::internal)?);
    Ok(with_headers(StatusCode::NO_CONTENT, headers, Bytes::new()))
}

/// Adds the headers of every response. The response to `HEAD` has the headers of `GET`, and no body.
pub(super) fn complete(response: &mut Response<Bytes>, context: &ResponseContext, is_head: bool) {
    let (status, length) = (response.status(), response.body().len());
    let headers = response.headers_mut();
    // For 304 it would have to be the length of the document, which is not read; a 204 has none (RFC 9110, section 8.6).
    if !matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    headers.insert(X_REQUEST_ID, context.request_id.clone());
    if let Some(rate_limit) = context.rate_limit {
        headers.insert(RATE_LIMIT_LIMIT, rate_limit.limit.into());
        headers.insert(RATE_LIMIT_REMAINING, rate_limit.remaining.into());
        headers.insert(RATE_LIMIT_RESET, rate_limit.reset_seconds.into());
    }
    if is_head {
        // Dropped, as `clear` would keep the bytes allocated.
        *response.body_mut() = Bytes::new();
    }
}

/// Values from the request that go into the headers of its response.
#[derive(Debug)]
pub(crate) struct ResponseContext {
    /// Identifies the request in the log.
    pub(crate) request_id: HeaderValue,
    /// State of the key's quota; `None` without a valid key or without a quota.
    pub(crate) rate_limit: Option<RateLimit>,
}

/// State of a key's quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Requests in 60 s.
    limit: u32,
    /// Requests that would pass now.
    remaining: u32,
    /// Seconds until more requests would pass, rounded up.
    reset_seconds: u64,
}

impl RateLimit {
    /// The state after a request was counted or refused.
    pub(crate) fn after(admission: QuotaDecision, limit: u32) -> Self {
        match admission {
            QuotaDecision::Accepted { remaining, reset_ms } => {
                Self { limit, remaining, reset_seconds: seconds(reset_ms) }
            }
            QuotaDecision::Refused { wait_ms } => {
                Self { limit, remaining: 0, reset_seconds: seconds(wait_ms) }
            }
        }
    }

    /// The state of a key without counted requests.
    pub(crate) const fn unused(limit: u32) -> Self {
        Self { limit, remaining: limit, reset_seconds: 0 }
    }

    /// The value of `Retry-After`, at least 1.
    pub(crate) fn retry_seconds(wait_ms: i64) -> u64 {
        seconds(wait_ms).max(1)
    }
}

/// Milliseconds in whole seconds, rounded up so that a wait of that length is enough.
fn seconds(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> ResponseContext {
        ResponseContext { request_id: HeaderValue::from_static("r1"), rate_limit: None }
    }

    fn completed(mut response: Response<Bytes>, context: &ResponseContext, is_head: bool) -> Response<Bytes> {
        complete(&mut response, context, is_head);
        response
    }

    #[test]
    fn head_has_the_headers_of_get_without_a_body() {
        let response = || json(StatusCode::OK, "{\"a\":1}");
        let get = completed(response(), &context(), false);
        let head = completed(response(), &context(), true);
        assert_eq!(get.headers(), head.headers());
        assert_eq!(head.headers()[header::CONTENT_LENGTH], "7");
        assert!(head.body().is_empty());
    }

    #[test]
    fn waiting_times_are_rounded_up() {
        for (wait_ms, expected) in [(1, 1), (999, 1), (1_000, 1), (1_001, 2), (59_901, 60), (60_001, 61)] {
            let rate_limit = RateLimit::after(QuotaDecision::Refused { wait_ms }, 30);
            assert_eq!(rate_limit, RateLimit { limit: 30, remaining: 0, reset_seconds: expected });
            assert_eq!(RateLimit::retry_seconds(wait_ms), expected);
        }
    }

    #[test]
    fn the_quota_is_sent_in_seconds() {
        let rate_limit = RateLimit::after(QuotaDecision::Accepted { remaining: 29, reset_ms: 60_001 }, 30);
        let context = ResponseContext { rate_limit: Some(rate_limit), ..context() };
        let response = completed(json(StatusCode::OK, ""), &context, false);
        let header = |name| response.headers()[name].to_str().unwrap();
        assert_eq!(
            [header(RATE_LIMIT_LIMIT), header(RATE_LIMIT_REMAINING), header(RATE_LIMIT_RESET)],
            ["30", "29", "61"]
        );
    }
}
