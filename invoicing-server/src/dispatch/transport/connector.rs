//! From a URL to a connection: policy, TCP, TLS, and one time limit around it all.
//!
//! Three layers. [`Connector`] bounds the time and says what kind of failure it was. Within it, hyper-rustls puts TLS
//! around [`PolicedTcp`], which connects to what the policy permits.

use std::error::Error;
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

use super::TransportError;
use super::failure::of_tls;
use super::policed::{PolicedTcp, Way};
use super::resolver::{CheckedResolver, Resolve};
use super::tunnel::{Tunnelled, Tunnels};
use crate::forward_proxy::ForwardProxy;
use crate::target::TargetPolicy;

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

    /// The policy forbids the target: one text, whatever the reason and whatever lies behind it.
    pub(super) fn refused() -> Self {
        Self::new(FailureClass::TargetRefused, "the policy does not permit this target")
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
        proxy: Option<&Proxied>,
        roots: RootCertStore,
        limit: Duration,
    ) -> Result<Self, TransportError> {
        let tls = Arc::new(tls(roots)?);
        let names = CheckedResolver { policy, resolver };
        let way = match proxy {
            Some(Proxied { proxy, resolves_names }) => {
                let names = (!resolves_names).then_some(names);
                Way::Proxy(Box::new(Tunnels::new(proxy, names, Arc::clone(&tls), limit)))
            }
            None => Way::Straight(straight(names, limit)),
        };
        Ok(Self { https: HttpsConnector::from((PolicedTcp { policy, way }, tls)), limit })
    }
}

/// A proxy, and whether names are left to it.
pub(super) struct Proxied {
    pub(super) proxy: ForwardProxy,
    pub(super) resolves_names: bool,
}

fn straight(names: CheckedResolver, limit: Duration) -> HttpConnector<CheckedResolver> {
    let mut tcp = HttpConnector::new_with_resolver(names);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // Shared evenly among the addresses of a name, so that a dead one leaves time for the next.
    tcp.set_connect_timeout(Some(limit));
    tcp
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
    type Response = MaybeHttpsStream<Tunnelled>;
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
        Err(error) => ConnectFailure::new(of_tls(&*error).unwrap_or(FailureClass::Tls), error),
    }
}
