//! Code that the tests share.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;
use webhook_verify::receiver::{Receiver, Rejection};
use webhook_verify::testing::ManualClock;
use webhook_verify::{Signer, Verifier};

pub(crate) const SECRET: &str = "whsec_example";
pub(crate) const NOW: i64 = 1_789_378_867;
pub(crate) const PING: &str = r#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z","data":{"id":null}}"#;

/// A receiver at [`NOW`].
pub(crate) fn receiver() -> Receiver {
    Receiver::new(Verifier::new(SECRET).unwrap()).clock(ManualClock::at(NOW * 1000).to_clock())
}

pub(crate) fn signature(body: &[u8]) -> String {
    Signer::new(SECRET).unwrap().sign(NOW, body).to_string()
}

/// A genuine request.
pub(crate) fn request<B: From<Bytes>>(body: impl Into<Bytes>) -> Request<B> {
    let body = body.into();
    let request = Request::post("/hook").header("X-Service-Signature", signature(&body));
    request.body(body.into()).unwrap()
}

/// Calls a service, and checks what holds for each answer.
pub(crate) async fn call<S, B, R>(service: &mut S, request: Request<B>) -> StatusCode
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
    R: Body,
    R::Error: std::fmt::Debug,
{
    std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
    let response = service.call(request).await.unwrap();
    let status = response.status();
    if let Some(rejection) = response.extensions().get::<Rejection>() {
        assert_eq!(rejection.status(), status);
        assert_eq!(response.headers().contains_key("retry-after"), status == 503, "{rejection}");
        assert_eq!(response.headers().contains_key("allow"), status == 405, "{rejection}");
        assert_eq!(response.body().size_hint().exact(), Some(0), "nothing is told to the sender");
    } else {
        assert!(status.is_success(), "{status}");
    }
    status
}

/// A body that comes in pieces with a pause before each, and may break off.
pub(crate) struct Pieces {
    pub(crate) left: VecDeque<Result<Bytes, &'static str>>,
    pub(crate) announced: u64,
    paused: bool,
}

impl Pieces {
    pub(crate) fn new(pieces: impl IntoIterator<Item = Result<Bytes, &'static str>>) -> Self {
        Self { left: pieces.into_iter().collect(), announced: 0, paused: false }
    }
}

impl From<Bytes> for Pieces {
    fn from(body: Bytes) -> Self {
        Self::new(body.chunks(97).map(|piece| Ok(Bytes::copy_from_slice(piece))))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.paused = !self.paused;
        if self.paused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.left.pop_front().map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(self.announced);
        hint
    }
}

/// A list that is shared.
pub(crate) type Shared<T> = Arc<Mutex<Vec<T>>>;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
