//! [`Request`]: the blocking form of an async request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use invoicing_core::{InvoiceStatus, Page, QuoteStatus, Timestamp};

use crate::runtime_thread::RuntimeThread;
use crate::{Clients, CreditNotes, DownloadDocument, Error, Invoices, List, Quotes, Resource};

/// A call with the async form `C`. Nothing is sent until [`send`](Self::send).
#[derive(Clone)]
#[must_use = "nothing is sent until `send`"]
pub struct Request<C> {
    call: C,
    thread: Arc<RuntimeThread>,
}

/// The async form of a request. This trait is sealed.
pub trait AsyncRequest:
    IntoFuture<
        Output = Result<Self::Response, Error>,
        IntoFuture = BoxFuture<'static, Result<Self::Response, Error>>,
    > + sealed::Settings
{
    /// Result of a successful call.
    type Response: Send + 'static;
}

mod sealed {
    use std::time::Duration;

    pub trait Settings: Sized {
        #[must_use]
        fn with_deadline(self, deadline: Duration) -> Self;
        #[must_use]
        fn with_max_attempts(self, attempts: u32) -> Self;
    }
}

macro_rules! call {
    ($call:ty => $answer:ty $(, where $($bound:tt)*)?) => {
        impl$(<$($bound)*>)? sealed::Settings for $call {
            fn with_deadline(self, deadline: Duration) -> Self {
                self.deadline(deadline)
            }

            fn with_max_attempts(self, attempts: u32) -> Self {
                self.max_attempts(attempts)
            }
        }

        impl$(<$($bound)*>)? AsyncRequest for $call {
            type Response = $answer;
        }
    };
}

call!(crate::Request<T> => T, where T: Send + 'static);
call!(List<R> => Page<R::Item>, where R: Resource);
call!(DownloadDocument => crate::Document);

impl<C: AsyncRequest> Request<C> {
    pub(super) fn new(call: C, thread: Arc<RuntimeThread>) -> Self {
        Self { call, thread }
    }

    /// Longest time for this call; for a list, for each page. See [`Request::deadline`](crate::Request::deadline).
    pub fn deadline(self, deadline: Duration) -> Self {
        self.map(|call| call.with_deadline(deadline))
    }

    /// Maximum number of attempts for this call; for a list, for each page. See [`Request::max_attempts`](crate::Request::max_attempts).
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.map(|call| call.with_max_attempts(attempts))
    }

    /// A single attempt.
    pub fn no_retries(self) -> Self {
        self.max_attempts(1)
    }

    /// Carries the call out and waits for the response.
    pub fn send(self) -> Result<C::Response, Error> {
        self.thread.block_on(self.call.into_future())
    }

    fn map(self, change: impl FnOnce(C) -> C) -> Self {
        Self { call: change(self.call), thread: self.thread }
    }
}

impl<R: Resource> Request<List<R>> {
    /// Items per page, 1 to 100. See [`List::limit`].
    pub fn limit(self, limit: u32) -> Self {
        self.map(|list| list.limit(limit))
    }

    /// Number of items to skip. See [`List::offset`].
    pub fn offset(self, offset: u64) -> Self {
        self.map(|list| list.offset(offset))
    }

    /// Only records modified at or after this instant, last modified first. See [`List::since`].
    pub fn since(self, since: Timestamp) -> Self {
        self.map(|list| list.since(since))
    }

    /// Iterates over all pages, each read on demand. See [`List::pages`].
    pub fn pages(self) -> Iter<Page<R::Item>> {
        Iter { stream: Some(self.call.pages()), thread: self.thread }
    }

    /// Iterates over all items of all pages. See [`List::stream`].
    pub fn iter(self) -> Iter<R::Item> {
        Iter { stream: Some(self.call.stream()), thread: self.thread }
    }
}

impl Request<List<Quotes>> {
    /// Only records with this status. See [`List::status`].
    pub fn status(self, status: QuoteStatus) -> Self {
        self.map(|list| list.status(status))
    }

    /// Includes the lines of each record. See [`List::include_lines`].
    pub fn include_lines(self) -> Self {
        self.map(List::<Quotes>::include_lines)
    }
}

impl Request<List<Invoices>> {
    /// Only records with this status. See [`List::status`].
    pub fn status(self, status: InvoiceStatus) -> Self {
        self.map(|list| list.status(status))
    }

    /// Includes the lines of each record. See [`List::include_lines`].
    pub fn include_lines(self) -> Self {
        self.map(List::<Invoices>::include_lines)
    }
}

impl Request<List<CreditNotes>> {
    /// Includes the lines of each record. See [`List::include_lines`].
    pub fn include_lines(self) -> Self {
        self.map(List::<CreditNotes>::include_lines)
    }
}

impl Request<List<Clients>> {
    /// Only clients whose name, e-mail or city has each word of this text. See [`List::q`].
    pub fn q(self, text: &str) -> Self {
        self.map(|list| list.q(text))
    }

    /// Only the client with exactly this `externalId`. See [`List::external_id`].
    pub fn external_id(self, external_id: &str) -> Self {
        self.map(|list| list.external_id(external_id))
    }
}

impl<R: Resource> IntoIterator for Request<List<R>> {
    type Item = Result<R::Item, Error>;
    type IntoIter = Iter<R::Item>;

    fn into_iter(self) -> Iter<R::Item> {
        self.iter()
    }
}

impl<C: fmt::Debug> fmt::Debug for Request<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// Iterator over a list. It ends after an error.
#[must_use = "nothing is sent until `next`"]
pub struct Iter<T> {
    /// `None` after the end.
    stream: Option<BoxStream<'static, Result<T, Error>>>,
    thread: Arc<RuntimeThread>,
}

impl<T: Send + 'static> Iterator for Iter<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut stream = self.stream.take()?;
        let (item, stream) = self.thread.block_on(async move { (stream.next().await, stream) });
        self.stream = item.is_some().then_some(stream);
        item
    }
}

impl<T> fmt::Debug for Iter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("is_over", &self.stream.is_none()).finish_non_exhaustive()
    }
}
