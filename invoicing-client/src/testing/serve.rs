//! The fake server's side of the wire.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::ReceivedRequest;
use super::fault::Wire;
use super::state::Shared;

/// What closes a connection in the middle.
const CUT: &str = "the test asks for this";
/// How much of a huge body is made at a time.
const PIECE: usize = 64 * 1024;

type Body = UnsyncBoxBody<Bytes, &'static str>;

/// Accepts connections until it is dropped.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let listener = match tokio_listener(listener) {
        Ok(listener) => listener,
        Err(error) => panic!("the fake server cannot listen: {error}"),
    };
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| serve(request, shared.clone()));
            // How a connection ends is the test's business.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

fn tokio_listener(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

async fn serve(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>, &'static str> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "the request was cut off")?.to_bytes();
    let request = ReceivedRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    match shared.with(|state| state.serve(&request)) {
        Wire::Whole(answer) => {
            Ok(answer.map(|body| Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync()))
        }
        Wire::Cut => Err(CUT),
        Wire::CutAt(at, answer) => Ok(cut_at(at, answer)),
        Wire::Hang => match std::future::pending::<Infallible>().await {},
        Wire::Slow { answer, pieces, pause } => {
            let size = answer.body().len().div_ceil(pieces.max(1)).max(1);
            let parts: Vec<_> = answer.body().chunks(size).map(Bytes::copy_from_slice).collect();
            let parts = stream::iter(parts).then(move |part| async move {
                tokio::time::sleep(pause).await;
                Ok(part)
            });
            Ok(streamed(answer, parts))
        }
        Wire::Huge { answer, bytes } => {
            let whole = usize::try_from(bytes / PIECE as u64).unwrap_or(usize::MAX);
            let rest = usize::try_from(bytes % PIECE as u64).unwrap_or_default();
            let sizes = std::iter::repeat_n(PIECE, whole).chain([rest]);
            Ok(streamed(answer, stream::iter(sizes.map(|size| Ok(Bytes::from(vec![b' '; size]))))))
        }
    }
}

/// The answer with its headers, so much of its body, and then nothing.
fn cut_at(at: usize, answer: Response<Bytes>) -> Response<Body> {
    let length = answer.body().len();
    let part = answer.body().slice(..at);
    // Pending once, so that what comes before is sent before the connection is closed.
    let cut = stream::once(async {
        tokio::task::yield_now().await;
        Err(CUT)
    });
    let mut response = streamed(answer, stream::iter([Ok(part)]).chain(cut));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

fn streamed(
    answer: Response<Bytes>,
    body: impl Stream<Item = Result<Bytes, &'static str>> + Send + 'static,
) -> Response<Body> {
    answer.map(|_| BodyExt::boxed_unsync(StreamBody::new(body.map(|part| part.map(Frame::data)))))
}
