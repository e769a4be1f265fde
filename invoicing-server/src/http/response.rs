//! The response: status, body, and the headers of every response.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use invoicing_core::ErrorCode;
use serde::Serialize;

use super::error::ApiError;
use super::request_id::X_REQUEST_ID;
use crate::error::Error;
use crate::error::status_of;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Maximum number of headers of a JSON response: its content headers, the headers of [`complete`],
/// and one of an error.
const MAX_HEADERS: usize = 12;

/// Bodies that are the same for all callers, so that refusals of callers without a key take no
/// memory.
static SHARED_BODIES: LazyLock<[(ErrorCode, Bytes); 4]> = LazyLock::new(|| {
    let errors = [ApiError::Overloaded, ApiError::Unauthorized, ApiError::PlanRequired, ApiError::NOT_FOUND];
    errors.map(|error| (error.code(), error.body().into()))
});

/// The result of a handler, to which [`complete`] adds the headers of every response.
pub(crate) type ApiResult = Result<Response<Bytes>, ApiError>;

/// JSON that is already serialised.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut headers = HeaderMap::with_capacity(MAX_HEADERS);
    headers.insert(header::CONTENT_TYPE, JSON);
    with_headers(status, headers, body.into())
}

/// A record, serialised to JSON.
pub(crate) fn record(status: StatusCode, record: &impl Serialize) -> ApiResult {
    Ok(json(status, serde_json::to_vec(record).map_err(Error::internal)?))
}

impl ApiError {
    /// The body, if it is the same for all callers.
    fn shared_body(&self) -> Option<Bytes> {
        let code = self.code();
        SHARED_BODIES.iter().find(|(shared, _)| *shared == code).map(|(_, body)| body.clone())
    }

    /// The response, without the headers of every response.
    pub(crate) fn response(&self) -> Response<Bytes> {
        let status = status_of(&self.code());
        let mut response = match self.shared_body() {
            Some(body) => shared(json(status, body)),
            None => json(status, self.body()),
        };
        response.headers_mut().extend(self.header());
        response
    }
}

/// A response with these headers.
pub(crate) fn with_headers(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Mark of a response whose bytes are the same for all callers: they take no further memory, so
/// they count for no caller.
#[derive(Debug, Clone, Copy)]
struct SharedBytes;

/// Marks a response with [`SharedBytes`].
pub(crate) fn shared(mut response: Response<Bytes>) -> Response<Bytes> {
    response.extensions_mut().insert(SharedBytes);
    response
}

pub(super) fn is_shared(response: &Response<Bytes>) -> bool {
    response.extensions().get::<SharedBytes>().is_some()
}

/// The response to `OPTIONS`, with the value of `Allow`.
pub(crate) fn allowed(allow: &str) -> ApiResult {
    let mut headers = HeaderMap::new();
    headers.insert(header::ALLOW, HeaderValue::from_str(allow).map_err(Error::internal)?);
    Ok(with_headers(StatusCode::NO_CONTENT, headers, Bytes::new()))
}

/// Adds the headers of every response. The response to `HEAD` has the headers of `GET`, and no
/// body. One that was made without the body has its length already.
pub(super) fn complete(response: &mut Response<Bytes>, request_id: &HeaderValue, is_head: bool) {
    let (status, length) = (response.status(), response.body().len());
    let headers = response.headers_mut();
    // A 304 would need the length of the document, which is not read; a 204 has none (RFC 9110,
    // section 8.6).
    let has_length = is_head && headers.contains_key(header::CONTENT_LENGTH);
    if !has_length && !matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    headers.insert(X_REQUEST_ID, request_id.clone());
    if is_head {
        // Dropped, as `clear` would keep the bytes allocated.
        *response.body_mut() = Bytes::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_has_the_headers_of_get_without_a_body() {
        let completed = |is_head| {
            let mut response = json(StatusCode::OK, "{\"a\":1}");
            complete(&mut response, &HeaderValue::from_static("r1"), is_head);
            response
        };
        let (get, head) = (completed(false), completed(true));
        assert_eq!(get.headers(), head.headers());
        assert_eq!(head.headers()[header::CONTENT_LENGTH], "7");
        assert!(head.body().is_empty());
    }
}
