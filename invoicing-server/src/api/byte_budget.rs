//! The budget of bytes held for peers: requests whose body arrives, and answers that are not read yet.
//!
//! Each byte counts for the connection, the company and the document that it is held for. Each of these has a share of
//! the budget. Where a share or the budget is used up, an answer that its peer does not read is ended first. Only then
//! is a request refused.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::ApiError;
use crate::config::MIN_BUFFERED_BYTES;
use crate::documents::DocumentKey;

/// Most bytes that leave at once: the largest HTTP/2 frame that every peer accepts.
pub(super) const PIECE: usize = 16 * 1024;
/// An answer of which no piece was taken for so long may be ended for another one of its owner.
const STALLED: Duration = Duration::from_secs(1);
/// Downloads of one document at once, from the check of the URL to the last piece.
const DOWNLOADS_PER_DOCUMENT: usize = 8;

/// A connection of [`serve`](crate::serve()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionId(u64);

impl ConnectionId {
    /// An id that is unique in this process.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a caller has proved to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Nothing. All of these share one part of the budget.
    Unknown,
    /// The holder of a key.
    Company(CompanyId),
    /// The holder of a document URL. The bytes count for the document's company too.
    Document(DocumentKey),
}

/// For what bytes are held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    /// Known to [`serve`](crate::serve()) only.
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) caller: Caller,
}

/// A part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    Document(DocumentKey),
    Company(CompanyId),
    Unknown,
    Connection(ConnectionId),
    Total,
}

impl Caller {
    /// The scope whose size decides which of two callers gives way.
    fn scope(self) -> Scope {
        match self {
            Self::Unknown => Scope::Unknown,
            Self::Company(company) | Self::Document(DocumentKey { company, .. }) => Scope::Company(company),
        }
    }
}

impl Owner {
    /// From the narrowest to the widest, so that an owner's own answers are ended first.
    fn scopes(self) -> impl Iterator<Item = Scope> {
        let document = match self.caller {
            Caller::Document(key) => Some(Scope::Document(key)),
            Caller::Unknown | Caller::Company(_) => None,
        };
        let connection = self.connection.map(Scope::Connection);
        document.into_iter().chain([self.caller.scope()]).chain(connection).chain([Scope::Total])
    }
}

/// The budget and its shares, in bytes.
#[derive(Debug)]
struct Limits {
    /// The smallest of all. While the whole service holds less, no share can be used up.
    smallest: usize,
    total: usize,
    /// For more than [`PIECE`] bytes at once. The rest is a reserve for small answers.
    total_for_large: usize,
    company: usize,
    connection: usize,
    document: usize,
    unknown: usize,
}

impl Limits {
    fn new(total: usize) -> Self {
        // Each share is enough for one request.
        let share = |divisor: usize| (total / divisor).max(MIN_BUFFERED_BYTES).min(total);
        Self {
            smallest: total / 16,
            total,
            total_for_large: (total - total / 8).max(MIN_BUFFERED_BYTES).min(total),
            company: share(4),
            connection: share(4),
            document: total / 16,
            unknown: total / 16,
        }
    }

    /// The most that one answer to the holder of a key can reserve.
    fn largest_answer(&self) -> usize {
        self.company.min(self.connection).min(self.total_for_large)
    }

    fn of(&self, scope: Scope, is_small: bool) -> usize {
        match scope {
            Scope::Document(_) => self.document,
            Scope::Company(_) => self.company,
            Scope::Unknown => self.unknown,
            Scope::Connection(_) => self.connection,
            Scope::Total if is_small => self.total,
            Scope::Total => self.total_for_large,
        }
    }
}

/// What is held in a scope.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Held {
    bytes: usize,
    /// Downloads that are served, or of which a part is still here.
    downloads: usize,
}

/// An answer of which the last piece was not taken yet.
#[derive(Debug)]
struct Unread {
    owner: Owner,
    rest: Bytes,
    /// Counts to the end, as the pieces are copies and the whole stays in memory.
    bytes: usize,
    moved: Instant,
    deadline: Option<Instant>,
    downloads: usize,
}

