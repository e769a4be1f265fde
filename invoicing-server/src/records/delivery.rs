//! Deliveries and attempts, alone and in pages.

use invoicing_core::{Advice, DeliveryStatus, EventId, FailureClass, Timestamp, WebhookId};

use super::event::EventSubject;

/// A delivery of an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryRecord {
    /// The event.
    pub event: EventId,
    /// The webhook.
    pub webhook: WebhookId,
    /// Its state.
    pub status: DeliveryStatus,
    /// Reason for which it was skipped.
    pub reason: Option<String>,
    /// Instant of the next attempt of a pending delivery, or of the end of its lease.
    pub due_at: Timestamp,
    /// Attempts so far, replays included.
    pub attempts: u32,
    /// Instant at which it was delivered, failed or skipped.
    pub ended_at: Option<Timestamp>,
}

/// An attempt to deliver, as the debugging page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// Instant at which it began.
    pub at: Timestamp,
    /// The event.
    pub event: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Number of the claim that the attempt was made with, replays included: 1 for the first. No
    /// two attempts of a delivery share a number. A claim without an attempt leaves a gap.
    pub number: u32,
    /// Duration in milliseconds.
    pub duration_ms: u32,
    /// HTTP status; `None` if the receiver did not answer.
    pub status: Option<u16>,
    /// Class of the failure; `None` if the receiver answered.
    pub failure: Option<FailureClass>,
    /// The first 500 characters of the body.
    pub payload: String,
}

impl AttemptRecord {
    /// Advice for the owner of the webhook; `None` if the attempt succeeded.
    ///
    /// ```no_run
    /// # use invoicing_server::AttemptRecord;
    /// # fn show(attempt: &AttemptRecord) {
    /// if let Some(advice) = attempt.advice() {
    ///     println!("{}", advice.english);
    /// }
    /// # }
    /// ```
    pub fn advice(&self) -> Option<Advice> {
        match (self.failure, self.status) {
            (Some(class), _) => Some(class.advice()),
            (None, Some(status)) => Advice::on_status(status),
            (None, None) => None,
        }
    }
}

/// A delivery in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryItem {
    /// The delivery.
    pub delivery: DeliveryRecord,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Instant of the event.
    pub timestamp: Timestamp,
    /// The record that the event is about; `None` if the body names none.
    pub subject: Option<EventSubject>,
    /// The next attempt of a pending delivery.
    pub next_attempt: Option<NextAttempt>,
}

/// The next attempt of a pending delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextAttempt {
    /// The attempt is being made.
    InFlight,
    /// The attempt is due from this instant on.
    DueAt(Timestamp),
}

/// A part of the deliveries to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryPage {
    /// Newest event first. May be fewer than the limit, or none, although a next page follows.
    pub items: Vec<DeliveryItem>,
    /// Start of the next page; `None` at the end.
    pub next: Option<EventId>,
}

/// A delivery with its body and its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryDetail {
    /// The delivery as a list shows it.
    pub item: DeliveryItem,
    /// The exact text that each attempt carries.
    pub body: String,
    /// Its attempts, oldest first. Kept for 30 days.
    pub attempts: Vec<AttemptRecord>,
}
