//! Quotes: reading, linking, and their frozen documents.

use bytes::Bytes;
use invoicing_core::{ExternalLink, QuoteId};
use serde::Serialize;

use crate::DocumentLink;
use crate::call::Call;
use crate::document::{self, Document};
use crate::send::unsendable;
use crate::{CatchUp, CheckpointStore, Error, InvoicingClient, List, Quote};

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
    pub async fn get(&self, id: QuoteId) -> Result<Quote, Error> {
        self.client.shared().json(&Call::get("quotes.get", format!("/quotes/{id}"))).await
    }

    /// Links the quote to an identifier of the caller's own system; `None` unlinks it.
    ///
    /// Several quotes may have the same one.
    pub async fn link<'a>(
        &self,
        id: QuoteId,
        external_id: impl Into<Option<&'a str>>,
    ) -> Result<ExternalLink, Error> {
        const OPERATION: &str = "quotes.link";
        let body = LinkBody { external_id: external_id.into() };
        let call = Call::patch(OPERATION, format!("/quotes/{id}"), &body)
            .map_err(|error| unsendable(OPERATION, error))?;
        self.client.shared().json(&call).await
    }

    /// Removes the link.
    pub async fn unlink(&self, id: QuoteId) -> Result<ExternalLink, Error> {
        self.link(id, None).await
    }

    /// Asks for a link to the frozen PDF, good for 5 minutes.
    ///
    /// A quote still in DRAFT has none: [`ErrorCode::DocumentUnavailable`](invoicing_core::ErrorCode).
    pub async fn document(&self, id: QuoteId) -> Result<DocumentLink, Error> {
        let path = format!("/quotes/{id}/document");
        let query = vec![("type", "pdf".to_owned())];
        self.client.shared().json(&Call::get("quotes.document", path).with_query(query)).await
    }

    /// Downloads the document behind a link and checks its size and SHA-256.
    ///
    /// The key is not sent to the link's URL. A link that has expired is answered with 404.
    pub async fn download(&self, link: &DocumentLink) -> Result<Bytes, Error> {
        document::download(link, self.client.shared()).await
    }

    /// Asks for a link and downloads the document. Should the link expire on the way, one fresh link is asked for.
    pub async fn download_document(&self, id: QuoteId) -> Result<Document, Error> {
        let mut link = self.document(id).await?;
        let bytes = match self.download(&link).await {
            Err(error) if error.is_not_found() => {
                link = self.document(id).await?;
                self.download(&link).await?
            }
            downloaded => downloaded?,
        };
        Ok(Document { link, bytes })
    }

    /// Keeps a copy of all quotes, with their lines, in step. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }
}