/// The budget of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    limits: Limits,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    total: Held,
    /// What is held in every other scope.
    held: HashMap<Scope, Held>,
    unread: HashMap<u64, Unread>,
    next_id: u64,
}

impl ByteBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { limits: Limits::new(bytes), inner: Mutex::default() }
    }

    /// Checks, before the caller is known, that another request could be served.
    ///
    /// # Errors
    /// `overloaded`.
    pub(crate) fn check(&self, connection: Option<ConnectionId>) -> Result<(), ApiError> {
        let mut ended = Vec::new();
        let scopes = connection.map(Scope::Connection).into_iter().chain([Scope::Total]);
        let demand = Demand { caller: Caller::Unknown, bytes: 1, is_small: true };
        // Dropped before `ended`, as freeing large answers takes time.
        let mut inner = self.inner.lock();
        inner.make_room(&self.limits, scopes, demand, &mut ended)
    }

    /// An empty reservation for one request and its answer.
    ///
    /// # Errors
    /// `overloaded` where a share of the owner or the budget is used up.
    pub(crate) fn admit(self: &Arc<Self>, owner: Owner) -> Result<ByteReservation, ApiError> {
        let mut ended = Vec::new();
        let demand = Demand { caller: owner.caller, bytes: 1, is_small: true };
        let mut inner = self.inner.lock();
        inner.make_room(&self.limits, owner.scopes(), demand, &mut ended)?;
        let mut downloads = 0;
        if let Caller::Document(key) = owner.caller {
            inner.make_room_for_download(Scope::Document(key), &mut ended)?;
            downloads = 1;
            inner.add(owner, Held { bytes: 0, downloads });
        }
        Ok(ByteReservation { budget: Arc::clone(self), owner, bytes: AtomicUsize::new(0), downloads })
    }

    /// Ends the answers past their deadline.
    pub(crate) fn end_overdue(&self, now: Instant) {
        let mut inner = self.inner.lock();
        let is_overdue = |unread: &Unread| unread.deadline.is_some_and(|deadline| deadline <= now);
        let overdue: Vec<u64> =
            inner.unread.iter().filter(|(_, unread)| is_overdue(unread)).map(|(id, _)| *id).collect();
        let ended: Vec<_> = overdue.into_iter().filter_map(|id| inner.end(id)).collect();
        drop(inner);
        drop(ended);
    }
}

/// What is asked of the budget.
#[derive(Debug, Clone, Copy)]
struct Demand {
    caller: Caller,
    bytes: usize,
    is_small: bool,
}

impl Inner {
    fn held(&self, scope: Scope) -> Held {
        if scope == Scope::Total { self.total } else { self.held.get(&scope).copied().unwrap_or_default() }
    }

    fn add(&mut self, owner: Owner, more: Held) {
        for scope in owner.scopes() {
            let is_total = scope == Scope::Total;
            let held = if is_total { &mut self.total } else { self.held.entry(scope).or_default() };
            held.bytes += more.bytes;
            held.downloads += more.downloads;
        }
    }

    fn subtract(&mut self, owner: Owner, less: Held) {
        for scope in owner.scopes() {
            let is_total = scope == Scope::Total;
            let held = if is_total { Some(&mut self.total) } else { self.held.get_mut(&scope) };
            let Some(held) = held else { continue };
            held.bytes -= less.bytes;
            held.downloads -= less.downloads;
            if !is_total && *held == Held::default() {
                self.held.remove(&scope);
            }
        }
    }

