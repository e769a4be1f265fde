//! TCP to a target through a forward proxy: HTTP `CONNECT`, for `https` and `http` targets alike.
//!
//! **The policy holds.** A proxy that is sent a name resolves it, and so decides the target of the
//! connection. So this process resolves and checks names, and sends the proxy an *address* that
//! passed. TLS and the `Host` header still carry the name. A host whose machine cannot resolve
//! public names may leave them to the proxy. Then this process checks literals, and the proxy alone
//! checks names.
//!
//! The proxy itself is the host's choice and usually in its private network. No policy applies to
//! it, and the system resolves its name. Its failures and refusals are [`FailureClass::Proxy`],
//! because a proxy does not report reliably whether it failed or the receiver did.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::{InvalidUri, Scheme};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use invoicing_core::FailureClass;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::failure_class::ConnectError;
use super::resolver::{CheckedResolver, SystemResolver};
use crate::forward_proxy::ForwardProxy;
use crate::target::{TargetPolicy, address_literal};

/// A connection to the target or the proxy. The TLS here is to a *proxy* with an `https` URL.
pub(super) type TcpOrTls = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens tunnels through one proxy.
#[derive(Clone)]
pub(super) struct TunnelConnector {
    /// Resolves and checks names. `None` leaves them to the proxy.
    names: Option<CheckedResolver>,
    tunnel: Tunnel<HttpsConnector<HttpConnector<CheckedResolver>>>,
    limit: Duration,
}

impl TunnelConnector {
    pub(super) fn new(
        proxy: &ForwardProxy,
        names: Option<CheckedResolver>,
        tls: Arc<ClientConfig>,
        limit: Duration,
    ) -> Self {
        // The proxy may be in a private network: every address is permitted.
        let any = TargetPolicy { allow_http: true, allow_private: true };
        let system = CheckedResolver { policy: any, resolver: Arc::new(SystemResolver::default()) };
        let connector = HttpsConnector::from((system.tcp_connector(limit), tls));
        let tunnel = Tunnel::new(proxy.uri().clone(), connector);
        let tunnel = match proxy.authorization() {
            Some(authorization) => tunnel.with_auth(authorization),
            None => tunnel,
        };
        Self { names, tunnel, limit }
    }

    /// A connection to the target. An address literal in the URL has been checked already.
    pub(super) async fn connect(mut self, uri: Uri) -> Result<TcpOrTls, ConnectError> {
        let default = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = uri.port_u16().unwrap_or(default);
        let host = uri.host().unwrap_or_default();
        let (first, fallback) = match (address_literal(&uri), &self.names) {
            (Some(address), _) => (SocketAddr::new(address, port).to_string(), None),
            (None, Some(names)) => first_and_fallback(&names.addresses(host).await?, port)?,
            (None, None) => (format!("{host}:{port}"), None),
        };
        let Some(fallback) = fallback else { return self.open(&first).await };
        // Half of the time, so that the fallback has the other half if the proxy does not answer.
        match tokio::time::timeout(self.limit / 2, self.open(&first)).await {
            Ok(Ok(connected)) => Ok(connected),
            Ok(Err(_)) | Err(_) => self.open(&fallback).await,
        }
    }

    /// Requests a connection to `host:port` from the proxy.
    async fn open(&mut self, authority: &str) -> Result<TcpOrTls, ConnectError> {
        let failed = |error| ConnectError::new(FailureClass::Proxy, error);
        // Only the host and the port of this URI are sent to the proxy.
        let uri = format!("https://{authority}/").parse();
        let uri = uri.map_err(|error: InvalidUri| ConnectError::new(FailureClass::Unsendable, error))?;
        poll_fn(|context| self.tunnel.poll_ready(context)).await.map_err(failed)?;
        self.tunnel.call(uri).await.map_err(failed)
    }
}

/// The address to request first, and the one to request if that fails. The second is of the other
/// family if there is one, because a proxy may reach one family only. Two at most, so that an
/// attempt is never a burst on the proxy.
fn first_and_fallback(addresses: &[IpAddr], port: u16) -> Result<(String, Option<String>), ConnectError> {
    let [first, rest @ ..] = addresses else { return Err(ConnectError::refused()) };
    let other = rest.iter().find(|address| address.is_ipv4() != first.is_ipv4()).or(rest.first());
    let authority = |address: &IpAddr| SocketAddr::new(*address, port).to_string();
    Ok((authority(first), other.map(authority)))
}
