//! The frozen document of a quote: its link, and the check that its bytes are the linked ones.

use std::future::IntoFuture;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use invoicing_core::{DocumentLink, QuoteId, sha256_hex};

use crate::call::Call;
use crate::request::{Options, per_call};
use crate::send::Answer;
use crate::{Error, ErrorKind, InvoicingClient, Quotes, Request};

const OPERATION: &str = "quotes.download";

/// A document whose bytes were checked against its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The link that it was downloaded from.
    pub link: DocumentLink,
    /// The document.
    pub bytes: Bytes,
}

/// Asking for a link and downloading what is behind it: a call of several requests. See
/// [`Quotes::download_document`].
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `.await` or `send`"]
pub struct DownloadDocument {
    quotes: Quotes,
    id: QuoteId,
    options: Options,
}

impl DownloadDocument {
    per_call!("each request of this call, and one deadline for all of them");

    pub(crate) fn new(quotes: Quotes, id: QuoteId) -> Self {
        Self { quotes, id, options: Options::default() }
    }

    /// Carries the call out. Awaiting it does the same.
    pub async fn send(self) -> Result<Document, Error> {
        let shared = self.quotes.client.shared();
        let started = shared.env.now();
        let left = || {
            let deadline = self.options.over(shared.limits).deadline;
            deadline.saturating_sub(shared.env.now().saturating_duration_since(started))
        };
        let mut link = self.within(self.quotes.document(self.id), left()).await?;
        let bytes = match self.within(self.quotes.download(&link), left()).await {
            Err(error) if error.is_not_found() => {
                link = self.within(self.quotes.document(self.id), left()).await?;
                self.within(self.quotes.download(&link), left()).await?
            }
            downloaded => downloaded?,
        };
        Ok(Document { link, bytes })
    }

    fn within<T>(&self, request: Request<T>, left: Duration) -> Request<T> {
        request.with_options(Options { deadline: Some(left), ..self.options })
    }
}

impl IntoFuture for DownloadDocument {
    type Output = Result<Document, Error>;
    type IntoFuture = BoxFuture<'static, Result<Document, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Downloads the linked document and checks it.
pub(crate) fn download(client: &InvoicingClient, link: &DocumentLink) -> Request<Bytes> {
    let call = call(client, link);
    let link = link.clone();
    Request::new(client, call, move |_, answer| check(&link, answer))
}

fn call(client: &InvoicingClient, link: &DocumentLink) -> Result<Call, Error> {
    let shared = client.shared();
    let Some(url) = shared.endpoint.document_url(&link.url) else {
        return Err(Error::new(OPERATION, ErrorKind::Request)
            .with(|details| details.message = Some("the link is not a web address".to_owned())));
    };
    if link.size_bytes > shared.limits.max_response_bytes as u64 {
        return Err(Error::new(OPERATION, ErrorKind::TooLarge));
    }
    Ok(Call::document(OPERATION, url))
}

fn check(link: &DocumentLink, answer: Answer) -> Result<Bytes, Error> {
    if link.matches(&answer.body) {
        return Ok(answer.body);
    }
    let message = format!(
        "expected {} bytes with SHA-256 {:.64}, got {} with {}",
        link.size_bytes,
        link.sha256,
        answer.body.len(),
        sha256_hex(&answer.body)
    );
    Err(answer.fail(ErrorKind::DocumentMismatch).with(|details| details.message = Some(message)))
}
