//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::crowd::{Arriving, Member, Unsent};
use super::framing;
use super::limits::ServeLimits;
use super::stream::Stream;
use crate::env::Env;
use crate::http::error::ApiError;
use crate::http::request_id::X_REQUEST_ID;
use crate::service::{ApiService, Body};

/// What all connections share.
pub(super) struct Shared {
    pub(super) service: ApiService,
    pub(super) limits: ServeLimits,
}

/// What one connection's requests share.
struct Connection {
    shared: Arc<Shared>,
    member: Arc<Member>,
    stream: Stream,
    /// Whether the head of a request has come.
    begun: AtomicBool,
}

impl Shared {
    /// Serves one connection until it ends, is too old, has to make room, or the server stops.
    pub(super) async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        member: Arc<Member>,
        mut stopped: watch::Receiver<()>,
    ) {
        let (limits, stream) = (&self.limits, Stream::new(stream));
        let connection = Arc::new(Connection {
            shared: Arc::clone(&self),
            member: Arc::clone(&member),
            stream: stream.clone(),
            begun: AtomicBool::new(false),
        });
        let service = service_fn({
            let connection = Arc::clone(&connection);
            move |request: Request<Incoming>| {
                // HTTP/2 counts bytes only, and many small fields take more than they count. They are dropped here, as
                // hyper takes all heads that have come before any of them is answered.
                let has_few = request.headers().len() <= connection.shared.limits.headers;
                Arc::clone(&connection).answer(has_few.then_some(request))
            }
        });
        let builder = limits.builder();
        let mut serving = pin!(builder.serve_connection(TokioIo::new(stream.clone()), service));
        tokio::select! {
            biased;
            () = member.told_to_leave() => return,
            result = serving.as_mut() => return end(result, &stream),
            () = never_began(&connection.begun, limits.header_read) => return head_is_late(&stream),
            _ = stopped.changed() => {}
            () = sleep(limits.connection_age) => {}
        }
        serving.as_mut().graceful_shutdown();
        tokio::select! {
            biased;
            () = member.told_to_leave() => {}
            result = timeout(limits.grace, serving) => if let Ok(result) = result { end(result, &stream) },
        }
    }
}

impl Connection {
    /// Answers a request; none had too many header fields.
    async fn answer(
        self: Arc<Self>,
        request: Option<Request<Incoming>>,
    ) -> Result<Response<Departing>, Infallible> {
        self.begun.store(true, Ordering::Relaxed);
        self.stream.head_is_read();
        // Declared before the body, so that it is dropped after it.
        let (_serving, arriving) = match self.member.begin() {
            Some(begun) => begun,
            // The connection is dropped at its next turn.
            None => pending().await,
        };
        let response = match request.map(|request| request.map(|body| ArrivingBody::new(body, arriving))) {
            Some(request) => self.answer_one(request).await,
            None => too_many_headers(),
        };
        // What has been heard since was the request's body.
        self.stream.head_is_read();
        Ok(response.map(|body| {
            let bytes = body.size_hint().lower();
            let time = self.shared.limits.answer_time(usize::try_from(bytes).unwrap_or(usize::MAX));
            Departing { body, unsent: Some(self.member.answer(Instant::now() + time)) }
        }))
    }

    /// A request whose framing is in doubt is refused; on HTTP/1 nothing after it is read.
    async fn answer_one(&self, request: Request<ArrivingBody>) -> Response<Body> {
        let service = self.shared.service.clone();
        let Err(error) = framing::check(&request) else { return service.answer(request).await };
        let closes = request.version() < Version::HTTP_2;
        let mut response = service.refuse(request, error).await;
        if closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// What hyper answers over HTTP/1.
fn too_many_headers() -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    response
}

/// A request's body. Whoever has sent all of it is not waited for.
struct ArrivingBody {
    body: Incoming,
    arriving: Option<Arriving>,
}

impl ArrivingBody {
    fn new(body: Incoming, arriving: Arriving) -> Self {
        let arriving = (!body.is_end_stream()).then_some(arriving);
        Self { body, arriving }
    }
}

impl http_body::Body for ArrivingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if self.body.is_end_stream() || !matches!(frame, Some(Ok(_))) {
            self.arriving = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body: its bytes know that they have not been sent, until hyper drops them.
struct Departing {
    body: Body,
    unsent: Option<Unsent>,
}

struct UnsentBytes {
    bytes: Bytes,
    _unsent: Unsent,
}

impl AsRef<[u8]> for UnsentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for Departing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let unsent = self.unsent.take();
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| match unsent {
                    Some(unsent) => Bytes::from_owner(UnsentBytes { bytes, _unsent: unsent }),
                    None => bytes,
                })
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Ready when the time for the first head is over and none has come.
///
/// hyper's own limit begins only when it knows the version of HTTP: with the first byte, for which a peer could wait for
/// ever.
async fn never_began(begun: &AtomicBool, limit: Duration) {
    sleep(limit).await;
    if begun.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
}

/// Says why a connection has ended, if anybody listens: peers break connections all the time, and that is no news.
fn end(result: Result<(), Box<dyn std::error::Error + Send + Sync>>, stream: &Stream) {
    let Err(error) = result else { return };
    let timed_out = error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout);
    // HTTP/2 times out where a ping is not answered.
    if timed_out && !stream.is_http_2() {
        head_is_late(stream);
    } else {
        tracing::debug!(error, "a connection ended early");
    }
}

/// Says so to a peer that has sent a part of a head over HTTP/1; anybody else is left without a word.
fn head_is_late(stream: &Stream) {
    if stream.is_in_head() && !stream.is_http_2() {
        let id = Env::system().uuid();
        stream.write_last(&head_took_too_long(id));
        tracing::debug!(request_id = %id, "the head of a request did not arrive in time");
    } else {
        tracing::debug!("nothing came for too long");
    }
}

/// hyper closes such a connection without a word.
fn head_took_too_long(id: Uuid) -> Vec<u8> {
    let body = ApiError::RequestTimeout.body();
    let mut answer = format!(
        "HTTP/1.1 408 Request Timeout\r\n{X_REQUEST_ID}: {id}\r\nconnection: close\r\ncache-control: no-store\r\n\
         content-type: application/json; charset=utf-8\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    answer
}

/// The tasks of one HTTP/2 connection. They end with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
