//! Operations under their names: each has a span, and its duration is measured.

use futures_util::TryFutureExt as _;
use invoicing_core::{CompanyId, ErrorCode};
use tracing::Span;

use super::{CompanyHandle, Services};
use crate::Error;
use crate::store::page::PageAnswer;
use crate::store::{CompanyReader, CompanyTx, Operation, Prefetch};
use crate::telemetry::{Metrics, Timer, spans};

/// An operation on a company that has begun. One that is dropped before its end is not measured. Input may be checked before it
/// begins: what is refused so costs nothing, and is not measured either.
///
/// Its futures are returned as they are, as an `async fn` would hold them twice.
pub(super) struct NamedOperation<'a> {
    company: &'a CompanyHandle,
    observed: Observed<'a>,
}

/// What is seen of an operation from outside.
struct Observed<'a> {
    /// `noun.method`, as the metrics list it.
    name: &'static str,
    span: Span,
    timer: Timer,
    metrics: &'a Metrics,
}

impl<'a> Observed<'a> {
    fn begin(services: &'a Services, name: &'static str, company: Option<CompanyId>) -> Self {
        let metrics = services.env.metrics();
        Self { name, span: spans::operation(name, company), timer: metrics.start(), metrics }
    }

    fn end(&self, error: Option<&Error>) {
        let code = error.map(Error::code);
        let result = code.as_ref().map_or("ok", ErrorCode::as_str);
        self.metrics.operation(self.name, result, self.timer);
        spans::ended(&self.span, result);
    }

    /// Boxed, as a compiler computes nested futures up to a depth only, which those of the host are a part of.
    fn run<T>(self, work: impl Future<Output = Result<T, Error>>) -> impl Future<Output = Result<T, Error>> {
        let work = Box::pin(spans::within(self.span.clone(), work));
        async move {
            let result = work.await;
            self.end(result.as_ref().err());
            result
        }
    }
}

impl Services {
    /// An operation that belongs to no single company.
    pub(super) fn run<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        Observed::begin(self, name, None).run(work)
    }
}

impl CompanyHandle {
    /// Begins an operation: `name` is `noun.method`, as the metrics list it. No operation is a step of another one, so what
    /// several have in common uses [`read`](Self::read) and [`write`](Self::write) of the handle.
    pub(super) fn operation(&self, name: &'static str) -> NamedOperation<'_> {
        NamedOperation { company: self, observed: Observed::begin(&self.services, name, Some(self.id)) }
    }
}

impl NamedOperation<'_> {
    /// A step before the last one. Its failure ends the operation.
    pub(super) fn first<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        spans::within(self.observed.span.clone(), work.inspect_err(|error| self.observed.end(Some(error))))
    }

    /// The last step, or all of them.
    pub(super) fn run<T>(
        self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        self.observed.run(work)
    }

    /// Reads records of the company, as the last step.
    pub(super) fn read<T, F>(self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<T, Error>,
        F: for<'c> Operation<CompanyReader<'c>, T> + Clone,
    {
        self.observed.run(self.company.read(operation))
    }

    /// Reads a page of a list, as the last step: see [`CompanyHandle::read_page`].
    pub(super) fn read_page<F>(self, operation: F) -> impl Future<Output = Result<Vec<u8>, Error>>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<PageAnswer, Error>,
        F: for<'c> Operation<CompanyReader<'c>, PageAnswer> + Clone,
    {
        self.observed.run(self.company.read_page(operation))
    }

    /// Changes records of the company in one transaction, as the last step.
    pub(super) fn write<T, F>(self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<T, Error>,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.observed.run(self.company.write(operation))
    }

    /// As [`Self::write`], for an operation that reads these records first.
    pub(super) fn write_prefetched<T, F>(
        self,
        records: Vec<Prefetch>,
        operation: F,
    ) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<T, Error>,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.observed.run(self.company.write_prefetched(records, operation))
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::QuoteId;
    use uuid::Uuid;

    use crate::Invoicing;
    use crate::page::PageQuery;
    use crate::store::Tables as _;

    /// It is moved several times before it is first polled.
    #[tokio::test]
    async fn a_read_that_has_not_begun_is_small() {
        let (_folder, _invoicing, company) = Invoicing::with_company().await;
        let (query, reserve) = (PageQuery::default(), |_| Ok(()));
        let detail = company.services.store.quote_detail(company.id, QuoteId(Uuid::nil()), &reserve);
        let page = company.read_page(async move |mut tx| tx.quotes().page(&query, &reserve).await);
        let bytes = [size_of_val(&detail), size_of_val(&page)];
        assert!(bytes.iter().all(|bytes| *bytes <= 1_024), "{bytes:?}");
    }
}
