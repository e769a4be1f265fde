//! The client: a handle that is cheap to clone, and what its clones share.

use std::fmt;
use std::sync::Arc;

use crate::call::Endpoint;
use crate::config::Limits;
use crate::env::Env;
use crate::pace::Pace;
use crate::{ApiKey, ClientBuilder, Clients, Invoices, Quotes, Transport};

/// A client of the API for one company's key.
///
/// Cloning is cheap; clones share connections, settings and the pace. So make one client per key, and clone it. Calls
/// need a tokio runtime with time and I/O; without one, see the `blocking` feature.
#[derive(Clone)]
pub struct InvoicingClient(Arc<Shared>);

/// What all clones share.
pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) key: ApiKey,
    pub(crate) limits: Limits,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) env: Arc<dyn Env>,
    /// `None` where pacing is off.
    pub(crate) pace: Option<Pace>,
}

impl InvoicingClient {
    /// Starts building a client.
    ///
    /// `base_url` is the service's address without `/api/v1`. Use `https`: over plain `http` the key is readable on
    /// the way.
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

    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
}

impl fmt::Debug for InvoicingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvoicingClient")
            .field("base_url", &self.0.endpoint.base().as_str())
            .field("limits", &self.0.limits)
            .field("pacing", &self.0.pace.is_some())
            .finish_non_exhaustive()
    }
}
