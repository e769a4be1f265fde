//! Carrying one request to the service and one answer back. No retries, no meaning: those are decided elsewhere.

use std::fmt;

use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;

/// The cause of a failure, as other libraries report it.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What carries requests: the network, or what a test or a host puts in its place.
///
/// It is given one attempt at a time. Retries, deadlines, the pace and the reading of answers stand above it, and it
/// should add none of its own. The future may be dropped at any time, by a time limit or by the caller. Redirects must
/// not be followed: they would carry the key elsewhere.
///
/// The request's URI is absolute. Its `Authorization` header holds the key and is marked as sensitive; a document's
/// download has none, but its URI is a permission: neither belongs in a log.
///
/// ```
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use futures_core::future::BoxFuture;
/// use invoicing_client::{InvoicingClient, Transport, TransportError};
///
/// /// A service without any records.
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
    /// Sends the request and reads the whole answer, whatever its status, if its body has at most `limit` bytes.
    fn send(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct TransportError {
    /// The kind of failure.
    pub(crate) kind: TransportFailure,
    /// What the library below says.
    #[source]
    pub(crate) cause: Option<Cause>,
}

/// The kinds of failure that the client treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportFailure {
    /// No connection, or none in time: name resolution, refused, TLS. The service has not seen the request.
    Connect,
    /// No answer in time. The service may have seen the request.
    Timeout,
    /// The connection broke, or what came was not HTTP. The service may have seen the request.
    Interrupted,
    /// The body is over the limit.
    TooLarge,
    /// The HTTP client followed a redirect, which an API that has none does not send.
    Redirected,
}

impl fmt::Display for TransportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::ErrorKind::from(*self).fmt(f)
    }
}

impl TransportError {
    /// A failure without a cause from elsewhere.
    pub fn new(kind: TransportFailure) -> Self {
        Self { kind, cause: None }
    }

    /// Adds what the library below says. It becomes the source of the call's [`Error`](crate::Error), so it must
    /// hold neither the key nor a document's URL.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// The kind of failure.
    pub fn kind(&self) -> TransportFailure {
        self.kind
    }

    /// Takes an error of reqwest, without the URL: a document's URL is a permission.
    fn from_reqwest(error: reqwest::Error) -> Self {
        // A connection that is not there in time is both, and nothing was sent.
        let kind = if error.is_connect() {
            TransportFailure::Connect
        } else if error.is_timeout() {
            TransportFailure::Timeout
        } else if error.is_redirect() {
            TransportFailure::Redirected
        } else {
            TransportFailure::Interrupted
        };
        Self::new(kind).caused_by(error.without_url())
    }
}

/// The real network.
#[derive(Debug)]
pub(crate) struct HttpTransport(pub(crate) reqwest::Client);

impl Transport for HttpTransport {
    fn send(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move { self.exchange(request, limit).await })
    }
}

impl HttpTransport {
    async fn exchange(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let request = reqwest::Request::try_from(request).map_err(TransportError::from_reqwest)?;
        let asked = request.url().clone();
        let mut answer = self.0.execute(request).await.map_err(TransportError::from_reqwest)?;
        if *answer.url() != asked {
            return Err(TransportError::new(TransportFailure::Redirected));
        }
        let body = read(&mut answer, limit).await?;
        let mut response = http::Response::new(body);
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

async fn read(answer: &mut reqwest::Response, limit: usize) -> Result<Bytes, TransportError> {
    let too_large = || TransportError::new(TransportFailure::TooLarge);
    if answer.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(TransportError::from_reqwest)? {
        if chunk.len() > limit - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
