//! What can go wrong with a request, and when.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use invoicing_core::ErrorCode;

use super::api::{json, refusal, too_many_requests};

/// What happens to a request.
///
/// Where the request *is carried out*, the service has changed what it was asked to change, and only its answer suffers:
/// the case that makes retries delicate.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: it is answered.
    #[default]
    None,
    /// This answer, instead of carrying the request out.
    Answer(Response<Bytes>),
    /// 429 with the contract's flat body, instead of carrying it out. `Retry-After` is written as it stands: seconds, an
    /// HTTP date or nonsense; `None` leaves it out.
    TooManyRequests {
        /// The value of `Retry-After`.
        retry_after: Option<String>,
    },
    /// The connection is closed without a word, instead of carrying the request out.
    CutBeforeRequest,
    /// It is carried out; the connection is closed before the answer begins.
    CutBeforeHeaders,
    /// It is carried out; the connection is closed after the answer's headers.
    CutAfterHeaders,
    /// It is carried out; the connection is closed in the middle of the answer's body.
    CutInBody,
    /// It is not carried out, and no answer ever comes.
    Hang,
    /// It is carried out; the answer's body comes in this many pieces, with a pause before each.
    Slow {
        /// Into how many pieces the body is cut.
        pieces: usize,
        /// How long each of them takes.
        pause: Duration,
    },
    /// It is carried out; the answer is JSON of quite another shape.
    WrongJson,
    /// It is carried out; the answer's JSON ends in the middle, and `Content-Length` agrees with that.
    TruncatedJson,
    /// It is carried out; the answer is a page for a browser, with status 200.
    WrongContentType,
    /// It is carried out; the answer has a body of this many bytes.
    Huge {
        /// Length of the body.
        bytes: u64,
    },
    /// 307 to this URL, instead of carrying it out.
    Redirect {
        /// The value of `Location`.
        to: String,
    },
}

impl Fault {
    /// A failure of the service with this status, instead of carrying the request out: `storage_unavailable` for 503,
    /// else `server_error`.
    ///
    /// # Panics
    ///
    /// If that is no HTTP status.
    pub fn status(status: u16) -> Self {
        let code = if status == 503 { ErrorCode::StorageUnavailable } else { ErrorCode::ServerError };
        let mut response = refusal(code, "the test asks for this");
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or_else(|_| panic!("no status: {status}"));
        Self::Answer(response)
    }

    /// 429 with `Retry-After` in seconds.
    pub fn too_many_requests(seconds: u64) -> Self {
        Self::TooManyRequests { retry_after: Some(seconds.to_string()) }
    }

    /// What is put on the wire; `answer` carries the request out.
    pub(super) fn apply(self, answer: impl FnOnce() -> Response<Bytes>) -> Wire {
        match self {
            Self::None => Wire::Whole(answer()),
            Self::Answer(response) => Wire::Whole(response),
            Self::TooManyRequests { retry_after } => Wire::Whole(storm(retry_after.as_deref())),
            Self::CutBeforeRequest => Wire::Cut,
            Self::Hang => Wire::Hang,
            Self::Redirect { to } => Wire::Whole(redirect(&to)),
            carried_out => carried_out.spoil(answer()),
        }
    }

    fn spoil(self, answer: Response<Bytes>) -> Wire {
        match self {
            Self::CutAfterHeaders => Wire::CutAt(0, answer),
            Self::CutInBody => Wire::CutAt(answer.body().len() / 2, answer),
            Self::Slow { pieces, pause } => Wire::Slow { answer, pieces, pause },
            Self::WrongJson => Wire::Whole(answer.map(|_| Bytes::from_static(br#"{"unexpected": [true]}"#))),
            Self::TruncatedJson => Wire::Whole(answer.map(|body| body.slice(..body.len() / 2))),
            Self::WrongContentType => {
                let page = "<!doctype html><title>Log in</title>";
                let mut answer = answer.map(|_| Bytes::from_static(page.as_bytes()));
                *answer.status_mut() = StatusCode::OK;
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
                Wire::Whole(answer)
            }
            Self::Huge { bytes } => Wire::Huge { answer, bytes },
            _ => Wire::Cut,
        }
    }
}

/// What is put on the wire.
pub(super) enum Wire {
    /// An answer.
    Whole(Response<Bytes>),
    /// Nothing, and the connection is closed.
    Cut,
    /// An answer up to this byte of its body; then the connection is closed.
    CutAt(usize, Response<Bytes>),
    /// Nothing, and the connection stays open.
    Hang,
    /// An answer in pieces.
    Slow { answer: Response<Bytes>, pieces: usize, pause: Duration },
    /// An answer with another, long body.
    Huge { answer: Response<Bytes>, bytes: u64 },
}

/// Which fault befalls which request.
#[derive(Debug, Default)]
pub(super) struct Plan {
    script: VecDeque<Fault>,
    chances: Vec<(f64, Fault)>,
    chance: fastrand::Rng,
}

impl Plan {
    pub(super) fn script(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.script.extend(faults);
    }

    pub(super) fn chaos(&mut self, seed: u64, chances: impl IntoIterator<Item = (f64, Fault)>) {
        self.chances = chances.into_iter().collect();
        self.chance = fastrand::Rng::with_seed(seed);
    }

    pub(super) fn next(&mut self) -> Fault {
        if let Some(fault) = self.script.pop_front() {
            return fault;
        }
        let mut drawn = self.chance.f64();
        for (probability, fault) in &self.chances {
            if drawn < *probability {
                return fault.clone();
            }
            drawn -= probability;
        }
        Fault::None
    }
}

fn storm(retry_after: Option<&str>) -> Response<Bytes> {
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
    HeaderValue::from_str(value).unwrap_or_else(|_| panic!("no header can carry {value:?}"))
}
