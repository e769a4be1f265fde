//! Names to addresses, and the policy on what comes back.
//!
//! The addresses that pass here are the very ones that are connected to: nothing is looked up twice. Nothing is
//! cached either; connections are kept, so a name is looked up once per connection. A kept connection goes on leading
//! where it was allowed to lead, whatever the name's answer has become meanwhile.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use invoicing_core::FailureClass;
use tokio::sync::Semaphore;
use tower_service::Service;

use super::connector::ConnectFailure;
use crate::dispatch::target::TargetPolicy;

/// A lookup that is under way.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks up names: the system does, unless a host or a test plugs in something else.
///
/// A host whose own names are nobody's business plugs in a resolver that knows public names only: the log tells a name
/// that does not exist (`dns`) from one that leads to a forbidden address (`target_refused`).
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a host name, at the end of its aliases (CNAME). The port comes from the URL. The time that
    /// this takes is part of the attempt's.
    ///
    /// # Errors
    /// The name does not exist, or nobody can tell. An empty answer counts as that too.
    fn resolve(&self, host: &str) -> Resolving;
}

/// The operating system's resolver (`getaddrinfo`), with its hosts file and search list.
#[derive(Debug, Clone)]
pub(crate) struct SystemResolver {
    lookups: Arc<Semaphore>,
}

/// Lookups under way at once. Each blocks a thread, and goes on blocking it after its attempt has timed out; Tokio's
/// 512 such threads are needed for files, too.
const MAX_LOOKUPS: usize = 128;

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let host = host.to_owned();
        let lookups = Arc::clone(&self.lookups);
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = move || {
                // Held by the thread, not by the attempt, which may be gone long before.
                let _held = permit;
                (host.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
        })
    }
}

/// A resolver whose answers the policy permits, as hyper-util's connector wants it.
#[derive(Clone)]
pub(super) struct CheckedResolver {
    pub(super) policy: TargetPolicy,
    pub(super) resolver: Arc<dyn Resolve>,
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ConnectFailure;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectFailure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            // Port 0 stands for the port of the URL.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}

impl CheckedResolver {
    /// The addresses of a name, at least one, all of them permitted.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, ConnectFailure> {
        let dns = |error: io::Error| ConnectFailure::new(FailureClass::Dns, error);
        let found = self.resolver.resolve(name).await.map_err(dns)?;
        if found.is_empty() {
            return Err(dns(io::Error::other("no addresses")));
        }
        if self.policy.permits_all(&found) { Ok(found) } else { Err(ConnectFailure::refused()) }
    }
}
