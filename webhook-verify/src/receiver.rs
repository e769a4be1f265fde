//! Receives deliveries over HTTP: reads the raw body within a limit, verifies it, and chooses the
//! status.
//!
//! ```
//! use http::Request;
//! use webhook_verify::receiver::Receiver;
//! use webhook_verify::{Signer, Verifier};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let receiver = Receiver::new(Verifier::new("whsec_example")?);
//!
//! # let signature = Signer::new("whsec_example")?.sign_now(br#"{"event":"ping"}"#);
//! let request = Request::post("/hook")
//!     .header("X-Service-Signature", signature.as_str())
//!     .body(r#"{"event":"ping"}"#.to_owned())?;
//! let answer: http::Response<String> = match receiver.accept(request).await {
//!     Ok(delivery) => {
//!         println!("store {:?}", delivery.body);
//!         http::Response::builder().status(204).body(String::new())?
//!     }
//!     Err(rejection) => rejection.response(),
//! };
//! assert_eq!(answer.status(), 204);
//! # Ok(()) }
//! ```
//!
//! A sender stops at any 4xx except 429, and retries after a 5xx. So a request that a retry cannot
//! mend gets a 400, and a 5xx is sent only if the receiver itself fails:
//!
//! | Request | Answer |
//! |---|---|
//! | a genuine delivery, for the first time or again | 204 |
//! | no signature header, several, a malformed one, one that does not match | 400 |
//! | a genuine signature that is too old or from the future: each attempt is signed anew, so it is a replay or a wrong clock | 400 |
//! | a genuine body that is not an event | 400 |
//! | another method than `POST` | 405 |
//! | a body above the limit | 413 |
//! | a truncated body, an inbox that is unavailable | 503 with `Retry-After` |
//!
//! The answers have no body, so the sender gets no reason. The receiver gets it:
//! [`Receiver::on_refusal`] is called with each [`Rejection`] but that of `Delivery::event`, which
//! the handler gets; the feature `tracing` logs it as a warning, and it is in the extensions of the
//! response.
//!
//! Four entry points, from the lowest level to the highest: [`Receiver::accept`] for any request of
//! the `http` crate, [`VerifyLayer`] for tower, the extractors [`Delivery`] and
//! [`Event`](crate::events::Event) for axum (feature `axum`), and `InboxService` (feature `inbox`),
//! a complete service that also drops repeats. The extractors take the [`Receiver`] from the
//! router's state. A state with other parts derives `axum::extract::FromRef`, or implements it.
//!
//! Time limits for slow senders belong to the HTTP server.

#[cfg(feature = "axum")]
mod extract;
mod layer;
mod read;
mod rejection;

pub use layer::{Verify, VerifyLayer};
pub use rejection::Rejection;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderName, InvalidHeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body::Body;

use crate::{Clock, Verifier};

/// The default limit for a body. Real ones are below 2 KiB.
pub const BODY_LIMIT: usize = 256 * 1024;

/// The settings by which deliveries are accepted: the secrets, the names of the headers, the limit.
///
/// Cheap to clone. With one secret per customer, make one receiver per customer, look it up by the
/// path of the request, and call [`accept`](Self::accept).
///
/// ```
/// use webhook_verify::Verifier;
/// use webhook_verify::receiver::Receiver;
///
/// let receiver = Receiver::new(Verifier::new("whsec_example")?)
///     .on_refusal(|rejection| eprintln!("delivery refused: {rejection}"))
///     .brand("Acme")?
///     .body_limit(64 * 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Receiver {
    verifier: Arc<Verifier>,
    signature: HeaderName,
    webhook_id: HeaderName,
    event_id: HeaderName,
    body_limit: usize,
    clock: Clock,
    on_refusal: OnRefusal,
}

/// The callback for refusals.
#[derive(Clone)]
struct OnRefusal(Arc<dyn Fn(&Rejection) + Send + Sync>);

/// A delivery with a genuine and recent signature.
///
/// The body is unchanged. `Debug` does not show it, as it holds names and amounts.
#[derive(Clone)]
#[non_exhaustive]
pub struct Delivery {
    /// The raw body.
    pub body: Bytes,
    /// Time at which this attempt was signed, Unix seconds. It is not the time of the event, which
    /// is in the body.
    pub signed_at: i64,
    /// The webhook's id on the sender's side, for debugging: no signature covers it.
    pub webhook_id: Option<HeaderValue>,
    /// The event's id on the sender's side: the same for every attempt, every webhook and a replay
    /// of one event. It distinguishes a second attempt from a real repeat. No signature covers it,
    /// so drop repeats by a [`DedupKey`](crate::DedupKey).
    pub event_id: Option<HeaderValue>,
}

