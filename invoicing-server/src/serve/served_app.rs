//! The applications behind a server: the API, and a console below its prefix.

use std::fmt;
use std::sync::Arc;

use http::uri::{PathAndQuery, Uri};
use http::{Request, Response};
use tokio::time::Instant;

use crate::http::body::RequestBody;
use crate::http::byte_budget::ConnectionHandle;
use crate::http::error::ApiError;
use crate::http::exchange::AnyApplication;
use crate::http::response_body::Body;

/// The applications that [`serve`](crate::serve()) serves: the API, made from an
/// [`ApiService`](crate::ApiService). With the feature `console` also the API and a `Console`, made
/// from a pair of both: requests below the path of the console's base URL, but not below `/api/`,
/// go to the console.
#[derive(Clone)]
pub struct ServedApp {
    api: Arc<dyn AnyApplication>,
    console: Option<MountedConsole>,
}

/// The console, and the prefix of its requests.
#[derive(Clone)]
struct MountedConsole {
    /// The path of its base URL, without a slash at the end.
    prefix: Arc<str>,
    application: Arc<dyn AnyApplication>,
}

impl fmt::Debug for ServedApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.console.as_ref().map(|console| &console.prefix);
        f.debug_struct("ServedApp").field("console", &prefix).finish_non_exhaustive()
    }
}

impl ServedApp {
    pub(crate) fn new(api: Arc<dyn AnyApplication>) -> Self {
        Self { api, console: None }
    }

    #[cfg(feature = "console")]
    pub(crate) fn with_console(self, prefix: &str, application: Arc<dyn AnyApplication>) -> Self {
        Self { console: Some(MountedConsole { prefix: prefix.into(), application }), ..self }
    }

    /// Answers one request that has arrived on a connection, with the error of a check if it
    /// failed.
    pub(super) async fn answer(
        &self,
        connection: &ConnectionHandle,
        mut request: Request<RequestBody>,
        checked: Result<(), ApiError>,
    ) -> Response<Body> {
        let console = self.console.as_ref().and_then(|console| console.below(request.uri()));
        let application = match console {
            Some((application, uri)) => {
                *request.uri_mut() = uri;
                application
            }
            None => &self.api,
        };
        application.answer_on(connection, request, checked).await
    }

    /// Ends the answers that their peers have not read in time.
    pub(super) fn end_overdue(&self, now: Instant) {
        self.api.end_overdue(now);
    }
}

impl MountedConsole {
    /// The application, and the address without the prefix, if the request is for it.
    fn below(&self, uri: &Uri) -> Option<(&Arc<dyn AnyApplication>, Uri)> {
        if uri.path().starts_with("/api/") {
            return None;
        }
        let below = match uri.path().strip_prefix(&*self.prefix)? {
            "" => "/",
            below => below.starts_with('/').then_some(below)?,
        };
        let target = match uri.query() {
            Some(query) => PathAndQuery::try_from(format!("{below}?{query}")),
            None => PathAndQuery::try_from(below),
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(target.ok()?);
        Some((&self.application, Uri::from_parts(parts).ok()?))
    }
}
