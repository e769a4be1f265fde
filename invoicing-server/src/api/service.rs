//! The API as a service of hyper and of tower.
//!
//! [`ApiService::respond`] renders and logs errors once, so [`ApiService::serve`] can use `?`. Connections are served by
//! [`serve`](crate::serve) or by the host.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, Version, header};
use tokio::time::Instant;
use tracing::Span;

use super::access::{admit, identify};
use super::body::{self, BoxError, ReadableBody, RequestBody};
use super::byte_budget::{ByteReservation, ConnectionHandle, Holder, Owner};
use super::error::ApiError;
use super::fixed_response::Shared;
use super::request::ApiRequest;
use super::request_id::request_id;
use super::response::{ApiResult, RateLimit, ResponseContext, allowed, complete};
use super::response_body::Body;
use super::routes::{self, Endpoint};
use super::{ApiContext, clients, documents, invoices, quotes};
use crate::Error;
use crate::telemetry::{Limit, Metrics, Timer, spans};

/// The route of a request that has none.
const UNMATCHED: &str = "unmatched";

/// The API as a service. Cheap to clone, always ready, and never fails: every error is a response.
///
/// It serves paths that begin with `/api/v1`. A host that mounts it below a prefix strips the prefix, as axum's
/// `nest_service` does. Any other path is answered like an unknown route: 401 without a valid key, then 404.
///
/// Dropping the future of a response never leaves an operation half done: it is either rolled back or complete. A panic
/// in a handler is answered with 500.
///
/// Details that the contract leaves open:
/// - every endpoint refuses unknown and repeated query parameters, also an endpoint without parameters;
/// - `q` needs 1 to 255 characters, and at least one that remains without accents and case;
/// - an incoming `X-Request-Id` is valid with 1 to 128 letters, digits, `.`, `_` and `-`, if it does not begin like a secret;
/// - a 403 does not count in the quota, and its headers show an unused quota; without a quota there are no `RateLimit`
///   headers;
/// - a document behind a signed URL has an `ETag` and supports `Range`, `If-None-Match` and `If-Range`; its 304 and 416
///   have no body;
/// - a body that has not arrived after [10 s](crate::RequestLimits::body_time_ms) is answered with 408
///   `request_timeout`; `GET` ignores a body;
/// - requests beyond the [limits](crate::RequestLimits), those of the service or the company's share, are answered with
///   503 `overloaded` and `Retry-After`; they have no effect. They do not count in the quota, unless the memory runs out
///   while a body arrives or an answer is built.
///
/// [`serve`](crate::serve()) also answers 417 `expectation_failed` to an `Expect` other than `100-continue`.
#[derive(Debug, Clone)]
pub struct ApiService {
    context: Arc<ApiContext>,
}

impl ApiService {
    pub(crate) fn new(context: Arc<ApiContext>) -> Self {
        Self { context }
    }

