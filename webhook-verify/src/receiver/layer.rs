//! The tower layer: only genuine deliveries pass.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tower_layer::Layer;
use tower_service::Service;

use super::Receiver;

/// Verifies each request before the inner service sees it.
///
/// The inner service gets the same request with the raw body as one piece, and the
/// [`Delivery`](super::Delivery) among the request's extensions. A refused request does not reach
/// it.
///
/// ```
/// use axum::{Extension, Router, routing::post};
/// use webhook_verify::Verifier;
/// use webhook_verify::receiver::{Delivery, Receiver, VerifyLayer};
///
/// async fn hook(Extension(delivery): Extension<Delivery>) {
///     println!("{} genuine bytes", delivery.body.len());
/// }
///
/// let receiver = Receiver::new(Verifier::new("whsec_example")?);
/// let router: Router = Router::new().route("/hook", post(hook)).layer(VerifyLayer::new(receiver));
/// # Ok::<(), webhook_verify::SecretError>(())
/// ```
///
/// The layer needs the bytes as received: put a decompressing layer, if any, inside and not around
/// it.
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    receiver: Receiver,
}

/// A service behind a [`VerifyLayer`].
#[derive(Clone, Debug)]
pub struct Verify<S> {
    inner: S,
    receiver: Receiver,
}

impl VerifyLayer {
    /// A layer that passes the deliveries that this receiver accepts.
    pub fn new(receiver: Receiver) -> Self {
        Self { receiver }
    }
}

impl<S> Layer<S> for VerifyLayer {
    type Service = Verify<S>;

    fn layer(&self, inner: S) -> Verify<S> {
        Verify { inner, receiver: self.receiver.clone() }
    }
}

impl<S, B, R> Service<Request<B>> for Verify<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Only the instance that was polled ready may be called, so its clone stays in `self`.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let receiver = self.receiver.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match receiver.accept_parts(&parts, body).await {
                Ok(delivery) => {
                    let body = Full::new(delivery.body.clone());
                    parts.extensions.insert(delivery);
                    inner.call(Request::from_parts(parts, body)).await
                }
                Err(rejection) => Ok(rejection.response()),
            }
        })
    }
}
