//! Connections to permitted targets only, made directly or through a forward proxy.
//!
//! The one place where an address becomes a connection. [`PolicyConnector`] refuses what needs no lookup to be
//! refused. Names go to a [`CheckedResolver`], which returns only addresses that the policy permits.

use std::error::Error;
use std::task::{Context, Poll};

use futures_util::future::{self, BoxFuture};
use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use super::failure_class::{ConnectError, classify};
use super::resolver::CheckedResolver;
use super::tunnel::{TcpOrTls, TunnelConnector};
use crate::target::TargetPolicy;

/// How a permitted address is reached.
#[derive(Clone)]
pub(super) enum Route {
    Direct(HttpConnector<CheckedResolver>),
    Proxy(Box<TunnelConnector>),
}

/// Connects to permitted targets, without TLS to the target.
#[derive(Clone)]
pub(super) struct PolicyConnector {
    pub(super) policy: TargetPolicy,
    pub(super) route: Route,
}

impl std::fmt::Debug for PolicyConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicyConnector").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Service<Uri> for PolicyConnector {
    type Response = TcpOrTls;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        match &mut self.route {
            Route::Direct(tcp) => tcp.poll_ready(context).map_err(connect_error),
            Route::Proxy(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // hyper-util asks the resolver for names only, and connects to address literals without asking.
        if !self.policy.permits_uri(&uri) {
            return Box::pin(future::ready(Err(ConnectError::refused())));
        }
        match &mut self.route {
            Route::Direct(tcp) => {
                let connecting = tcp.call(uri);
                Box::pin(async move { connecting.await.map(MaybeHttpsStream::Http).map_err(connect_error) })
            }
            Route::Proxy(tunnel) => Box::pin(tunnel.clone().connect(uri)),
        }
    }
}

/// Keeps the class that the resolver gave. Other errors are of the network, or a limit that ran out.
fn connect_error(error: impl Error + Send + Sync + 'static) -> ConnectError {
    ConnectError::new(classify(&error), error)
}
