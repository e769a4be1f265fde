//! A fake of the service for tests, with fault injection.
//!
//! ```
//! use invoicing_client::QuoteStatus;
//! use invoicing_client::testing::{FakeServer, Fault};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = FakeServer::start();
//! let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
//! // The service carries out the first request, but its connection breaks. The second request succeeds.
//! server.script([Fault::CutBeforeHeaders]);
//!
//! let client = server.client().build()?;
//! client.quotes().link(id, "deal-7").await?;
//!
//! assert_eq!(server.requests().len(), 2);
//! let linked = server.store(|store| store.quote(id).and_then(|quote| quote.summary.external_id.clone()));
//! assert_eq!(linked.as_deref(), Some("deal-7"));
//! # Ok(())
//! # }
//! ```
//!
//! [`FakeServer`] listens on loopback and holds its records in memory. By default it implements the API contract: lists
//! with filters and order, single records, links, idempotent creation, documents and errors. A test can inject
//! [faults](Fault) such as overload, delays, broken connections and invalid responses: into the next requests by a
//! [script](FakeServer::script), or at random from a seed ([`chaos`](FakeServer::chaos)). The server has its own thread,
//! so that it serves tests with and without an async runtime. It does not depend on this crate's client: any HTTP
//! program can be tested against it.
//!
//! It does not implement plans, limits of text lengths, or a realistic speed.

mod api;
mod fault;
mod query;
mod respond;
mod serve;
mod state;
mod store;

use std::cmp::Ordering;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};

use crate::runtime_thread::RuntimeThread;
use crate::{ClientBuilder, InvoicingClient};

pub use fault::Fault;
pub use query::SortKey;
use state::SharedState;
pub use store::Store;

/// The fake service. Dropping it closes all connections.
pub struct FakeServer {
    url: String,
    state: Arc<SharedState>,
    _thread: RuntimeThread,
}

/// A request that the server received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub uri: Uri,
    /// The headers, including the key.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// A decoded parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        query::pairs(&self.uri).find_map(|(known, value)| (known == name).then(|| value.into_owned()))
    }
}

impl FakeServer {
    /// The only valid key.
    pub const KEY: &'static str = "isk_fake0123456789abcdefghijklmnopqrstuvwxyzABCD";

    /// Starts on a free loopback port, without records.
    ///
    /// # Panics
    ///
    /// If no port or no thread is available.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("the port's number"));
        let thread = RuntimeThread::start("fake-server").expect("a thread");
        let state = Arc::new(SharedState::new(&url));
        thread.spawn(serve::accept(listener, state.clone()));
        Self { url, state, _thread: thread }
    }

    /// The base URL, without `/api/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starts building a client with this server's base URL and key.
    pub fn client(&self) -> ClientBuilder {
        InvoicingClient::builder(&self.url, Self::KEY)
    }

    /// Reads or changes the records. No request is served meanwhile.
    pub fn store<T>(&self, work: impl FnOnce(&mut Store) -> T) -> T {
        self.state.with(|state| work(&mut state.store))
    }

    /// Appends faults for the next requests, one for each. [`Fault::None`] serves a request normally.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.with(|state| state.fault_plan.script(faults));
    }

    /// Injects faults at random into each request without a scripted fault: at most one, each with its probability.
    ///
    /// The same seed makes the same choices if the requests arrive in the same order. An empty list ends it.
    ///
    /// ```
    /// # use invoicing_client::testing::{FakeServer, Fault};
    /// # let server = FakeServer::start();
    /// server.chaos(7, [(0.1, Fault::CutInBody), (0.2, Fault::status(503))]);
    /// server.chaos(7, []); // no more faults
    /// ```
    pub fn chaos(&self, seed: u64, chances: impl IntoIterator<Item = (f64, Fault)>) {
        self.state.with(|state| state.fault_plan.chaos(seed, chances));
    }

    /// Sets a hook that runs before each request is served, with a fault or without: for changes between two requests.
    ///
    /// The hook must not call this server's methods.
    pub fn before_each(&self, hook: impl FnMut(&ReceivedRequest, &mut Store) + Send + 'static) {
        self.state.with(|state| state.before_each = Some(Box::new(hook)));
    }

    /// Sets a hook that can change each response that is not a fault's, to imitate other servers.
    ///
    /// The hook must not call this server's methods.
    pub fn rewrite(&self, hook: impl FnMut(&ReceivedRequest, &mut Response<Bytes>) + Send + 'static) {
        self.state.with(|state| state.rewrite = Some(Box::new(hook)));
    }

    /// Sorts all lists in another order than the contract's.
    pub fn order_by(&self, order: impl FnMut(&SortKey, &SortKey) -> Ordering + Send + 'static) {
        self.state.with(|state| state.order = Some(Box::new(order)));
    }

    /// Enforces a quota: this many requests in any 60 s. Further requests are refused with 429.
    ///
    /// By default no request is refused and `RateLimit-Limit` is a million, so that the client's rate limiter does not
    /// slow a test down.
    pub fn quota(&self, limit: u32) {
        self.state.with(|state| state.quota = Some(limit));
    }

    /// All requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.with(|state| state.received.clone())
    }
}

impl fmt::Debug for FakeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeServer").field("url", &self.url).finish_non_exhaustive()
    }
}
