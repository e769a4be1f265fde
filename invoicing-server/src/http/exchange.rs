//! One request and its response, with the span, the id, the memory, the log and the handling of a
//! panic for every application.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use invoicing_core::CompanyId;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::HttpContext;
use super::body::{self, RequestBody};
use super::byte_budget::{ByteReservation, ConnectionHandle, Holder, Owner};
use super::error::ApiError;
use super::request_id::request_id;
use super::response::complete;
use super::response::is_shared;
use super::response_body::Body;
use super::routing::{Found, Route};
use crate::telemetry::{Timer, spans};

/// An application that is reached over HTTP.
pub(crate) trait Application: Send + Sync {
    type Route: Route;
    type Error: HttpError;
    /// Facts about the caller that its response needs, even if the request fails.
    type Caller: Default + Send + Sync;

    fn context(&self) -> &HttpContext;

    fn find<'h>(&self, head: &'h Parts) -> Found<'h, Self::Route>;

    /// Serves a request. Boxed, as the compiler limits the depth of nested futures, to which the
    /// futures of the host add.
    fn serve<'r>(
        &'r self,
        exchange: &'r Exchange<'r, Self::Caller>,
        route: Found<'r, Self::Route>,
        body: &'r mut RequestBody,
    ) -> BoxFuture<'r, Result<Response<Bytes>, Self::Error>>;

    fn error_response(&self, error: &Self::Error, head: &Parts, caller: &Self::Caller) -> Response<Bytes>;

    /// The response to a caller for which there is no memory. It takes none.
    fn overloaded_response(&self, error: &Self::Error, head: &Parts) -> Response<Bytes>;

    /// Adds headers to a response.
    fn finish(&self, _response: &mut Response<Bytes>, _caller: &Self::Caller) {}

    /// Measures a request that has been answered.
    fn measure(&self, _answered: &Answered<'_, Self::Error>) {}
}

/// An application of any kind.
pub(crate) trait AnyApplication: Send + Sync {
    /// Answers one request that has arrived on a connection, with the result of the server's check.
    fn answer_on<'r>(
        &'r self,
        connection: &'r ConnectionHandle,
        request: Request<RequestBody>,
        checked: Result<(), ApiError>,
    ) -> BoxFuture<'r, Response<Body>>;

    /// Ends the answers that their peers have not read in time.
    fn end_overdue(&self, now: Instant);
}

impl<A: Application> AnyApplication for A {
    fn answer_on<'r>(
        &'r self,
        connection: &'r ConnectionHandle,
        request: Request<RequestBody>,
        checked: Result<(), ApiError>,
    ) -> BoxFuture<'r, Response<Body>> {
        Box::pin(answer(self, Some(connection), request, checked))
    }

    fn end_overdue(&self, now: Instant) {
        self.context().capacity.bytes.end_overdue(now);
    }
}

/// The error of an application.
pub(crate) trait HttpError: From<ApiError> + Send {
    /// The error of the API, if this is one.
    fn as_api(&self) -> Option<&ApiError>;

    fn log(&self, head: &Parts, request_id: &HeaderValue);
}

impl HttpError for ApiError {
    fn as_api(&self) -> Option<&ApiError> {
        Some(self)
    }

    fn log(&self, head: &Parts, request_id: &HeaderValue) {
        self.log_at(&head.method, head.uri.path(), request_id);
    }
}

/// A request that is being served.
pub(crate) struct Exchange<'r, C> {
    context: &'r HttpContext,
    connection: Option<&'r ConnectionHandle>,
    pub(crate) head: &'r Parts,
    pub(crate) request_id: &'r str,
    span: &'r Span,
    reservation: OnceLock<ByteReservation>,
    pub(crate) caller: C,
}

impl<C> Exchange<'_, C> {
    /// Names the company in the span of the request.
    pub(crate) fn is_of(&self, company: CompanyId) {
        spans::of_company(self.span, company);
    }

    /// Reserves memory for the request and its response, in the name of a holder.
    ///
    /// # Errors
    /// `overloaded` if the holder's share is used up.
    pub(crate) fn admit(&self, holder: Holder) -> Result<&ByteReservation, ApiError> {
        let owner = Owner { connection: self.connection.cloned(), holder };
        let reservation = self.context.capacity.bytes.admit(owner)?;
        Ok(self.reservation.get_or_init(|| reservation))
    }

    /// Reads the body. Its bytes and the head, which stays in memory meanwhile, count in the
    /// reservation.
    pub(crate) async fn read(
        &self,
        body: &mut RequestBody,
        reservation: &ByteReservation,
    ) -> Result<Bytes, ApiError> {
        reservation.grow(head_size(self.head))?;
        body::read(body, &self.head.headers, self.context.body_time, reservation).await
    }
}

