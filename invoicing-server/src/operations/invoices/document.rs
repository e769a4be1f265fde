//! The frozen document of an invoice, handed out.

use invoicing_core::{DocumentLink, InvoiceId};

use super::Invoices;
use crate::documents::StoredDocument;
use crate::error::Error;
use crate::operations::documents::OpenedDocument;
use crate::store::Tables;

impl Invoices<'_> {
    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a draft, for one that was cancelled, and for an invoice
    /// that was issued without a renderer of invoices;
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: InvoiceId) -> Result<DocumentLink, Error> {
        self.0.link_to("invoices.document", self.stored_document(id)).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: InvoiceId) -> Result<OpenedDocument, Error> {
        self.0.open_found("invoices.open_document", self.stored_document(id)).await
    }

    /// The frozen document, not read yet, and its size in bytes.
    pub(crate) async fn stored_document(&self, id: InvoiceId) -> Result<(StoredDocument, u64), Error> {
        self.0.read(async move |mut tx| tx.invoices().find_summary(id).await).await?;
        self.0.issued_document(id.0).await
    }
}
