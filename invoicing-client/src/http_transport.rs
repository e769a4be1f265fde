//! [`HttpTransport`]: the network, by reqwest.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;

use crate::{ConfigError, Transport, TransportError, TransportErrorKind};

/// Sends by a client of reqwest.
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
        let request = reqwest::Request::try_from(request).map_err(transport_error)?;
        let requested = request.url().clone();
        let mut received = self.0.execute(request).await.map_err(transport_error)?;
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
    while let Some(chunk) = response.chunk().await.map_err(transport_error)? {
        if chunk.len() > limit - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Converts an error of reqwest and removes its URL: that of a document is a credential.
fn transport_error(error: reqwest::Error) -> TransportError {
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
    TransportError::new(kind).caused_by(error.without_url())
}

/// The client of a caller who supplies none.
pub(crate) fn default_client(
    connect_timeout: Duration,
    proxy: Option<&str>,
    platform_roots: bool,
) -> Result<reqwest::Client, ConfigError> {
    let builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false);
    let builder = match proxy {
        None => builder.no_proxy(),
        // The cause is dropped: it may repeat the address with its password.
        Some(url) => builder.proxy(reqwest::Proxy::all(url).map_err(|_| ConfigError::Proxy)?),
    };
    trusting_roots(builder, platform_roots)?.build().map_err(ConfigError::Http)
}

/// The bundled CAs are always trusted, so that the client works where the machine has no store of
/// them.
fn trusting_roots(
    builder: reqwest::ClientBuilder,
    platform_roots: bool,
) -> Result<reqwest::ClientBuilder, ConfigError> {
    let roots =
        webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|root| reqwest::Certificate::from_der(root));
    let roots = roots.collect::<Result<Vec<_>, _>>().map_err(ConfigError::Http)?;
    Ok(if platform_roots { builder.tls_certs_merge(roots) } else { builder.tls_certs_only(roots) })
}
