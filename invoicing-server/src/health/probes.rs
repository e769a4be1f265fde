//! `/livez` and `/readyz` as a service of hyper and of tower.

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::{Buf, Bytes};
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use serde::Serialize;

use super::{Health, HealthContext};
use crate::http::HttpContext;
use crate::http::body::{BoxError, RequestBody};
use crate::http::error::ApiError;
use crate::http::exchange::{Application, Exchange, answer};
use crate::http::response::shared;
use crate::http::response::{ApiResult, record};
use crate::http::response_body::Body;
use crate::http::routing::{self, Found, RouteTable};
use crate::http::service::impl_service;

/// Answers probes: see [`Invoicing::health_service`](crate::Invoicing::health_service). Cheap to
/// clone, always ready, and never fails.
///
/// | Path | Answer |
/// |---|---|
/// | `/livez` | 200 `{"live":true}`: the process answers. The database is not checked |
/// | `/readyz` | 200 or 503 `{"ready":false,"store":"unreachable","documents":"reachable","dispatcher":"running","reasons":["the database does not answer"]}` |
///
/// `store` is `reachable`, `unreachable`, `read_only` or `old_schema`; `documents` is `reachable`
/// or `unreachable`; `dispatcher` is `running`, `not_run`, `stalled` or `ended`. A later version
/// may add values and members. Any other path is answered with 404, and any other method than `GET`
/// and `HEAD` with 405. A query is ignored. Neither names, addresses nor keys are shown, so no key
/// is needed.
#[derive(Clone)]
pub struct HealthService(Arc<HealthContext>);

impl fmt::Debug for HealthService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthService").finish_non_exhaustive()
    }
}

/// The body of an answer to `/readyz`.
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

    /// Answers one request, whose body is dropped. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>> + Send + 'static,
    {
        answer(&*self.0, None, request.map(RequestBody::new), Ok(())).await
    }
}

impl_service!(HealthService);

/// The question of a probe.
#[derive(Debug, Clone, Copy)]
enum Probe {
    Live,
    Ready,
}

/// A route of the probes.
#[derive(Debug)]
pub(crate) struct ProbeRoute {
    path: &'static str,
    probe: Probe,
}

const ROUTES: &[ProbeRoute] =
    &[ProbeRoute { path: "/livez", probe: Probe::Live }, ProbeRoute { path: "/readyz", probe: Probe::Ready }];

static TABLE: LazyLock<RouteTable<ProbeRoute>> = LazyLock::new(|| RouteTable::new(ROUTES));

impl routing::Route for ProbeRoute {
    fn method(&self) -> &Method {
        &Method::GET
    }

    fn path(&self) -> &'static str {
        self.path
    }
}

impl Application for HealthContext {
    type Route = ProbeRoute;
    type Error = ApiError;
    type Caller = ();

    fn context(&self) -> &HttpContext {
        &self.http
    }

    fn find<'h>(&self, head: &'h Parts) -> Found<'h, ProbeRoute> {
        TABLE.find(&head.method, head.uri.path())
    }

    fn serve<'r>(
        &'r self,
        _: &'r Exchange<'r, ()>,
        route: Found<'r, ProbeRoute>,
        _: &'r mut RequestBody,
    ) -> BoxFuture<'r, ApiResult> {
        Box::pin(async move {
            let (route, _) = route?;
            let response = match route.probe {
                Probe::Live => record(StatusCode::OK, &serde_json::json!({ "live": true }))?,
                Probe::Ready => {
                    let readiness = Readiness::from(self.health().await);
                    let status =
                        if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                    record(status, &readiness)?
                }
            };
            // Probes reserve no memory: a service without memory for its callers is alive.
            Ok(shared(response))
        })
    }

    fn error_response(&self, error: &ApiError, _: &Parts, (): &()) -> Response<Bytes> {
        error.response()
    }

    fn overloaded_response(&self, error: &ApiError, _: &Parts) -> Response<Bytes> {
        error.response()
    }
}
