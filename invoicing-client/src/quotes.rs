//! [`Quotes`]: read, link, and download frozen documents.

use bytes::Bytes;
use invoicing_core::{ExternalLink, QuoteId, QuoteStatus};
use serde::Serialize;

use crate::call::Call;
use crate::document::{Documents, DownloadDocument};
use crate::resource::sealed;
use crate::{
    CatchUp, CheckpointStore, DocumentLink, Error, Follow, InvoicingClient, List, Quote, QuoteItem,
    RecordVersion, Request, Resource,
};

const DOCUMENTS: Documents = Documents {
    resource: "quotes",
    link_operation: "quotes.document",
    download_operation: "quotes.download",
};

/// The company's quotes.
#[derive(Debug, Clone)]
pub struct Quotes {
    client: InvoicingClient,
}

/// The body of `PATCH /quotes/:id`. `None` is written as null, because the service refuses a missing property.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LinkBody<'a> {
    external_id: Option<&'a str>,
}

impl InvoicingClient {
    /// The company's quotes.
    pub fn quotes(&self) -> Quotes {
        Quotes { client: self.clone() }
    }
}

impl Quotes {
    /// Lists quotes, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Reads one quote with its lines, retention, VAT shares and signature.
    pub fn get(&self, id: QuoteId) -> Request<Quote> {
        Request::json(&self.client, Call::get("quotes.get", format!("/quotes/{id}")))
    }

    /// Sets the quote's `externalId`, an identifier of the caller's system: `link(id, format!("deal-{n}"))`.
    /// [`unlink`](Self::unlink) removes it.
    ///
    /// Several quotes may have the same `externalId`.
    ///
    /// A link is a change, so a [`CatchUp`] or [`Follow`] brings the quote once more. A handler that links compares
    /// first, and does nothing the second time:
    ///
    /// ```
    /// # use invoicing_client::{Error, InvoicingClient, QuoteItem};
    /// async fn link(client: &InvoicingClient, quote: QuoteItem) -> Result<(), Error> {
    ///     let deal = format!("deal-{}", quote.summary.number);
    ///     if quote.summary.external_id.as_deref() != Some(&deal) {
    ///         client.quotes().link(quote.summary.id, deal).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn link(&self, id: QuoteId, external_id: impl AsRef<str>) -> Request<ExternalLink> {
        self.set_external_id("quotes.link", id, Some(external_id.as_ref()))
    }

    /// Removes the quote's `externalId`.
    pub fn unlink(&self, id: QuoteId) -> Request<ExternalLink> {
        self.set_external_id("quotes.unlink", id, None)
    }

    fn set_external_id(
        &self,
        operation: &'static str,
        id: QuoteId,
        external_id: Option<&str>,
    ) -> Request<ExternalLink> {
        let call = Call::patch(operation, format!("/quotes/{id}"), &LinkBody { external_id });
        let call = call.map_err(|error| Error::invalid_request(operation, error));
        Request::new(&self.client, call, |key, response| response.parse(key))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes.
    ///
    /// A quote in DRAFT has no document: [`ErrorCode::DocumentUnavailable`](invoicing_core::ErrorCode).
    pub fn document(&self, id: QuoteId) -> Request<DocumentLink> {
        DOCUMENTS.request_link(&self.client, id.0)
    }

    /// Downloads the document behind a link and checks its size and SHA-256.
    ///
    /// The key is not sent to the URL of the link, and the download does not count in the quota. The response to an
    /// expired link is 404.
    pub fn download(&self, link: &DocumentLink) -> Request<Bytes> {
        DOCUMENTS.download(&self.client, link)
    }

    /// Requests a link and downloads the document. If the link expires before the download, one new link is requested.
    pub fn download_document(&self, id: QuoteId) -> DownloadDocument {
        DownloadDocument::new(self.client.clone(), DOCUMENTS, id.0)
    }

    /// Keeps a copy of all quotes, with their lines, up to date. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all quotes, with their lines, up to date by passes and by webhooks. See [`Follow`].
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}

impl List<Quotes> {
    /// Only quotes with this status.
    pub fn status(self, status: QuoteStatus) -> Self {
        self.filter("status", status)
    }

    /// Includes the lines of each quote. Responses become much larger.
    pub fn include_lines(self) -> Self {
        self.with_lines()
    }
}

impl sealed::Sealed for Quotes {}

impl Resource for Quotes {
    type Item = QuoteItem;
    const NAME: &'static str = "quotes";
    const HAS_LINES: bool = true;
    const LIST_OPERATION: &'static str = "quotes.list";
    const GET_OPERATION: &'static str = "quotes.get";
    const EVENT_PREFIX: Option<&'static str> = Some("quote.");

    fn version(item: &QuoteItem) -> RecordVersion {
        RecordVersion { updated_at: item.summary.updated_at, id: item.summary.id.0 }
    }
}