    /// Ends unread answers until each scope has room.
    fn make_room(
        &mut self,
        limits: &Limits,
        scopes: impl Iterator<Item = Scope>,
        demand: Demand,
        ended: &mut Vec<Unread>,
    ) -> Result<(), ApiError> {
        if self.total.bytes + demand.bytes <= limits.smallest {
            return Ok(());
        }
        for scope in scopes {
            while self.held(scope).bytes + demand.bytes > limits.of(scope, demand.is_small) {
                let id = self.giving_way(scope, demand).ok_or(ApiError::Overloaded)?;
                ended.extend(self.end(id));
            }
        }
        Ok(())
    }

    fn make_room_for_download(&mut self, document: Scope, ended: &mut Vec<Unread>) -> Result<(), ApiError> {
        while self.held(document).downloads >= DOWNLOADS_PER_DOCUMENT {
            let id = self.stalled(document).ok_or(ApiError::Overloaded)?;
            ended.extend(self.end(id));
        }
        Ok(())
    }

    /// The answer to end for a demand in a full scope.
    fn giving_way(&self, scope: Scope, demand: Demand) -> Option<u64> {
        // Between companies the one that holds most gives way, even if its peers read: a peer that reads a byte now
        // and then could otherwise keep what it has.
        let size = |caller: Caller| self.held(caller.scope()).bytes;
        let key = |unread: &Unread| (size(unread.owner.caller), Reverse(unread.moved));
        let largest = self.unread_in(scope).max_by_key(|(_, unread)| key(unread));
        let (id, unread) = largest?;
        if size(unread.owner.caller) > size(demand.caller) + demand.bytes
            && unread.owner.caller.scope() != demand.caller.scope()
        {
            return Some(id);
        }
        self.stalled(scope)
    }

    /// The answer that has not moved for longest, if it stands still.
    fn stalled(&self, scope: Scope) -> Option<u64> {
        let (id, unread) = self.unread_in(scope).min_by_key(|(_, unread)| unread.moved)?;
        (unread.moved.elapsed() >= STALLED).then_some(id)
    }

    fn unread_in(&self, scope: Scope) -> impl Iterator<Item = (u64, &Unread)> {
        let in_scope = move |unread: &Unread| unread.owner.scopes().any(|other| other == scope);
        self.unread.iter().filter(move |(_, unread)| in_scope(unread)).map(|(id, unread)| (*id, unread))
    }

    fn insert(&mut self, unread: Unread) -> u64 {
        self.next_id += 1;
        self.unread.insert(self.next_id, unread);
        self.next_id
    }

    fn end(&mut self, id: u64) -> Option<Unread> {
        let unread = self.unread.remove(&id)?;
        self.subtract(unread.owner, Held { bytes: unread.bytes, downloads: unread.downloads });
        Some(unread)
    }
}

/// Bytes that count for their owner until this is dropped.
#[derive(Debug)]
pub(crate) struct ByteReservation {
    budget: Arc<ByteBudget>,
    owner: Owner,
    bytes: AtomicUsize,
    downloads: usize,
}

impl ByteReservation {
    /// Reserves more bytes: for a part of a request, or for an answer before it is built.
    ///
    /// # Errors
    /// `overloaded` where a share of the owner or the budget is used up.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), ApiError> {
        let is_small = self.bytes.load(Ordering::Relaxed) + bytes <= PIECE;
        let demand = Demand { caller: self.owner.caller, bytes, is_small };
        let mut ended = Vec::new();
        let mut inner = self.budget.inner.lock();
        inner.make_room(&self.budget.limits, self.owner.scopes(), demand, &mut ended)?;
        inner.add(self.owner, Held { bytes, downloads: 0 });
        drop(inner);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Reserves an answer of so many bytes before it is built. One that exceeds its owner's share counts as the whole share
    /// until it is built, as it could never be served otherwise.
    ///
    /// # Errors
    /// `overloaded` where a share of the owner or the budget is used up.
    pub(super) fn cover(&self, bytes: usize) -> Result<(), ApiError> {
        let bytes = bytes.min(self.budget.limits.largest_answer());
        match bytes.checked_sub(self.bytes.load(Ordering::Relaxed)) {
            None | Some(0) => Ok(()),
            Some(more) => self.grow(more),
        }
    }

