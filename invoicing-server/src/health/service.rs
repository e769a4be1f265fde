//! `/livez` and `/readyz` as a service of hyper and of tower.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use serde::Serialize;

use super::{Health, HealthContext};
use crate::api::response_body::Body;
use crate::api::service::ResponseFuture;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const ALLOWED: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// Answers probes: see [`Invoicing::health_service`](crate::Invoicing::health_service). Cheap to clone, always ready, and
/// never fails.
///
/// | Path | Answer |
/// |---|---|
/// | `/livez` | 200 `{"live":true}`: the process turns. It asks nothing of the database |
/// | `/readyz` | 200 or 503 `{"ready":false,"store":"unreachable","documents":"reachable","dispatcher":"running","reasons":["the database does not answer"]}` |
///
/// `store` is `reachable`, `unreachable`, `read_only` or `old_schema`; `documents` is `reachable` or `unreachable`; `dispatcher` is `running`, `not_run`, `stalled` or
/// `ended`. A later version may add values and members. Any other path is answered with 404, and any other method than `GET`
/// and `HEAD` with 405. A query is ignored. Neither names, addresses nor keys are shown, so no key is needed.
#[derive(Clone)]
pub struct HealthService(Arc<HealthContext>);

impl fmt::Debug for HealthService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthService").finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    store: &'static str,
    documents: &'static str,
    dispatcher: &'static str,
    reasons: Vec<&'static str>,
}

impl From<Health> for Readiness {
    fn from(health: Health) -> Self {
        Self {
            ready: health.is_ready(),
            store: health.store.into(),
            documents: health.documents.into(),
            dispatcher: health.dispatcher.into(),
            reasons: health.reasons(),
        }
    }
}

impl HealthService {
    pub(crate) fn new(context: Arc<HealthContext>) -> Self {
        Self(context)
    }

    /// Answers one request, whose body is not read. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body> {
        let (head, _) = request.into_parts();
        let is_known_method = matches!(head.method, Method::GET | Method::HEAD);
        let mut response = match head.uri.path() {
            "/livez" | "/readyz" if !is_known_method => {
                let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
                response.headers_mut().insert(header::ALLOW, ALLOWED);
                response
            }
            "/livez" => json(StatusCode::OK, &serde_json::json!({ "live": true })),
            "/readyz" => {
                let readiness = Readiness::from(self.0.health().await);
                let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                json(status, &readiness)
            }
            _ => error(StatusCode::NOT_FOUND, "not_found"),
        };
        if head.method == Method::HEAD {
            *response.body_mut() = Bytes::new();
        }
        response.map(Body::from)
    }
}

fn error(status: StatusCode, code: &str) -> Response<Bytes> {
    json(status, &serde_json::json!({ "error": { "code": code } }))
}

fn json(status: StatusCode, body: &impl Serialize) -> Response<Bytes> {
    let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
    let length = body.len();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    response
}

impl<B: Send + 'static> hyper::service::Service<Request<B>> for HealthService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<B>) -> ResponseFuture {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl<B: Send + 'static> tower_service::Service<Request<B>> for HealthService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        hyper::service::Service::call(self, request)
    }
}
