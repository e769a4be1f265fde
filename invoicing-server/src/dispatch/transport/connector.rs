//! From a URL to a connection: policy, TCP, TLS, and one time limit around all of them.
//!
//! Only this module turns an address into a connection. [`Connector`] refuses every target whose
//! refusal needs no lookup. Names go to a [`CheckedResolver`], which returns only addresses that
//! the policy permits.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use http::uri::Scheme;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use invoicing_core::FailureClass;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::TransportSetupError;
use super::failure_class::{ConnectError, classify, tls_class};
use super::metered::Metered;
use super::resolver::{CheckedResolver, Resolve};
use super::tunnel::TunnelConnector;
use crate::forward_proxy::ForwardProxy;
use crate::target::TargetPolicy;

/// A connection to a target. Below TLS, so that the bytes of its records count.
type Stream = MaybeHttpsStream<TokioIo<Metered>>;

/// Connects to permitted targets, with TLS for `https` URLs.
#[derive(Clone)]
pub(super) struct Connector {
    policy: TargetPolicy,
    dialer: Dialer,
    tls: Arc<ClientConfig>,
    limit: Duration,
}

/// How a permitted address is reached.
#[derive(Clone)]
enum Dialer {
    Direct(HttpConnector<CheckedResolver>),
    Proxy(Box<TunnelConnector>),
}

/// A forward proxy, and whether it resolves names in place of this process.
pub(super) struct ProxyOptions {
    pub(super) proxy: ForwardProxy,
    pub(super) resolves_names: bool,
}

impl Connector {
    pub(super) fn new(
        policy: TargetPolicy,
        resolver: Arc<dyn Resolve>,
        proxy: Option<&ProxyOptions>,
        roots: RootCertStore,
        limit: Duration,
    ) -> Result<Self, TransportSetupError> {
        let tls = Arc::new(tls_config(roots)?);
        let names = CheckedResolver { policy, resolver };
        let dialer = match proxy {
            Some(ProxyOptions { proxy, resolves_names }) => {
                let names = (!resolves_names).then_some(names);
                Dialer::Proxy(Box::new(TunnelConnector::new(proxy, names, Arc::clone(&tls), limit)))
            }
            None => Dialer::Direct(names.tcp_connector(limit)),
        };
        Ok(Self { policy, dialer, tls, limit })
    }

    /// A connection to the target, without a time limit.
    async fn connect(self, uri: Uri) -> Result<Stream, ConnectError> {
        // hyper-util resolves names only, and connects to address literals without the resolver.
        if !self.policy.permits_uri(&uri) {
            return Err(ConnectError::refused());
        }
        let tls_name = (uri.scheme() != Some(&Scheme::HTTP)).then(|| server_name(&uri)).transpose()?;
        let tcp = match self.dialer {
            // The class of the resolver is kept. Other errors are those of the network, or an
            // expired time limit.
            Dialer::Direct(mut tcp) => match tcp.call(uri).await {
                Ok(tcp) => MaybeHttpsStream::Http(tcp),
                Err(error) => return Err(ConnectError::new(classify(&error), error)),
            },
            Dialer::Proxy(tunnel) => tunnel.connect(uri).await?,
        };
        let tcp = Metered::new(tcp);
        let budget = tcp.budget();
        let tcp = TokioIo::new(tcp);
        let Some(name) = tls_name else { return Ok(MaybeHttpsStream::Http(tcp)) };
        let handshake = TlsConnector::from(self.tls).connect(name, TokioIo::new(tcp)).await;
        budget.renew();
        handshake.map(TokioIo::new).map(MaybeHttpsStream::Https).map_err(tls_error)
    }
}

/// The name that the certificate must carry.
fn server_name(uri: &Uri) -> Result<ServerName<'static>, ConnectError> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    ServerName::try_from(host.to_owned()).map_err(tls_error)
}

fn tls_error(error: impl std::error::Error + Send + Sync + 'static) -> ConnectError {
    ConnectError::new(tls_class(&error).unwrap_or(FailureClass::Tls), error)
}

/// The configuration names its provider: rustls panics if Cargo features enable two and the host
/// has installed none.
fn tls_config(roots: RootCertStore) -> Result<ClientConfig, TransportSetupError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TransportSetupError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // The attempt's limit does not cover this: the pool goes on opening a connection when the
        // attempt has been served by another one meanwhile.
        let connecting = tokio::time::timeout(self.limit, self.clone().connect(uri));
        let timed_out = |elapsed| Err(ConnectError::new(FailureClass::Timeout, elapsed));
        Box::pin(async move { connecting.await.unwrap_or_else(timed_out) })
    }
}
