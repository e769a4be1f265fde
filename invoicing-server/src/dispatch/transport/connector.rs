//! From a URL to a connection: policy, TCP, TLS, and one time limit around all of them.
//!
//! Three layers. [`Connector`] bounds the time and classifies the failure. Within it, hyper-rustls puts TLS around
//! [`PolicyConnector`], which connects only to what the policy permits.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use invoicing_core::FailureClass;
use rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use super::failure_class::{BoxError, ConnectError, tls_class};
use super::policy_connector::{PolicyConnector, Route};
use super::resolver::{CheckedResolver, Resolve};
use super::tunnel::{TcpOrTls, TunnelConnector};
use crate::forward_proxy::ForwardProxy;
use crate::open_error::TransportError;
use crate::target::TargetPolicy;

/// Connects to permitted targets, with TLS for `https` URLs.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<PolicyConnector>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(
        policy: TargetPolicy,
        resolver: Arc<dyn Resolve>,
        proxy: Option<&ProxyOptions>,
        roots: RootCertStore,
        limit: Duration,
    ) -> Result<Self, TransportError> {
        let tls = Arc::new(tls(roots)?);
        let names = CheckedResolver { policy, resolver };
        let route = match proxy {
            Some(ProxyOptions { proxy, resolves_names }) => {
                let names = (!resolves_names).then_some(names);
                Route::Proxy(Box::new(TunnelConnector::new(proxy, names, Arc::clone(&tls), limit)))
            }
            None => Route::Direct(tcp_connector(names, limit)),
        };
        Ok(Self { https: HttpsConnector::from((PolicyConnector { policy, route }, tls)), limit })
    }
}

/// A forward proxy, and whether it resolves names in place of this process.
pub(super) struct ProxyOptions {
    pub(super) proxy: ForwardProxy,
    pub(super) resolves_names: bool,
}

/// TCP connections to the addresses that the resolver returns.
fn tcp_connector(names: CheckedResolver, limit: Duration) -> HttpConnector<CheckedResolver> {
    let mut tcp = HttpConnector::new_with_resolver(names);
    // The connector otherwise accepts `http` URLs only; TLS is added around it.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // Divided evenly among the addresses of a name, so that an unreachable one leaves time for the next.
    tcp.set_connect_timeout(Some(limit));
    tcp
}

/// Names the provider: rustls panics if Cargo features enable two and the host has installed none.
fn tls(roots: RootCertStore) -> Result<ClientConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TransportError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TcpOrTls>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.https.poll_ready(context).map_err(connect_error)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // The attempt's limit does not cover this: the pool goes on opening a connection when the attempt has been
        // served by another one meanwhile.
        let connecting = tokio::time::timeout(self.limit, self.https.call(uri));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected.map_err(connect_error),
                Err(elapsed) => Err(ConnectError::new(FailureClass::Timeout, elapsed)),
            }
        })
    }
}

/// The [`ConnectError`] of [`PolicyConnector`]. Any other error happened after it, in TLS.
fn connect_error(error: BoxError) -> ConnectError {
    match error.downcast::<ConnectError>() {
        Ok(error) => *error,
        Err(error) => ConnectError::new(tls_class(&*error).unwrap_or(FailureClass::Tls), error),
    }
}
