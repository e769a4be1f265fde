//! Invoices: reading. The API changes none.

use invoicing_core::InvoiceId;

use crate::call::Call;
use crate::{CatchUp, CheckpointStore, Error, Invoice, InvoicingClient, List};

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
    pub async fn get(&self, id: InvoiceId) -> Result<Invoice, Error> {
        self.client.shared().json(&Call::get("invoices.get", format!("/invoices/{id}"))).await
    }

    /// Keeps a copy of all invoices, with their lines, in step. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }
}
