//! The frozen document of a quote, an invoice or a credit note: its link, its download, and the
//! check of the bytes against the link.

use std::future::IntoFuture;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use invoicing_core::{DocumentLink, sha256_hex};
use uuid::Uuid;

use crate::call::{Call, CallOptions, call_options};
use crate::response::ApiResponse;
use crate::{Error, ErrorKind, InvoicingClient, Request};

/// The documents of one resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Documents {
    /// The name of the resource in the path.
    pub(crate) resource: &'static str,
    /// Name of the request for a link in errors and logs.
    pub(crate) link_operation: &'static str,
    /// Name of a download in errors and logs.
    pub(crate) download_operation: &'static str,
}

/// A document whose size and SHA-256 match its link.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The link of the download.
    pub link: DocumentLink,
    /// The content.
    pub bytes: Bytes,
}

/// A request for a link followed by the download, such as
/// [`Quotes::download_document`](crate::Quotes::download_document).
#[derive(Debug, Clone)]
#[must_use = "nothing is sent until `.await` or `send`"]
pub struct DownloadDocument {
    client: InvoicingClient,
    documents: Documents,
    id: Uuid,
    options: CallOptions,
}

impl DownloadDocument {
    call_options!("each request of this call, and one deadline for all of them");

    pub(crate) fn new(client: InvoicingClient, documents: Documents, id: Uuid) -> Self {
        Self { client, documents, id, options: CallOptions::default() }
    }

    /// Carries both requests out. Awaiting it does the same.
    pub async fn send(self) -> Result<Document, Error> {
        let inner = self.client.inner();
        let started = inner.env.now();
        let left = || {
            let deadline = self.options.or_default(inner.limits).deadline;
            deadline.saturating_sub(inner.env.now().saturating_duration_since(started))
        };
        let mut link = self.within(self.documents.request_link(&self.client, self.id), left()).await?;
        let bytes = match self.within(self.documents.download(&self.client, &link), left()).await {
            Err(error) if error.is_not_found() => {
                link = self.within(self.documents.request_link(&self.client, self.id), left()).await?;
                self.within(self.documents.download(&self.client, &link), left()).await?
            }
            downloaded => downloaded?,
        };
        Ok(Document { link, bytes })
    }

    fn within<T>(&self, request: Request<T>, left: Duration) -> Request<T> {
        request.with_options(CallOptions { deadline: Some(left), ..self.options })
    }
}

impl IntoFuture for DownloadDocument {
    type Output = Result<Document, Error>;
    type IntoFuture = BoxFuture<'static, Result<Document, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl Documents {
    pub(crate) fn request_link(&self, client: &InvoicingClient, id: Uuid) -> Request<DocumentLink> {
        let call = Call::get(self.link_operation, format!("/{}/{id}/document", self.resource));
        Request::json(client, call.with_query(vec![("type", "pdf".to_owned())]))
    }

    pub(crate) fn download(&self, client: &InvoicingClient, link: &DocumentLink) -> Request<Bytes> {
        let call = self.download_call(client, link);
        let link = link.clone();
        Request::new(client, call, move |_, response| check(&link, response))
    }

    fn download_call(&self, client: &InvoicingClient, link: &DocumentLink) -> Result<Call, Error> {
        let inner = client.inner();
        let operation = self.download_operation;
        let Some(url) = inner.request_factory.document_url(&link.url) else {
            return Err(Error::new(operation, ErrorKind::InvalidRequest).with(|details| {
                details.message = Some("the URL of the link is neither http nor https".to_owned());
            }));
        };
        if link.size_bytes > inner.limits.max_response_bytes as u64 {
            return Err(Error::new(operation, ErrorKind::TooLarge));
        }
        Ok(Call::document(operation, url))
    }
}

fn check(link: &DocumentLink, response: ApiResponse) -> Result<Bytes, Error> {
    if link.matches(&response.body) {
        return Ok(response.body);
    }
    let message = format!(
        "expected {} bytes with SHA-256 {:.64}, got {} with {}",
        link.size_bytes,
        link.sha256,
        response.body.len(),
        sha256_hex(&response.body)
    );
    Err(response.error(ErrorKind::DocumentMismatch).with(|details| details.message = Some(message)))
}
