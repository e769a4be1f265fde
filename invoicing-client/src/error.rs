//! Errors of calls and of the configuration. None of them contains the key.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use invoicing_core::ErrorCode;
use invoicing_core::internal::page_limit;

use crate::TransportErrorKind;
use crate::error_chain::{Cause, debug_as_chain, root_cause};

/// A call failed, after as many attempts as the retry rules allow.
///
/// ```no_run
/// use invoicing_client::{ErrorCode, ErrorKind, InvoicingClient, QuoteId};
///
/// # async fn example(client: InvoicingClient, id: QuoteId) {
/// match client.quotes().download_document(id).await {
///     Ok(document) => println!("{}: {} bytes", document.link.file_name, document.bytes.len()),
///     Err(error) if error.code() == Some(&ErrorCode::DocumentUnavailable) => println!("still a draft"),
///     Err(error) if error.is_not_found() => println!("no such quote"),
///     Err(error) if error.kind() == ErrorKind::Timeout => println!("later: {error}"),
///     Err(error) => println!("{error}, request {:?}", error.request_id()),
/// }
/// # }
/// ```
///
/// The text is one line and has the cause in it, so there is no [`source`](StdError::source). `Debug` is that line too, as
/// `main` prints it of an error that it returns.
pub struct Error(Box<Details>);

pub(crate) struct Details {
    pub(crate) operation: &'static str,
    pub(crate) kind: ErrorKind,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) attempts: u32,
    /// Host and port of the service.
    pub(crate) peer: Option<String>,
    /// The text of the cause, if it may be repeated.
    pub(crate) cause_text: Option<String>,
    pub(crate) cause: Option<Cause>,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A response with an error status: see [`Error::status`] and [`Error::code`].
    Status,
    /// No connection, or none in time: name resolution, refused, TLS. No request was sent.
    Connect,
    /// No response in time. It is unknown if the service carried the call out.
    Timeout,
    /// The connection broke before the response was complete. It is unknown if the service carried the call out.
    Interrupted,
    /// The response is larger than [`max_response_bytes`](crate::ClientBuilder::max_response_bytes).
    TooLarge,
    /// The response does not conform to the API contract.
    InvalidResponse,
    /// The downloaded bytes do not match the size or the SHA-256 of the document's link.
    DocumentMismatch,
    /// The HTTP client that the caller supplied followed a redirect.
    Redirected,
    /// The call cannot be converted into an HTTP request. No request was sent.
    InvalidRequest,
    /// The client's rate limiter has no capacity before the deadline, or the first request, which reveals the quota, is
    /// not answered by then. No request was sent; [`Error::retry_after`] is the time until there may be capacity.
    LocalRateLimit,
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
            peer: None,
            cause_text: None,
            cause: None,
        }))
    }

    /// The call cannot be converted into an HTTP request.
    pub(crate) fn invalid_request(operation: &'static str, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        Self::new(operation, ErrorKind::InvalidRequest).with(|details| {
            details.cause_text = Some(root_cause(&*cause));
            details.cause = Some(cause);
        })
    }

    pub(crate) fn with(mut self, fill: impl FnOnce(&mut Details)) -> Self {
        fill(&mut self.0);
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The call that failed, such as `quotes.list`.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The HTTP status of the last response, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// `error.code` of the last response; unknown codes are kept. `None` if the response was not the service's.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// The service's message for humans. At most 500 characters.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// `X-Request-Id` of the last response, else the one that was sent. The service logs it.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long to wait before the next call: the service's `Retry-After` (present with each of its 429s), or, with
    /// [`ErrorKind::LocalRateLimit`], the time until the quota may have capacity.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The number of requests that were sent for the call.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// The error of the transport behind this one. The text already contains it.
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// The largest limit that works, if the service refused a page as too large.
    pub(crate) fn limit_that_works(&self) -> Option<u32> {
        let is_refused = self.code() == Some(&ErrorCode::ValidationError);
        self.message().filter(|_| is_refused).and_then(page_limit::parse)
    }

    /// True if the record does not exist (404).
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(404)
    }

    /// True if the service refused the call because the key's quota is used up (429).
    ///
    /// The status alone decides, as the API contract requires, and not the body.
    pub fn is_rate_limited(&self) -> bool {
        self.0.status == Some(429)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            operation, kind, status, code, message, request_id, attempts, peer, cause_text, ..
        } = &*self.0;
        write!(f, "{operation}: {kind}")?;
        match (kind, peer) {
            (ErrorKind::Connect, Some(peer)) => write!(f, " to {peer}")?,
            (ErrorKind::Timeout, Some(peer)) => write!(f, " from {peer}")?,
            _ => {}
        }
        if let Some(status) = status {
            write!(f, " {status}")?;
        }
        if let Some(code) = code {
            write!(f, " {code}")?;
        }
        if let Some(message) = message {
            write!(f, ": {message}")?;
        }
        if let Some(cause) = cause_text {
            write!(f, ": {cause}")?;
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
            Self::Connect => TransportErrorKind::Connect.text(),
            Self::Timeout => TransportErrorKind::Timeout.text(),
            Self::Interrupted => TransportErrorKind::Interrupted.text(),
            Self::TooLarge => TransportErrorKind::TooLarge.text(),
            Self::InvalidResponse => "the response is invalid",
            Self::DocumentMismatch => "the document does not match its link",
            Self::Redirected => TransportErrorKind::Redirected.text(),
            Self::InvalidRequest => "the call cannot be converted into a request",
            Self::LocalRateLimit => "the quota has no capacity before the deadline",
        })
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {}

impl From<TransportErrorKind> for ErrorKind {
    fn from(failure: TransportErrorKind) -> Self {
        match failure {
            TransportErrorKind::Connect => Self::Connect,
            TransportErrorKind::Timeout => Self::Timeout,
            TransportErrorKind::Interrupted => Self::Interrupted,
            TransportErrorKind::TooLarge => Self::TooLarge,
            TransportErrorKind::Redirected => Self::Redirected,
        }
    }
}

debug_as_chain! { ConfigError }

/// A client cannot be built with these settings.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The base URL is invalid.
    #[error("the base URL {rule}")]
    BaseUrl {
        /// The violated rule, as the end of a sentence.
        rule: &'static str,
    },
    /// The key is empty or holds characters that a header cannot carry.
    #[error("the API key is empty or holds characters that a header cannot carry")]
    ApiKey,
    /// The key is the secret of a webhook: the two were mixed up.
    #[error(
        "this is a webhook's signing secret (whsec_…), not an API key: give a key of the company, which begins with isk_"
    )]
    WebhookSecret,
    /// The user agent holds characters that a header cannot carry.
    #[error("the user agent holds characters that a header cannot carry")]
    UserAgent,
    /// The address of the proxy is invalid.
    #[error("the proxy must be an absolute URL with a host")]
    Proxy,
    /// A number is out of range.
    #[error("{setting} must be {rule}")]
    OutOfRange {
        /// The name of the builder's method.
        setting: &'static str,
        /// The range, as the end of a sentence.
        rule: &'static str,
    },
    /// The thread of a blocking client cannot be started.
    #[error("the client's thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The HTTP client cannot be built, because of TLS or root certificates.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
}
