//! The budget of bytes held for peers: requests whose body arrives, and answers that are not read
//! yet.
//!
//! Each byte counts for its holder: the keys and people of a company, the readers of a document, a
//! signing link, or a connection without any of these. Each of them has a share of the budget. If a share or the
//! budget is used up, an answer that its peer reads too slowly is ended first. Only then is a request
//! refused. [`ledger`] counts the bytes that are held and the pace of their peers, [`shares`] has
//! the limits, and [`eviction`] chooses the answers that are ended.

mod eviction;
mod ledger;
mod shares;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use self::eviction::{Demand, make_room};
pub(crate) use self::ledger::LOWEST_SPEED;
use self::ledger::{AnswerId, Download, Ledger};
use self::shares::Limits;
pub(crate) use self::shares::SMALL;
use super::error::ApiError;
use crate::documents::DocumentKey;

/// Maximum number of bytes that leave at once: the largest HTTP/2 frame that every peer accepts.
pub(super) const PIECE: usize = 16 * 1024;
/// Maximum number of bytes that leave at once over HTTP/1 with a key while there is room, so that
/// an ordinary page leaves in one write.
const ANSWER_AT_ONCE: usize = 128 * 1024;

/// A connection of [`serve`](crate::serve()), which can be notified to close.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionHandle {
    id: u64,
    close: Arc<Notify>,
}

impl ConnectionHandle {
    /// A connection that closes when it is notified.
    pub(crate) fn new(close: Arc<Notify>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), close }
    }
}

/// The party that bytes are charged to, by the proof that the peer has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// No identity. All unknown peers share one part of the budget.
    Unknown,
    /// The holder of a key.
    Company(CompanyId),
    /// The reader of a document.
    Document(DocumentKey, Proof),
    /// The holder of a signing link, at its pages.
    #[cfg_attr(
        not(feature = "console"),
        expect(dead_code, reason = "the signing page is a part of the console")
    )]
    Link {
        company: CompanyId,
        /// SHA-256 of the token.
        token: [u8; 32],
    },
}

/// The proof of a document's reader. Readers by a link take nothing from those by the URL, which
/// callers of the API have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Proof {
    /// A signed URL.
    Url,
    /// A signing link.
    #[cfg_attr(
        not(feature = "console"),
        expect(dead_code, reason = "the signing page is a part of the console")
    )]
    Link,
}

/// The connection and the holder for which bytes are held.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    /// `None` unless [`serve`](crate::serve()) has accepted the connection.
    pub(crate) connection: Option<ConnectionHandle>,
    pub(crate) holder: Holder,
}

/// The budget of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    limits: Limits,
    ledger: Mutex<Ledger>,
}

impl ByteBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { limits: Limits::new(bytes), ledger: Mutex::default() }
    }

    /// An empty reservation for one request and its answer.
    ///
    /// # Errors
    /// `overloaded` if a share of the owner or the budget is used up.
    pub(crate) fn admit(self: &Arc<Self>, owner: Owner) -> Result<ByteReservation, ApiError> {
        // Freed outside of the lock, as that takes time.
        let mut ended = Vec::new();
        let mut ledger = self.ledger.lock();
        // A document needs no room yet: its size is reserved next.
        if !matches!(owner.holder, Holder::Document(..)) {
            let demand = Demand { bytes: 1, reserved: 0 };
            make_room(&mut ledger, &self.limits, &owner, demand, &mut ended)?;
        }
        let download = ledger.begin_download(&owner, &mut ended)?;
        drop(ledger);
        Ok(ByteReservation { budget: Arc::clone(self), owner, bytes: AtomicUsize::new(0), download })
    }

    /// Ends the answers past their deadline.
    pub(crate) fn end_overdue(&self, now: Instant) {
        let ended = self.ledger.lock().end_overdue(now);
        drop(ended);
    }
}

/// Bytes that count for their owner until this is dropped.
#[derive(Debug)]
pub(crate) struct ByteReservation {
    budget: Arc<ByteBudget>,
    owner: Owner,
    bytes: AtomicUsize,
    /// The document of which this counts as a download.
    download: Option<Download>,
}

