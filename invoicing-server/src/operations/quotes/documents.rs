//! The frozen documents of a quote, handed out.

use invoicing_core::{DocumentLink, QuoteId};

use super::Quotes;
use crate::documents::{ContentHash, StoredCopy, StoredDocument};
use crate::error::Error;
use crate::operations::documents::{OpenedDocument, stored};
use crate::store::Tables;

impl Quotes<'_> {
    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a quote that was never sent or accepted,
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        self.0.link_to("quotes.document", self.0.services.latest_document(self.0.id, id)).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        self.0.operation("quotes.open_document", self.open_latest(id)).await
    }

    pub(in crate::operations) async fn open_latest(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        let services = &self.0.services;
        let latest = services.latest_copy(self.0.id, id, &mut services.documents.bounded_store()).await?;
        let StoredCopy { document: StoredDocument { sha256, file_name, .. }, bytes } = latest;
        Ok(OpenedDocument { bytes, file_name, sha256: sha256.to_string() })
    }

    /// One of the frozen documents of a quote, by the hash with which
    /// [`documents`](Self::documents) lists it: the last one or an earlier one.
    ///
    /// # Errors
    /// [`Error::NotFound`] if none of them has this hash, [`Error::StorageUnavailable`] when the
    /// store does not have the document or does not answer.
    pub async fn open_copy(&self, id: QuoteId, sha256: &str) -> Result<OpenedDocument, Error> {
        self.0.open_found("quotes.open_copy", self.find_copy(id, sha256)).await
    }

    /// One of the frozen documents of a quote, not read yet, and its size in bytes.
    async fn find_copy(&self, id: QuoteId, sha256: &str) -> Result<(StoredDocument, u64), Error> {
        let hash: ContentHash = sha256.parse().map_err(|_| Error::NotFound)?;
        let company = self.0.id();
        let row = self.0.read(async move |mut tx| tx.documents().find(id, &hash.to_string()).await).await?;
        stored(company, id, row)
    }
}

#[cfg(feature = "console")]
impl Quotes<'_> {
    /// The last frozen document, not read yet, and its size in bytes.
    pub(crate) async fn stored_document(&self, id: QuoteId) -> Result<(StoredDocument, u64), Error> {
        let latest = self.0.services.latest_document(self.0.id, id);
        self.0.operation("quotes.stored_document", latest).await
    }

    /// One of the frozen documents of a quote, not read yet, and its size in bytes: see
    /// [`open_copy`](Self::open_copy).
    pub(crate) async fn stored_copy(
        &self,
        id: QuoteId,
        sha256: &str,
    ) -> Result<(StoredDocument, u64), Error> {
        self.0.operation("quotes.stored_document", self.find_copy(id, sha256)).await
    }
}
