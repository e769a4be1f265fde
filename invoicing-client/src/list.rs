//! Lists: typed filters, one page, or all pages as a stream.
//!
//! What a filter means is the service's business; a value that it refuses comes back as a `validation_error`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use invoicing_core::{InvoiceStatus, MAX_PAGE_LIMIT, Page, QuoteStatus, Timestamp};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::call::Call;
use crate::catch_up::WaitObserver;
use crate::request::{Options, per_call};
use crate::{Clients, Error, Invoices, InvoicingClient, Quotes, Request, Resource};

/// A list about to be read.
#[must_use = "nothing is sent before `send`, `pages` or `stream`"]
pub struct List<R> {
    client: InvoicingClient,
    offset: u64,
    limit: Option<u32>,
    /// The other parameters, each at most once.
    filters: Vec<(&'static str, String)>,
    /// Who is told of waits for the quota.
    observer: Option<Arc<dyn WaitObserver>>,
    options: Options,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> List<R> {
    pub(crate) fn new(client: InvoicingClient) -> Self {
        Self {
            client,
            offset: 0,
            limit: None,
            filters: Vec::new(),
            observer: None,
            options: Options::default(),
            resource: PhantomData,
        }
    }

    per_call!("each page");

    /// Items per page, 1 to 100. Default: 100 where all pages are read, so that they are few; the service's 50 for a
    /// single one.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// How many items to skip. Default: 0.
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Only records modified at or after this instant, last modified first.
    pub fn since(self, since: Timestamp) -> Self {
        self.filter("since", since)
    }

    /// Reads one page. Awaiting the list does the same.
    pub async fn send(&self) -> Result<Page<R::Item>, Error> {
        self.read().await
    }

    /// A request for one page whose items are of a type of the caller's own, such as `serde_json::Value`: for members that
    /// this version does not know, which the types of this crate ignore.
    pub fn decode<U: DeserializeOwned>(&self) -> Request<Page<U>> {
        Request::json(&self.client, self.call()).with_options(self.options)
    }

    /// Reads one page as whatever the caller makes of it.
    pub(crate) async fn read<P: DeserializeOwned>(&self) -> Result<P, Error> {
        self.client.shared().json(&self.call(), self.options).await
    }

    /// Reads one record as a list with lines would show it: a detail holds all of that.
    pub(crate) async fn detail(&self, id: Uuid) -> Result<R::Item, Error> {
        let call = Call::get(R::DETAIL, format!("/{}/{id}", R::NAME)).observed(self.observer.clone());
        self.client.shared().json(&call, self.options).await
    }

    /// Tells this observer of waits for the quota.
    pub(crate) fn observed(mut self, observer: Arc<dyn WaitObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The client that reads it.
    pub(crate) fn client(&self) -> &InvoicingClient {
        &self.client
    }

    /// Reads page after page, each when it is asked for. 10,000 records are 100 requests.
    ///
    /// The stream ends when the service says that there is no more, not at an empty page, and after an error. Its
    /// `next` may be dropped and called again without losing anything.
    ///
    /// **While records change**, they move. Both orders of the contract put what is new in front, so that without a
    /// `status` or `q` filter an item may come twice and none is left out. With such a filter, a record that stops
    /// matching makes the ones behind it move up, and one of those may slip past the page boundary: to keep a copy
    /// in step, use [`catch_up`](crate::CatchUp), which does not filter.
    pub fn pages(mut self) -> BoxStream<'static, Result<Page<R::Item>, Error>> {
        self.limit.get_or_insert(MAX_PAGE_LIMIT);
        stream::try_unfold(Some(self), async |state: Option<Self>| {
            let Some(mut list) = state else { return Ok(None) };
            let page = list.send().await?;
            list.offset = list.offset.saturating_add(step(&page));
            let next = page.pagination.has_more.then_some(list);
            Ok(Some((page, next)))
        })
        .boxed()
    }

    /// Reads item after item, over all pages. See [`pages`](Self::pages) for what happens while records change.
    pub fn stream(self) -> BoxStream<'static, Result<R::Item, Error>> {
        self.pages().map_ok(|page| stream::iter(page.data.into_iter().map(Ok))).try_flatten().boxed()
    }

    fn filter(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.filters.retain(|(known, _)| *known != name);
        self.filters.push((name, value.to_string()));
        self
    }

    pub(crate) fn with_lines(self) -> Self {
        self.filter("include", "lines")
    }

    pub(crate) fn call(&self) -> Call {
        let mut query = self.filters.clone();
        query.extend(self.limit.map(|limit| ("limit", limit.to_string())));
        if self.offset > 0 {
            query.push(("offset", self.offset.to_string()));
        }
        Call::get(R::LIST, format!("/{}", R::NAME)).with_query(query).observed(self.observer.clone())
    }
}

/// How far the next page is: as many items as came. An empty page that is not the last would lead back to itself, so
/// its whole width is passed over.
fn step<T>(page: &Page<T>) -> u64 {
    match page.data.len() {
        0 => u64::from(page.pagination.limit.max(1)),
        received => received as u64,
    }
}

impl List<Quotes> {
    /// Only quotes in this state.
    pub fn status(self, status: QuoteStatus) -> Self {
        self.filter("status", status)
    }

    /// With the lines of each quote; answers become much larger.
    pub fn include_lines(self) -> Self {
        self.with_lines()
    }
}

impl List<Invoices> {
    /// Only invoices in this state.
    pub fn status(self, status: InvoiceStatus) -> Self {
        self.filter("status", status)
    }

    /// With the lines of each invoice; answers become much larger.
    pub fn include_lines(self) -> Self {
        self.with_lines()
    }
}

impl List<Clients> {
    /// Only clients whose name, e-mail or city contains this text, whatever the case and the accents.
    pub fn q(self, text: &str) -> Self {
        self.filter("q", text)
    }

    /// Only the client with exactly this identifier of the caller's own.
    pub fn external_id(self, external_id: &str) -> Self {
        self.filter("externalId", external_id)
    }
}

impl<R: Resource> IntoFuture for List<R> {
    type Output = Result<Page<R::Item>, Error>;
    type IntoFuture = BoxFuture<'static, Result<Page<R::Item>, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<R> Clone for List<R> {
    fn clone(&self) -> Self {
        let Self { client, offset, limit, filters, observer, options, resource } = self;
        Self {
            client: client.clone(),
            offset: *offset,
            limit: *limit,
            filters: filters.clone(),
            observer: observer.clone(),
            options: *options,
            resource: *resource,
        }
    }
}

impl<R: Resource> fmt::Debug for List<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("resource", &R::NAME)
            .field("offset", &self.offset)
            .field("limit", &self.limit)
            .field("filters", &self.filters)
            .finish_non_exhaustive()
    }
}
