//! Reads responses: the JSON of a success, and the error that describes a failure.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use invoicing_core::{ApiErrorDetail, ErrorCode, TooManyRequestsBody};
use serde::de::DeserializeOwned;

use crate::attempt::{AttemptResult, api_error};
use crate::call::Call;
use crate::client::ClientInner;
use crate::error::Details;
use crate::error_chain::root_cause;
use crate::request_factory::X_REQUEST_ID;
use crate::retry_after::retry_after;
use crate::{ApiKey, Error, ErrorKind};

/// Maximum number of characters of a received text that an error repeats.
const MAX_TEXT: usize = 500;

/// A successful response whose body is not parsed yet.
pub(crate) struct ApiResponse {
    operation: &'static str,
    request_id: Option<String>,
    pub(crate) status: u16,
    pub(crate) attempts: u32,
    pub(crate) body: Bytes,
}

impl ApiResponse {
    /// Parses the JSON of the body. The error is cleared of the key.
    pub(crate) fn parse<T: DeserializeOwned>(&self, key: &ApiKey) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            // The path of the error comes from a second parse: tracking it always would slow down every success.
            let mut json = serde_json::Deserializer::from_slice(&self.body);
            let located = serde_path_to_error::deserialize::<_, T>(&mut json);
            let text = located.err().map_or_else(|| error.to_string(), |error| error.to_string());
            let error = self.error(ErrorKind::InvalidResponse);
            error.with(|details| details.message = Some(sanitize(key, &text)))
        })
    }

    /// An error about this response.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::new(self.operation, kind).with(|details| {
            details.status = Some(self.status);
            details.attempts = self.attempts;
            details.request_id.clone_from(&self.request_id);
        })
    }
}

/// Turns the last attempt into the result of the call.
pub(crate) fn conclude(
    client: &ClientInner,
    call: &Call,
    attempts: u32,
    sent_id: &HeaderValue,
    result: AttemptResult,
) -> Result<ApiResponse, Error> {
    let request_id = reported_id(&client.key, sent_id, &result);
    let http = result.map_err(|error| {
        Error::new(call.operation, error.kind.into()).with(|details| {
            details.attempts = attempts;
            details.peer = Some(client.request_factory.peer(call));
            details.request_id.clone_from(&request_id);
            details.cause_text = error.cause.as_deref().map(|cause| cause_text(&client.key, cause));
            details.cause = error.cause;
        })
    })?;
    let status = http.status();
    let response =
        |body| ApiResponse { operation: call.operation, request_id, status: status.as_u16(), attempts, body };
    if status.is_success() {
        return Ok(response(http.into_body()));
    }
    let error = response(Bytes::new()).error(ErrorKind::Status);
    Err(error.with(|details| {
        details.retry_after = retry_after(http.headers(), client.env.wall_clock());
        describe(&client.key, details, http.headers(), http.body());
    }))
}

/// The request id of the response, else the one that was sent.
pub(crate) fn reported_id(key: &ApiKey, sent: &HeaderValue, result: &AttemptResult) -> Option<String> {
    let received = result.as_ref().ok().and_then(|response| response.headers().get(X_REQUEST_ID));
    received.unwrap_or(sent).to_str().ok().map(|id| sanitize(key, id)).filter(|id| !id.is_empty())
}

/// Reads an error body: the usual shape, the flat one of the quota, or that of an intermediary.
fn describe(key: &ApiKey, details: &mut Details, headers: &HeaderMap, body: &[u8]) {
    let flat = || {
        let TooManyRequestsBody { code, message } = serde_json::from_slice(body).ok()?;
        Some(ApiErrorDetail { code, message })
    };
    if let Some(ApiErrorDetail { code, message }) = api_error(body).or_else(flat) {
        details.code = Some(ErrorCode::from(sanitize(key, code.as_str()).as_str()));
        details.message = Some(sanitize(key, &message));
    } else {
        // The text of a proxy's page is not kept: it is meant for browsers and may repeat the request.
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("no type");
        let text = format!("not a response of the service ({kind}, {} bytes)", body.len());
        details.message = Some(sanitize(key, &text));
    }
}

/// The text of the cause behind all others.
pub(crate) fn cause_text(key: &ApiKey, cause: &(dyn std::error::Error + 'static)) -> String {
    sanitize(key, &root_cause(cause))
}

/// A received text as an error may repeat it: bounded, on one line, without the key.
fn sanitize(key: &ApiKey, text: &str) -> String {
    let text = key.redact(text);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT).collect()
}
