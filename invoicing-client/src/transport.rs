//! [`Transport`]: sends one request and reads one response. Retries and interpretation are up to the caller.

use std::error::Error;
use std::fmt;

use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;

use crate::error::debug_as_chain;

/// The cause of a failure, as an error of another library.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// What rustls says of bytes that are no TLS record. There is no type to ask: reqwest wraps the error.
const NOT_TLS: &str = "InvalidContentType";

/// The text of the cause behind all others, which is the one that tells what happened.
pub(crate) fn root_cause(cause: &(dyn Error + 'static)) -> String {
    let root = std::iter::successors(Some(cause), |&cause| cause.source()).last().unwrap_or(cause);
    let text = root.to_string();
    if text.contains(NOT_TLS) {
        return "the server does not speak TLS on this port; should the URL begin with http://?".to_owned();
    }
    text
}

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
        crate::ErrorKind::from(*self).fmt(f)
    }
}

impl TransportError {
    /// A failure without a cause.
    pub fn new(kind: TransportErrorKind) -> Self {
        Self { kind, cause: None }
    }

    /// Adds the cause. The text of the call's [`Error`](crate::Error) tells it, so it must contain neither the key nor the
    /// URL of a document.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// The kind of failure.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// Converts an error of reqwest and removes its URL: that of a document is a credential.
    fn from_reqwest(error: reqwest::Error) -> Self {
        // A connect timeout is both, and nothing was sent: `is_connect` comes first.
        let kind = if error.is_connect() {
            TransportErrorKind::Connect
        } else if error.is_timeout() {
            TransportErrorKind::Timeout
        } else if error.is_redirect() {
            TransportErrorKind::Redirected
        } else {
            TransportErrorKind::Interrupted
        };
        Self::new(kind).caused_by(error.without_url())
    }
}

debug_as_chain! { TransportError }

/// The network, by reqwest.
#[derive(Debug)]
pub(crate) struct HttpTransport(pub(crate) reqwest::Client);

impl Transport for HttpTransport {
    fn send(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move { self.execute(request, limit).await })
    }
}

impl HttpTransport {
    async fn execute(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let request = reqwest::Request::try_from(request).map_err(TransportError::from_reqwest)?;
        let requested = request.url().clone();
        let mut received = self.0.execute(request).await.map_err(TransportError::from_reqwest)?;
        if *received.url() != requested {
            return Err(TransportError::new(TransportErrorKind::Redirected));
        }
        let body = read_body(&mut received, limit).await?;
        let mut response = http::Response::new(body);
        *response.status_mut() = received.status();
        *response.headers_mut() = std::mem::take(received.headers_mut());
        Ok(response)
    }
}

async fn read_body(response: &mut reqwest::Response, limit: usize) -> Result<Bytes, TransportError> {
    let too_large = || TransportError::new(TransportErrorKind::TooLarge);
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(TransportError::from_reqwest)? {
        if chunk.len() > limit - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
