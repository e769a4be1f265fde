//! The receiver: an HTTP server that trusts nothing but a signature, answers at once, and hands on what is new.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use invoicing_core::{Money, QuoteId};
use invoicing_examples::Failure;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use webhook_verify::{DedupKey, Verifier};

/// A verified delivery. Readers ignore fields that they do not need: the API may grow.
#[derive(Debug, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) event: String,
    pub(crate) timestamp: String,
    pub(crate) data: Data,
    #[serde(skip)]
    pub(crate) body: Bytes,
    /// The sender's id of the event. No signature covers it, so it serves the log and not the recognition of repeats.
    #[serde(skip)]
    pub(crate) event_id: String,
}

/// The fields of `data` that the integration uses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Data {
    pub(crate) id: String,
    #[serde(rename = "totalHT")]
    pub(crate) total_ht: Option<Money>,
    #[serde(rename = "totalTTC")]
    pub(crate) total_ttc: Option<Money>,
    #[serde(default)]
    pub(crate) quote_ids: Vec<QuoteId>,
}

impl Delivery {
    /// The key that repeats of a delivery have in common.
    pub(crate) fn key(&self) -> String {
        DedupKey::recommended(&self.event, &self.data.id, &self.timestamp).to_string()
    }
}

/// The state that outlives a restart of the receiver. A real one keeps the keys in its database.
pub(crate) struct Inbox {
    verifier: Verifier,
    known: Mutex<HashSet<String>>,
    new: mpsc::UnboundedSender<Delivery>,
}

impl Inbox {
    pub(crate) fn new(secret: &str) -> Result<(Arc<Self>, mpsc::UnboundedReceiver<Delivery>), Failure> {
        let (new, deliveries) = mpsc::unbounded_channel();
        let inbox = Self { verifier: Verifier::new(secret)?, known: Mutex::default(), new };
        Ok((Arc::new(inbox), deliveries))
    }

    fn take(&self, headers: &HeaderMap, body: Bytes) -> StatusCode {
        let mut signatures = headers.get_all("x-service-signature").iter();
        let (Some(signature), None) = (signatures.next(), signatures.next()) else {
            return StatusCode::BAD_REQUEST;
        };
        // The raw bytes, before anything parses them.
        if self.verifier.verify_now(signature, &body).is_err() {
            return StatusCode::BAD_REQUEST;
        }
        let Ok(mut delivery) = serde_json::from_slice::<Delivery>(&body) else {
            return StatusCode::BAD_REQUEST;
        };
        delivery.body = body;
        let event_id = headers.get("x-service-event-id").and_then(|id| id.to_str().ok());
        event_id.unwrap_or_default().clone_into(&mut delivery.event_id);
        let is_new = self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(delivery.key());
        if is_new && self.new.send(delivery).is_err() {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        StatusCode::NO_CONTENT
    }
}

/// A running receiver.
pub(crate) struct Receiver {
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Receiver {
    pub(crate) fn start(listener: TcpListener, inbox: Arc<Inbox>) -> Self {
        let take = async |State(inbox): State<Arc<Inbox>>, headers: HeaderMap, body: Bytes| {
            inbox.take(&headers, body)
        };
        let router = Router::new().route("/hook", post(take)).with_state(inbox);
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            // Dropping the sender stops it too.
            let _ = stopped.await;
        };
        let serving = axum::serve(listener, router).with_graceful_shutdown(stopped);
        #[expect(clippy::disallowed_methods, reason = "`stop` waits for it")]
        let task = tokio::spawn(serving.into_future());
        Self { stop, task }
    }

    pub(crate) async fn restart(address: SocketAddr, inbox: Arc<Inbox>) -> Result<Self, Failure> {
        Ok(Self::start(TcpListener::bind(address).await?, inbox))
    }

    /// Goes away: the address refuses connections from now on.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        // If the receiver has ended by itself, the next line has the reason.
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}
