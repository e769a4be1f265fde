//! Receives deliveries over HTTP: reads the raw body within a limit, verifies it, and knows the right status.
//!
//! A sender stops at any 4xx but 429, and tries again at a 5xx. So what a retry cannot mend is a 400, and a 5xx is
//! said only where the receiver itself is in trouble:
//!
//! | What came | Answer |
//! |---|---|
//! | a genuine delivery, for the first time or again | 204 |
//! | no signature header, several, a malformed one, one that does not match | 400 |
//! | a genuine signature that is too old or from the future: each attempt is signed anew, so it is a replay or a wrong clock | 400 |
//! | a genuine body that is not an event | 400 |
//! | another method than `POST` | 405 |
//! | a body above the limit | 413 |
//! | a body that broke off, an inbox that is down | 503 with `Retry-After` |
//!
//! The answers have no body: why a delivery was refused is for the receiver's own log. It is in the [`Refusal`],
//! which also stands in the extensions of each refusing response.
//!
//! Four ways in, from the bottom to the top: [`Receiver::accept`] for any request of the `http` crate,
//! [`VerifyLayer`] for tower, the extractors [`Delivery`] and [`Event`](crate::events::Event) for axum (feature
//! `axum`), and `Intake` (feature `inbox`), a whole service that also drops repeats.
//!
//! How long a sender may take is not limited here: that belongs to the server's own time limits.

#[cfg(feature = "axum")]
mod extract;
mod layer;
mod read;
mod refusal;

pub use layer::{Verify, VerifyLayer};
pub use refusal::Refusal;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderName, InvalidHeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body::Body;

use crate::{Clock, Verifier};

/// The largest body that is read where nothing else is said. Real ones are below 2 KiB.
pub const BODY_LIMIT: usize = 256 * 1024;

/// What to expect of a delivery: the secrets, the names of the headers, the limit.
///
/// Cheap to clone. With one secret per customer, make one receiver per customer, look it up by the path of the
/// request, and call [`accept`](Self::accept).
///
/// ```
/// use webhook_verify::Verifier;
/// use webhook_verify::receiver::Receiver;
///
/// let receiver = Receiver::new(Verifier::new("whsec_example")?).brand("Acme")?.body_limit(64 * 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Receiver {
    verifier: Arc<Verifier>,
    signature: HeaderName,
    webhook_id: HeaderName,
    body_limit: usize,
    clock: Clock,
}

/// A delivery whose signature is genuine and about now.
///
/// The body is what came, byte by byte. It is not shown by `Debug`, as it holds names and amounts.
#[derive(Clone)]
#[non_exhaustive]
pub struct Delivery {
    /// The raw body.
    pub body: Bytes,
    /// When this attempt was signed, Unix seconds. Not when the event happened; the body says that.
    pub signed_at: i64,
    /// The webhook's id on the sender's side, for debugging: no signature covers it.
    pub webhook_id: Option<HeaderValue>,
}

impl Receiver {
    /// Expects the headers `X-Service-Signature` and `X-Service-Webhook-Id`, and at most [`BODY_LIMIT`] bytes.
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(verifier),
            signature: HeaderName::from_static("x-service-signature"),
            webhook_id: HeaderName::from_static("x-service-webhook-id"),
            body_limit: BODY_LIMIT,
            clock: Clock::default(),
        }
    }

    /// The same for a service of another name: `X-<brand>-Signature` and `X-<brand>-Webhook-Id`.
    ///
    /// # Errors
    ///
    /// The brand cannot be a part of a header's name.
    pub fn brand(self, brand: &str) -> Result<Self, InvalidHeaderName> {
        let signature = format!("x-{brand}-signature").parse()?;
        Ok(Self { signature, webhook_id: format!("x-{brand}-webhook-id").parse()?, ..self })
    }

    /// The same with another limit, in bytes.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        Self { body_limit: bytes, ..self }
    }

    /// The same with another clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Reads and verifies a request.
    ///
    /// # Errors
    ///
    /// What is not a genuine delivery, with the status to answer.
    pub async fn accept<B: Body>(&self, request: Request<B>) -> Result<Delivery, Refusal> {
        let (parts, body) = request.into_parts();
        self.accept_parts(&parts, body).await
    }

    async fn accept_parts<B: Body>(&self, parts: &Parts, body: B) -> Result<Delivery, Refusal> {
        if parts.method != Method::POST {
            return Err(Refusal::Method);
        }
        let signature = self.signature_in(&parts.headers)?;
        let body = read::within(self.body_limit, body).await?;
        let verified = self.verifier.verify(signature, &body, self.clock.unix_seconds())?;
        let webhook_id = parts.headers.get(&self.webhook_id).cloned();
        Ok(Delivery { body, signed_at: verified.timestamp, webhook_id })
    }

    /// The one signature header. With several, whoever added one could choose which counts.
    fn signature_in<'h>(&self, headers: &'h HeaderMap) -> Result<&'h HeaderValue, Refusal> {
        let mut values = headers.get_all(&self.signature).iter();
        match (values.next(), values.next()) {
            (None, _) => Err(Refusal::SignatureMissing),
            (Some(value), None) => Ok(value),
            (Some(_), Some(_)) => Err(Refusal::SignatureRepeated),
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
    pub fn event(&self) -> Result<crate::events::Event, Refusal> {
        Ok(crate::events::Event::parse(&self.body)?)
    }
}

/// Shows the length of the body in place of the body.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("body_bytes", &self.body.len())
            .field("signed_at", &self.signed_at)
            .field("webhook_id", &self.webhook_id)
            .finish()
    }
}
