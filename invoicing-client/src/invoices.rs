//! [`Invoices`]: read-only in the API.

use bytes::Bytes;
use invoicing_core::{InvoiceId, InvoiceStatus};

use crate::call::Call;
use crate::document::{Documents, DownloadDocument};
use crate::resource::sealed;
use crate::{
    CatchUp, CheckpointStore, DocumentLink, Follow, Invoice, InvoiceItem, InvoicingClient, List,
    RecordVersion, Request, Resource,
};

const DOCUMENTS: Documents = Documents {
    resource: "invoices",
    link_operation: "invoices.document",
    download_operation: "invoices.download",
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

    /// Reads one invoice with its lines, VAT shares, deductions and credit notes.
    pub fn get(&self, id: InvoiceId) -> Request<Invoice> {
        Request::json(&self.client, Call::get("invoices.get", format!("/invoices/{id}")))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes.
    ///
    /// An invoice in DRAFT, cancelled there, or issued without a renderer of invoices has no document:
    /// [`ErrorCode::DocumentUnavailable`](invoicing_core::ErrorCode).
    pub fn document(&self, id: InvoiceId) -> Request<DocumentLink> {
        DOCUMENTS.request_link(&self.client, id.0)
    }

    /// Downloads the document behind a link and checks its size and SHA-256. See
    /// [`Quotes::download`](crate::Quotes::download).
    pub fn download(&self, link: &DocumentLink) -> Request<Bytes> {
        DOCUMENTS.download(&self.client, link)
    }

    /// Requests a link and downloads the document. If the link expires before the download, one new link is requested.
    pub fn download_document(&self, id: InvoiceId) -> DownloadDocument {
        DownloadDocument::new(self.client.clone(), DOCUMENTS, id.0)
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
