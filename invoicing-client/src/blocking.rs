//! The client for programs without an async runtime.
//!
//! ```no_run
//! use invoicing_client::QuoteStatus;
//! use invoicing_client::blocking::InvoicingClient;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let builder = InvoicingClient::builder("https://quotes.example.com", std::env::var("INVOICING_KEY")?);
//! let client = builder.build_blocking()?;
//! for quote in client.quotes().list().status(QuoteStatus::Accepted).iter() {
//!     let quote = quote?;
//!     client.quotes().link(quote.summary.id, "crm-7").send()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Endpoints, filters, settings and errors are those of the async client. Requests are [sent](Request::send) instead of
//! awaited, and streams are iterators. The client has its own thread for all calls, so that it also works inside an
//! async runtime. A call blocks only the calling thread. Clones share that thread. It has ended when the drop of
//! the last clone returns.

mod request;

use std::fmt;
use std::sync::Arc;

use invoicing_core::{CreditNoteId, DocumentLink, ExternalLink, InvoiceId, NewClient, QuoteId};

use crate::runtime_thread::RuntimeThread;
use crate::{ApiKey, Client, ClientBuilder, ClientCreation, ConfigError, CreditNote, Invoice, List, Quote};

pub use request::{AsyncRequest, Iter, Request};

/// A client of the API for one company's key. See the [module documentation](self).
#[derive(Clone)]
pub struct InvoicingClient {
    client: crate::InvoicingClient,
    thread: Arc<RuntimeThread>,
}

impl InvoicingClient {
    /// Starts building a client. The last step is [`build_blocking`](ClientBuilder::build_blocking).
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<ApiKey>) -> ClientBuilder {
        ClientBuilder::new(base_url, api_key)
    }

    /// The company's quotes.
    pub fn quotes(&self) -> Quotes {
        Quotes(self.clone())
    }

    /// The company's invoices.
    pub fn invoices(&self) -> Invoices {
        Invoices(self.clone())
    }

    /// The company's credit notes.
    pub fn credit_notes(&self) -> CreditNotes {
        CreditNotes(self.clone())
    }

    /// The company's clients.
    pub fn clients(&self) -> Clients {
        Clients(self.clone())
    }

    /// Runs async code with this client, such as a [`CatchUp`](crate::CatchUp), and waits for its result.
    ///
    /// ```no_run
    /// # use invoicing_client::{FileCheckpoint, blocking::InvoicingClient};
    /// # fn example(client: &InvoicingClient) -> Result<(), Box<dyn std::error::Error>> {
    /// let pass = client.block_on(|client| async move {
    ///     let mut catch_up = client.quotes().catch_up(FileCheckpoint::new("quotes.checkpoint.json"));
    ///     catch_up.pass(|quote| std::future::ready(store(quote))).await
    /// })?;
    /// # Ok(())
    /// # }
    /// # fn store(_: invoicing_client::QuoteItem) -> Result<(), std::io::Error> { Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// If the async code panics, or if it calls `block_on` itself.
    pub fn block_on<F, T>(&self, work: impl FnOnce(crate::InvoicingClient) -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.thread.block_on(work(self.client.clone()))
    }

    fn request<C: AsyncRequest>(&self, call: C) -> Request<C> {
        Request::new(call, self.thread.clone())
    }
}

impl ClientBuilder {
    /// Checks the settings, starts the client's thread and builds the client. No request is sent.
    pub fn build_blocking(self) -> Result<InvoicingClient, ConfigError> {
        let client = self.build()?;
        let thread = RuntimeThread::start("invoicing-client").map_err(ConfigError::Thread)?;
        Ok(InvoicingClient { client, thread: Arc::new(thread) })
    }
}

impl fmt::Debug for InvoicingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

/// The company's quotes.
#[derive(Debug, Clone)]
pub struct Quotes(InvoicingClient);

impl Quotes {
    /// Lists quotes, newest first. See [`Quotes::list`](crate::Quotes::list).
    pub fn list(&self) -> Request<List<crate::Quotes>> {
        self.0.request(self.0.client.quotes().list())
    }

    /// Reads one quote with its lines, retention, VAT shares and signature. See [`Quotes::get`](crate::Quotes::get).
    pub fn get(&self, id: QuoteId) -> Request<crate::Request<Quote>> {
        self.0.request(self.0.client.quotes().get(id))
    }

    /// Sets the quote's `externalId`. See [`Quotes::link`](crate::Quotes::link).
    pub fn link(&self, id: QuoteId, external_id: impl AsRef<str>) -> Request<crate::Request<ExternalLink>> {
        self.0.request(self.0.client.quotes().link(id, external_id))
    }

