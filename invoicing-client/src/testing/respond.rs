//! Responses that endpoints, faults and the quota have in common.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use invoicing_core::{ApiErrorBody, ApiErrorDetail, ErrorCode, TooManyRequestsBody};
use serde::Serialize;

/// A JSON response.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response<Bytes> {
    let body =
        serde_json::to_vec(body).unwrap_or_else(|error| panic!("a record cannot be serialised: {error}"));
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

/// An error response in the usual shape, with the status of its code.
pub(super) fn error_response(code: ErrorCode, message: &str) -> Response<Bytes> {
    let status = code.status().and_then(|status| StatusCode::from_u16(status).ok());
    let error = ApiErrorDetail { code, message: message.to_owned() };
    json(status.unwrap_or(StatusCode::BAD_REQUEST), &ApiErrorBody { error })
}

/// The response to a request without a valid key.
pub(super) fn unauthorized() -> Response<Bytes> {
    let mut response = error_response(ErrorCode::Unauthorized, "no valid key");
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// The error response in the flat shape of the quota.
pub(super) fn too_many_requests() -> Response<Bytes> {
    let message = "the quota of this key is used up".to_owned();
    json(StatusCode::TOO_MANY_REQUESTS, &TooManyRequestsBody { code: ErrorCode::TooManyRequests, message })
}
