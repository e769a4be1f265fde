//! [`Fault`]: what can go wrong with a request, and the plan of when it does.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use invoicing_core::ErrorCode;

use super::respond::{error_response, json, too_many_requests};

/// The fate of a request.
///
/// If the request *is carried out*, the service has made the change and only the response fails. Retries must handle
/// this case.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// This response. The request is not carried out.
    Response(Response<Bytes>),
    /// 429 with the contract's flat body. The request is not carried out. `Retry-After` is sent verbatim, valid or not;
    /// `None` omits it.
    TooManyRequests {
        /// The value of `Retry-After`.
        retry_after: Option<String>,
    },
    /// The connection is closed without a response. The request is not carried out.
    CutBeforeRequest,
    /// The request is carried out. The connection is closed before the response.
    CutBeforeHeaders,
    /// The request is carried out. The connection is closed after the response's headers.
    CutAfterHeaders,
    /// The request is carried out. The connection is closed in the middle of the response's body.
    CutInBody,
    /// There is no response, and the connection stays open. The request is not carried out.
    Hang,
    /// The request is carried out. The response's body is sent in pieces, with a pause before each.
    Slow {
        /// Number of pieces.
        pieces: usize,
        /// Pause before each piece.
        pause: Duration,
    },
    /// The request is carried out. The response is JSON of another shape.
    WrongJson,
    /// The request is carried out. The response's JSON is truncated, with a matching `Content-Length`.
    TruncatedJson,
    /// The request is carried out. The response is an HTML page with status 200.
    WrongContentType,
    /// The request is carried out. The response has a body of this many bytes.
    Huge {
        /// Length of the body.
        bytes: u64,
    },
    /// 307 to this URL. The request is not carried out.
    Redirect {
        /// The value of `Location`.
        to: String,
    },
}

impl Fault {
    /// An error response with this status and the code `storage_unavailable` for 503, else `server_error`. The request is
    /// not carried out.
    ///
    /// # Panics
    ///
    /// If the number is not an HTTP status.
    pub fn status(status: u16) -> Self {
        let code = if status == 503 { ErrorCode::StorageUnavailable } else { ErrorCode::ServerError };
        let mut response = error_response(code, "injected fault");
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or_else(|_| panic!("not an HTTP status: {status}"));
        Self::Response(response)
    }

    /// 429 with `Retry-After` in seconds.
    pub fn too_many_requests(seconds: u64) -> Self {
        Self::TooManyRequests { retry_after: Some(seconds.to_string()) }
    }

    /// 503 `overloaded`. The request is not carried out.
    pub fn overloaded() -> Self {
        Self::Response(error_response(ErrorCode::Overloaded, "injected fault"))
    }

    /// The faulty response. `respond` carries the request out.
    pub(super) fn apply(self, respond: impl FnOnce() -> Response<Bytes>) -> WireResponse {
        match self {
            Self::None => WireResponse::Whole(respond()),
            Self::Response(response) => WireResponse::Whole(response),
            Self::TooManyRequests { retry_after } => {
                WireResponse::Whole(too_many_requests_with(retry_after.as_deref()))
            }
            Self::CutBeforeRequest => WireResponse::Cut,
            Self::Hang => WireResponse::Hang,
            Self::Redirect { to } => WireResponse::Whole(redirect(&to)),
            carried_out => carried_out.corrupt(respond()),
        }
    }

    fn corrupt(self, response: Response<Bytes>) -> WireResponse {
        match self {
            Self::CutAfterHeaders => WireResponse::CutAt(0, response),
            Self::CutInBody => WireResponse::CutAt(response.body().len() / 2, response),
            Self::Slow { pieces, pause } => WireResponse::Slow { response, pieces, pause },
            Self::WrongJson => {
                WireResponse::Whole(response.map(|_| Bytes::from_static(br#"{"unexpected": [true]}"#)))
            }
            Self::TruncatedJson => WireResponse::Whole(response.map(|body| body.slice(..body.len() / 2))),
            Self::WrongContentType => {
                let page = "<!doctype html><title>Log in</title>";
                let mut response = response.map(|_| Bytes::from_static(page.as_bytes()));
                *response.status_mut() = StatusCode::OK;
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
                WireResponse::Whole(response)
            }
            Self::Huge { bytes } => WireResponse::Huge { response, bytes },
            _ => WireResponse::Cut,
        }
    }
}

/// A response on the wire.
pub(super) enum WireResponse {
    /// A complete response.
    Whole(Response<Bytes>),
    /// No response; the connection is closed.
    Cut,
    /// A response up to this byte of its body; then the connection is closed.
    CutAt(usize, Response<Bytes>),
    /// No response; the connection stays open.
    Hang,
    /// A response whose body is sent in pieces.
    Slow { response: Response<Bytes>, pieces: usize, pause: Duration },
    /// A response with a long body.
    Huge { response: Response<Bytes>, bytes: u64 },
}

/// Assigns faults to requests.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    script: VecDeque<Fault>,
    chances: Vec<(f64, Fault)>,
    random: fastrand::Rng,
}

impl FaultPlan {
    pub(super) fn script(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.script.extend(faults);
    }

    pub(super) fn chaos(&mut self, seed: u64, chances: impl IntoIterator<Item = (f64, Fault)>) {
        self.chances = chances.into_iter().collect();
        self.random = fastrand::Rng::with_seed(seed);
    }

    pub(super) fn next(&mut self) -> Fault {
        if let Some(fault) = self.script.pop_front() {
            return fault;
        }
        let mut drawn = self.random.f64();
        for (probability, fault) in &self.chances {
            if drawn < *probability {
                return fault.clone();
            }
            drawn -= probability;
        }
        Fault::None
    }
}

fn too_many_requests_with(retry_after: Option<&str>) -> Response<Bytes> {
    let mut response = too_many_requests();
    if let Some(value) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, header(value));
    }
    response
}

fn redirect(to: &str) -> Response<Bytes> {
    let mut response = json(StatusCode::TEMPORARY_REDIRECT, &serde_json::Value::Null);
    response.headers_mut().insert(LOCATION, header(to));
    response
}

fn header(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or_else(|_| panic!("not a valid header value: {value:?}"))
}
