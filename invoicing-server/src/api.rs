//! The HTTP API: from a request to its response.
//!
//! [`application`] serves a request: [`routes`] finds the endpoint, [`access`] the company, and the
//! file of a resource ([`documents`] for those of every kind, [`quotes`], [`clients`],
//! [`downloads`], [`openapi`]) has the handler, which calls one operation. SQL and sockets are
//! elsewhere, and business rules are in operations.

mod access;
mod application;
mod clients;
mod content_type;
mod documents;
mod downloads;
mod fixed_page;
mod json;
mod openapi;
mod query_string;
mod quotes;
mod rate_limit;
#[cfg(feature = "reference")]
mod reference;
mod request;
mod routes;

use std::fmt;
use std::sync::Arc;

use bytes::Buf;
use http::{Request, Response};

use self::fixed_page::FixedPage;
pub use self::routes::{Endpoint, ROUTES, Route};
use crate::access::Access;
use crate::config::Settings;
use crate::http::HttpContext;
use crate::http::body::{BoxError, RequestBody};
use crate::http::exchange::answer;
use crate::http::response_body::Body;
use crate::http::service::impl_service;
use crate::operations::Services;

/// The parts that the API works with.
pub(crate) struct ApiContext {
    http: Arc<HttpContext>,
    services: Arc<Services>,
    access: Arc<Access>,
    /// The description of the API, if it is served.
    openapi: Option<FixedPage>,
    /// The reference page, if it is served.
    reference: Option<FixedPage>,
}

impl ApiContext {
    pub(crate) fn new(
        settings: &Settings,
        http: Arc<HttpContext>,
        services: Arc<Services>,
        access: Arc<Access>,
    ) -> Self {
        Self {
            http,
            services,
            access,
            openapi: settings.reference.openapi.then(|| FixedPage::new(settings, openapi::render)),
            #[cfg(feature = "reference")]
            reference: settings.reference.page.then(|| FixedPage::new(settings, reference::render)),
            #[cfg(not(feature = "reference"))]
            reference: None,
        }
    }
}

impl fmt::Debug for ApiContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiContext").finish_non_exhaustive()
    }
}

/// The API as a service. Cheap to clone, always ready, and never fails: every error is a response.
///
/// It serves paths that begin with `/api/v1`. A host that mounts it below a prefix strips the
/// prefix, as axum's `nest_service` does. Any other path is answered like an unknown route: 401
/// without a valid key, then 404.
///
/// Dropping the future of a response never leaves an operation half done: it is either rolled back
/// or complete. A panic in a handler is answered with 500.
///
/// Details that the contract leaves open:
/// - every endpoint refuses unknown and repeated query parameters, also an endpoint without
///   parameters;
/// - `q` needs 1 to 255 characters, and at least one that remains without accents and case;
/// - an incoming `X-Request-Id` is valid with 1 to 128 letters, digits, `.`, `_` and `-`, if it
///   holds the beginning of a secret nowhere;
/// - a body with a `Content-Encoding` other than `identity` is answered with 400 `bad_request`;
/// - a 403 does not count in the quota, and its headers show an unused quota; without a quota there
///   are no `RateLimit` headers;
/// - a document behind a signed URL has an `ETag` and supports `Range`, `If-None-Match` and
///   `If-Range`; its 304 and 416 have no body;
/// - a body that has not arrived after [10 s](crate::RequestLimits::body_time_ms) is answered with
///   408 `request_timeout`; `GET` ignores a body;
/// - requests beyond the [limits](crate::RequestLimits), those of the service or the company's
///   share, are answered with 503 `overloaded` and `Retry-After`; they have no effect. They do not
///   count in the quota, unless the memory runs out while a body arrives or an answer is built.
///
/// On HTTP/1 an answer has `Connection: close` after a body that ends in trailers, as a proxy may see
/// another end of it. A host that serves with hyper of its own needs no more for that. The checks of
/// `Host` and `Transfer-Encoding` are those of `serve` alone; such a host puts a proxy in front that
/// makes them.
///
/// [`serve`](crate::serve()) also answers 417 `expectation_failed` to an `Expect` other than
/// `100-continue`.
#[derive(Debug, Clone)]
pub struct ApiService(Arc<ApiContext>);

impl ApiService {
    pub(crate) fn new(context: Arc<ApiContext>) -> Self {
        Self(context)
    }

    pub(crate) fn context(&self) -> &Arc<ApiContext> {
        &self.0
    }

    /// Answers one request. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>> + Send + 'static,
    {
        answer(&*self.0, None, request.map(RequestBody::new), Ok(())).await
    }
}

impl_service!(ApiService);

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{StatusCode, header};
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
