//! Names to addresses, and the policy on what comes back.
//!
//! The addresses that pass here are the very ones that are connected to: nothing is looked up twice. Nothing is
//! cached either, though connections that are opened at once may share a lookup; each of them checks its answer. A
//! kept connection goes on leading where it was allowed to lead, whatever the name's answer has become meanwhile.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use invoicing_core::FailureClass;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
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
///
/// A lookup blocks a thread until the name's servers answer or are given up, long after its attempt has timed out. So
/// that names that hang cannot take all threads, a name has one lookup at a time, which answers everybody who asks
/// meanwhile, and a lookup that takes long gives its place to the next one.
#[derive(Clone)]
pub(crate) struct SystemResolver(Arc<Lookups>);

/// Lookups that may be under way, and as many again that hang. Tokio's 512 threads for what blocks are needed for files,
/// too.
const MAX_LOOKUPS: usize = 128;

/// After this long a lookup counts as one that hangs.
const HANGS: Duration = Duration::from_secs(1);

/// What a lookup gave, for all who wait for it.
type Answer = Result<Vec<IpAddr>, Arc<io::Error>>;

/// Blocks until there is an answer.
type LookUp = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

struct Lookups {
    look_up: Box<LookUp>,
    under_way: Mutex<HashMap<String, watch::Receiver<Answer>>>,
    places: Arc<Semaphore>,
    places_of_those_that_hang: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new(|host| Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }
}

impl SystemResolver {
    fn new(look_up: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        let places = || Arc::new(Semaphore::new(MAX_LOOKUPS));
        Self(Arc::new(Lookups {
            look_up: Box::new(look_up),
            under_way: Mutex::default(),
            places: places(),
            places_of_those_that_hang: places(),
        }))
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let (lookups, host) = (Arc::clone(&self.0), host.to_owned());
        Box::pin(async move {
            let under_way = lookups.under_way().get(&host).cloned();
            let mut answer = if let Some(answer) = under_way {
                answer
            } else {
                let place = Arc::clone(&lookups.places).acquire_owned().await.map_err(io::Error::other)?;
                UnderWay::begin(lookups, host, place)
            };
            answer.changed().await.map_err(io::Error::other)?;
            answer.borrow().clone().map_err(io::Error::other)
        })
    }
}

impl Lookups {
    fn under_way(&self) -> MutexGuard<'_, HashMap<String, watch::Receiver<Answer>>> {
        self.under_way.lock()
    }
}

/// The lookup of a name, struck off when it ends.
struct UnderWay {
    lookups: Arc<Lookups>,
    host: String,
}

impl UnderWay {
    /// Begins a lookup, or joins the one that somebody else has begun while this one waited for a place.
    #[expect(clippy::disallowed_methods, reason = "ends with its thread, which outlives the attempt")]
    fn begin(lookups: Arc<Lookups>, host: String, place: OwnedSemaphorePermit) -> watch::Receiver<Answer> {
        let (tell, answer) = watch::channel(Ok(Vec::new()));
        match lookups.under_way().entry(host.clone()) {
            Entry::Occupied(begun) => return begun.get().clone(),
            Entry::Vacant(none) => {
                none.insert(answer.clone());
            }
        }
        tokio::spawn(Self { lookups, host }.work(place, tell));
        answer
    }

    async fn work(self, place: OwnedSemaphorePermit, tell: watch::Sender<Answer>) {
        let (lookups, host) = (Arc::clone(&self.lookups), self.host.clone());
        let mut thread = tokio::task::spawn_blocking(move || (lookups.look_up)(&host));
        let (found, _place) = if let Ok(found) = tokio::time::timeout(HANGS, &mut thread).await {
            (found, place)
        } else {
            let another = Arc::clone(&self.lookups.places_of_those_that_hang).try_acquire_owned();
            let place = another.unwrap_or(place);
            (thread.await, place)
        };
        let _ = tell.send_replace(found.unwrap_or_else(|error| Err(error.into())).map_err(Arc::new));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.lookups.under_way().remove(&self.host);
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

#[cfg(test)]
mod tests;
