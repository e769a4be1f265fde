//! From a URL to a connection: policy, TCP, TLS, and one time limit around it all.
//!
//! Three layers. [`Connector`] bounds the time and says what kind of failure it was. Within it, hyper-rustls puts TLS
//! around [`PolicedTcp`], which refuses what the policy refuses before hyper-util's connector opens a socket. That
//! connector asks the resolver for names only and takes address literals as they are, hence the check in front of it.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{self, BoxFuture};
use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use invoicing_core::FailureClass;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use super::TransportError;
use super::failure::classify;
use super::resolver::{CheckedResolver, Resolve};
use crate::dispatch::target::TargetPolicy;

type BoxError = Box<dyn Error + Send + Sync>;

/// There is no connection, and of which kind the failure is. Names no address: those go to nobody outside.
#[derive(Debug, thiserror::Error)]
#[error("no connection ({class})")]
pub(super) struct ConnectFailure {
    pub(super) class: FailureClass,
    source: BoxError,
}

impl ConnectFailure {
    pub(super) fn new(class: FailureClass, source: impl Into<BoxError>) -> Self {
        Self { class, source: source.into() }
    }
}

/// Connects to what the policy permits, with TLS where the URL says `https`.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<PolicedTcp>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(
        policy: TargetPolicy,
        resolver: Arc<dyn Resolve>,
        roots: RootCertStore,
        limit: Duration,
    ) -> Result<Self, TransportError> {
        let mut tcp = HttpConnector::new_with_resolver(CheckedResolver { policy, resolver });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Shared evenly among the addresses of a name, so that a dead one leaves time for the next.
        tcp.set_connect_timeout(Some(limit));
        let https = HttpsConnector::from((PolicedTcp { policy, tcp }, tls(roots)?));
        Ok(Self { https, limit })
    }
}

/// The provider is named because rustls panics where Cargo has switched on two and the host has chosen none.
fn tls(roots: RootCertStore) -> Result<ClientConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TransportError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = ConnectFailure;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectFailure>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        self.https.poll_ready(context).map_err(after_tcp)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // The attempt's own limit does not reach a connection that the pool goes on opening after the attempt was
        // served by another one.
        let connecting = tokio::time::timeout(self.limit, self.https.call(uri));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected.map_err(after_tcp),
                Err(elapsed) => Err(ConnectFailure::new(FailureClass::Timeout, elapsed)),
            }
        })
    }
}

/// A failure that [`PolicedTcp`] has not named happened after it: in TLS.
fn after_tcp(error: BoxError) -> ConnectFailure {
    match error.downcast::<ConnectFailure>() {
        Ok(failure) => *failure,
        Err(error) => ConnectFailure::new(FailureClass::Tls, error),
    }
}

/// TCP connections to what the policy permits.
#[derive(Clone)]
struct PolicedTcp {
    policy: TargetPolicy,
    tcp: HttpConnector<CheckedResolver>,
}

impl std::fmt::Debug for PolicedTcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicedTcp").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl PolicedTcp {
    /// Checks all that can be known without a lookup. A stored URL may be older than today's policy.
    fn refuses(&self, uri: &Uri) -> bool {
        let plain = uri.scheme() != Some(&Scheme::HTTPS);
        plain && !self.policy.allow_http || literal(uri).is_some_and(|address| !self.policy.permits(address))
    }
}

/// The address, where the host is one, as hyper-util's connector reads it.
fn literal(uri: &Uri) -> Option<IpAddr> {
    let host = uri.host()?;
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

impl Service<Uri> for PolicedTcp {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectFailure;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectFailure>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        self.tcp.poll_ready(context).map_err(within_tcp)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if self.refuses(&uri) {
            let refused =
                ConnectFailure::new(FailureClass::TargetRefused, "the policy does not permit this URL");
            return Box::pin(future::ready(Err(refused)));
        }
        let connecting = self.tcp.call(uri);
        Box::pin(async move { connecting.await.map_err(within_tcp) })
    }
}

/// What the resolver has named stays so; the rest is the network's, or a limit that ran out.
fn within_tcp(error: impl Error + Send + Sync + 'static) -> ConnectFailure {
    ConnectFailure::new(classify(&error), error)
}
