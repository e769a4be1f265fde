//! A small HTTP server on loopback with scripted responses and faults.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The reaction to a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A response.
    Answer(Response<Bytes>),
    /// Closes the connection without a response.
    Cut,
    /// Closes the connection in the middle of a body.
    CutBody,
    /// Never responds.
    Hang,
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

type Handler = dyn Fn(usize, &RecordedRequest) -> Reply + Send + Sync;

/// Serves until it is dropped.
pub(crate) struct StubServer {
    url: String,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
    _tasks: JoinSet<()>,
}

impl StubServer {
    /// Uses one reply per request, in order. Further requests get 418.
    pub(crate) async fn script(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Self::start(move |number, _| {
            replies.get(number).cloned().unwrap_or_else(|| text(418, "", "no more replies"))
        })
        .await
    }

    /// Calls the handler for each request, with its number from 0.
    pub(crate) async fn start(
        handler: impl Fn(usize, &RecordedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<RecordedRequest>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, seen.clone(), Arc::new(handler)));
        Self { url, seen, _tasks: tasks }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, seen: Arc<Mutex<Vec<RecordedRequest>>>, handler: Arc<Handler>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (seen, handler) = (seen.clone(), handler.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| serve(request, seen.clone(), handler.clone()));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn serve(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
    handler: Arc<Handler>,
) -> Result<Response<Full<Bytes>>, &'static str> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "no body")?.to_bytes();
    let request = RecordedRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len() - 1
    };
    match handler(number, &request) {
        Reply::Answer(response) => Ok(response.map(Full::new)),
        Reply::Cut => Err("cut"),
        Reply::CutBody => {
            let short = Response::builder().header("content-length", 1_000).body(Full::new("{".into()));
            Ok(short.unwrap())
        }
        Reply::Hang => match std::future::pending::<Infallible>().await {},
    }
}

/// A JSON response.
pub(crate) fn json(status: u16, body: &Value) -> Reply {
    text(status, "application/json; charset=utf-8", &body.to_string())
}

/// A response of any type.
pub(crate) fn text(status: u16, kind: &str, body: &str) -> Reply {
    let mut response = Response::new(Bytes::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert("content-type", kind.parse().unwrap());
    Reply::Answer(response)
}

impl Reply {
    /// Adds a header.
    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        let Self::Answer(mut response) = self else { panic!("only a response has headers") };
        response.headers_mut().insert(name, value.parse().unwrap());
        Self::Answer(response)
    }
}
