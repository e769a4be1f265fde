//! What a server answers with: the API, and a console below its prefix.

#[cfg(feature = "console")]
use http::uri::{PathAndQuery, Uri};
use http::{Request, Response};
use tokio::time::Instant;

use crate::api::body::ReadableBody;
use crate::api::byte_budget::ConnectionHandle;
use crate::api::error::ApiError;
use crate::api::response_body::Body;
use crate::api::service::ApiService;
#[cfg(feature = "console")]
use crate::console::Console;

/// What [`serve`](crate::serve()) serves: the API, made from an [`ApiService`]. With the feature `console` also the API
/// and a [`Console`](crate::Console), made from a pair of both: what is below the path of the console's base URL, but not
/// below `/api/`, goes to the console.
#[derive(Debug, Clone)]
pub struct ServedApp {
    api: ApiService,
    #[cfg(feature = "console")]
    console: Option<Console>,
}

impl From<ApiService> for ServedApp {
    fn from(api: ApiService) -> Self {
        Self {
            api,
            #[cfg(feature = "console")]
            console: None,
        }
    }
}

#[cfg(feature = "console")]
impl From<(ApiService, Console)> for ServedApp {
    fn from((api, console): (ApiService, Console)) -> Self {
        Self { api, console: Some(console) }
    }
}

impl ServedApp {
    /// Answers one request that has arrived on a connection, with the error of a check if it failed.
    pub(super) async fn answer_on(
        &self,
        connection: Option<&ConnectionHandle>,
        request: Request<impl ReadableBody>,
        checked: Result<(), ApiError>,
    ) -> Response<Body> {
        #[cfg(feature = "console")]
        if let Some((console, uri)) = self.console_and_uri(request.uri()) {
            let (mut head, body) = request.into_parts();
            head.uri = uri;
            return console.answer_on(connection, Request::from_parts(head, body), checked).await;
        }
        self.api.answer_on(connection, request, checked).await
    }

    /// The console, and the address without its prefix, where the request is for it.
    #[cfg(feature = "console")]
    fn console_and_uri(&self, uri: &Uri) -> Option<(&Console, Uri)> {
        let console = self.console.as_ref()?;
        if uri.path().starts_with("/api/") {
            return None;
        }
        let below = console.below(uri.path())?;
        let target = match uri.query() {
            Some(query) => PathAndQuery::try_from(format!("{below}?{query}")),
            None => PathAndQuery::try_from(below),
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(target.ok()?);
        Some((console, Uri::from_parts(parts).ok()?))
    }

    /// Ends the answers that their peers have not read in time.
    pub(super) fn end_overdue(&self, now: Instant) {
        self.api.end_overdue(now);
    }
}
