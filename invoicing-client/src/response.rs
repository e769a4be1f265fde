//! Reads responses: the JSON of a success, and the error that describes a failure.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use invoicing_core::{ApiErrorBody, ApiErrorDetail, ErrorCode, TooManyRequestsBody};
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::client::ClientInner;
use crate::error::Details;
use crate::request_factory::X_REQUEST_ID;
use crate::retry::Decision;
use crate::retry_after::retry_after;
use crate::send::AttemptResult;
use crate::transport::root_cause;
use crate::{Error, ErrorKind};

/// Most characters of a received text that an error repeats.
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
    /// An error about this response.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::new(self.operation, kind).with(|details| {
            details.status = Some(self.status);
            details.attempts = self.attempts;
            details.request_id.clone_from(&self.request_id);
        })
    }
}

impl ClientInner {
    /// Parses the JSON of a successful response.
    pub(crate) fn parse<T: DeserializeOwned>(&self, response: &ApiResponse) -> Result<T, Error> {
        serde_json::from_slice(&response.body).map_err(|error| {
            // The path of the error comes from a second parse: tracking it always would slow down every success.
            let mut json = serde_json::Deserializer::from_slice(&response.body);
            let located = serde_path_to_error::deserialize::<_, T>(&mut json);
            let text = located.err().map_or_else(|| error.to_string(), |error| error.to_string());
            let error = response.error(ErrorKind::InvalidResponse);
            error.with(|details| details.message = Some(self.sanitize(&text)))
        })
    }

    /// Turns the last attempt into the result of the call.
    pub(crate) fn conclude(
        &self,
        call: &Call,
        attempts: u32,
        sent_id: &HeaderValue,
        result: AttemptResult,
        decision: Decision,
    ) -> Result<ApiResponse, Error> {
        let request_id = self.reported_id(sent_id, &result);
        let http = result.map_err(|error| {
            Error::new(call.operation, error.kind.into()).with(|details| {
                details.attempts = attempts;
                details.peer = Some(self.request_factory.peer(call));
                details.request_id.clone_from(&request_id);
                details.cause_text = error.cause.as_deref().map(|cause| self.cause_text(cause));
                details.cause = error.cause;
            })
        })?;
        let status = http.status().as_u16();
        let response = |body| ApiResponse { operation: call.operation, request_id, status, attempts, body };
        if decision == Decision::Succeed {
            return Ok(response(http.into_body()));
        }
        let error = response(Bytes::new()).error(ErrorKind::Status);
        Err(error.with(|details| self.describe(details, http.headers(), http.body())))
    }

    /// The request id of the response, else the one that was sent.
    pub(crate) fn reported_id(&self, sent: &HeaderValue, result: &AttemptResult) -> Option<String> {
        let received = result.as_ref().ok().and_then(|response| response.headers().get(X_REQUEST_ID));
        received.unwrap_or(sent).to_str().ok().map(|id| self.sanitize(id)).filter(|id| !id.is_empty())
    }

    /// Reads an error body: the usual shape, the flat one of the quota, or that of an intermediary.
    fn describe(&self, details: &mut Details, headers: &HeaderMap, body: &[u8]) {
        details.retry_after = retry_after(headers, self.env.wall_clock());
        let usual = || serde_json::from_slice::<ApiErrorBody>(body).ok().map(|body| body.error);
        let flat = || {
            let TooManyRequestsBody { code, message } = serde_json::from_slice(body).ok()?;
            Some(ApiErrorDetail { code, message })
        };
        if let Some(ApiErrorDetail { code, message }) = usual().or_else(flat) {
            details.code = Some(ErrorCode::from(self.sanitize(code.as_str()).as_str()));
            details.message = Some(self.sanitize(&message));
        } else {
            // The text of a proxy's page is not kept: it is meant for browsers and may repeat the request.
            let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("no type");
            let text = format!("not a response of the service ({kind}, {} bytes)", body.len());
            details.message = Some(self.sanitize(&text));
        }
    }

    /// What the cause behind all others says.
    pub(crate) fn cause_text(&self, cause: &(dyn std::error::Error + 'static)) -> String {
        self.sanitize(&root_cause(cause))
    }

    /// A received text as an error may repeat it: bounded, on one line, without the key.
    fn sanitize(&self, text: &str) -> String {
        let text = self.key.redact(text);
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT).collect()
    }
}
