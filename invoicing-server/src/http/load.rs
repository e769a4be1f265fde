//! How much the service takes on at once: requests that are worked on, and bytes that are held for peers. What one
//! request may hold is not decided here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::ApiError;
use crate::config::RequestLimits;

/// What is taken on at present, by all clones of a service.
#[derive(Debug)]
pub(crate) struct Load {
    free: Semaphore,
    /// For work that waits for the document store: where that hangs, everything else goes on.
    documents: Semaphore,
    held: AtomicUsize,
    most_held: usize,
}

impl Load {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        let places = |count: usize| Semaphore::new(count.min(Semaphore::MAX_PERMITS));
        Self {
            free: places(limits.in_flight),
            documents: places(limits.documents_in_flight),
            held: AtomicUsize::new(0),
            most_held: limits.buffered_bytes,
        }
    }

    /// A place for work that waits for nobody outside.
    ///
    /// # Errors
    /// `overloaded`, at once, when there is none.
    pub(crate) fn work(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.place(&self.free)
    }

    /// A place for work that waits for the document store.
    ///
    /// # Errors
    /// `overloaded`, at once, when there is none.
    pub(crate) fn work_on_documents(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.place(&self.documents)
    }

    fn place<'l>(&self, of: &'l Semaphore) -> Result<SemaphorePermit<'l>, ApiError> {
        if self.held.load(Ordering::Relaxed) >= self.most_held {
            return Err(ApiError::Overloaded);
        }
        of.try_acquire().map_err(|_| ApiError::Overloaded)
    }

    /// The same for a request that was let in already: it waits for its turn, before any that was not.
    pub(crate) async fn go_on(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed; if it were, work would go uncounted.
        self.free.acquire().await.ok()
    }

    /// Counts bytes of a request that is being read: none so far.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { load: Arc::clone(self), bytes: 0 }
    }

    /// Counts an answer until the last of its bytes has been sent or given up.
    ///
    /// It is not refused: its work has been done. So the limit can be passed by the answers of as many requests as are
    /// worked on at once.
    pub(crate) fn count(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        self.held.fetch_add(bytes.len(), Ordering::Relaxed);
        let held = Held { load: Arc::clone(self), bytes: bytes.len() };
        Bytes::from_owner(Counted { bytes, _held: held })
    }
}

/// Bytes that count, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    load: Arc<Load>,
    bytes: usize,
}

impl Held {
    /// # Errors
    /// `overloaded` when so many more cannot be held.
    pub(crate) fn more(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.bytes += bytes;
        let before = self.load.held.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.load.most_held { Err(ApiError::Overloaded) } else { Ok(()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.load.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Counted {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn load(in_flight: usize, buffered_bytes: usize) -> Arc<Load> {
        Arc::new(Load::new(&RequestLimits { in_flight, buffered_bytes, ..RequestLimits::default() }))
    }

    #[test]
    fn work_beyond_the_limit_is_refused_until_some_is_done() {
        let load = load(2, 10);
        let (first, second) = (load.work().unwrap(), load.work().unwrap());
        assert!(matches!(load.work(), Err(ApiError::Overloaded)));
        drop(first);
        assert!(load.work().is_ok());
        drop(second);
    }

    #[tokio::test]
    async fn whoever_was_let_in_comes_before_others() {
        let load = load(1, 10);
        let first = load.work().unwrap();
        let mut waiting = std::pin::pin!(load.go_on());
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!(matches!(load.work(), Err(ApiError::Overloaded)));
        assert!(waiting.await.is_some());
        assert!(load.work().is_ok());
    }

    #[test]
    fn bytes_beyond_the_limit_are_refused_until_some_are_gone() {
        let load = load(2, 10);
        let (mut first, mut second) = (load.hold(), load.hold());
        first.more(6).unwrap();
        second.more(4).unwrap();
        assert!(matches!(second.more(1), Err(ApiError::Overloaded)));
        drop(first);
        assert!(load.hold().more(5).is_ok());
    }

    #[test]
    fn an_answer_counts_until_its_last_byte_is_gone() {
        let load = load(2, 10);
        let mut answer = load.count(Bytes::from_static(b"0123456789"));
        assert!(matches!(load.work(), Err(ApiError::Overloaded)));
        let rest = answer.split_off(9);
        drop(answer);
        assert!(load.work().is_err());
        drop(rest);
        assert!(load.work().is_ok());
    }
}
