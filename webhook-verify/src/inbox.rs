//! Remembers what came, so that each event is handled once although it may be delivered more than once.
//!
//! A delivery is *received*: its key and its raw body are on disk before the 2xx is answered, so the sender may forget
//! it. A [`Worker`] then *claims* one at a time, gives it to the handler and marks it *done*. A handler that fails is
//! asked again later, with growing pauses and without end; its attempts are counted in the [`Claim`]. A key stays known
//! after its letter is done, and its repeats are answered with a 2xx and nothing else.
//!
//! A crash between receiving and handling is mended after the restart: a claim runs out, and the letter is due again. A
//! crash between the end of the handler and the mark, or an inbox that fails just then, makes the handler run once more. Where that must not happen, keep
//! the work and the mark in one transaction (`SqliteInbox::done_within`), or make the work idempotent by
//! [`Claim::key`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), webhook_verify::inbox::InboxError> {
//! use std::sync::Arc;
//!
//! use webhook_verify::inbox::{Claim, Inbox, MemoryInbox, Receipt, Worker};
//! use webhook_verify::events::EventError;
//!
//! let inbox = Arc::new(MemoryInbox::new());
//! let body = br#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z","data":{"id":null}}"#;
//! let envelope = webhook_verify::events::Envelope::parse(body).expect("an event");
//! assert_eq!(inbox.receive(envelope.key(), &body[..].into()).await?, Receipt::New);
//! assert_eq!(inbox.receive(envelope.key(), &body[..].into()).await?, Receipt::Seen);
//!
//! let handler = async |claim: Claim| {
//!     println!("{:?}", claim.event()?);
//!     Ok::<(), EventError>(())
//! };
//! let worker = Worker::new(inbox);
//! assert_eq!(worker.run_due(&handler).await?, 1); // `run` goes on until it is told to stop
//! assert_eq!(worker.run_due(&handler).await?, 0);
//! # Ok(()) }
//! ```

#[cfg(feature = "tower")]
mod intake;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;
mod worker;

#[cfg(feature = "tower")]
pub use intake::Intake;
pub use memory::MemoryInbox;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteInbox;
pub use worker::{Trouble, Worker};

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::DedupKey;
use crate::events::{Event, EventError};

/// The shortest time for which keys are kept: a delivery is valid for five minutes to both sides, and its attempts are
/// over within two.
pub const SHORTEST_MEMORY: Duration = Duration::from_hours(1);

/// No letter waits as long as this. One that seems to was written while the clock was ahead, and is due.
const FAR: Duration = Duration::from_hours(24);

/// The time for which keys should be kept: whoever runs the service can replay a delivery weeks later, where its answer
/// got lost.
pub const USUAL_MEMORY: Duration = Duration::from_hours(90 * 24);

/// A future of an [`Inbox`].
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, InboxError>> + Send + 'a>>;

/// Where deliveries wait for being handled, and where their keys are known.
///
/// Every method may be dropped at any await: it has happened or it has not.
pub trait Inbox: Send + Sync {
    /// Keeps a verified body under its key. Once the answer is there, it survives what the inbox survives. Of any number
    /// of calls with one key, also at the same time, exactly one is told [`Receipt::New`].
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> Answer<'a, Receipt>;

    /// Hands out the letter that has been due for the longest time, if one is due, and to nobody else for the time of
    /// the lease, of a day at most.
    fn claim(&self, lease: Duration) -> Answer<'_, Option<Claim>>;

    /// Marks a letter as handled; from now on only its key is kept. `false`: the claim had run out and the letter was
    /// claimed again, or it is done already.
    fn done<'a>(&'a self, claim: &'a Claim) -> Answer<'a, bool>;

    /// Makes a letter due again after a pause, of a day at most. `false` as for [`done`](Self::done).
    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, why: &'a str) -> Answer<'a, bool>;

    /// Forgets the keys of letters that were done longer ago than `memory`, and than [`SHORTEST_MEMORY`]. How many.
    fn prune(&self, memory: Duration) -> Answer<'_, u64>;

    /// How many letters wait for being handled, claimed ones included: what a monitoring system should watch.
    fn waiting(&self) -> Answer<'_, u64>;

    /// Waits until a letter has arrived; to be called before [`claim`](Self::claim) finds nothing. An inbox that cannot
    /// tell never answers, and its worker looks from time to time.
    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// Whether a delivery is the first of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// It was not known, and is now kept.
    New,
    /// It is known, handled or not. Answer it like the first one.
    Seen,
}

/// A letter that is to be handled now, by whoever holds this.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The text of its [`DedupKey`]: fit to make the work idempotent.
    pub key: String,
    /// The raw body.
    pub body: Bytes,
    /// When it came, Unix milliseconds.
    pub received_at: i64,
    /// How often it has been claimed, this time included.
    pub attempt: u32,
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
            .field("received_at", &self.received_at)
            .field("attempt", &self.attempt)
            .finish()
    }
}

/// An inbox that could not do what was asked: its database is down, full, or locked by somebody else.
#[derive(Debug)]
pub struct InboxError(Box<dyn Error + Send + Sync>);

impl InboxError {
    /// For other inboxes: what happened there.
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

/// A duration as milliseconds; the longest ones as some 300 million years.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl<I: Inbox + ?Sized> Inbox for Arc<I> {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> Answer<'a, Receipt> {
        (**self).receive(key, body)
    }

    fn claim(&self, lease: Duration) -> Answer<'_, Option<Claim>> {
        (**self).claim(lease)
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> Answer<'a, bool> {
        (**self).done(claim)
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, why: &'a str) -> Answer<'a, bool> {
        (**self).postpone(claim, pause, why)
    }

    fn prune(&self, memory: Duration) -> Answer<'_, u64> {
        (**self).prune(memory)
    }

    fn waiting(&self) -> Answer<'_, u64> {
        (**self).waiting()
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        (**self).arrived()
    }
}
