//! Limits on concurrent work: requests that are processed, and bytes that are held for peers.

use std::sync::Arc;

use invoicing_core::CompanyId;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::byte_budget::ByteBudget;
use super::error::ApiError;
use crate::Error;
use crate::config::RequestLimits;
use crate::keyed_semaphore::{KeyedSemaphore, Permit};

/// The free capacity of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// Requests that are processed.
    pub(super) requests: Places,
    /// Requests that may wait for the document store. Apart, so that a store which hangs does not block others.
    pub(super) documents: Places,
    /// Bytes of requests that arrive and of answers that are not read.
    pub(crate) bytes: Arc<ByteBudget>,
}

impl Capacity {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self {
            requests: Places::new(limits.in_flight),
            documents: Places::new(limits.documents_in_flight),
            bytes: Arc::new(ByteBudget::new(limits.buffered_bytes)),
        }
    }
}

/// Places for requests. One company may have half of them.
#[derive(Debug)]
pub(super) struct Places {
    all: Semaphore,
    companies: KeyedSemaphore,
}

/// A place and the company's part of it.
pub(super) type CompanyPlace<'c> = (Permit, SemaphorePermit<'c>);

impl Places {
    fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        let share = u32::try_from(places.div_ceil(2)).unwrap_or(u32::MAX);
        Self { all: Semaphore::new(places), companies: KeyedSemaphore::new(share) }
    }

    /// A place for a caller that is not known yet, without waiting.
    ///
    /// # Errors
    /// `overloaded`.
    pub(super) fn try_acquire(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.all.try_acquire().map_err(|_| ApiError::Overloaded)
    }

    /// Counts a place for the company that holds it, without waiting.
    ///
    /// # Errors
    /// `overloaded`.
    pub(super) fn try_share(&self, company: CompanyId) -> Result<Permit, ApiError> {
        self.companies.try_acquire(company).ok_or(ApiError::Overloaded)
    }

    /// Waits for a place. Callers that wait come before any new request of their company.
    pub(super) async fn acquire(&self, company: CompanyId) -> Result<CompanyPlace<'_>, Error> {
        // The company first, so that its waiting requests do not hold back those of others.
        let share = self.companies.acquire(company).await?;
        Ok((share, self.all.acquire().await.map_err(Error::internal)?))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    const A: CompanyId = CompanyId(Uuid::from_u128(1));
    const B: CompanyId = CompanyId(Uuid::from_u128(2));

    #[test]
    fn requests_beyond_the_limit_are_refused_until_a_place_is_free() {
        let places = Places::new(2);
        let (first, second) = (places.try_acquire().unwrap(), places.try_acquire().unwrap());
        assert!(matches!(places.try_acquire(), Err(ApiError::Overloaded)));
        drop(first);
        assert!(places.try_acquire().is_ok());
        drop(second);
    }

    /// Rules: FAIR-1
    #[tokio::test]
    async fn a_company_has_half_of_the_places_and_waits_behind_itself_only() {
        let places = Places::new(4);
        let held = [places.acquire(A).await.unwrap(), places.acquire(A).await.unwrap()];
        assert!(matches!(places.try_share(A), Err(ApiError::Overloaded)));
        let mut waiting = Box::pin(places.acquire(A));
        assert!((&mut waiting).now_or_never().is_none());
        assert!(places.try_acquire().is_ok() && places.try_share(B).is_ok());
        drop(held);
        assert!(waiting.now_or_never().is_some_and(|place| place.is_ok()));
    }

    #[tokio::test]
    async fn a_waiting_request_gets_the_place_before_a_new_one() {
        let places = Places::new(1);
        let first = places.try_acquire().unwrap();
        let mut waiting = std::pin::pin!(places.acquire(A));
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!(matches!(places.try_acquire(), Err(ApiError::Overloaded)));
        assert!(waiting.await.is_ok());
        assert!(places.try_acquire().is_ok());
    }
}
