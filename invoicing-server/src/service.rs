//! The API as a service of hyper and of tower.
//!
//! A request is served by an inner function that uses `?`, and answered by an outer one that renders the error and
//! logs it, once. Only this file is generic over the body. Connections are not its business: see
//! [`serve`](crate::serve).

use std::any::Any;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, Version, header};
use http_body_util::Full;

use crate::Invoicing;
use crate::http::auth::admit;
use crate::http::body::{self, BodyLimits, BoxError, Coming};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::handlers;
use crate::http::load::Load;
use crate::http::reply::{About, RateLimit, Reply};
use crate::http::request_id::request_id;
use crate::http::routes::{Found, find};

/// The body of every answer: bytes that are all there.
pub type Body = Full<Bytes>;

/// The API. Cheap to clone, always ready, and never fails: every error is an answer.
///
/// It serves paths that begin with `/api/v1`. A host that mounts it below a prefix strips the prefix, as axum's
/// `nest_service` does. Whatever else reaches it is answered like an unknown route of the API: 401 without a valid
/// key, then 404.
///
/// Dropping the future of an answer before it is finished takes an operation back or leaves it as a whole; it is
/// never half done. A panic in a handler is answered with 500.
///
/// What an integrator may want to know beyond the contract:
/// - every endpoint refuses unknown and repeated query parameters, also those that have none;
/// - `q` needs 1 to 255 characters, and at least one that is left when accents and case are put aside;
/// - an incoming `X-Request-Id` is valid with 1 to 128 letters, digits, `.`, `_` and `-`;
/// - a 403 counts nothing, and shows the quota as if nobody had touched it; without a quota there are no `RateLimit`
///   headers;
/// - a document behind a signed URL has an `ETag` and may be asked for in parts (`Range`) and under conditions
///   (`If-None-Match`, `If-Range`); its 304 and 416 have no body;
/// - a body that has not arrived after [10 s](crate::RequestLimits::body_time_ms) is answered with 408
///   `request_timeout`; `GET` ignores a body;
/// - more requests than are [worked on at once](crate::RequestLimits::in_flight), or than may
///   [wait for documents](crate::RequestLimits::documents_in_flight), are answered with 503 `overloaded` and
///   `Retry-After`: nothing was done, and nothing counts in the quota.
///
/// [`serve`](crate::serve()) also answers 417 `expectation_failed` to an `Expect` other than `100-continue`.
#[derive(Debug, Clone)]
pub struct ApiService {
    invoicing: Invoicing,
}

impl ApiService {
    pub(crate) fn new(invoicing: Invoicing) -> Self {
        Self { invoicing }
    }

