//! The frozen document of an invoice, handed out.

use invoicing_core::{DocumentLink, InvoiceId};

use super::Invoices;
use crate::Error;
use crate::documents::StoredDocument;
use crate::operations::documents::OpenedDocument;
use crate::store::Tables;

impl Invoices<'_> {
    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a draft, and for an invoice that an earlier version
    /// issued; [`Error::StorageUnavailable`] when the store does not have the document or does not
    /// answer.
    pub async fn document(&self, id: InvoiceId) -> Result<DocumentLink, Error> {
        let link = async {
            let (document, size_bytes) = self.stored_document(id).await?;
            self.0.services.link(document, size_bytes).await
        };
        self.0.operation("invoices.document", link).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: InvoiceId) -> Result<OpenedDocument, Error> {
        let opened = async { self.0.services.open(self.stored_document(id).await?.0).await };
        self.0.operation("invoices.open_document", opened).await
    }

    /// The frozen document, not read yet, and its size in bytes.
    pub(crate) async fn stored_document(&self, id: InvoiceId) -> Result<(StoredDocument, u64), Error> {
        self.0.read(async move |mut tx| tx.invoices().find_summary(id).await).await?;
        self.0.issued_document(id.0).await?.ok_or(Error::DocumentUnavailable)
    }
}
