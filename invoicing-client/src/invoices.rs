//! [`Invoices`]: read-only in the API.

use invoicing_core::InvoiceId;

use crate::call::Call;
use crate::{CatchUp, CheckpointStore, Follow, Invoice, InvoicingClient, List, Request};

/// The company's invoices.
#[derive(Debug, Clone)]
pub struct Invoices {
    client: InvoicingClient,
}

impl Invoices {
    pub(crate) fn new(client: InvoicingClient) -> Self {
        Self { client }
    }

    /// Lists invoices, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Reads one invoice with its lines and VAT shares.
    pub fn get(&self, id: InvoiceId) -> Request<Invoice> {
        Request::json(&self.client, Call::get("invoices.get", format!("/invoices/{id}")))
    }

    /// Keeps a copy of all invoices, with their lines, up to date. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all invoices, with their lines, up to date by passes and by webhooks. See [`Follow`].
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}
