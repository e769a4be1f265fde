//! The reasons why a request is rejected, and their status for the sender.

use std::error::Error;
use std::fmt;

use http::header::{ALLOW, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};

use crate::VerifyError;

/// Seconds after which a sender may try again while the receiver is unavailable.
const RETRY_AFTER_SECONDS: u16 = 5;

/// The reason why a request is rejected. The text, which is one line, is for the receiver's log:
/// [`on_refusal`](super::Receiver::on_refusal).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The method is not `POST`: 405.
    Method,
    /// No signature header: 400.
    SignatureMissing,
    /// Several signature headers: 400.
    SignatureRepeated,
    /// A body above the limit: 413.
    BodyTooLarge {
        /// Largest number of bytes that passes.
        limit: usize,
    },
    /// A truncated body: 503, as a retry may succeed.
    BodyUnreadable,
    /// The signature does not match, or is too old or in the future: 400.
    NotGenuine(VerifyError),
    /// The body is genuine but not an event as documented: 400.
    NotAnEvent(String),
    /// The receiver cannot keep the delivery: 503.
    Unavailable(String),
}

impl Rejection {
    /// The status to answer.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyUnreadable | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::SignatureMissing | Self::SignatureRepeated | Self::NotGenuine(_) | Self::NotAnEvent(_) => {
                StatusCode::BAD_REQUEST
            }
        }
    }

    /// The answer: the status, with `Allow` for a 405 and `Retry-After` for a 503, no body, and
    /// this rejection among the extensions.
    pub fn response<B: Default>(self) -> Response<B> {
        let mut response = Response::new(B::default());
        let status = self.status();
        *response.status_mut() = status;
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method => f.write_str("the method is not POST"),
            Self::SignatureMissing => f.write_str("there is no signature header"),
            Self::SignatureRepeated => f.write_str("there are several signature headers"),
            Self::BodyTooLarge { limit } => write!(f, "the body is larger than {limit} bytes"),
            Self::BodyUnreadable => f.write_str("the body was truncated"),
            Self::NotGenuine(error) => write!(f, "the delivery is not genuine: {error}"),
            Self::NotAnEvent(reason) => write!(f, "the body is {reason}"),
            Self::Unavailable(reason) => write!(f, "the delivery cannot be kept: {reason}"),
        }
    }
}

impl Error for Rejection {}

impl From<VerifyError> for Rejection {
    fn from(error: VerifyError) -> Self {
        Self::NotGenuine(error)
    }
}

#[cfg(feature = "events")]
impl From<crate::events::EventError> for Rejection {
    fn from(error: crate::events::EventError) -> Self {
        Self::NotAnEvent(error.to_string())
    }
}
