//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::connection_table::{ChangeGuard, ConnectionGuard};
use super::framing;
use super::head_timeout::{no_first_request, send_timeout};
use super::limits::ServeLimits;
use super::stream::Stream;
use crate::api::body::ReadableBody;
use crate::api::capacity::guarded_bytes;
use crate::api::response::with_headers;
use crate::api::service::{ApiService, Body};

/// The service with its limits, shared by all connections.
pub(super) struct Server {
    pub(super) service: ApiService,
    pub(super) limits: ServeLimits,
}

/// One connection, shared by its requests.
struct Connection {
    server: Arc<Server>,
    // Dropped before the guard, so that its descriptor is free when the table has room again.
    stream: Stream,
    guard: Arc<ConnectionGuard>,
    /// Whether the head of a request has arrived.
    has_begun: AtomicBool,
}

impl Server {
    /// Serves one connection until it ends, reaches its age, must make room, or the server stops.
    pub(super) async fn serve_connection(
        self: Arc<Self>,
        stream: TcpStream,
        guard: Arc<ConnectionGuard>,
        mut stopped: watch::Receiver<()>,
    ) {
        let (stream, has_begun) = (Stream::new(stream), AtomicBool::new(false));
        let connection = Arc::new(Connection { server: self, guard, stream, has_begun });
        let Connection { server, guard, stream, has_begun } = &*connection;
        let service = service_fn({
            let connection = Arc::clone(&connection);
            move |request: Request<Incoming>| {
                // HTTP/2 limits the bytes of a head only, and small fields occupy more than their bytes. The head is
                // dropped here and not in the future, as hyper reads many heads before it polls the first future.
                let has_few = request.headers().len() <= connection.server.limits.headers;
                Arc::clone(&connection).answer(has_few.then_some(request))
            }
        });
        let limits = &server.limits;
        let builder = limits.builder();
        let mut serving = pin!(builder.serve_connection(TokioIo::new(stream.clone()), service));
        tokio::select! {
            biased;
            () = guard.must_close() => return,
            result = serving.as_mut() => return connection_ended(result, stream),
            () = no_first_request(has_begun, limits.header_read) => return send_timeout(stream),
            _ = stopped.changed() => {}
            () = sleep(limits.connection_age) => {}
        }
        serving.as_mut().graceful_shutdown();
        tokio::select! {
            biased;
            () = guard.must_close() => {}
            result = timeout(limits.grace, serving) => if let Ok(result) = result { connection_ended(result, stream) },
        }
    }
}

impl Connection {
    /// Answers a request; `None` stands for one with too many header fields.
    async fn answer(
        self: Arc<Self>,
        request: Option<Request<Incoming>>,
    ) -> Result<Response<Body>, Infallible> {
        self.has_begun.store(true, Ordering::Relaxed);
        self.stream.head_is_read();
        // `_request_guard` is declared before the body, so that it is dropped after it.
        let (_request_guard, body_guard) = match self.guard.begin_request() {
            Some(guards) => guards,
            // The connection must close: `serve_connection` drops this future when it is polled next.
            None => pending().await,
        };
        let response = match request {
            Some(request) => self.answer_well_framed(request.map(|body| arriving(body, body_guard))).await,
            // The response that hyper itself sends over HTTP/1.
            None => with_headers(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, HeaderMap::new(), Bytes::new()),
        };
        // Bytes that have arrived since belong to the body of this request, not to the next head.
        self.stream.head_is_read();
        Ok(response.map(|bytes| {
            let deadline = Instant::now() + self.server.limits.response_read_time(bytes.len());
            // The guard is dropped when hyper has sent and dropped the bytes.
            Full::new(guarded_bytes(bytes, self.guard.begin_response(deadline)))
        }))
    }

    /// Refuses a request with ambiguous framing. On HTTP/1 the connection closes then, as its next request may be part
    /// of this one's body.
    async fn answer_well_framed(&self, request: Request<impl ReadableBody>) -> Response<Bytes> {
        let checked = framing::check(&request);
        let closes = checked.is_err() && request.version() < Version::HTTP_2;
        let mut response = self.server.service.answer_in_bytes(request, checked).await;
        if closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The body of a request. Its guard is dropped when the last byte has arrived, and after an error.
fn arriving(body: Incoming, guard: ChangeGuard) -> impl ReadableBody {
    // `fuse` drops the body with this closure at its end. The closure itself does nothing.
    let keep_guard = move |error| {
        let _guard = &guard;
        error
    };
    body.map_err(keep_guard).fuse()
}

/// Logs why a connection has ended. At level `debug`, as peers break connections all the time.
fn connection_ended(result: Result<(), Box<dyn std::error::Error + Send + Sync>>, stream: &Stream) {
    let Err(error) = result else { return };
    let timed_out = error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout);
    // Over HTTP/2 a timeout is a ping without an answer.
    if timed_out && !stream.is_http_2() {
        send_timeout(stream);
    } else {
        tracing::debug!(error, "connection ended early");
    }
}
