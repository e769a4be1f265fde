//! Accepts connections and sends responses, faulty ones included.

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
use super::fault::WireResponse;
use super::state::SharedState;

/// An error that makes hyper close the connection.
const CUT: &str = "injected fault";
/// Size of the pieces of a huge body.
const PIECE_BYTES: usize = 64 * 1024;

type Body = UnsyncBoxBody<Bytes, &'static str>;

/// Accepts connections until it is dropped.
pub(super) async fn accept(listener: TcpListener, state: Arc<SharedState>) {
    let listener = match tokio_listener(listener) {
        Ok(listener) => listener,
        Err(error) => panic!("the fake server cannot listen: {error}"),
    };
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| serve(request, state.clone()));
            // A connection error is a fault that the test injected, or the client's.
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

async fn serve(request: Request<Incoming>, state: Arc<SharedState>) -> Result<Response<Body>, &'static str> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "the request was cut off")?.to_bytes();
    let request = ReceivedRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    match state.with(|state| state.serve(&request)) {
        WireResponse::Whole(response) => {
            Ok(response
                .map(|body| Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync()))
        }
        WireResponse::Cut => Err(CUT),
        WireResponse::CutAt(at, response) => Ok(cut_at(at, response)),
        WireResponse::Hang => match std::future::pending::<Infallible>().await {},
        WireResponse::Slow { response, pieces, pause } => {
            let size = response.body().len().div_ceil(pieces.max(1)).max(1);
            let parts: Vec<_> = response.body().chunks(size).map(Bytes::copy_from_slice).collect();
            let parts = stream::iter(parts).then(move |part| async move {
                tokio::time::sleep(pause).await;
                Ok(part)
            });
            Ok(streamed(response, parts))
        }
        WireResponse::Huge { response, bytes } => {
            let whole = usize::try_from(bytes / PIECE_BYTES as u64).unwrap_or(usize::MAX);
            let rest = usize::try_from(bytes % PIECE_BYTES as u64).unwrap_or_default();
            let sizes = std::iter::repeat_n(PIECE_BYTES, whole).chain([rest]);
            Ok(streamed(response, stream::iter(sizes.map(|size| Ok(Bytes::from(vec![b' '; size]))))))
        }
    }
}

/// The headers, the body up to this byte, and then the end of the connection.
fn cut_at(at: usize, response: Response<Bytes>) -> Response<Body> {
    let length = response.body().len();
    let part = response.body().slice(..at);
    // Yields once, so that hyper flushes the part before it closes the connection.
    let cut = stream::once(async {
        tokio::task::yield_now().await;
        Err(CUT)
    });
    let mut response = streamed(response, stream::iter([Ok(part)]).chain(cut));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

fn streamed(
    response: Response<Bytes>,
    body: impl Stream<Item = Result<Bytes, &'static str>> + Send + 'static,
) -> Response<Body> {
    response.map(|_| BodyExt::boxed_unsync(StreamBody::new(body.map(|part| part.map(Frame::data)))))
}
