//! An inbox stores deliveries and recognises repeats, so that each event is handled once.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use webhook_verify::events::{Envelope, EventError};
//! use webhook_verify::inbox::{Claim, Inbox, MemoryInbox, Receipt, Worker};
//!
//! let inbox = Arc::new(MemoryInbox::new());
//! let body = br#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z","data":{"id":null}}"#;
//! let envelope = Envelope::parse(body)?;
//! assert_eq!(inbox.receive(envelope.key(), &body[..].into()).await?, Receipt::New);
//! assert_eq!(inbox.receive(envelope.key(), &body[..].into()).await?, Receipt::Duplicate);
//!
//! let handler = async |claim: Claim| {
//!     println!("{:?}", claim.event()?);
//!     Ok::<(), EventError>(())
//! };
//! let worker = Worker::new(inbox);
//! assert_eq!(worker.run_due(&handler).await?, 1); // `run` continues until it is stopped
//! assert_eq!(worker.run_due(&handler).await?, 0);
//! # Ok(()) }
//! ```
//!
//! A message is *received*: its key and raw body are on disk before the 2xx is sent, so the sender
//! need not keep it. A [`Worker`] *claims* one message at a time, passes it to the handler and
//! marks it *done*. A handler that fails is called again, with growing pauses and without end; the
//! [`Claim`] counts the attempts. The key of a message that is done is kept, and its repeats are
//! answered with a 2xx.
//!
//! After a crash between receiving and handling, the claim expires and the message is due again.
//! After a crash between the end of the handler and the mark, the handler runs again. If that must
//! not happen, commit the work and the mark in one transaction (`SqliteInbox::done_within`), or
//! make the work idempotent by [`Claim::key`].

mod memory;
#[cfg(feature = "tower")]
mod service;
#[cfg(feature = "sqlite")]
mod sqlite;
mod worker;

pub use memory::MemoryInbox;
#[cfg(feature = "tower")]
pub use service::InboxService;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteInbox;
pub use worker::{Worker, WorkerError};

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::DedupKey;
use crate::events::{Event, EventError};

/// The shortest retention of keys. A signature is valid for five minutes, and the attempts of a
/// delivery end within two.
pub const MIN_RETENTION: Duration = Duration::from_hours(1);

/// The longest wait of a message. One that is due later was written while the clock was ahead, and
/// is due now.
const MAX_DELAY: Duration = Duration::from_hours(24);

/// The default retention of keys. The sender can replay a delivery weeks later, for example if its
/// answer was lost.
pub const DEFAULT_RETENTION: Duration = Duration::from_hours(90 * 24);

/// A future of an [`Inbox`].
pub type InboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, InboxError>> + Send + 'a>>;

/// Storage for messages that wait for their handler, and for the keys of handled ones.
///
/// Every future may be dropped at any await: its operation is then done completely or not at all.
pub trait Inbox: Send + Sync {
    /// Stores a verified body under its key. Once the future has completed, the message is as
    /// durable as the inbox. Of any number of calls with one key, even concurrent ones, exactly one
    /// returns [`Receipt::New`].
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> InboxFuture<'a, Receipt>;

    /// Claims the message that has been due for the longest time, if one is due. No other claim
    /// returns it during the lease, of a day at most.
    fn claim(&self, lease: Duration) -> InboxFuture<'_, Option<Claim>>;

    /// Marks a message as handled. After that only its key is kept. Returns `false` if the claim
    /// has expired and the message was claimed again, or if it is already done.
    fn done<'a>(&'a self, claim: &'a Claim) -> InboxFuture<'a, bool>;

    /// Makes a message due again after a pause, of a day at most. Returns `false` as
    /// [`done`](Self::done) does.
    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, reason: &'a str) -> InboxFuture<'a, bool>;

    /// Removes the keys of messages that were done longer ago than `retention`, and than
    /// [`MIN_RETENTION`]. Returns their number.
    fn prune(&self, retention: Duration) -> InboxFuture<'_, u64>;

    /// The number of messages that are not done, claimed ones included. Monitor this number.
    fn waiting(&self) -> InboxFuture<'_, u64>;

    /// Waits until a message arrives. Call it before [`claim`](Self::claim), so that no arrival is
    /// missed. The default never completes; the worker also polls.
    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// The result of storing a delivery: the first of its key, or a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// The key is new, and the message is stored.
    New,
    /// The key is stored already, handled or not. Answer as for the first delivery.
    Duplicate,
}

/// A message that the holder of the claim must handle now.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The text of its [`DedupKey`], usable as an idempotency key.
    pub key: String,
    /// The raw body.
    pub body: Bytes,
    /// Time of arrival in Unix milliseconds.
    pub received_at_millis: i64,
    /// Number of claims, this one included.
    pub attempts: u32,
}

impl Claim {
    /// The typed event.
    ///
    /// # Errors
    ///
    /// The body is not an event as documented.
    pub fn event(&self) -> Result<Event, EventError> {
        Event::parse(&self.body)
    }
}

/// Shows the length of the body in place of the body.
impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("key", &self.key)
            .field("body_bytes", &self.body.len())
            .field("received_at_millis", &self.received_at_millis)
            .field("attempts", &self.attempts)
            .finish()
    }
}

/// The inbox failed: its database is unavailable, full, or locked by another process.
#[derive(Debug)]
pub struct InboxError(Box<dyn Error + Send + Sync>);

impl InboxError {
    /// An error of another inbox implementation.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inbox failed")
    }
}

impl Error for InboxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// A duration in milliseconds; the longest ones saturate.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl<I: Inbox + ?Sized> Inbox for Arc<I> {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> InboxFuture<'a, Receipt> {
        (**self).receive(key, body)
    }

    fn claim(&self, lease: Duration) -> InboxFuture<'_, Option<Claim>> {
        (**self).claim(lease)
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> InboxFuture<'a, bool> {
        (**self).done(claim)
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, reason: &'a str) -> InboxFuture<'a, bool> {
        (**self).postpone(claim, pause, reason)
    }

    fn prune(&self, retention: Duration) -> InboxFuture<'_, u64> {
        (**self).prune(retention)
    }

    fn waiting(&self) -> InboxFuture<'_, u64> {
        (**self).waiting()
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        (**self).arrived()
    }
}
