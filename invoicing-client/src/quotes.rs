//! Quotes: reading, linking, and their frozen documents.

use bytes::Bytes;
use invoicing_core::{ExternalLink, QuoteId};
use serde::Serialize;

use crate::call::Call;
use crate::document::{self, DownloadDocument};
use crate::send::unsendable;
use crate::{CatchUp, CheckpointStore, DocumentLink, Follow, InvoicingClient, List, Quote, Request};

/// The company's quotes.
#[derive(Debug, Clone)]
pub struct Quotes {
    pub(crate) client: InvoicingClient,
}

/// The body of `PATCH /quotes/:id`. Null is written, as a missing property is refused.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LinkBody<'a> {
    external_id: Option<&'a str>,
}

impl Quotes {
    pub(crate) fn new(client: InvoicingClient) -> Self {
        Self { client }
    }

    /// Lists quotes, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Reads one quote with its lines, retention, VAT shares and signature.
    pub fn get(&self, id: QuoteId) -> Request<Quote> {
        Request::json(&self.client, Call::get("quotes.get", format!("/quotes/{id}")))
    }

    /// Links the quote to an identifier of the caller's own system; `None` unlinks it.
    ///
    /// Several quotes may have the same one.
    pub fn link<'a>(&self, id: QuoteId, external_id: impl Into<Option<&'a str>>) -> Request<ExternalLink> {
        const OPERATION: &str = "quotes.link";
        let body = LinkBody { external_id: external_id.into() };
        let call = Call::patch(OPERATION, format!("/quotes/{id}"), &body);
        let call = call.map_err(|error| unsendable(OPERATION, error));
        Request::new(&self.client, call, |shared, answer| shared.read(&answer))
    }

    /// Removes the link.
    pub fn unlink(&self, id: QuoteId) -> Request<ExternalLink> {
        self.link(id, None)
    }

    /// Asks for a link to the frozen PDF, good for 5 minutes.
    ///
    /// A quote still in DRAFT has none: [`ErrorCode::DocumentUnavailable`](invoicing_core::ErrorCode).
    pub fn document(&self, id: QuoteId) -> Request<DocumentLink> {
        let call = Call::get("quotes.document", format!("/quotes/{id}/document"));
        Request::json(&self.client, call.with_query(vec![("type", "pdf".to_owned())]))
    }

    /// Downloads the document behind a link and checks its size and SHA-256.
    ///
    /// The key is not sent to the link's URL, and the quota does not count it. A link that has expired is answered with
    /// 404.
    pub fn download(&self, link: &DocumentLink) -> Request<Bytes> {
        document::download(&self.client, link)
    }

    /// Asks for a link and downloads the document. Should the link expire on the way, one fresh link is asked for.
    pub fn download_document(&self, id: QuoteId) -> DownloadDocument {
        DownloadDocument::new(self.clone(), id)
    }

    /// Keeps a copy of all quotes, with their lines, in step. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all quotes, with their lines, in step by passes and by webhooks. See [`Follow`].
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}
