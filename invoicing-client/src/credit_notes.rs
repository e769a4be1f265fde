//! [`CreditNotes`]: read-only in the API, and never changed.

use bytes::Bytes;
use invoicing_core::CreditNoteId;

use crate::call::Call;
use crate::document::{Documents, DownloadDocument};
use crate::resource::sealed;
use crate::{
    CatchUp, CheckpointStore, CreditNote, CreditNoteItem, DocumentLink, Follow, InvoicingClient, List,
    RecordVersion, Request, Resource,
};

const DOCUMENTS: Documents = Documents {
    resource: "credit-notes",
    link_operation: "credit_notes.document",
    download_operation: "credit_notes.download",
};

/// The company's credit notes.
#[derive(Debug, Clone)]
pub struct CreditNotes {
    client: InvoicingClient,
}

impl InvoicingClient {
    /// The company's credit notes.
    pub fn credit_notes(&self) -> CreditNotes {
        CreditNotes { client: self.clone() }
    }
}

impl CreditNotes {
    /// Lists credit notes, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Reads one credit note with its lines and VAT shares.
    pub fn get(&self, id: CreditNoteId) -> Request<CreditNote> {
        Request::json(&self.client, Call::get("credit_notes.get", format!("/credit-notes/{id}")))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes.
    ///
    /// A credit note that was issued without a renderer of invoices has none:
    /// [`ErrorCode::DocumentUnavailable`](invoicing_core::ErrorCode).
    pub fn document(&self, id: CreditNoteId) -> Request<DocumentLink> {
        DOCUMENTS.request_link(&self.client, id.0)
    }

    /// Downloads the document behind a link and checks its size and SHA-256. See
    /// [`Quotes::download`](crate::Quotes::download).
    pub fn download(&self, link: &DocumentLink) -> Request<Bytes> {
        DOCUMENTS.download(&self.client, link)
    }

    /// Requests a link and downloads the document. If the link expires before the download, one new link is requested.
    pub fn download_document(&self, id: CreditNoteId) -> DownloadDocument {
        DownloadDocument::new(self.client.clone(), DOCUMENTS, id.0)
    }

    /// Keeps a copy of all credit notes, with their lines, up to date. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all credit notes, with their lines, up to date by passes and by webhooks. See [`Follow`].
    ///
    /// Their event, `credit_note.issued`, is sent only to a webhook that names it.
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}

impl List<CreditNotes> {
    /// Includes the lines of each credit note. Responses become much larger.
    pub fn include_lines(self) -> Self {
        self.with_lines()
    }
}

impl sealed::Sealed for CreditNotes {}

impl Resource for CreditNotes {
    type Item = CreditNoteItem;
    const NAME: &'static str = "credit-notes";
    const HAS_LINES: bool = true;
    const LIST_OPERATION: &'static str = "credit_notes.list";
    const GET_OPERATION: &'static str = "credit_notes.get";
    const EVENT_PREFIX: Option<&'static str> = Some("credit_note.");

    fn version(item: &CreditNoteItem) -> RecordVersion {
        RecordVersion { updated_at: item.summary.updated_at, id: item.summary.id.0 }
    }
}