    /// Answers one request. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        let (head, body) = request.into_parts();
        let body = pin!(body);
        let mut body = Coming::new(body);
        let mut about = self.about(&head);
        let served = no_panic(self.serve(&head, &mut body, &mut about.rate)).await;
        let result = served.unwrap_or(Err(ApiError::Panicked));
        self.send(result, &about, head, body).await
    }

    /// Answers a request that is not to be served.
    pub(crate) async fn refuse<B>(self, request: Request<B>, error: ApiError) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        let (head, body) = request.into_parts();
        let about = self.about(&head);
        self.send(Err(error), &about, head, Coming::new(pin!(body))).await
    }

    fn about(&self, head: &Parts) -> About {
        About { request_id: request_id(&head.headers, || self.invoicing.env().uuid()), rate: None }
    }

    /// The answer, which counts until it has been sent. It waits for what is left of the body, within limits; nothing
    /// of the head is kept meanwhile.
    async fn send<B>(
        &self,
        result: Result<Reply, ApiError>,
        about: &About,
        head: Parts,
        mut body: Coming<'_, B>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        let is_http_1 = head.version < Version::HTTP_2;
        // A caller that waits for `100 Continue` has sent nothing yet, and one that was too slow has had his time.
        let nothing_comes =
            head.headers.contains_key(header::EXPECT) || matches!(result, Err(ApiError::RequestTimeout));
        let mut response = render(result, about, &head).map(|bytes| Full::new(self.load().count(bytes)));
        drop(head);
        if !nothing_comes {
            body::discard(&mut body).await;
        }
        if is_http_1 && !body.has_ended() {
            // hyper would take the next request before this answer is taken, and keep answers without end for a peer
            // that reads none.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn load(&self) -> &Arc<Load> {
        &self.invoicing.inner().load
    }

    async fn serve<B>(
        &self,
        head: &Parts,
        body: &mut Coming<'_, B>,
        rate: &mut Option<RateLimit>,
    ) -> Result<Reply, ApiError>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        let found = find(&head.method, head.uri.path());
        if let Found::Endpoint(endpoint, params) = &found
            && !endpoint.needs_key()
        {
            let _working = self.load().work_on_documents()?;
            return handlers::frozen_document(&self.invoicing, params, head).await;
        }
        let of_documents = match &found {
            Found::Endpoint(endpoint, _) if endpoint.asks_the_document_store() => {
                Some(self.load().work_on_documents()?)
            }
            _ => None,
        };
        let call = {
            let _working = self.load().work()?;
            self.call(head, found, rate).await?
        };
        let mut coming = self.load().hold();
        let bytes = if call.endpoint.reads_body() {
            // Whoever is waited for has his head kept too.
            coming.more(kept_of(head))?;
            let limits = BodyLimits::new(&self.invoicing.settings().requests);
            body::read(body, &head.headers, limits, &mut coming).await?
        } else {
            Bytes::new()
        };
        let _working = if of_documents.is_none() { self.load().go_on().await } else { None };
        handlers::serve(&call, bytes).await
    }

    /// Key, plan, quota, and only then whether there is such a route.
    async fn call<'r>(
        &self,
        head: &'r Parts,
        found: Found<'r>,
        rate: &mut Option<RateLimit>,
    ) -> Result<Call<'r>, ApiError> {
        let company = admit(&self.invoicing, &head.headers, rate).await?;
        match found {
            Found::Endpoint(endpoint, params) => Ok(Call { company, endpoint, params, head }),
            Found::WrongMethod { allow } => Err(ApiError::MethodNotAllowed { allow }),
            Found::Nothing => Err(ApiError::NOT_FOUND),
        }
    }
}

/// What a head takes in memory, in bytes, as far as its sender decides that.
fn kept_of(head: &Parts) -> usize {
    /// Of one header field, beside its text.
    const FIELD: usize = 128;
    /// Of HTTP/2, at least: a field that is kept may keep the whole frame that it came in.
    const FRAME: usize = 16 * 1024;
    let field = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + FIELD;
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let bytes = target + head.headers.iter().map(field).sum::<usize>();
    if head.version < Version::HTTP_2 { bytes } else { bytes.max(FRAME) }
}

fn render(result: Result<Reply, ApiError>, about: &About, head: &Parts) -> Response<Bytes> {
    let is_head = head.method == Method::HEAD;
    match result {
        Ok(reply) => reply.into_response(about, is_head),
        Err(error) => {
            error.log(head, &about.request_id);
            let mut response = error.reply().into_response(about, is_head);
            error.add_headers(response.headers_mut());
            response
        }
    }
}

/// Runs a future; where it panics, that is its result.
///
/// What the future leaves behind is not used again, so it cannot matter in which state it was.
async fn no_panic<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// The future of an answer.
type AnswerFuture = BoxFuture<'static, Result<Response<Body>, Infallible>>;

impl<B> hyper::service::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn call(&self, request: Request<B>) -> AnswerFuture {
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
    type Future = AnswerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(self, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_result() {
        assert_eq!(no_panic(async { 1 }).await.ok(), Some(1));
        let panic = no_panic(async { std::panic::resume_unwind(Box::new("deliberate")) }).await;
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"deliberate"));
    }
}
