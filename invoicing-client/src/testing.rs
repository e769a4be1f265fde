//! A fake of the service for tests: honest about the contract, and as faulty as a test asks for.
//!
//! [`FakeServer`] listens on loopback and keeps its records in memory. Left alone it answers as the contract says: lists
//! with their filters and order, details, links, idempotent creation, documents, errors. On request it is overloaded,
//! slow, cut off, or talks nonsense: once per request by a [script](FakeServer::script), or at random from a seed
//! ([`chaos`](FakeServer::chaos)). It runs on a thread of its own, so it serves tests with and without an async runtime,
//! and it needs nothing of this crate's client: any program that speaks HTTP can be tested against it.
//!
//! What it leaves out: plans, limits of text lengths, and the speed of a real one.
//!
//! ```
//! use invoicing_client::QuoteStatus;
//! use invoicing_client::testing::{FakeServer, Fault};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = FakeServer::start();
//! let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
//! // The first request is cut off after the service has carried it out; the second is answered.
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

mod api;
mod fault;
mod query;
mod serve;
mod state;
mod store;

use std::cmp::Ordering;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};

use crate::own_thread::OwnThread;
use crate::{ClientBuilder, InvoicingClient};

pub use fault::Fault;
pub use query::Position;
use state::Shared;
pub use store::Store;

/// The fake service. Dropping it ends it, with every connection.
pub struct FakeServer {
    url: String,
    shared: Arc<Shared>,
    _thread: OwnThread,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub uri: Uri,
    /// The headers, the key among them.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// A parameter of the query, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        query::pairs(&self.uri).find_map(|(known, value)| (known == name).then(|| value.into_owned()))
    }
}

impl FakeServer {
    /// The key that it accepts.
    pub const KEY: &'static str = "isk_fake0123456789abcdefghijklmnopqrstuvwxyzABCD";

    /// Starts on a free port of loopback, without any records.
    ///
    /// # Panics
    ///
    /// If there is no port or no thread to be had.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("the port's number"));
        let thread = OwnThread::start("fake-server").expect("a thread");
        let shared = Arc::new(Shared::new(&url));
        thread.begin(serve::accept(listener, shared.clone()));
        Self { url, shared, _thread: thread }
    }

    /// Its address, without `/api/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Begins a client with its address and its key.
    pub fn client(&self) -> ClientBuilder {
        InvoicingClient::builder(&self.url, Self::KEY)
    }

    /// Looks at the records, or changes them. No request is served meanwhile.
    pub fn store<T>(&self, work: impl FnOnce(&mut Store) -> T) -> T {
        self.shared.with(|state| work(&mut state.store))
    }

    /// What happens to the next requests, one each; [`Fault::None`] leaves one alone. Added behind what is still to
    /// come.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.with(|state| state.plan.script(faults));
    }

    /// From now on, what happens to each request that the script says nothing of: each fault with its probability, at
    /// most one. The same seed makes the same choices, as long as requests come in the same order. Nothing ends it.
    ///
    /// ```
    /// # use invoicing_client::testing::{FakeServer, Fault};
    /// # let server = FakeServer::start();
    /// server.chaos(7, [(0.1, Fault::CutInBody), (0.2, Fault::status(503))]);
    /// server.chaos(7, []); // all is well again
    /// ```
    pub fn chaos(&self, seed: u64, chances: impl IntoIterator<Item = (f64, Fault)>) {
        self.shared.with(|state| state.plan.chaos(seed, chances));
    }

    /// Calls this before each request is answered, faulty or not: for changes that happen between two requests.
    ///
    /// The hook must not call this server's methods.
    pub fn before_each(&self, hook: impl FnMut(&ReceivedRequest, &mut Store) + Send + 'static) {
        self.shared.with(|state| state.before = Some(Box::new(hook)));
    }

    /// Calls this with each answer that is not a fault's: for a service that is not quite this one.
    ///
    /// The hook must not call this server's methods.
    pub fn rewrite(&self, hook: impl FnMut(&ReceivedRequest, &mut Response<Bytes>) + Send + 'static) {
        self.shared.with(|state| state.rewrite = Some(Box::new(hook)));
    }

    /// Puts lists into another order than the contract's, whatever their filters.
    pub fn order_by(&self, order: impl FnMut(&Position, &Position) -> Ordering + Send + 'static) {
        self.shared.with(|state| state.order = Some(Box::new(order)));
    }

    /// Keeps a real quota: so many requests in any 60 s, the rest is refused with 429.
    ///
    /// Without this none is refused, and the answers' `RateLimit-Limit` is a million, so that a client's own pace does
    /// not slow a test down.
    pub fn quota(&self, limit: u32) {
        self.shared.with(|state| state.quota = Some(limit));
    }

    /// Every request so far, in the order in which they arrived.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.with(|state| state.received.clone())
    }
}

impl fmt::Debug for FakeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeServer").field("url", &self.url).finish_non_exhaustive()
    }
}