/// A request that has been answered.
pub(crate) struct Answered<'a, E> {
    pub(crate) method: &'a Method,
    /// The path of its route, if it has one.
    pub(crate) route: Option<&'static str>,
    pub(crate) status: StatusCode,
    pub(crate) error: Option<&'a E>,
    pub(crate) timer: Timer,
}

/// Answers one request. `connection`: the connection on which it has arrived, if known. `checked`:
/// the result of the server's check.
pub(crate) async fn answer<A: Application>(
    application: &A,
    connection: Option<&ConnectionHandle>,
    request: Request<RequestBody>,
    checked: Result<(), ApiError>,
) -> Response<Body> {
    let (head, mut body) = request.into_parts();
    let context = application.context();
    let request_id = request_id(&head.headers, || context.env.uuid());
    let timer = context.env.metrics().start();
    let found = application.find(&head);
    let route = found.as_ref().ok().map(|(route, _)| route.path());
    let span = spans::request(&head.method, &request_id, route);
    let exchange = Exchange {
        context,
        connection,
        head: &head,
        request_id: request_id.to_str().unwrap_or_default(),
        span: &span,
        reservation: OnceLock::new(),
        caller: A::Caller::default(),
    };
    let serving = async {
        checked?;
        application.serve(&exchange, found, &mut body).await
    };
    // Unwind safety does not matter: no value that a panic leaves behind is used again.
    let result = AssertUnwindSafe(serving.instrument(span.clone())).catch_unwind().await;
    let result = result.unwrap_or_else(|_| Err(ApiError::Panicked.into()));
    let unsent = span.in_scope(|| conclude(application, exchange, result, &request_id, route, timer));
    let (version, expects_continue) = (head.version, head.headers.contains_key(header::EXPECT));
    // Dropped here, so that it is not in memory while the rest of the body arrives.
    drop(head);
    unsent.send(version, expects_continue, body).await
}

/// Renders the result, and logs and measures it.
fn conclude<A: Application>(
    application: &A,
    exchange: Exchange<'_, A::Caller>,
    result: Result<Response<Bytes>, A::Error>,
    request_id: &HeaderValue,
    route: Option<&'static str>,
    timer: Timer,
) -> Unsent {
    let Exchange { head, span, .. } = exchange;
    let (mut response, mut error) = match result {
        Ok(response) => (response, None),
        Err(error) => (application.error_response(&error, head, &exchange.caller), Some(error)),
    };
    // A body that was too slow gets no more time, and a body that has panicked may panic again.
    let reads_rest = !matches!(
        error.as_ref().and_then(HttpError::as_api),
        Some(ApiError::RequestTimeout | ApiError::Panicked)
    );
    let takes_memory = !response.body().is_empty() && !is_shared(&response);
    if takes_memory
        && exchange.reservation.get().is_none()
        && let Err(overloaded) = exchange.admit(Holder::Unknown)
    {
        if let Some(error) = &error {
            error.log(head, request_id);
        }
        let overloaded = error.insert(overloaded.into());
        response = application.overloaded_response(overloaded, head);
    }
    if let Some(error) = &error {
        error.log(head, request_id);
    }
    application.finish(&mut response, &exchange.caller);
    let status = response.status();
    spans::answered(span, status);
    application.measure(&Answered { method: &head.method, route, status, error: error.as_ref(), timer });
    complete(&mut response, request_id, head.method == Method::HEAD);
    Unsent { response, reservation: exchange.reservation.into_inner(), reads_rest }
}

/// A response that is ready to be sent.
struct Unsent {
    response: Response<Bytes>,
    /// `None` if it takes no memory.
    reservation: Option<ByteReservation>,
    /// True if the response waits for the rest of the request's body.
    reads_rest: bool,
}

impl Unsent {
    /// Waits for the rest of the request's body, within limits.
    async fn send(self, version: Version, expects_continue: bool, mut body: RequestBody) -> Response<Body> {
        let Self { response, reservation, reads_rest } = self;
        let mut response = response.map(|bytes| match reservation {
            Some(reservation) => Body::new(bytes, reservation, version),
            None => Body::from(bytes),
        });
        // A caller that waits for `100 Continue` sends no body.
        if reads_rest && !expects_continue {
            body::discard(&mut body).await;
        }
        if version < Version::HTTP_2 && !body.is_complete() {
            // Otherwise hyper reads the next request before the peer has read this response, and a
            // peer that never reads makes it buffer responses without end.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Memory that a request head occupies, in bytes, as far as the peer determines it.
fn head_size(head: &Parts) -> usize {
    /// Overhead of one header field.
    const FIELD: usize = 128;
    /// Over HTTP/2 one field may keep the whole frame that it arrived in.
    const FRAME: usize = 16 * 1024;
    let field_size = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + FIELD;
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let bytes = target + head.headers.iter().map(field_size).sum::<usize>();
    if head.version < Version::HTTP_2 { bytes } else { bytes.max(FRAME) }
}
