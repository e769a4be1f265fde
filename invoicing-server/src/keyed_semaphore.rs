//! A semaphore per company, for the work of this process.

use std::collections::HashMap;
use std::collections::hash_map::Entry::Occupied;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::CompanyId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;

/// As many permits for each company. Companies without a holder or a waiter take no memory.
#[derive(Debug)]
pub(crate) struct KeyedSemaphore {
    permits: u32,
    companies: Mutex<HashMap<CompanyId, Entry>>,
}

/// Permits of a company, released when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'s> {
    // In this order: the last user of a semaphore removes it, once its permits are released.
    _permit: OwnedSemaphorePermit,
    _user: User<'s>,
}

/// A holder or waiter. The last one of a company removes the entry.
#[derive(Debug)]
struct User<'s> {
    companies: &'s Mutex<HashMap<CompanyId, Entry>>,
    company: CompanyId,
}

#[derive(Debug)]
struct Entry {
    semaphore: Arc<Semaphore>,
    users: usize,
}

impl KeyedSemaphore {
    pub(crate) fn new(permits: u32) -> Self {
        Self { permits, companies: Mutex::default() }
    }

    /// Waits for a permit, in the order of the calls.
    pub(crate) async fn acquire(&self, company: CompanyId) -> Result<Permit<'_>, Error> {
        self.acquire_many(company, 1).await
    }

    /// As [`Self::acquire`], but not for longer than `limit`.
    #[cfg(any(test, feature = "postgres"))]
    pub(crate) async fn acquire_within(
        &self,
        company: CompanyId,
        limit: Duration,
    ) -> Result<Permit<'_>, Error> {
        within(limit, self.acquire(company)).await
    }

    /// Waits for all permits of a company, in the order of the calls, but not for longer than `limit`.
    pub(crate) async fn acquire_all_within(
        &self,
        company: CompanyId,
        limit: Duration,
    ) -> Result<Permit<'_>, Error> {
        within(limit, self.acquire_many(company, self.permits)).await
    }

    /// As [`Self::acquire`] where the company has a holder or a waiter; `None` at once where it has none.
    pub(crate) async fn acquire_if_used(&self, company: CompanyId) -> Result<Option<Permit<'_>>, Error> {
        if self.is_used(company) { self.acquire(company).await.map(Some) } else { Ok(None) }
    }

    /// Whether the company has a holder or a waiter.
    pub(crate) fn is_used(&self, company: CompanyId) -> bool {
        self.companies.lock().contains_key(&company)
    }

    async fn acquire_many(&self, company: CompanyId, permits: u32) -> Result<Permit<'_>, Error> {
        let (user, semaphore) = self.join(company);
        let permit = semaphore.acquire_many_owned(permits).await;
        Ok(Permit { _permit: permit.map_err(Error::internal)?, _user: user })
    }

    fn join(&self, company: CompanyId) -> (User<'_>, Arc<Semaphore>) {
        let mut companies = self.companies.lock();
        let new = || Entry { semaphore: Arc::new(Semaphore::new(self.permits as usize)), users: 0 };
        let entry = companies.entry(company).or_insert_with(new);
        entry.users += 1;
        (User { companies: &self.companies, company }, Arc::clone(&entry.semaphore))
    }
}

async fn within<T>(limit: Duration, wait: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let waited = tokio::time::timeout(limit, wait).await;
    waited.unwrap_or_else(|_| Err(Error::unavailable("company queue is full")))
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        if let Occupied(mut entry) = self.companies.lock().entry(self.company) {
            entry.get_mut().users -= 1;
            if entry.get().users == 0 {
                entry.remove();
            }
        }
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
        assert_eq!(semaphore.companies.lock().len(), 2);
        drop(first);
        assert!(fourth.as_mut().now_or_never().is_none(), "out of order");
        let third = third.now_or_never().expect("a permit").unwrap();
        // A dropped waiter gives its place to the next one.
        drop(fourth);
        drop((second, third));
        assert_eq!(semaphore.companies.lock().len(), 1);
        drop(other);
        assert!(semaphore.companies.lock().is_empty(), "an unused company is remembered");
    }

    #[tokio::test]
    async fn all_permits_are_waited_for_in_order_and_an_unused_company_costs_nothing() {
        let (semaphore, company) = (KeyedSemaphore::new(3), CompanyId(Uuid::from_u128(1)));
        assert!(semaphore.acquire_if_used(company).await.unwrap().is_none());
        assert!(semaphore.companies.lock().is_empty());
        let one = semaphore.acquire(company).await.unwrap();
        let mut all = Box::pin(semaphore.acquire_all_within(company, LIMIT));
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
        let refused = semaphore.acquire_within(company, LIMIT).await;
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))));
        drop(held);
        assert!(semaphore.companies.lock().is_empty());
    }
}