    /// Answers one request. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        self.answer_on(None, request, Ok(())).await
    }

    /// Answers one request that has arrived on a connection, with the error of a check that the caller has made if it
    /// failed.
    pub(crate) fn answer_on(
        &self,
        connection: Option<&ConnectionHandle>,
        request: Request<impl ReadableBody>,
        checked: Result<(), ApiError>,
    ) -> impl Future<Output = Response<Body>> {
        let request_id = request_id(request.headers(), || self.context.services.env.uuid());
        let span = spans::request(request.method(), &request_id, || {
            routes::find(request.method(), request.uri().path()).ok().map(|(route, _)| route.path)
        });
        spans::within(span.clone(), self.answer_in(span, connection, request, request_id, checked))
    }

    async fn answer_in(
        &self,
        span: Span,
        connection: Option<&ConnectionHandle>,
        request: Request<impl ReadableBody>,
        request_id: HeaderValue,
        checked: Result<(), ApiError>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = pin!(body);
        let mut body = RequestBody::new(body);
        let (mut context, mut reservation) = (ResponseContext { request_id, rate_limit: None }, None);
        let mut observed = Observed { timer: self.metrics().start(), route: UNMATCHED, span };
        let request = Arriving { connection, head: &head, body: &mut body, request_id: &context.request_id };
        let serving = self.serve(checked, request, &mut context.rate_limit, &mut reservation, &mut observed);
        // Unwind safety does not matter: what a panic leaves behind is not used again.
        let result = AssertUnwindSafe(serving).catch_unwind().await.unwrap_or(Err(ApiError::Panicked));
        let (result, reservation) = match reservation {
            Some(reservation) => (result, Some(reservation)),
            None => self.reserve_unknown(result, connection),
        };
        self.respond(result, reservation, &context, &observed, head, body).await
    }

    fn metrics(&self) -> &Metrics {
        self.context.services.env.metrics()
    }

    /// Ends the answers that their peers have not read in time.
    pub(crate) fn end_overdue(&self, now: Instant) {
        self.context.capacity.bytes.end_overdue(now);
    }

    async fn serve(
        &self,
        checked: Result<(), ApiError>,
        request: Arriving<'_, impl ReadableBody + Unpin>,
        rate_limit: &mut Option<RateLimit>,
        reservation: &mut Option<ByteReservation>,
        observed: &mut Observed,
    ) -> ApiResult {
        checked?;
        let Arriving { connection, head, body, request_id } = request;
        let (context, capacity) = (&self.context, &self.context.capacity);
        // What needs no key comes first.
        let route = routes::find(&head.method, head.uri.path()).map(|(route, params)| {
            observed.route = route.path;
            (route.endpoint, params)
        });
        let route = match route {
            Ok((Endpoint::FrozenDocument, _)) => {
                return documents::download(context, head, connection, reservation).await;
            }
            Ok((Endpoint::OpenApi, _)) => return context.openapi.get(head),
            #[cfg(feature = "reference")]
            Ok((Endpoint::Docs, _)) => return context.reference.get(head),
            #[cfg(not(feature = "reference"))]
            Ok((Endpoint::Docs, _)) => return Err(ApiError::NOT_FOUND),
            Err(ApiError::MethodNotAllowed { allow }) if head.method == Method::OPTIONS => {
                return allowed(&allow);
            }
            Err(error) if routes::is_public(head.uri.path()) => return Err(error),
            route => route,
        };
        // An unknown key takes neither memory nor a slot.
        let key = identify(context, &head.headers).await?;
        spans::of_company(&observed.span, key.company());
        // Both come before the quota, as a 503 must not count in it.
        let owner = Owner { connection: connection.cloned(), holder: Holder::Company(key.company()) };
        let reservation = &*reservation.insert(capacity.bytes.admit(owner)?);
        let may_wait_for_documents = matches!(route, Ok((Endpoint::QuoteDocument, _)));
        let slots = if may_wait_for_documents { &capacity.documents } else { &capacity.requests };
        let slot = slots.try_acquire(key.company()).ok_or(ApiError::Overloaded)?;
        let company = admit(context, key, rate_limit).await?;
        let (endpoint, params) = route?;
        let request = ApiRequest { company, params, head, reservation };
        if !endpoint.reads_body() {
            return handle(endpoint, &request, &Bytes::new()).await;
        }
        let request = ApiRequest {
            company: request.company.for_request(request_id.to_str().unwrap_or_default()),
            ..request
        };
        // The body may arrive slowly, so no slot is held meanwhile.
        drop(slot);
        // The head stays in memory until the body has arrived.
        reservation.grow(head_size(head))?;
        let bytes = body::read(body, &head.headers, context.body_time, reservation).await?;
        let _slot = capacity.requests.acquire(request.company.id()).await?;
        handle(endpoint, &request, &bytes).await
    }

    /// A reservation for the answer to an unknown caller, unless it takes no memory.
    fn reserve_unknown(
        &self,
        result: ApiResult,
        connection: Option<&ConnectionHandle>,
    ) -> (ApiResult, Option<ByteReservation>) {
        let takes_none = match &result {
            Ok(response) => response.body().is_empty() || response.extensions().get::<Shared>().is_some(),
            Err(error) => error.shared_body().is_some(),
        };
        if takes_none {
            return (result, None);
        }
        let owner = Owner { connection: connection.cloned(), holder: Holder::Unknown };
        match self.context.capacity.bytes.admit(owner) {
            Ok(reservation) => (result, Some(reservation)),
            Err(overloaded) => (Err(overloaded), None),
        }
    }

    /// Renders the result, and logs an error.
    async fn respond(
        &self,
        result: ApiResult,
        reservation: Option<ByteReservation>,
        context: &ResponseContext,
        observed: &Observed,
        head: Parts,
        body: RequestBody<impl ReadableBody + Unpin>,
    ) -> Response<Body> {
        if let Some(limit) = result.as_ref().err().and_then(limit_of) {
            self.metrics().limited(limit);
        }
        // One that was too slow gets no more time. A body that has panicked may do so again.
        let reads_rest = !matches!(result, Err(ApiError::RequestTimeout | ApiError::Panicked));
        let response = result.unwrap_or_else(|error| {
            error.log(&head, &context.request_id);
            error.response()
        });
        spans::answered(&observed.span, response.status());
        self.metrics().request(observed.route, &head.method, response.status(), observed.timer);
        Answer { response, reservation, reads_rest }.send(context, head, body).await
    }
}

