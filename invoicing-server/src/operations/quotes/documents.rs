//! The frozen documents of a quote, handed out.

use invoicing_core::{DocumentLink, Quote, QuoteId};

use super::Quotes;
use crate::documents::{ContentHash, StoredFile};
use crate::error::Error;
use crate::operations::frozen_files::{OpenedDocument, stored};
use crate::store::Tables;

impl Quotes<'_> {
    /// A signed URL to the frozen document, good for 5 minutes.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a quote that was never sent or accepted,
    /// [`Error::StorageUnavailable`] when the store does not have the document or does not answer.
    pub async fn document(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        self.0.documents::<Quote>().link(id).await
    }

    /// The frozen document itself.
    pub async fn open_document(&self, id: QuoteId) -> Result<OpenedDocument, Error> {
        self.0.documents::<Quote>().open(id).await
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
    async fn find_copy(&self, id: QuoteId, sha256: &str) -> Result<(StoredFile, u64), Error> {
        let hash: ContentHash = sha256.parse().map_err(|_| Error::NotFound)?;
        let company = self.0.id();
        let row =
            self.0.read(async move |mut tx| tx.frozen_files().find(id.0, &hash.to_string()).await).await?;
        stored(company, id, row)
    }
}

#[cfg(feature = "console")]
impl Quotes<'_> {
    /// One of the frozen documents of a quote, not read yet, and its size in bytes: see
    /// [`open_copy`](Self::open_copy).
    pub(crate) async fn stored_copy(&self, id: QuoteId, sha256: &str) -> Result<(StoredFile, u64), Error> {
        self.0.operation("quotes.stored_document", self.find_copy(id, sha256)).await
    }
}
