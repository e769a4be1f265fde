//! What can go wrong with a call, and what the caller may need to know of it. The key is never part of it.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use invoicing_core::ErrorCode;

use crate::TransportFailure;
use crate::transport::Cause;

/// A call failed, after as many attempts as the rules allow.
#[derive(Debug)]
pub struct Error(Box<Details>);

#[derive(Debug)]
pub(crate) struct Details {
    pub(crate) operation: &'static str,
    pub(crate) kind: ErrorKind,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) attempts: u32,
    pub(crate) cause: Option<Cause>,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An answer with a status other than success: see [`Error::status`] and [`Error::code`].
    Status,
    /// No connection, or none in time: name resolution, refused, TLS. Nothing was sent.
    Connect,
    /// No answer in time. Whether the service carried the call out is unknown.
    Timeout,
    /// The connection broke before the whole answer was there. Whether the service carried the call out is unknown.
    Interrupted,
    /// The answer is larger than [`max_response_bytes`](crate::ClientBuilder::max_response_bytes).
    TooLarge,
    /// The answer is not what the contract describes.
    Unreadable,
    /// The bytes of a document are not those that its link describes (size or SHA-256).
    DocumentMismatch,
    /// A redirect was followed by the HTTP client that the caller supplied.
    Redirected,
    /// The call could not be put into a request. Nothing was sent.
    Request,
    /// The key's quota has no room before the deadline, or the first request of all, which tells the quota, is not answered
    /// by then. Nothing was sent; [`Error::retry_after`] says when there may be room.
    Pace,
}

impl Error {
    pub(crate) fn new(operation: &'static str, kind: ErrorKind) -> Self {
        Self(Box::new(Details {
            operation,
            kind,
            status: None,
            code: None,
            message: None,
            request_id: None,
            retry_after: None,
            attempts: 0,
            cause: None,
        }))
    }

    pub(crate) fn with(mut self, fill: impl FnOnce(&mut Details)) -> Self {
        fill(&mut self.0);
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The call that failed, such as `quotes.list`.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The HTTP status of the last answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// `error.code` of the last answer; unknown codes are kept. `None` where something else than the service answered.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// What the service says, for people. At most 500 characters.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// `X-Request-Id` of the last answer, else the one that was sent: it leads to the service's log.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long to wait before the next try: what the service asks for (always after a 429 of its own), or, with
    /// [`ErrorKind::Pace`], until the quota may have room.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// How many requests were sent for the call.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Whether the service does not know the record (404).
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(404)
    }

    /// Whether the key's quota is used up (429). The status decides, as the contract asks, not the body.
    pub fn is_rate_limited(&self) -> bool {
        self.0.status == Some(429)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { operation, kind, status, code, message, request_id, attempts, .. } = &*self.0;
        write!(f, "{operation}: {kind}")?;
        if let Some(status) = status {
            write!(f, " {status}")?;
        }
        if let Some(code) = code {
            write!(f, " {code}")?;
        }
        if let Some(message) = message {
            write!(f, ": {message}")?;
        }
        write!(f, " ({attempts} attempt{}", if *attempts == 1 { "" } else { "s" })?;
        if let Some(id) = request_id {
            write!(f, ", request {id}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Status => "refused with status",
            Self::Connect => "no connection",
            Self::Timeout => "no answer in time",
            Self::Interrupted => "the connection broke",
            Self::TooLarge => "the answer is too large",
            Self::Unreadable => "the answer cannot be read",
            Self::DocumentMismatch => "the document is not the one that was linked",
            Self::Redirected => "the answer was redirected",
            Self::Request => "the call cannot be sent",
            Self::Pace => "the quota has no room before the deadline",
        })
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}

impl From<TransportFailure> for ErrorKind {
    fn from(failure: TransportFailure) -> Self {
        match failure {
            TransportFailure::Connect => Self::Connect,
            TransportFailure::Timeout => Self::Timeout,
            TransportFailure::Interrupted => Self::Interrupted,
            TransportFailure::TooLarge => Self::TooLarge,
            TransportFailure::Redirected => Self::Redirected,
        }
    }
}

/// A client cannot be built from these settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The service's address is not usable.
    #[error("the base URL {rule}")]
    BaseUrl {
        /// The rule that it breaks, as the end of a sentence.
        rule: &'static str,
    },
    /// The key is empty or holds characters that a header cannot carry.
    #[error("the API key is empty or holds characters that a header cannot carry")]
    ApiKey,
    /// The user agent holds characters that a header cannot carry.
    #[error("the user agent holds characters that a header cannot carry")]
    UserAgent,
    /// The proxy's address is not usable.
    #[error("the proxy must be an absolute URL with a host")]
    Proxy,
    /// A number is out of range.
    #[error("{setting} must be {rule}")]
    OutOfRange {
        /// The setting, by the name of its method.
        setting: &'static str,
        /// The range, as the end of a sentence.
        rule: &'static str,
    },
    /// The thread of a blocking client cannot be started.
    #[error("the client's thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The HTTP client cannot be set up (TLS, roots).
    #[error("the HTTP client cannot be set up")]
    Http(#[source] reqwest::Error),
}
