//! A complete receiver as one service: verifies a delivery, stores it in an inbox and answers 204.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tower_service::Service;

use super::{Inbox, InboxError, Receipt};
use crate::DedupKey;
use crate::events::Envelope;
use crate::receiver::{Delivery, Receiver, Rejection};

/// A service that verifies deliveries, stores them in an inbox and answers. A
/// [`Worker`](super::Worker) handles them.
///
/// It answers before the work is done, so that slow work does not run into the sender's limit of 5
/// s. It fits `axum::Router::route_service`, and a hyper connection by
/// `hyper_util::service::TowerToHyperService`.
///
/// ```
/// # fn router() -> Result<axum::Router, webhook_verify::SecretError> {
/// use std::sync::Arc;
///
/// use webhook_verify::Verifier;
/// use webhook_verify::inbox::{InboxService, MemoryInbox};
/// use webhook_verify::receiver::Receiver;
///
/// let receiver = Receiver::new(Verifier::new("whsec_example")?);
/// let service = InboxService::new(receiver, Arc::new(MemoryInbox::new()));
/// # Ok(
/// axum::Router::new().route_service("/hook", service)
/// # )}
/// # router().expect("a secret");
/// ```
pub struct InboxService<I: ?Sized> {
    receiver: Receiver,
    key: KeyKind,
    name: Option<Arc<str>>,
    inbox: Arc<I>,
}

#[derive(Clone, Copy, Debug)]
enum KeyKind {
    Recommended,
    Documented,
}

impl<I: Inbox + ?Sized> InboxService<I> {
    /// A service that accepts the deliveries of the receiver, once for each recommended key.
    pub fn new(receiver: Receiver, inbox: Arc<I>) -> Self {
        Self { receiver, key: KeyKind::Recommended, name: None, inbox }
    }

    /// Names the receiver in the keys, for an inbox that several receivers share: an event that is
    /// delivered to two webhooks is then handled for each. [`Claim::key`](super::Claim::key) begins
    /// with `\@` and the name.
    #[must_use]
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Uses the documented pair of kind and id as the key. It drops a real second occurrence, such
    /// as a project that is completed twice, as a repeat.
    #[must_use]
    pub fn documented_key(self) -> Self {
        Self { key: KeyKind::Documented, ..self }
    }

    /// Stores a delivery that a [`Receiver`] has accepted.
    ///
    /// # Errors
    ///
    /// The body is not an event, or the inbox failed. The receiver's
    /// [`on_refusal`](Receiver::on_refusal) is called too.
    pub async fn receive(&self, delivery: &Delivery) -> Result<Receipt, Rejection> {
        self.store(delivery).await.map_err(|rejection| self.receiver.refused(rejection))
    }

    async fn store(&self, delivery: &Delivery) -> Result<Receipt, Rejection> {
        let envelope = Envelope::parse(&delivery.body)?;
        let key = match self.key {
            KeyKind::Recommended => envelope.key(),
            KeyKind::Documented => envelope.documented_key(),
        };
        let key = DedupKey { receiver: self.name.as_deref(), ..key };
        Ok(self.inbox.receive(key, &delivery.body).await?)
    }
}

impl From<InboxError> for Rejection {
    fn from(error: InboxError) -> Self {
        Self::Unavailable(error.source().unwrap_or(&error).to_string())
    }
}

impl<I: ?Sized> Clone for InboxService<I> {
    fn clone(&self) -> Self {
        Self {
            receiver: self.receiver.clone(),
            key: self.key,
            name: self.name.clone(),
            inbox: Arc::clone(&self.inbox),
        }
    }
}

impl<I: ?Sized> fmt::Debug for InboxService<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxService")
            .field("receiver", &self.receiver)
            .field("key", &self.key)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<I, B> Service<Request<B>> for InboxService<I>
where
    I: Inbox + ?Sized + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let stored = match service.receiver.accept(request).await {
                Ok(delivery) => service.receive(&delivery).await,
                Err(rejection) => Err(rejection),
            };
            Ok(match stored {
                Ok(receipt) => no_content(receipt),
                Err(rejection) => rejection.response(),
            })
        })
    }
}

/// 204, with the receipt among the extensions.
fn no_content(receipt: Receipt) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.extensions_mut().insert(receipt);
    response
}