    /// Removes the quote's `externalId`. See [`Quotes::unlink`](crate::Quotes::unlink).
    pub fn unlink(&self, id: QuoteId) -> Request<crate::Request<ExternalLink>> {
        self.0.request(self.0.client.quotes().unlink(id))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes. See [`Quotes::document`](crate::Quotes::document).
    pub fn document(&self, id: QuoteId) -> Request<crate::Request<DocumentLink>> {
        self.0.request(self.0.client.quotes().document(id))
    }

    /// Downloads the document behind a link and checks its size and SHA-256. See [`Quotes::download`](crate::Quotes::download).
    pub fn download(&self, link: &DocumentLink) -> Request<crate::Request<bytes::Bytes>> {
        self.0.request(self.0.client.quotes().download(link))
    }

    /// Requests a link and downloads the document. See [`Quotes::download_document`](crate::Quotes::download_document).
    pub fn download_document(&self, id: QuoteId) -> Request<crate::DownloadDocument> {
        self.0.request(self.0.client.quotes().download_document(id))
    }
}

/// The company's invoices.
#[derive(Debug, Clone)]
pub struct Invoices(InvoicingClient);

impl Invoices {
    /// Lists invoices, newest first. See [`Invoices::list`](crate::Invoices::list).
    pub fn list(&self) -> Request<List<crate::Invoices>> {
        self.0.request(self.0.client.invoices().list())
    }

    /// Reads one invoice with its lines, VAT shares, deductions and credit notes. See [`Invoices::get`](crate::Invoices::get).
    pub fn get(&self, id: InvoiceId) -> Request<crate::Request<Invoice>> {
        self.0.request(self.0.client.invoices().get(id))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes. See [`Invoices::document`](crate::Invoices::document).
    pub fn document(&self, id: InvoiceId) -> Request<crate::Request<DocumentLink>> {
        self.0.request(self.0.client.invoices().document(id))
    }

    /// Downloads the document behind a link and checks its size and SHA-256. See [`Invoices::download`](crate::Invoices::download).
    pub fn download(&self, link: &DocumentLink) -> Request<crate::Request<bytes::Bytes>> {
        self.0.request(self.0.client.invoices().download(link))
    }

    /// Requests a link and downloads the document. See [`Invoices::download_document`](crate::Invoices::download_document).
    pub fn download_document(&self, id: InvoiceId) -> Request<crate::DownloadDocument> {
        self.0.request(self.0.client.invoices().download_document(id))
    }
}

/// The company's credit notes.
#[derive(Debug, Clone)]
pub struct CreditNotes(InvoicingClient);

impl CreditNotes {
    /// Lists credit notes, newest first. See [`CreditNotes::list`](crate::CreditNotes::list).
    pub fn list(&self) -> Request<List<crate::CreditNotes>> {
        self.0.request(self.0.client.credit_notes().list())
    }

    /// Reads one credit note with its lines and VAT shares. See [`CreditNotes::get`](crate::CreditNotes::get).
    pub fn get(&self, id: CreditNoteId) -> Request<crate::Request<CreditNote>> {
        self.0.request(self.0.client.credit_notes().get(id))
    }

    /// Requests a link to the frozen PDF, which is valid for 5 minutes. See [`CreditNotes::document`](crate::CreditNotes::document).
    pub fn document(&self, id: CreditNoteId) -> Request<crate::Request<DocumentLink>> {
        self.0.request(self.0.client.credit_notes().document(id))
    }

    /// Downloads the document behind a link and checks its size and SHA-256. See [`CreditNotes::download`](crate::CreditNotes::download).
    pub fn download(&self, link: &DocumentLink) -> Request<crate::Request<bytes::Bytes>> {
        self.0.request(self.0.client.credit_notes().download(link))
    }

    /// Requests a link and downloads the document. See [`CreditNotes::download_document`](crate::CreditNotes::download_document).
    pub fn download_document(&self, id: CreditNoteId) -> Request<crate::DownloadDocument> {
        self.0.request(self.0.client.credit_notes().download_document(id))
    }
}

/// The company's clients.
#[derive(Debug, Clone)]
pub struct Clients(InvoicingClient);

impl Clients {
    /// Lists clients, newest first. See [`Clients::list`](crate::Clients::list).
    pub fn list(&self) -> Request<List<crate::Clients>> {
        self.0.request(self.0.client.clients().list())
    }

    /// Finds the client with this `externalId`. See [`Clients::find`](crate::Clients::find).
    pub fn find(&self, external_id: &str) -> Request<crate::Request<Option<Client>>> {
        self.0.request(self.0.client.clients().find(external_id))
    }

    /// Creates a client; idempotent with an `externalId`. See [`Clients::create`](crate::Clients::create).
    pub fn create(&self, new: &NewClient) -> Request<crate::Request<ClientCreation>> {
        self.0.request(self.0.client.clients().create(new))
    }
}
