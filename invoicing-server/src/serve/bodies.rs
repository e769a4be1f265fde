//! Bodies that tell the connection table when a request has arrived and when a response has been sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::connection_table::{BodyGuard, ResponseGuard};
use crate::api::service::Body;

/// The body of a request. Releases its guard when the last byte has arrived.
pub(super) struct ArrivingBody {
    body: Incoming,
    guard: Option<BodyGuard>,
}

impl ArrivingBody {
    pub(super) fn new(body: Incoming, guard: BodyGuard) -> Self {
        let guard = (!body.is_end_stream()).then_some(guard);
        Self { body, guard }
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
            self.guard = None;
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

/// The body of a response. Its bytes own the guard, so it is released when hyper has sent and dropped them.
pub(super) struct UnsentBody {
    body: Body,
    guard: Option<ResponseGuard>,
}

impl UnsentBody {
    pub(super) fn new(body: Body, guard: ResponseGuard) -> Self {
        Self { body, guard: Some(guard) }
    }
}

struct UnsentBytes {
    bytes: Bytes,
    _guard: ResponseGuard,
}

impl AsRef<[u8]> for UnsentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for UnsentBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let guard = self.guard.take();
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| match guard {
                    Some(guard) => Bytes::from_owner(UnsentBytes { bytes, _guard: guard }),
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
