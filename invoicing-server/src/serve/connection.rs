//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::future::pending;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::BodyExt;
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
use super::served_app::ServedApp;
use super::stream::Stream;
use crate::http::body::RequestBody;
use crate::http::byte_budget::ConnectionHandle;
use crate::http::response_body::Body;
use crate::log::ErrorChain;

/// The applications and the limits that all connections share.
pub(super) struct ServeContext {
    pub(super) app: ServedApp,
    pub(super) limits: ServeLimits,
}

/// One connection, shared by its requests.
struct Connection {
    /// The handle of the connection for the API.
    handle: ConnectionHandle,
    /// The address of the peer; `None` if the peer has gone already.
    peer: Option<IpAddr>,
    context: Arc<ServeContext>,
    // Dropped before the guard, so that its descriptor is free when the table has room again.
    stream: Stream,
    guard: Arc<ConnectionGuard>,
    /// True if the head of a request has arrived.
    has_begun: AtomicBool,
}

impl ServeContext {
    /// Serves one connection until it ends, reaches its age, must make room, or the server stops.
    pub(super) async fn serve_connection(
        self: Arc<Self>,
        stream: TcpStream,
        guard: Arc<ConnectionGuard>,
        mut stopped: watch::Receiver<()>,
    ) {
        let peer = stream.peer_addr().ok().map(|peer| peer.ip().to_canonical());
        let (stream, has_begun) = (Stream::new(stream), AtomicBool::new(false));
        let handle = guard.handle();
        let connection = Arc::new(Connection { handle, peer, context: self, guard, stream, has_begun });
        let Connection { context, guard, stream, has_begun, .. } = &*connection;
        let service = service_fn({
            let connection = Arc::clone(&connection);
            move |request: Request<Incoming>| {
                // HTTP/2 limits the bytes of a head only, and small fields occupy more than their
                // bytes. The head is dropped here and not in the future, as hyper reads many heads
                // before it polls the first future.
                let has_few = request.headers().len() <= connection.context.limits.headers;
                Arc::clone(&connection).answer(has_few.then_some(request))
            }
        });
        let limits = &context.limits;
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
            // The connection must close: the next poll of `serve_connection` drops this future.
            None => pending().await,
        };
        let is_http_2 = request.as_ref().is_none_or(|request| request.version() >= Version::HTTP_2);
        let response = match request {
            Some(request) => self.answer_well_framed(request.map(|body| arriving(body, body_guard))).await,
            None => too_many_headers(),
        };
        // Bytes that have arrived since belong to the body of this request, not to the next head.
        self.stream.head_is_read();
        Ok(response.map(|body| self.limit_reading(body, is_http_2)))
    }

    /// Limits the time to read a response. Over HTTP/2 the stream alone ends, as a proxy may serve
    /// other callers on the same connection.
    fn limit_reading(&self, body: Body, is_http_2: bool) -> Body {
        let deadline = Instant::now() + self.context.limits.response_read_time(body.left());
        if is_http_2 {
            body.end_after(deadline);
            body
        } else {
            // The guard is dropped when hyper has sent and dropped the bytes.
            body.guarded(self.guard.begin_response(deadline))
        }
    }

    /// Refuses a request with ambiguous framing. On HTTP/1 the connection closes then, as its next
    /// request may be part of this one's body.
    async fn answer_well_framed(&self, mut request: Request<RequestBody>) -> Response<Body> {
        if let Some(peer) = self.peer {
            // The address is part of the evidence of a signature.
            request.extensions_mut().insert(peer);
        }
        let checked = framing::check(&request);
        let closes = checked.is_err() && request.version() < Version::HTTP_2;
        let mut response = self.context.app.answer(&self.handle, request, checked).await;
        if closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The response that hyper itself sends over HTTP/1.
fn too_many_headers() -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    response
}

/// The body of a request. Its guard is dropped when the last byte has arrived, and after an error.
fn arriving(body: Incoming, guard: ChangeGuard) -> RequestBody {
    // Dropped with the body at its end. The closure itself does nothing.
    let keep_guard = move |error| {
        let _guard = &guard;
        error
    };
    RequestBody::new(body.map_err(keep_guard))
}

/// Logs why a connection has ended, at level `debug`, as peers break connections all the time.
fn connection_ended(result: Result<(), Box<dyn std::error::Error + Send + Sync>>, stream: &Stream) {
    let Err(error) = result else { return };
    let timed_out = error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout);
    // Over HTTP/2 a timeout is a ping without an answer.
    if timed_out && !stream.is_http_2() {
        send_timeout(stream);
    } else {
        tracing::debug!(error = %ErrorChain(&*error), "connection ended early");
    }
}
