//! Names to addresses, and the policy on the answers.
//!
//! A connection is made to the addresses that the policy has passed, without a second lookup in
//! between. Answers are not cached. Connections that are opened at the same time may share a
//! lookup, and each of them checks its answer. A pooled connection stays on the address that
//! passed, even if the name resolves to another one by now.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use invoicing_core::FailureClass;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_service::Service;

use super::failure_class::ConnectError;
use crate::target::TargetPolicy;

/// A lookup in progress.
pub type ResolveFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves host names. The default is the system's resolver.
///
/// A host whose internal names must stay secret supplies a resolver for public names only. With the
/// system's resolver, companies can distinguish a name that does not exist (`dns`) from one with a
/// forbidden address (`target_refused`).
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a host name, with its aliases (CNAME) followed. The port comes from the
    /// URL. The lookup counts towards the attempt's time limit.
    ///
    /// # Errors
    /// The name does not exist, or no server answers. An empty answer counts as an error too.
    fn resolve(&self, host: &str) -> ResolveFuture;
}

/// The operating system's resolver (`getaddrinfo`), with its hosts file and search list.
///
/// A lookup blocks a thread until the name's servers answer or the system gives up, long after its
/// attempt has timed out. Two rules keep slow names from occupying all threads. A name has one
/// lookup at a time, which all its callers share. A lookup that takes long moves to a separate set
/// of permits, so that the next one can start.
#[derive(Clone)]
pub(crate) struct SystemResolver(Arc<Lookups>);

/// Maximum number of concurrent lookups, and of slow ones besides. Tokio's 512 threads for blocking
/// work serve files, too.
const MAX_LOOKUPS: usize = 128;

/// A lookup counts as slow after this time.
const SLOW_AFTER: Duration = Duration::from_secs(1);

/// The result of a lookup.
type LookupResult = Result<Vec<IpAddr>, Arc<io::Error>>;

/// A lookup in progress, which all callers of the name wait for.
type SharedLookup = Shared<BoxFuture<'static, LookupResult>>;

/// Resolves a name, blocking its thread.
type BlockingLookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The lookups in progress, and the permits for more.
struct Lookups {
    look_up: Box<BlockingLookup>,
    in_progress: Mutex<HashMap<String, SharedLookup>>,
    permits: Arc<Semaphore>,
    slow_permits: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new(|host| Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }
}

impl SystemResolver {
    fn new(look_up: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        let permits = || Arc::new(Semaphore::new(MAX_LOOKUPS));
        Self(Arc::new(Lookups {
            look_up: Box::new(look_up),
            in_progress: Mutex::default(),
            permits: permits(),
            slow_permits: permits(),
        }))
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> ResolveFuture {
        let (lookups, host) = (Arc::clone(&self.0), host.to_owned());
        Box::pin(async move {
            let lookup = if let Some(lookup) = running(&lookups.in_progress.lock(), &host) {
                lookup
            } else {
                let permit = Arc::clone(&lookups.permits).acquire_owned().await.map_err(io::Error::other)?;
                lookups.start_or_join(&host, permit)
            };
            lookup.await.map_err(io::Error::other)
        })
    }
}

impl Lookups {
    /// Starts a lookup, or joins the one that another caller has started while this one waited for
    /// its permit.
    #[expect(clippy::disallowed_methods, reason = "ends with its thread, which outlives the attempt")]
    fn start_or_join(self: Arc<Self>, host: &str, permit: OwnedSemaphorePermit) -> SharedLookup {
        let mut in_progress = self.in_progress.lock();
        if let Some(lookup) = running(&in_progress, host) {
            return lookup;
        }
        // A separate task: the thread outlives an attempt that has timed out, and must keep its
        // permit.
        let task = tokio::spawn(Arc::clone(&self).run(host.to_owned(), permit));
        let lookup =
            task.map(|ended| ended.unwrap_or_else(|error| Err(Arc::new(error.into())))).boxed().shared();
        in_progress.insert(host.to_owned(), lookup.clone());
        lookup
    }

    async fn run(self: Arc<Self>, host: String, permit: OwnedSemaphorePermit) -> LookupResult {
        let mut thread = tokio::task::spawn_blocking({
            let (lookups, host) = (Arc::clone(&self), host.clone());
            move || (lookups.look_up)(&host)
        });
        let (found, _permit) = if let Ok(found) = tokio::time::timeout(SLOW_AFTER, &mut thread).await {
            (found, permit)
        } else {
            // Without a free slow permit the lookup keeps its own: together they bound the threads
            // that are busy.
            let slow_permit = Arc::clone(&self.slow_permits).try_acquire_owned();
            let permit = slow_permit.unwrap_or(permit);
            (thread.await, permit)
        };
        self.in_progress.lock().remove(&host);
        // The outer error is a panic of the lookup.
        found.unwrap_or_else(|error| Err(error.into())).map_err(Arc::new)
    }
}

/// The lookup of a name that is in progress. A lookup removes itself when it ends, so an ended one
/// in the map has lost its task and is ignored.
fn running(in_progress: &HashMap<String, SharedLookup>, host: &str) -> Option<SharedLookup> {
    in_progress.get(host).filter(|lookup| lookup.peek().is_none()).cloned()
}

/// A resolver with the policy applied to its answers, in the form that hyper-util's connector
/// takes.
#[derive(Clone)]
pub(super) struct CheckedResolver {
    pub(super) policy: TargetPolicy,
    pub(super) resolver: Arc<dyn Resolve>,
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            // hyper-util replaces port 0 by the port of the URL.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}

impl CheckedResolver {
    /// TCP connections to the addresses of names.
    pub(super) fn tcp_connector(self, limit: Duration) -> HttpConnector<Self> {
        let mut tcp = HttpConnector::new_with_resolver(self);
        // The connector otherwise accepts `http` URLs only; TLS is added around it.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Divided evenly among the addresses of a name, so that an unreachable one leaves time for
        // the next.
        tcp.set_connect_timeout(Some(limit));
        tcp
    }

    /// The addresses of a name: at least one, and all of them permitted.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, ConnectError> {
        let dns = |error: io::Error| ConnectError::new(FailureClass::Dns, error);
        let found = self.resolver.resolve(name).await.map_err(dns)?;
        if found.is_empty() {
            return Err(dns(io::Error::other("no addresses")));
        }
        if self.policy.permits_all(&found) { Ok(found) } else { Err(ConnectError::refused()) }
    }
}

#[cfg(test)]
mod tests;
