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
    /// Why it was skipped.
    pub reason: Option<String>,
    /// When a pending delivery is attempted next, or its lease ends.
    pub due_at: Timestamp,
    /// Attempts so far, replays included.
    pub attempts: u32,
    /// When it was delivered, failed or skipped.
    pub ended_at: Option<Timestamp>,
}

/// One attempt to deliver, as the debugging page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// When it began.
    pub at: Timestamp,
    /// The event.
    pub event: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Number of the claim that the attempt was made with, replays included: 1 for the first. No two attempts of a
    /// delivery share a number. A claim that came to no attempt leaves a gap.
    pub number: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
    /// HTTP status, where the receiver answered.
    pub status: Option<u16>,
    /// Why not, where it did not.
    pub failure: Option<FailureClass>,
    /// The first 500 characters of the body.
    pub payload: String,
}

impl AttemptRecord {
    /// What the owner of the webhook does about it; `None` where it succeeded.
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
    /// When the event happened.
    pub timestamp: Timestamp,
    /// The record that it is about, where its body names one.
    pub subject: Option<EventSubject>,
    /// What a pending one waits for.
    pub next_attempt: Option<NextAttempt>,
}

/// The next attempt of a pending delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextAttempt {
    /// It is being made.
    InFlight,
    /// It is due from this instant on.
    DueAt(Timestamp),
}

/// A part of the deliveries to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryPage {
    /// Newest event first. May be fewer than asked for, also none, where a next page follows.
    pub items: Vec<DeliveryItem>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<EventId>,
}

/// A delivery with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryDetail {
    /// As a list shows it.
    pub item: DeliveryItem,
    /// The very text that each attempt carries.
    pub body: String,
    /// Its attempts, oldest first. Kept for 30 days.
    pub attempts: Vec<AttemptRecord>,
}