impl Receiver {
    /// Expects the headers `X-Service-Signature`, `X-Service-Webhook-Id` and `X-Service-Event-Id`,
    /// and at most [`BODY_LIMIT`] bytes.
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(verifier),
            signature: HeaderName::from_static("x-service-signature"),
            webhook_id: HeaderName::from_static("x-service-webhook-id"),
            event_id: HeaderName::from_static("x-service-event-id"),
            body_limit: BODY_LIMIT,
            clock: Clock::default(),
            on_refusal: OnRefusal(Arc::new(|_| ())),
        }
    }

    /// Expects the headers of a service with another name: `X-<brand>-Signature`,
    /// `X-<brand>-Webhook-Id` and `X-<brand>-Event-Id`.
    ///
    /// # Errors
    ///
    /// The brand cannot be a part of a header's name.
    pub fn brand(self, brand: &str) -> Result<Self, InvalidHeaderName> {
        let header = |name: &str| format!("x-{brand}-{name}").parse::<HeaderName>();
        let (signature, webhook_id) = (header("signature")?, header("webhook-id")?);
        Ok(Self { signature, webhook_id, event_id: header("event-id")?, ..self })
    }

    /// Sets the limit for a body, in bytes.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        Self { body_limit: bytes, ..self }
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets the callback that logs refusals: by the receiver, the extractors, the tower layer and
    /// `InboxService`. By default a refusal is silent, unless the feature `tracing` is on.
    ///
    /// It runs before the answer is sent and should return quickly. Any request to the address can
    /// cause a refusal.
    #[must_use]
    pub fn on_refusal(self, on_refusal: impl Fn(&Rejection) + Send + Sync + 'static) -> Self {
        Self { on_refusal: OnRefusal(Arc::new(on_refusal)), ..self }
    }

    /// Reads and verifies a request.
    ///
    /// # Errors
    ///
    /// The request is not a genuine delivery; the error has the status to answer.
    pub async fn accept<B: Body>(&self, request: Request<B>) -> Result<Delivery, Rejection> {
        let (parts, body) = request.into_parts();
        self.accept_parts(&parts, body).await
    }

    async fn accept_parts<B: Body>(&self, parts: &Parts, body: B) -> Result<Delivery, Rejection> {
        self.verify(parts, body).await.map_err(|rejection| self.refused(rejection))
    }

    /// Reports a refusal, and passes it on.
    pub(crate) fn refused(&self, rejection: Rejection) -> Rejection {
        #[cfg(feature = "tracing")]
        tracing::warn!(status = rejection.status().as_u16(), reason = %rejection, "delivery refused");
        (self.on_refusal.0)(&rejection);
        rejection
    }

    async fn verify<B: Body>(&self, parts: &Parts, body: B) -> Result<Delivery, Rejection> {
        if parts.method != Method::POST {
            return Err(Rejection::Method);
        }
        let signature = self.signature_in(&parts.headers)?;
        let body = read::within(self.body_limit, body).await?;
        let verified = self.verifier.verify(signature, &body, self.clock.unix_seconds())?;
        let header = |name| parts.headers.get(name).cloned();
        let (webhook_id, event_id) = (header(&self.webhook_id), header(&self.event_id));
        Ok(Delivery { body, signed_at: verified.timestamp, webhook_id, event_id })
    }

    /// The only signature header. Several are refused: an intermediary could add one and choose
    /// which counts.
    fn signature_in<'h>(&self, headers: &'h HeaderMap) -> Result<&'h HeaderValue, Rejection> {
        let mut values = headers.get_all(&self.signature).iter();
        match (values.next(), values.next()) {
            (None, _) => Err(Rejection::SignatureMissing),
            (Some(value), None) => Ok(value),
            (Some(_), Some(_)) => Err(Rejection::SignatureRepeated),
        }
    }
}

#[cfg(feature = "events")]
impl Delivery {
    /// The typed event. In an axum handler, `?` turns the error into a 400.
    ///
    /// # Errors
    ///
    /// The body is not an event as documented.
    pub fn event(&self) -> Result<crate::events::Event, Rejection> {
        Ok(crate::events::Event::parse(&self.body)?)
    }
}

impl fmt::Debug for OnRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// Shows the length of the body in place of the body.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("body_bytes", &self.body.len())
            .field("signed_at", &self.signed_at)
            .field("webhook_id", &self.webhook_id)
            .field("event_id", &self.event_id)
            .finish()
    }
}
