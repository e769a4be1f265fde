//! [`Invoices`]: read-only in the API.

use invoicing_core::{InvoiceId, InvoiceStatus};

use crate::call::Call;
use crate::resource::sealed;
use crate::{
    CatchUp, CheckpointStore, Follow, Invoice, InvoiceItem, InvoicingClient, List, RecordVersion, Request,
    Resource,
};

/// The company's invoices.
#[derive(Debug, Clone)]
pub struct Invoices {
    client: InvoicingClient,
}

impl InvoicingClient {
    /// The company's invoices.
    pub fn invoices(&self) -> Invoices {
        Invoices { client: self.clone() }
    }
}

impl Invoices {
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

impl List<Invoices> {
    /// Only invoices with this status.
    pub fn status(self, status: InvoiceStatus) -> Self {
        self.filter("status", status)
    }

    /// Includes the lines of each invoice. Responses become much larger.
    pub fn include_lines(self) -> Self {
        self.with_lines()
    }
}

impl sealed::Sealed for Invoices {}

impl Resource for Invoices {
    type Item = InvoiceItem;
    const NAME: &'static str = "invoices";
    const HAS_LINES: bool = true;
    const LIST_OPERATION: &'static str = "invoices.list";
    const GET_OPERATION: &'static str = "invoices.get";
    const EVENT_PREFIX: Option<&'static str> = Some("invoice.");

    fn version(item: &InvoiceItem) -> RecordVersion {
        RecordVersion { updated_at: item.summary.updated_at, id: item.summary.id.0 }
    }
}
