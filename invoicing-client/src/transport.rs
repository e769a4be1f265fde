//! [`Transport`]: sends one request and reads one response. Retries and interpretation are up to the caller.

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use futures_core::future::BoxFuture;

use crate::error_chain::{Cause, debug_as_chain};

/// Sends requests over the network, or to a replacement that a test or a host supplies.
///
/// A transport makes a single attempt. The client adds retries, deadlines, rate limiting and the parsing of responses,
/// so a transport should have none of its own. The client may drop the future at any time. A transport must not follow
/// redirects, which would send the key to another server.
///
/// The URI of the request is absolute. Its `Authorization` header holds the key and is marked as sensitive. The download
/// of a document has no such header, but its URI is a credential. Neither may be logged.
///
/// ```
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use futures_core::future::BoxFuture;
/// use invoicing_client::{InvoicingClient, Transport, TransportError};
///
/// /// A service without records.
/// #[derive(Debug)]
/// struct Empty;
///
/// impl Transport for Empty {
///     fn send(
///         &self,
///         request: http::Request<Bytes>,
///         _limit: usize,
///     ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
///         assert_eq!(request.uri().path(), "/api/v1/quotes");
///         let page = r#"{"data": [], "pagination": {"limit": 50, "offset": 0, "hasMore": false},
///             "asOf": "2026-09-14T09:41:07.123Z"}"#;
///         Box::pin(async move { Ok(http::Response::new(Bytes::from(page))) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = InvoicingClient::builder("http://in.memory", "isk_test").transport(Arc::new(Empty)).build()?;
/// assert!(client.quotes().list().send().await?.data.is_empty());
/// # Ok(())
/// # }
/// ```
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends the request and reads the response with any status, if its body has at most `limit` bytes.
    fn send(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;
}

/// There is no complete response.
#[derive(thiserror::Error)]
#[error("{kind}")]
pub struct TransportError {
    pub(crate) kind: TransportErrorKind,
    #[source]
    pub(crate) cause: Option<Cause>,
}

/// The kinds of failure that the client distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No connection, or none in time: name resolution, refused, TLS. The service has not received the request.
    Connect,
    /// No response in time. The service may have received the request.
    Timeout,
    /// The connection broke, or the response was not HTTP. The service may have received the request.
    Interrupted,
    /// The body exceeds the limit.
    TooLarge,
    /// The HTTP client followed a redirect. The API sends none.
    Redirected,
}

impl fmt::Display for TransportErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl TransportErrorKind {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::Timeout => "no response in time",
            Self::Interrupted => "the connection broke",
            Self::TooLarge => "the response is too large",
            Self::Redirected => "the request was redirected",
        }
    }
}

impl TransportError {
    /// A failure without a cause.
    pub fn new(kind: TransportErrorKind) -> Self {
        Self { kind, cause: None }
    }

    /// Adds the cause. The text of the call's [`Error`](crate::Error) contains it, so it must contain neither the key nor the
    /// URL of a document.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// The kind of failure.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }
}

debug_as_chain! { TransportError }
