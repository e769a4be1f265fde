//! Answers: status, body, and the headers that every one carries.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use invoicing_core::QuotaDecision;
use serde::Serialize;

use super::error::ApiError;
use super::request_id::X_REQUEST_ID;
use crate::Error;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

const RATE_LIMIT_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Headers of an answer at most: those of [`Reply::into_response`], and one or two of an error.
const HEADERS: usize = 12;

/// What an endpoint answers.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    content: Content,
    body: Bytes,
}

#[derive(Debug)]
enum Content {
    Json,
    /// Something else, with the headers that go with it.
    File(HeaderMap),
}

impl Reply {
    /// Finished JSON.
    pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, content: Content::Json, body: body.into() }
    }

    /// A record as JSON.
    pub(crate) fn record(status: StatusCode, record: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::json(status, serde_json::to_vec(record).map_err(Error::internal)?))
    }

    /// A file, or what is to be said of one, with its own headers.
    pub(crate) fn file(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, content: Content::File(headers), body }
    }

    /// The answer with its headers. To `HEAD` it has the headers of `GET`, and no body.
    pub(crate) fn into_response(self, about: &About, is_head: bool) -> Response<Bytes> {
        let mut headers = match self.content {
            Content::Json => {
                let mut headers = HeaderMap::with_capacity(HEADERS);
                headers.insert(header::CONTENT_TYPE, JSON);
                headers
            }
            Content::File(headers) => headers,
        };
        // There it would be the length of what is not sent (RFC 9110, section 8.6).
        if self.status != StatusCode::NOT_MODIFIED {
            headers.insert(header::CONTENT_LENGTH, self.body.len().into());
        }
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        headers.insert(X_REQUEST_ID, about.request_id.clone());
        if let Some(rate) = about.rate {
            headers.insert(RATE_LIMIT_LIMIT, rate.limit.into());
            headers.insert(RATE_LIMIT_REMAINING, rate.remaining.into());
            headers.insert(RATE_LIMIT_RESET, rate.reset_seconds.into());
        }
        let mut response = Response::new(if is_head { Bytes::new() } else { self.body });
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

/// What is known about a request while it is being served, and goes into the headers of its answer.
#[derive(Debug)]
pub(crate) struct About {
    /// Identifies the request in the log.
    pub(crate) request_id: HeaderValue,
    /// Where the key's quota stands, as soon as there is a key that has one.
    pub(crate) rate: Option<RateLimit>,
}

/// Where a key's quota stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Requests in 60 s.
    limit: u32,
    /// How many more would pass now.
    remaining: u32,
    /// Seconds until there will be more of them, rounded up.
    reset_seconds: u64,
}

impl RateLimit {
    /// Of a request that was counted, or refused.
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

    /// Of a key that has used nothing of it.
    pub(crate) const fn untouched(limit: u32) -> Self {
        Self { limit, remaining: limit, reset_seconds: 0 }
    }

    /// What `Retry-After` says: at least 1.
    pub(crate) fn retry_seconds(wait_ms: i64) -> u64 {
        seconds(wait_ms).max(1)
    }
}

/// Milliseconds in whole seconds, rounded up, so that whoever waits that long has waited long enough.
fn seconds(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About { request_id: HeaderValue::from_static("r1"), rate: None }
    }

    #[test]
    fn head_has_the_headers_of_get_and_no_body() {
        let reply = || Reply::json(StatusCode::OK, "{\"a\":1}");
        let get = reply().into_response(&about(), false);
        let head = reply().into_response(&about(), true);
        assert_eq!(get.headers(), head.headers());
        assert_eq!(head.headers()[header::CONTENT_LENGTH], "7");
        assert!(head.body().is_empty());
    }

    #[test]
    fn waiting_times_are_rounded_up() {
        for (wait_ms, expected) in [(1, 1), (999, 1), (1_000, 1), (1_001, 2), (59_901, 60), (60_001, 61)] {
            let rate = RateLimit::after(QuotaDecision::Refused { wait_ms }, 30);
            assert_eq!(rate, RateLimit { limit: 30, remaining: 0, reset_seconds: expected });
            assert_eq!(RateLimit::retry_seconds(wait_ms), expected);
        }
    }

    #[test]
    fn the_quota_is_shown_in_seconds() {
        let rate = RateLimit::after(QuotaDecision::Accepted { remaining: 29, reset_ms: 60_001 }, 30);
        let response =
            Reply::json(StatusCode::OK, "").into_response(&About { rate: Some(rate), ..about() }, false);
        let shown = |name| response.headers()[name].to_str().unwrap();
        assert_eq!(
            [shown(RATE_LIMIT_LIMIT), shown(RATE_LIMIT_REMAINING), shown(RATE_LIMIT_RESET)],
            ["30", "29", "61"]
        );
    }
}
