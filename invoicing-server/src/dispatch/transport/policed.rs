//! Connections to what the policy permits, and to nothing else: straight, or through a forward proxy.
//!
//! The one place where an address becomes a connection. [`PolicedTcp`] refuses what can be refused without a lookup;
//! names are left to a [`CheckedResolver`], whose answers passed the policy. hyper-util's connector asks it for names
//! only and takes address literals as they are, hence the check in front.

use std::error::Error;
use std::task::{Context, Poll};

use futures_util::future::{self, BoxFuture};
use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use super::connector::ConnectFailure;
use super::failure::classify;
use super::resolver::CheckedResolver;
use super::tunnel::{Tunnelled, Tunnels};
use crate::target::TargetPolicy;

/// How a permitted address is reached.
#[derive(Clone)]
pub(super) enum Way {
    Straight(HttpConnector<CheckedResolver>),
    Proxy(Box<Tunnels>),
}

/// Connections to what the policy permits, without TLS to the target.
#[derive(Clone)]
pub(super) struct PolicedTcp {
    pub(super) policy: TargetPolicy,
    pub(super) way: Way,
}

impl std::fmt::Debug for PolicedTcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicedTcp").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Service<Uri> for PolicedTcp {
    type Response = Tunnelled;
    type Error = ConnectFailure;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectFailure>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        match &mut self.way {
            Way::Straight(tcp) => tcp.poll_ready(context).map_err(within_tcp),
            Way::Proxy(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if !self.policy.permits_uri(&uri) {
            return Box::pin(future::ready(Err(ConnectFailure::refused())));
        }
        match &mut self.way {
            Way::Straight(tcp) => {
                let connecting = tcp.call(uri);
                Box::pin(async move { connecting.await.map(MaybeHttpsStream::Http).map_err(within_tcp) })
            }
            Way::Proxy(tunnels) => Box::pin(tunnels.clone().connect(uri)),
        }
    }
}

/// What the resolver has named stays so; the rest is the network's, or a limit that ran out.
fn within_tcp(error: impl Error + Send + Sync + 'static) -> ConnectFailure {
    ConnectFailure::new(classify(&error), error)
}
