//! Carrying one request to the service and one answer back. No retries, no meaning: those are decided elsewhere.

use std::fmt;

use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;

/// The cause of a failure, as other libraries report it.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What carries requests. Object-safe, so that a test can put a model in its place.
pub(crate) trait Transport: fmt::Debug + Send + Sync {
    /// Sends the request and reads the whole answer, whatever its status, if its body has at most `limit` bytes.
    fn send(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;
}

/// Why there is no whole answer.
#[derive(Debug)]
pub(crate) struct TransportError {
    /// The kind of failure.
    pub(crate) kind: TransportFailure,
    /// What the library below says.
    pub(crate) cause: Option<Cause>,
}

/// The kinds of failure that a caller treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportFailure {
    /// No connection: name resolution, refused, TLS.
    Connect,
    /// No answer in time.
    Timeout,
    /// The connection broke, or what came was not HTTP.
    Interrupted,
    /// The body is over the limit.
    TooLarge,
    /// The HTTP client followed a redirect, which an API that has none does not send.
    Redirected,
}

impl TransportError {
    fn plain(kind: TransportFailure) -> Self {
        Self { kind, cause: None }
    }

    /// Takes an error of reqwest, without the URL: a document's URL is a permission.
    fn from_reqwest(error: reqwest::Error) -> Self {
        let kind = if error.is_timeout() {
            TransportFailure::Timeout
        } else if error.is_connect() {
            TransportFailure::Connect
        } else if error.is_redirect() {
            TransportFailure::Redirected
        } else {
            TransportFailure::Interrupted
        };
        Self { kind, cause: Some(error.without_url().into()) }
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
            return Err(TransportError::plain(TransportFailure::Redirected));
        }
        let body = read(&mut answer, limit).await?;
        let mut response = http::Response::new(body);
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

async fn read(answer: &mut reqwest::Response, limit: usize) -> Result<Bytes, TransportError> {
    let too_large = || TransportError::plain(TransportFailure::TooLarge);
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
