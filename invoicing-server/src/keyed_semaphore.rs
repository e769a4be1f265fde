//! A semaphore per company or another key, for the work of this process.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// Each key has `permits` permits.
#[derive(Debug)]
pub(crate) struct KeyedSemaphore<K = CompanyId> {
    permits: u32,
    /// Semaphores, which their holders and waiters keep. An entry without holders and waiters is
    /// removed when the next key joins.
    semaphores: Mutex<HashMap<K, Weak<Semaphore>>>,
}

/// Permits of a key, released when it is dropped.
pub(crate) type Permit = OwnedSemaphorePermit;

impl<K: Eq + Hash> KeyedSemaphore<K> {
    pub(crate) fn new(permits: u32) -> Self {
        Self { permits, semaphores: Mutex::default() }
    }

    /// A permit without waiting; `None` if the key has no free one or others wait for it.
    pub(crate) fn try_acquire(&self, key: K) -> Option<Permit> {
        self.join(key).try_acquire_owned().ok()
    }

    /// Waits for a permit, in the order of the calls.
    pub(crate) async fn acquire(&self, key: K) -> Result<Permit, Error> {
        self.acquire_many(key, 1).await
    }

    /// Waits for `permits` permits, in the order of the calls, but not for longer than `limit`.
    pub(crate) async fn acquire_within(
        &self,
        key: K,
        permits: u32,
        limit: Duration,
    ) -> Result<Permit, Error> {
        let waited = tokio::time::timeout(limit, self.acquire_many(key, permits)).await;
        waited.unwrap_or_else(|_| Err(Error::unavailable("company queue is full")))
    }

    /// As [`Self::acquire`] if the key has a holder or a waiter; `None` at once if it has none.
    pub(crate) async fn acquire_if_used(&self, key: K) -> Result<Option<Permit>, Error> {
        if self.is_used(&key) { self.acquire(key).await.map(Some) } else { Ok(None) }
    }

    /// True if the key has a holder or a waiter.
    pub(crate) fn is_used(&self, key: &K) -> bool {
        self.semaphores.lock().get(key).is_some_and(|semaphore| semaphore.strong_count() > 0)
    }

    async fn acquire_many(&self, key: K, permits: u32) -> Result<Permit, Error> {
        self.join(key).acquire_many_owned(permits).await.map_err(Error::internal)
    }

    fn join(&self, key: K) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock();
        if let Some(semaphore) = semaphores.get(&key).and_then(Weak::upgrade) {
            return semaphore;
        }
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.permits as usize));
        semaphores.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(8);

    #[tokio::test]
    async fn permits_are_given_in_order_and_to_each_company_by_itself() {
        let (semaphore, [a, b]) = (KeyedSemaphore::new(2), [1, 2].map(|id| CompanyId(Uuid::from_u128(id))));
        let first = semaphore.acquire(a).await.unwrap();
        let second = semaphore.acquire(a).await.unwrap();
        let (mut third, mut fourth) = (Box::pin(semaphore.acquire(a)), Box::pin(semaphore.acquire(a)));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(fourth.as_mut().now_or_never().is_none());
        let other = semaphore.acquire(b).await.unwrap();
        assert_eq!(semaphore.semaphores.lock().len(), 2);
        drop(first);
        assert!(fourth.as_mut().now_or_never().is_none(), "out of order");
        let third = third.now_or_never().expect("a permit").unwrap();
        // A dropped waiter gives its place to the next one.
        drop(fourth);
        drop((second, third));
        assert!(!semaphore.is_used(&a) && semaphore.is_used(&b));
        drop(other);
        let _next = semaphore.acquire(CompanyId(Uuid::from_u128(3))).await.unwrap();
        assert_eq!(semaphore.semaphores.lock().len(), 1, "an unused company is remembered");
    }

    #[tokio::test]
    async fn permits_are_granted_in_order_and_an_unused_company_costs_nothing() {
        let (semaphore, company) = (KeyedSemaphore::new(3), CompanyId(Uuid::from_u128(1)));
        assert!(semaphore.acquire_if_used(company).await.unwrap().is_none());
        assert!(semaphore.semaphores.lock().is_empty());
        let one = semaphore.acquire(company).await.unwrap();
        let mut all = Box::pin(semaphore.acquire_within(company, 3, LIMIT));
        assert!(all.as_mut().now_or_never().is_none());
        let mut behind = Box::pin(semaphore.acquire_if_used(company));
        assert!(behind.as_mut().now_or_never().is_none(), "out of order");
        drop(one);
        let all = all.await.unwrap();
        assert!(behind.as_mut().now_or_never().is_none());
        drop(all);
        assert!(behind.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_a_limit() {
        let (semaphore, company) = (KeyedSemaphore::new(1), CompanyId(Uuid::from_u128(1)));
        let held = semaphore.acquire(company).await.unwrap();
        let refused = semaphore.acquire_within(company, 1, LIMIT).await;
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))));
        drop(held);
        assert!(!semaphore.is_used(&company));
    }
}