    /// Counts so many bytes instead of those that were reserved, for an answer that was built.
    ///
    /// It is never refused, as its work is done. An answer beyond its reservation may therefore exceed the limits.
    pub(super) fn resize(&mut self, bytes: usize) {
        let reserved = *self.bytes.get_mut();
        if bytes > reserved && self.grow(bytes - reserved).is_err() {
            self.budget.inner.lock().add(self.owner, Held { bytes: bytes - reserved, downloads: 0 });
        } else if bytes < reserved {
            self.budget.inner.lock().subtract(self.owner, Held { bytes: reserved - bytes, downloads: 0 });
        }
        *self.bytes.get_mut() = bytes;
    }

    /// Puts the answer into the budget, which may end it. The reservation has the size of the answer.
    pub(super) fn hold(mut self, rest: Bytes) -> UnreadAnswer {
        let (owner, moved) = (self.owner, Instant::now());
        // What the answer in the budget counts, the reservation counts no longer.
        let bytes = std::mem::take(self.bytes.get_mut());
        let downloads = std::mem::take(&mut self.downloads);
        let unread = Unread { owner, rest, bytes, moved, deadline: None, downloads };
        let id = self.budget.inner.lock().insert(unread);
        UnreadAnswer { budget: Arc::clone(&self.budget), id }
    }

    /// The bytes of a small answer or of a piece, which count until their last clone is dropped.
    pub(super) fn guard(mut self, bytes: Bytes, also: impl Send + 'static) -> Bytes {
        let downloads = std::mem::take(&mut self.downloads);
        if downloads > 0 {
            self.budget.inner.lock().subtract(self.owner, Held { bytes: 0, downloads });
        }
        guarded_bytes(bytes, (self, also))
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        let held = Held { bytes: *self.bytes.get_mut(), downloads: self.downloads };
        if held != Held::default() {
            self.budget.inner.lock().subtract(self.owner, held);
        }
    }
}

/// An answer in the budget. Dropping it ends it.
#[derive(Debug)]
pub(super) struct UnreadAnswer {
    budget: Arc<ByteBudget>,
    id: u64,
}

impl UnreadAnswer {
    /// Sets the time at which [`ByteBudget::end_overdue`] ends the answer.
    pub(super) fn set_deadline(&self, deadline: Instant) {
        if let Some(unread) = self.budget.inner.lock().unread.get_mut(&self.id) {
            unread.deadline = Some(deadline);
        }
    }

    /// The next piece, which counts until its last clone is dropped. `None` once the answer was ended.
    pub(super) fn take_piece(&self) -> Option<(ByteReservation, Bytes)> {
        let mut inner = self.budget.inner.lock();
        let unread = inner.unread.get_mut(&self.id)?;
        let (owner, slice) = (unread.owner, unread.rest.split_to(PIECE.min(unread.rest.len())));
        unread.moved = Instant::now();
        let is_last = unread.rest.is_empty();
        inner.add(owner, Held { bytes: slice.len(), downloads: 0 });
        let ended = is_last.then(|| inner.end(self.id));
        drop(inner);
        drop(ended);
        let (budget, bytes) = (Arc::clone(&self.budget), AtomicUsize::new(slice.len()));
        // A copy, as a slice would keep the whole answer in memory until the peer has read the piece.
        Some((ByteReservation { budget, owner, bytes, downloads: 0 }, Bytes::copy_from_slice(&slice)))
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        let ended = self.budget.inner.lock().end(self.id);
        drop(ended);
    }
}

/// The same bytes, which drop the guard together with the last clone of them.
pub(super) fn guarded_bytes(bytes: Bytes, guard: impl Send + 'static) -> Bytes {
    Bytes::from_owner(GuardedBytes { bytes, _guard: guard })
}

struct GuardedBytes<G> {
    bytes: Bytes,
    _guard: G,
}

impl<G> AsRef<[u8]> for GuardedBytes<G> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests;
