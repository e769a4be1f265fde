//! The channel between a webhook handler and [`Follow::run`](crate::Follow::run).

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::{debug, warn};

use super::ChangeEvent;

/// Events that may wait. A follower takes them at once, also during a pass, and prefers a pass to more than a few reads.
const CAPACITY: usize = 1_024;

/// Connects a webhook handler with [`Follow::run`](crate::Follow::run).
///
/// ```
/// use invoicing_client::change_events;
///
/// let (notifier, events) = change_events();
/// // In the handler, with the body of a verified delivery. It neither waits nor fails:
/// notifier.notify(br#"{"event":"quote.signed","timestamp":"2026-09-14T09:41:07.123Z",
///     "data":{"id":"019235a0-0000-7000-8000-000000000001"}}"#);
/// // Elsewhere: `follow.run(events, …)`.
/// # drop(events);
/// ```
///
/// A handler that has the `Event` of `webhook-verify` in place of the body calls `notifier.notify_event(&event)`.
pub fn change_events() -> (ChangeNotifier, ChangeEvents) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (ChangeNotifier(sender), ChangeEvents(receiver))
}

/// The end of a webhook handler. Cheap to clone.
///
/// No method waits or fails, as events are hints. One that is unreadable or finds too many waiting is dropped; its
/// record comes with the next pass.
#[derive(Debug, Clone)]
pub struct ChangeNotifier(mpsc::Sender<ChangeEvent>);

/// The end of a follower: the argument of [`Follow::run`](crate::Follow::run). To run again after an error, pass
/// `&mut events`.
#[derive(Debug)]
pub struct ChangeEvents(mpsc::Receiver<ChangeEvent>);

impl ChangeNotifier {
    /// Passes the body of a delivery on **whose signature is verified**, of any kind of event.
    pub fn notify(&self, body: &[u8]) {
        match ChangeEvent::from_body(body) {
            Ok(event) => self.send(event),
            Err(error) => debug!(%error, "not a hint for a follower, left to the next pass"),
        }
    }

    /// Passes a parsed event on, such as the `Event` that `webhook-verify` extracts from a delivery: anything that is
    /// serialized as the body of a delivery.
    pub fn notify_event(&self, event: &impl Serialize) {
        match serde_json::to_vec(event) {
            Ok(body) => self.notify(&body),
            Err(error) => debug!(%error, "not a hint for a follower, left to the next pass"),
        }
    }

    /// Passes an event on.
    pub fn send(&self, event: ChangeEvent) {
        match self.0.try_send(event) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => debug!("too many hints wait, so this one is left to the next pass"),
            Err(TrySendError::Closed(_)) => warn!("a hint is dropped, as no follower reads them any more"),
        }
    }
}

impl Stream for ChangeEvents {
    type Item = ChangeEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChangeEvent>> {
        self.0.poll_recv(cx)
    }
}
