//! [`InvoicingClient`]: a handle that is cheap to clone, and the state that its clones share.

use std::fmt;
use std::sync::Arc;

use crate::config::Limits;
use crate::env::Env;
use crate::rate_limiter::RateLimiter;
use crate::request_factory::RequestFactory;
use crate::{ApiKey, ClientBuilder, Clients, Invoices, Quotes, Transport};

/// A client of the API for one company's key.
///
/// Cloning is cheap, and clones share connections, settings and the rate limiter: create one client per key and clone
/// it. Calls need a tokio runtime with time and I/O. For programs without one there is the feature `blocking`.
#[derive(Clone)]
pub struct InvoicingClient(Arc<ClientInner>);

/// State shared by all clones.
pub(crate) struct ClientInner {
    pub(crate) request_factory: RequestFactory,
    pub(crate) key: ApiKey,
    pub(crate) limits: Limits,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) env: Arc<dyn Env>,
    /// `None` if rate limiting is off.
    pub(crate) rate_limiter: Option<RateLimiter>,
}

impl InvoicingClient {
    /// Starts building a client.
    ///
    /// `base_url` is the service's address without `/api/v1`. Use `https`: plain `http` exposes the key to the network.
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<ApiKey>) -> ClientBuilder {
        ClientBuilder::new(base_url, api_key)
    }

    /// The company's quotes.
    pub fn quotes(&self) -> Quotes {
        Quotes::new(self.clone())
    }

    /// The company's invoices.
    pub fn invoices(&self) -> Invoices {
        Invoices::new(self.clone())
    }

    /// The company's clients.
    pub fn clients(&self) -> Clients {
        Clients::new(self.clone())
    }

    pub(crate) fn new(inner: ClientInner) -> Self {
        Self(Arc::new(inner))
    }

    pub(crate) fn inner(&self) -> &ClientInner {
        &self.0
    }
}

impl fmt::Debug for InvoicingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvoicingClient")
            .field("base_url", &self.0.request_factory.base_url().as_str())
            .field("limits", &self.0.limits)
            .field("rate_limiting", &self.0.rate_limiter.is_some())
            .finish_non_exhaustive()
    }
}
