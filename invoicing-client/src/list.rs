//! [`List`]: typed filters; one page, or all pages as a stream.
//!
//! The service interprets the filters. It refuses an invalid value with `validation_error`.

use std::fmt;
use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use invoicing_core::{DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, Page, Timestamp};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::call::{Call, CallOptions, call_options};
use crate::{Error, InvoicingClient, Request, Resource};

/// A list request. Nothing is sent until it is awaited or read.
///
/// ```no_run
/// use futures_util::TryStreamExt;
/// use invoicing_client::{Error, InvoicingClient, InvoiceStatus, Timestamp};
///
/// # async fn example(client: InvoicingClient, monday: Timestamp) -> Result<(), Error> {
/// // One page.
/// let page = client.invoices().list().status(InvoiceStatus::Overdue).limit(20).await?;
/// println!("{} of them, more: {}", page.data.len(), page.pagination.has_more);
///
/// // Everything, page by page, with the lines.
/// let mut invoices = client.invoices().list().since(monday).include_lines().stream();
/// while let Some(invoice) = invoices.try_next().await? {
///     println!("{:?} {} lines", invoice.summary.number, invoice.lines().len());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `send`, `pages` or `stream`"]
pub struct List<R> {
    client: InvoicingClient,
    offset: u64,
    limit: Option<u32>,
    /// The limit of the next page, if the service has refused a larger one.
    smaller_limit: Option<u32>,
    /// The other query parameters, each at most once.
    filters: Vec<(&'static str, String)>,
    options: CallOptions,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> List<R> {
    pub(crate) fn new(client: InvoicingClient) -> Self {
        Self {
            client,
            offset: 0,
            limit: None,
            smaller_limit: None,
            filters: Vec::new(),
            options: CallOptions::default(),
            resource: PhantomData,
        }
    }

    call_options!("each page");

    /// Items per page, 1 to 100. Default: 100 for [`pages`](Self::pages) and [`stream`](Self::stream), which need fewer
    /// requests then, and the service's 50 for a single page.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Number of items to skip. Default: 0.
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Only records modified at or after this instant, last modified first.
    pub fn since(self, since: Timestamp) -> Self {
        self.filter("since", since)
    }

    /// Reads one page. Awaiting the list does the same.
    ///
    /// The service refuses a page with lines of more than 16 MiB, and names the largest limit that works. The page is then
    /// read with that limit, by a second request. So the offset of the next page is this one's plus the items received,
    /// which may be fewer than the [`limit`](Self::limit).
    pub async fn send(&self) -> Result<Page<R::Item>, Error> {
        self.clone().read().await
    }

    /// Requests one page whose items are parsed into another type, such as `serde_json::Value`. This gives access to
    /// members that the types of this crate ignore. A page that is too large is an error.
    pub fn decode<U: DeserializeOwned>(&self) -> Request<Page<U>> {
        Request::json(&self.client, self.call()).with_options(self.options)
    }

    /// Reads one page and parses it as `P`. A page that the service refuses as too large is read with the limit that the
    /// service names. The next pages keep it, and each one that is not refused doubles it again.
    pub(crate) async fn read<P: DeserializeOwned>(&mut self) -> Result<P, Error> {
        let wanted = self.limit.unwrap_or(DEFAULT_PAGE_LIMIT);
        let mut was_refused = false;
        loop {
            let error = match self.client.inner().json(&self.call(), self.options).await {
                Ok(page) if was_refused => return Ok(page),
                Ok(page) => {
                    let doubled = self.smaller_limit.map(|limit| limit.saturating_mul(2));
                    self.smaller_limit = doubled.filter(|limit| *limit < wanted);
                    return Ok(page);
                }
                Err(error) => error,
            };
            match error.limit_that_works() {
                // Each further request has a smaller limit, so there are not many.
                Some(smaller) if smaller < self.smaller_limit.unwrap_or(wanted) => {
                    self.smaller_limit = Some(smaller);
                    was_refused = true;
                }
                _ => return Err(error),
            }
        }
    }

    /// Reads one record by id. The response has all members of an item of a list with lines.
    pub(crate) async fn get(&self, id: Uuid) -> Result<R::Item, Error> {
        let call = Call::get(R::GET_OPERATION, format!("/{}/{id}", R::NAME));
        self.client.inner().json(&call, self.options).await
    }

    pub(crate) fn client(&self) -> &InvoicingClient {
        &self.client
    }

    /// Reads all pages, each when it is polled for. 10,000 records take 100 requests.
    ///
    /// The stream ends at the page without `hasMore`, even if an earlier page is empty, and after an error. Dropping its
    /// `next` future and calling it again loses nothing.
    ///
    /// **Records that change during the read change their place.** Both orders of the API contract put new records
    /// first: without a `status` or `q` filter an item may be repeated, but none is skipped. With such a filter, a record
    /// that stops matching moves the following ones up. The read may then skip one at a page boundary. To keep a copy up
    /// to date, use a [`CatchUp`](crate::CatchUp), which does not filter.
    pub fn pages(mut self) -> BoxStream<'static, Result<Page<R::Item>, Error>> {
        self.limit.get_or_insert(MAX_PAGE_LIMIT);
        stream::try_unfold(Some(self), async |state: Option<Self>| {
            let Some(mut list) = state else { return Ok(None) };
            let page: Page<R::Item> = list.read().await?;
            list.offset = list.offset.saturating_add(step(&page));
            let next = page.pagination.has_more.then_some(list);
            Ok(Some((page, next)))
        })
        .boxed()
    }

    /// Reads all items of all pages. [`pages`](Self::pages) describes the effect of concurrent changes.
    pub fn stream(self) -> BoxStream<'static, Result<R::Item, Error>> {
        self.pages().map_ok(|page| stream::iter(page.data.into_iter().map(Ok))).try_flatten().boxed()
    }

    pub(crate) fn filter(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.filters.retain(|(known, _)| *known != name);
        self.filters.push((name, value.to_string()));
        self
    }

    pub(crate) fn with_lines(self) -> Self {
        self.filter("include", "lines")
    }

    pub(crate) fn call(&self) -> Call {
        let mut query = self.filters.clone();
        let limit = self.smaller_limit.or(self.limit);
        query.extend(limit.map(|limit| ("limit", limit.to_string())));
        if self.offset > 0 {
            query.push(("offset", self.offset.to_string()));
        }
        Call::get(R::LIST_OPERATION, format!("/{}", R::NAME)).with_query(query)
    }
}

/// Distance to the next page: the number of items received. An empty page that is not the last counts with its limit,
/// as the same page would be read again otherwise.
fn step<T>(page: &Page<T>) -> u64 {
    match page.data.len() {
        0 => u64::from(page.pagination.limit.max(1)),
        received => received as u64,
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
        let Self { client, offset, limit, smaller_limit, filters, options, resource } = self;
        Self {
            client: client.clone(),
            offset: *offset,
            limit: *limit,
            smaller_limit: *smaller_limit,
            filters: filters.clone(),
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
