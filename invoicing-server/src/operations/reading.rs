//! Documents of a kind, read: one, a page, its latest frozen file.

use std::marker::PhantomData;

use invoicing_core::{
    CreditNote, CreditNoteItem, DocumentLink, Invoice, InvoiceItem, InvoiceStatus, Page, Quote, QuoteItem,
    QuoteStatus,
};
use serde::de::DeserializeOwned;

use super::CompanyHandle;
use super::frozen_files::OpenedDocument;
#[cfg(feature = "console")]
use crate::documents::StoredFile;
use crate::error::Error;
use crate::list_query::PageQuery;
use crate::records::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};
use crate::store::Tables;
use crate::store::documents::StoredDocument;
use crate::store::rows::from_json;

/// A kind of document that is read.
pub(crate) trait ReadDocument: StoredDocument {
    /// An item of its list.
    type Item: DeserializeOwned;
    /// The status that a list can be asked for.
    type Status: Copy + Into<&'static str> + Send + Sync + 'static;

    /// The names of its operations, as the metrics list them.
    const NAMES: Names;
}

/// The names of the operations that read a kind of document.
pub(crate) struct Names {
    get: &'static str,
    detail: &'static str,
    page: &'static str,
    #[cfg(feature = "console")]
    newest: &'static str,
    document: &'static str,
    open_document: &'static str,
    #[cfg(feature = "console")]
    stored_document: &'static str,
}

macro_rules! names {
    ($noun:literal) => {
        Names {
            get: concat!($noun, ".get"),
            detail: concat!($noun, ".get_json"),
            page: concat!($noun, ".list"),
            #[cfg(feature = "console")]
            newest: concat!($noun, ".newest"),
            document: concat!($noun, ".document"),
            open_document: concat!($noun, ".open_document"),
            #[cfg(feature = "console")]
            stored_document: concat!($noun, ".stored_document"),
        }
    };
}

impl ReadDocument for Quote {
    type Item = QuoteItem;
    type Status = QuoteStatus;
    const NAMES: Names = names!("quotes");
}

impl ReadDocument for Invoice {
    type Item = InvoiceItem;
    type Status = InvoiceStatus;
    const NAMES: Names = names!("invoices");
}

/// A credit note has no status, so no list is asked for one.
impl ReadDocument for CreditNote {
    type Item = CreditNoteItem;
    type Status = &'static str;
    const NAMES: Names = names!("credit_notes");
}

/// The documents of one kind that a company has.
pub(crate) struct Documents<'a, D> {
    company: &'a CompanyHandle,
    kind: PhantomData<fn() -> D>,
}

impl CompanyHandle {
    /// The documents of one kind.
    pub(crate) fn documents<D: ReadDocument>(&self) -> Documents<'_, D> {
        Documents { company: self, kind: PhantomData }
    }
}

impl<D: ReadDocument> Documents<'_, D> {
    pub(super) async fn get(&self, id: D::Id) -> Result<D, Error> {
        self.company.operation(D::NAMES.get, self.find(id)).await
    }

    /// Preloads the document on SQLite, before the transaction; `None` on PostgreSQL.
    pub(super) async fn preload(&self, id: D::Id) -> Result<Option<D>, Error> {
        if self.company.services.store.has_one_writer() { self.find(id).await.map(Some) } else { Ok(None) }
    }

    async fn find(&self, id: D::Id) -> Result<D, Error> {
        self.company.read(async move |mut tx| tx.documents().find(id).await).await
    }

    /// The document as the JSON of the API.
    pub(crate) async fn detail(&self, id: D::Id) -> Result<Vec<u8>, Error> {
        let detail = self.company.read(async move |mut tx| tx.documents::<D>().detail(id).await);
        self.company.operation(D::NAMES.detail, detail).await
    }

    /// As [`detail`](Self::detail), unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&self, id: D::Id) -> Result<StoredJson, Error> {
        let detail = self.company.read(async move |mut tx| tx.documents::<D>().small_detail(id).await);
        self.company.operation(D::NAMES.detail, detail).await
    }

    pub(super) async fn list(&self, query: &PageQuery<D::Status>) -> Result<Page<D::Item>, Error> {
        from_json(&self.whole_page(query).await?, D::TABLE, self.company.id)
    }

    /// A page with all of its lines. It is read again if it has large ones, and for as long as the
    /// company changes in between.
    pub(super) async fn whole_page(&self, query: &PageQuery<D::Status>) -> Result<Vec<u8>, Error> {
        let mut lines = Lines::UnlessLarge;
        for _ in 0..MAX_PAGE_READS {
            match self.page(query, lines).await? {
                StoredPage::Whole(page) => return Ok(page),
                StoredPage::Large { as_of, .. } => lines = Lines::AsOf(as_of),
            }
        }
        Err(Error::Overloaded)
    }

    /// A page with these lines.
    pub(crate) async fn page(&self, query: &PageQuery<D::Status>, lines: Lines) -> Result<StoredPage, Error> {
        let query = *query;
        let page = self.company.read_page(async move |mut tx| tx.documents::<D>().page(&query, lines).await);
        self.company.operation(D::NAMES.page, page).await
    }

    /// A page of a list for people, newest first, and the document behind which the next one
    /// begins.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an `after` that is no document of the company.
    #[cfg(feature = "console")]
    pub(crate) async fn newest(
        &self,
        status: Option<D::Status>,
        after: Option<D::Id>,
        limit: u32,
    ) -> Result<(Vec<D::Summary>, Option<D::Id>), Error> {
        let status = status.map(Into::into);
        let found =
            self.company.read(async move |mut tx| tx.documents::<D>().newest(status, after, limit).await);
        self.company.operation(D::NAMES.newest, found).await
    }

    /// A signed URL to the latest frozen file.
    pub(crate) async fn link(&self, id: D::Id) -> Result<DocumentLink, Error> {
        self.company.link_to(D::NAMES.document, self.company.frozen_file::<D>(id)).await
    }

    /// The latest frozen file itself.
    pub(super) async fn open(&self, id: D::Id) -> Result<OpenedDocument, Error> {
        self.company.open_found(D::NAMES.open_document, self.company.frozen_file::<D>(id)).await
    }

    /// The latest frozen file, not read yet, and its size in bytes.
    #[cfg(feature = "console")]
    pub(crate) async fn stored(&self, id: D::Id) -> Result<(StoredFile, u64), Error> {
        self.company.operation(D::NAMES.stored_document, self.company.frozen_file::<D>(id)).await
    }
}