/// What is seen of a request from outside.
struct Observed {
    span: Span,
    timer: Timer,
    /// The path of the route table.
    route: &'static str,
}

/// The limit that an error is about.
fn limit_of(error: &ApiError) -> Option<Limit> {
    match error {
        ApiError::QuotaUsedUp { .. } => Some(Limit::Quota),
        ApiError::Overloaded | ApiError::Operation(Error::Overloaded) => Some(Limit::Overloaded),
        _ => None,
    }
}

/// A response that is ready to be sent.
pub(crate) struct Answer {
    pub(crate) response: Response<Bytes>,
    /// The memory that it takes; `None` where it takes none.
    pub(crate) reservation: Option<ByteReservation>,
    /// Whether the rest of the request's body is waited for.
    pub(crate) reads_rest: bool,
}

impl Answer {
    /// Completes the response. Waits for the rest of the request's body, within limits.
    pub(crate) async fn send(
        self,
        context: &ResponseContext,
        head: Parts,
        mut body: RequestBody<impl ReadableBody + Unpin>,
    ) -> Response<Body> {
        let Self { mut response, reservation, reads_rest } = self;
        let version = head.version;
        // A caller that waits for `100 Continue` sends no body.
        let reads_rest = reads_rest && !head.headers.contains_key(header::EXPECT);
        complete(&mut response, context, head.method == Method::HEAD);
        let mut response = response.map(|bytes| match reservation {
            Some(reservation) => Body::new(bytes, reservation, version),
            None => Body::from(bytes),
        });
        // Not kept in memory while the rest of the body arrives.
        drop(head);
        if reads_rest {
            body::discard(&mut body).await;
        }
        if version < Version::HTTP_2 && !body.is_complete() {
            // Otherwise hyper reads the next request before the peer has read this response, and a peer that never
            // reads makes it buffer responses without end.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A request whose body is arriving.
struct Arriving<'r, B> {
    connection: Option<&'r ConnectionHandle>,
    head: &'r Parts,
    body: &'r mut B,
    request_id: &'r HeaderValue,
}

/// Calls the handler of an endpoint. Boxed, as a compiler computes nested futures up to a depth only.
fn handle<'r>(endpoint: Endpoint, request: &'r ApiRequest<'_>, body: &'r Bytes) -> BoxFuture<'r, ApiResult> {
    Box::pin(async move {
        match endpoint {
            Endpoint::ListQuotes => quotes::list(request).await,
            Endpoint::GetQuote => quotes::get(request).await,
            Endpoint::LinkQuote => quotes::link(request, body).await,
            Endpoint::QuoteDocument => quotes::document(request).await,
            Endpoint::ListInvoices => invoices::list(request).await,
            Endpoint::GetInvoice => invoices::get(request).await,
            Endpoint::ListClients => clients::list(request).await,
            Endpoint::CreateClient => clients::create(request, body).await,
            // `serve` handles them before authentication.
            Endpoint::FrozenDocument | Endpoint::OpenApi | Endpoint::Docs => Err(ApiError::NOT_FOUND),
        }
    })
}

/// Memory that a request head occupies, in bytes, as far as the peer determines it.
pub(crate) fn head_size(head: &Parts) -> usize {
    /// Overhead of one header field.
    const FIELD: usize = 128;
    /// Over HTTP/2 one field may keep the whole frame that it arrived in.
    const FRAME: usize = 16 * 1024;
    let field_size = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + FIELD;
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let bytes = target + head.headers.iter().map(field_size).sum::<usize>();
    if head.version < Version::HTTP_2 { bytes } else { bytes.max(FRAME) }
}

/// The future of a response.
pub(crate) type ResponseFuture = BoxFuture<'static, Result<Response<Body>, Infallible>>;

impl<B> hyper::service::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<B>) -> ResponseFuture {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl<B> tower_service::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(self, request)
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::Invoicing;

    #[tokio::test]
    async fn a_panic_is_answered_with_500() {
        let (_folder, invoicing, company) = Invoicing::with_company().await;
        let key = company.keys().issue("test").await.unwrap().key;
        let body = Full::new(Bytes::from_static(b"{}"));
        let panics = body.map_frame::<_, Bytes>(|_| std::panic::resume_unwind(Box::new("deliberate")));
        let request = Request::post("/api/v1/clients")
            .header(header::AUTHORIZATION, format!("Bearer {}", key.reveal()))
            .body(panics)
            .unwrap();
        let response = invoicing.service().answer(request).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