impl ByteReservation {
    /// Reserves more bytes: for a part of a request, or for an answer before it is built.
    ///
    /// # Errors
    /// `overloaded` if a share of the owner or the budget is used up.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), ApiError> {
        let demand = Demand { bytes, reserved: self.bytes.load(Ordering::Relaxed) };
        // Freed outside of the lock, as that takes time.
        let mut ended = Vec::new();
        let mut ledger = self.budget.ledger.lock();
        make_room(&mut ledger, &self.budget.limits, &self.owner, demand, &mut ended)?;
        ledger.add(&self.owner, bytes);
        drop(ledger);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Reserves an answer of `bytes` bytes before it is built. Reserves at most half of the part
    /// for large answers, as an answer that exceeds the budget could otherwise never be served.
    ///
    /// # Errors
    /// `overloaded` if a share of the owner or the budget is used up.
    pub(crate) fn cover(&self, bytes: usize) -> Result<(), ApiError> {
        let bytes = bytes.min(self.budget.limits.largest_answer());
        match bytes.checked_sub(self.bytes.load(Ordering::Relaxed)) {
            None | Some(0) => Ok(()),
            Some(more) => self.grow(more),
        }
    }

    /// Replaces the reservation by `bytes`, the size of the finished answer.
    ///
    /// It is never refused, as its work is done. An answer beyond its reservation may therefore
    /// exceed the limits.
    pub(super) fn resize(&mut self, bytes: usize) {
        let reserved = *self.bytes.get_mut();
        if bytes > reserved && self.grow(bytes - reserved).is_err() {
            self.budget.ledger.lock().add(&self.owner, bytes - reserved);
        } else if bytes < reserved {
            self.budget.ledger.lock().subtract(&self.owner, reserved - bytes);
        }
        *self.bytes.get_mut() = bytes;
    }

    /// The largest answer that may leave at once over HTTP/1. Bytes that hyper holds can be freed
    /// only by closing connections, so they stay a small part of the budget.
    pub(super) fn max_at_once(&self) -> usize {
        let has_room =
            || self.budget.ledger.lock().sending() + ANSWER_AT_ONCE <= self.budget.limits.at_once();
        let has_key = matches!(self.owner.holder, Holder::Company(_));
        if has_key && has_room() { ANSWER_AT_ONCE } else { PIECE }
    }

    /// Puts an answer into the budget, which may end it. The reservation has the size of the
    /// answer.
    pub(super) fn hold(self, answer: Bytes) -> UnreadAnswer {
        UnreadAnswer(self.into_answer(answer, 0))
    }

    /// Registers an answer that leaves at once. The reservation has its size.
    pub(super) fn send(mut self) -> SendingPiece {
        let bytes = *self.bytes.get_mut();
        SendingPiece { answer: self.into_answer(Bytes::new(), bytes), bytes }
    }

    /// Moves the reserved bytes to an answer, of which the server has taken `sending`. The
    /// reservation then counts none.
    fn into_answer(mut self, rest: Bytes, sending: usize) -> HeldAnswer {
        *self.bytes.get_mut() = 0;
        let (owner, download) = (self.owner.clone(), self.download.take());
        let id = self.budget.ledger.lock().insert(owner, rest, sending, download);
        HeldAnswer { budget: Arc::clone(&self.budget), id }
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        if bytes > 0 || self.download.is_some() {
            let mut ledger = self.budget.ledger.lock();
            ledger.subtract(&self.owner, bytes);
            ledger.end_download(self.download);
        }
    }
}

/// An answer that counts in the ledger until it is dropped.
#[derive(Debug, Clone)]
struct HeldAnswer {
    budget: Arc<ByteBudget>,
    id: AnswerId,
}

/// An answer in the budget. Dropping it drops the bytes that have not left.
#[derive(Debug)]
pub(super) struct UnreadAnswer(HeldAnswer);

impl UnreadAnswer {
    /// Sets the time at which [`ByteBudget::end_overdue`] ends the answer.
    pub(super) fn set_deadline(&self, deadline: Instant) {
        self.0.budget.ledger.lock().set_deadline(self.0.id, deadline);
    }

    /// The next piece, of at most `max` bytes. `None` once the answer was ended.
    pub(super) fn take_piece(&self, max: usize) -> Option<(SendingPiece, Bytes)> {
        let Self(answer) = self;
        let slice = answer.budget.ledger.lock().take_piece(answer.id, max)?;
        // A copy, as a slice would keep the whole answer in memory until the peer has read the
        // piece.
        let piece = Bytes::copy_from_slice(&slice);
        Some((SendingPiece { answer: answer.clone(), bytes: piece.len() }, piece))
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        let rest = self.0.budget.ledger.lock().drop_rest(self.0.id);
        drop(rest);
    }
}

/// Bytes that the server has taken. They count until this is dropped.
#[derive(Debug)]
pub(super) struct SendingPiece {
    answer: HeldAnswer,
    bytes: usize,
}

impl Drop for SendingPiece {
    fn drop(&mut self) {
        self.answer.budget.ledger.lock().piece_is_sent(self.answer.id, self.bytes);
    }
}

#[cfg(test)]
mod tests;
