//! Serves a request: from its route, key and quota to the handler of its endpoint.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Method, Response};
use invoicing_core::{CreditNote, Invoice, Quote};

use super::access::{admit, identify};
use super::fixed_page::FixedPage;
use super::rate_limit::KeyQuota;
use super::request::ApiRequest;
use super::routes::{self, Endpoint, Route};
use super::{ApiContext, clients, documents, downloads, quotes};
use crate::error::Error;
use crate::http::HttpContext;
use crate::http::body::RequestBody;
use crate::http::byte_budget::Holder;
use crate::http::error::ApiError;
use crate::http::exchange::{Answered, Application, Exchange};
use crate::http::response::{ApiResult, allowed};
use crate::http::routing::Found;
use crate::telemetry::Limit;

/// The route of a request that has none, in metrics.
const UNMATCHED: &str = "unmatched";

impl Application for ApiContext {
    type Route = Route;
    type Error = ApiError;
    type Caller = KeyQuota;

    fn context(&self) -> &HttpContext {
        &self.http
    }

    fn find<'h>(&self, head: &'h Parts) -> Found<'h, Route> {
        routes::find(&head.method, head.uri.path())
    }

    fn serve<'r>(
        &'r self,
        exchange: &'r Exchange<'r, KeyQuota>,
        route: Found<'r, Route>,
        body: &'r mut RequestBody,
    ) -> BoxFuture<'r, ApiResult> {
        Box::pin(async move {
            let head = exchange.head;
            match route {
                Ok((Route { endpoint: Endpoint::FrozenDocument, .. }, _)) => {
                    downloads::download(self, exchange).await
                }
                Ok((Route { endpoint: Endpoint::OpenApi, .. }, _)) => fixed(self.openapi.as_ref(), head),
                Ok((Route { endpoint: Endpoint::Docs, .. }, _)) => fixed(self.reference.as_ref(), head),
                Err(ApiError::MethodNotAllowed { allow }) if head.method == Method::OPTIONS => {
                    allowed(&allow)
                }
                Err(error) if routes::is_public(head.uri.path()) => Err(error),
                route => self.serve_with_key(exchange, route, body).await,
            }
        })
    }

    fn error_response(&self, error: &ApiError, _: &Parts, _: &KeyQuota) -> Response<Bytes> {
        error.response()
    }

    fn overloaded_response(&self, error: &ApiError, _: &Parts) -> Response<Bytes> {
        error.response()
    }

    fn finish(&self, response: &mut Response<Bytes>, rate_limit: &KeyQuota) {
        if let Some(rate_limit) = rate_limit.get() {
            rate_limit.set(response.headers_mut());
        }
    }

    fn measure(&self, answered: &Answered<'_, ApiError>) {
        let metrics = self.http.env.metrics();
        if let Some(limit) = answered.error.and_then(limit_of) {
            metrics.limited(limit);
        }
        let route = answered.route.unwrap_or(UNMATCHED);
        metrics.request(route, answered.method, answered.status, answered.timer);
    }
}

impl ApiContext {
    async fn serve_with_key(
        &self,
        exchange: &Exchange<'_, KeyQuota>,
        route: Found<'_, Route>,
        body: &mut RequestBody,
    ) -> ApiResult {
        let (head, capacity) = (exchange.head, &self.http.capacity);
        // An unknown key takes neither memory nor a slot.
        let key = identify(self, &head.headers).await?;
        exchange.is_of(key.company());
        // Both come before the quota, as a 503 must not count in it.
        let reservation = exchange.admit(Holder::Company(key.company()))?;
        let waits = route.as_ref().is_ok_and(|(route, _)| route.endpoint.waits_for_documents());
        let slots = if waits { &capacity.documents } else { &capacity.requests };
        let slot = slots.try_acquire(key.company()).ok_or(ApiError::Overloaded)?;
        let company = admit(self, key, &exchange.caller).await?;
        let (Route { endpoint, .. }, params) = route?;
        let request = ApiRequest { company, params, head, reservation };
        if !endpoint.reads_body() {
            return handle(*endpoint, &request, &Bytes::new()).await;
        }
        let request = ApiRequest { company: request.company.for_request(exchange.request_id), ..request };
        // The body may arrive slowly, so no slot is held meanwhile.
        drop(slot);
        let bytes = exchange.read(body, reservation).await?;
        let _slot = capacity.requests.acquire(request.company.id()).await?;
        handle(*endpoint, &request, &bytes).await
    }
}

async fn handle(endpoint: Endpoint, request: &ApiRequest<'_>, body: &Bytes) -> ApiResult {
    match endpoint {
        Endpoint::ListQuotes => documents::list::<Quote>(request).await,
        Endpoint::GetQuote => documents::get::<Quote>(request).await,
        Endpoint::LinkQuote => quotes::link(request, body).await,
        Endpoint::QuoteDocument => documents::link::<Quote>(request).await,
        Endpoint::ListInvoices => documents::list::<Invoice>(request).await,
        Endpoint::GetInvoice => documents::get::<Invoice>(request).await,
        Endpoint::InvoiceDocument => documents::link::<Invoice>(request).await,
        Endpoint::ListCreditNotes => documents::list::<CreditNote>(request).await,
        Endpoint::GetCreditNote => documents::get::<CreditNote>(request).await,
        Endpoint::CreditNoteDocument => documents::link::<CreditNote>(request).await,
        Endpoint::ListClients => clients::list(request).await,
        Endpoint::CreateClient => clients::create(request, body).await,
        // Answered before, as they need no key.
        Endpoint::FrozenDocument | Endpoint::OpenApi | Endpoint::Docs => Err(ApiError::NOT_FOUND),
    }
}

/// The limit that an error is about.
fn limit_of(error: &ApiError) -> Option<Limit> {
    match error {
        ApiError::QuotaUsedUp { .. } => Some(Limit::Quota),
        ApiError::Overloaded | ApiError::Operation(Error::Overloaded) => Some(Limit::Overloaded),
        _ => None,
    }
}

/// The response of a page, if the settings serve it.
fn fixed(page: Option<&FixedPage>, head: &Parts) -> ApiResult {
    page.ok_or(ApiError::NOT_FOUND)?.get(head)
}
