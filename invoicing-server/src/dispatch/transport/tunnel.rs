//! TCP to a target by way of a forward proxy: HTTP `CONNECT`, for `https` and `http` targets alike.
//!
//! **The policy holds.** Left to itself a proxy looks names up, and with them decides where a connection leads. So
//! names are looked up here, checked as without a proxy, and the proxy is asked for an *address* that passed. TLS and
//! the `Host` header still carry the name. Where this machine cannot look up public names, a host may leave that to
//! the proxy; then literals are checked here and names by the proxy alone.
//!
//! The proxy itself is the host's own choice and usually in its private network: no policy applies to it, and its name
//! is looked up by the system. Whatever it does wrong, or refuses to do, is [`FailureClass::Proxy`]; it does not say
//! in a reliable way whether it failed or the receiver.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use invoicing_core::FailureClass;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::connector::ConnectFailure;
use super::resolver::{CheckedResolver, SystemResolver};
use crate::forward_proxy::ForwardProxy;
use crate::target::{TargetPolicy, literal};

/// What goes through a tunnel; TLS to the *proxy* where its URL says `https`.
pub(super) type Tunnelled = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes tunnels through one proxy.
#[derive(Clone)]
pub(super) struct Tunnels {
    /// Looks names up and checks them. `None`: the proxy does.
    names: Option<CheckedResolver>,
    tunnel: Tunnel<HttpsConnector<HttpConnector<CheckedResolver>>>,
    limit: Duration,
}

impl Tunnels {
    pub(super) fn new(
        proxy: &ForwardProxy,
        names: Option<CheckedResolver>,
        tls: Arc<ClientConfig>,
        limit: Duration,
    ) -> Self {
        let any = TargetPolicy { allow_http: true, allow_private: true };
        let system = CheckedResolver { policy: any, resolver: Arc::new(SystemResolver::default()) };
        let mut tcp = HttpConnector::new_with_resolver(system);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limit));
        let tunnel = Tunnel::new(proxy.uri().clone(), HttpsConnector::from((tcp, tls)));
        let tunnel = match proxy.authorization() {
            Some(authorization) => tunnel.with_auth(authorization),
            None => tunnel,
        };
        Self { names, tunnel, limit }
    }

    /// A connection to the target. The URL's literal, if it has one, was checked before.
    pub(super) async fn connect(mut self, uri: Uri) -> Result<Tunnelled, ConnectFailure> {
        let default = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = uri.port_u16().unwrap_or(default);
        let host = uri.host().unwrap_or_default();
        let addresses = match (literal(&uri), &self.names) {
            (Some(address), _) => vec![address],
            (None, Some(names)) => names.addresses(host).await?,
            (None, None) => return self.ask(&format!("{host}:{port}")).await,
        };
        let (first, second) = two_of(&addresses)?;
        let first = SocketAddr::new(first, port).to_string();
        let Some(second) = second else { return self.ask(&first).await };
        match tokio::time::timeout(self.limit / 2, self.ask(&first)).await {
            Ok(Ok(connected)) => Ok(connected),
            Ok(Err(_)) | Err(_) => self.ask(&SocketAddr::new(second, port).to_string()).await,
        }
    }

    /// Asks the proxy for a connection to `host:port`.
    async fn ask(&mut self, authority: &str) -> Result<Tunnelled, ConnectFailure> {
        let failed = |error| ConnectFailure::new(FailureClass::Proxy, error);
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(authority).path_and_query("/").build();
        let uri = uri.map_err(|error| ConnectFailure::new(FailureClass::Unsendable, error))?;
        poll_fn(|context| self.tunnel.poll_ready(context)).await.map_err(failed)?;
        self.tunnel.call(uri).await.map_err(failed)
    }
}

/// The address to ask for first, and the one to ask for if that fails: of the other family where there is one, as the
/// proxy may have one family only. No more than two, so that an attempt is never a burst on the proxy.
fn two_of(addresses: &[IpAddr]) -> Result<(IpAddr, Option<IpAddr>), ConnectFailure> {
    let [first, rest @ ..] = addresses else { return Err(ConnectFailure::refused()) };
    let other = rest.iter().find(|address| address.is_ipv4() != first.is_ipv4());
    Ok((*first, other.or(rest.first()).copied()))
}
