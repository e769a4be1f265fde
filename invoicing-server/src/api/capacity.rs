//! Limits on concurrent work: requests that are processed, and bytes that are buffered for peers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::ApiError;
use crate::config::RequestLimits;

/// The free capacity of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// Requests that are processed.
    pub(super) requests: Semaphore,
    /// Requests that may wait for the document store. Apart, so that a store which hangs does not block others.
    pub(super) documents: Semaphore,
    buffered_bytes: AtomicUsize,
    max_buffered_bytes: usize,
}

impl Capacity {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        let semaphore = |permits: usize| Semaphore::new(permits.min(Semaphore::MAX_PERMITS));
        Self {
            requests: semaphore(limits.in_flight),
            documents: semaphore(limits.documents_in_flight),
            buffered_bytes: AtomicUsize::new(0),
            max_buffered_bytes: limits.buffered_bytes,
        }
    }

    /// A permit of one of the two semaphores, without waiting.
    ///
    /// # Errors
    /// `overloaded`.
    pub(super) fn try_acquire<'c>(&self, semaphore: &'c Semaphore) -> Result<SemaphorePermit<'c>, ApiError> {
        if self.buffered_bytes.load(Ordering::Relaxed) >= self.max_buffered_bytes {
            return Err(ApiError::Overloaded);
        }
        semaphore.try_acquire().map_err(|_| ApiError::Overloaded)
    }

    /// An empty reservation, to grow with the bytes of a request.
    pub(super) fn reserve_bytes(self: &Arc<Self>) -> ByteReservation {
        ByteReservation { capacity: Arc::clone(self), bytes: 0 }
    }

    /// Counts a response as buffered until the last clone of its bytes is dropped.
    ///
    /// It is never refused, as its work is done. The responses of all permits together may therefore exceed the limit.
    pub(super) fn count_response(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        self.buffered_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let reservation = ByteReservation { capacity: Arc::clone(self), bytes: bytes.len() };
        guarded_bytes(bytes, reservation)
    }
}

/// Bytes that count as buffered until this is dropped.
#[derive(Debug)]
pub(super) struct ByteReservation {
    capacity: Arc<Capacity>,
    bytes: usize,
}

impl ByteReservation {
    /// # Errors
    /// `overloaded` where the limit on buffered bytes is exceeded.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.bytes += bytes;
        let before = self.capacity.buffered_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.capacity.max_buffered_bytes { Err(ApiError::Overloaded) } else { Ok(()) }
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        self.capacity.buffered_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The same bytes, which drop the guard together with the last clone of them.
pub(crate) fn guarded_bytes(bytes: Bytes, guard: impl Send + 'static) -> Bytes {
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
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn capacity(in_flight: usize, buffered_bytes: usize) -> Arc<Capacity> {
        Arc::new(Capacity::new(&RequestLimits { in_flight, buffered_bytes, ..RequestLimits::default() }))
    }

    #[test]
    fn requests_beyond_the_limit_are_refused_until_a_permit_is_free() {
        let capacity = capacity(2, 10);
        let (first, second) = (
            capacity.try_acquire(&capacity.requests).unwrap(),
            capacity.try_acquire(&capacity.requests).unwrap(),
        );
        assert!(matches!(capacity.try_acquire(&capacity.requests), Err(ApiError::Overloaded)));
        drop(first);
        assert!(capacity.try_acquire(&capacity.requests).is_ok());
        drop(second);
    }

    #[tokio::test]
    async fn a_waiting_request_gets_the_permit_before_a_new_one() {
        let capacity = capacity(1, 10);
        let first = capacity.try_acquire(&capacity.requests).unwrap();
        let mut waiting = std::pin::pin!(capacity.requests.acquire());
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!(matches!(capacity.try_acquire(&capacity.requests), Err(ApiError::Overloaded)));
        assert!(waiting.await.is_ok());
        assert!(capacity.try_acquire(&capacity.requests).is_ok());
    }

    #[test]
    fn bytes_beyond_the_limit_are_refused_until_a_reservation_is_dropped() {
        let capacity = capacity(2, 10);
        let (mut first, mut second) = (capacity.reserve_bytes(), capacity.reserve_bytes());
        first.grow(6).unwrap();
        second.grow(4).unwrap();
        assert!(matches!(second.grow(1), Err(ApiError::Overloaded)));
        drop(first);
        assert!(capacity.reserve_bytes().grow(5).is_ok());
    }

    #[test]
    fn a_response_counts_until_its_last_byte_is_dropped() {
        let capacity = capacity(2, 10);
        let mut response = capacity.count_response(Bytes::from_static(b"0123456789"));
        assert!(matches!(capacity.try_acquire(&capacity.requests), Err(ApiError::Overloaded)));
        let rest = response.split_off(9);
        drop(response);
        assert!(capacity.try_acquire(&capacity.requests).is_err());
        drop(rest);
        assert!(capacity.try_acquire(&capacity.requests).is_ok());
    }
}
