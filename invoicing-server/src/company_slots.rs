//! Slots for concurrent work, of which one company may have half.

use std::sync::Arc;
use std::thread::available_parallelism;

use invoicing_core::CompanyId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;
use crate::keyed_semaphore::{KeyedSemaphore, Permit};

/// Slots of this process. One company may have half of them, rounded up.
#[derive(Debug)]
pub(crate) struct CompanySlots {
    all: Arc<Semaphore>,
    companies: KeyedSemaphore,
}

/// A slot and the company's share of it, both free again when they are dropped.
pub(crate) type Slot = (Permit, OwnedSemaphorePermit);

impl CompanySlots {
    /// One for each processor, as more of such work at once would take memory and threads from
    /// requests. At least two, so that a company never has all of them.
    pub(crate) fn for_processors() -> Self {
        Self::new(available_parallelism().map_or(2, |processors| processors.get().max(2)))
    }

    pub(crate) fn new(slots: usize) -> Self {
        let slots = slots.min(Semaphore::MAX_PERMITS);
        let share = u32::try_from(slots.div_ceil(2)).unwrap_or(u32::MAX);
        Self { all: Arc::new(Semaphore::new(slots)), companies: KeyedSemaphore::new(share) }
    }

    /// A slot without waiting; `None` if the company has used up its share, no slot is free, or
    /// others wait for one.
    pub(crate) fn try_acquire(&self, company: CompanyId) -> Option<Slot> {
        let share = self.companies.try_acquire(company)?;
        Some((share, Arc::clone(&self.all).try_acquire_owned().ok()?))
    }

    /// Waits for a slot: first among the company's work, so that it does not hold back the work of
    /// others, then among all.
    pub(crate) async fn acquire(&self, company: CompanyId) -> Result<Slot, Error> {
        let share = self.companies.acquire(company).await?;
        Ok((share, Arc::clone(&self.all).acquire_owned().await.map_err(Error::internal)?))
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
    fn work_beyond_the_slots_is_refused_until_one_is_free() {
        let slots = CompanySlots::new(2);
        let (first, second) = (slots.try_acquire(A).unwrap(), slots.try_acquire(B).unwrap());
        assert!(slots.try_acquire(CompanyId(Uuid::from_u128(3))).is_none());
        drop(first);
        assert!(slots.try_acquire(A).is_some());
        drop(second);
    }

    /// Rules: FAIR-1
    #[tokio::test]
    async fn a_company_has_half_of_the_slots_and_waits_behind_itself_only() {
        let slots = CompanySlots::new(4);
        let held = [slots.acquire(A).await.unwrap(), slots.acquire(A).await.unwrap()];
        assert!(slots.try_acquire(A).is_none());
        let mut waiting = Box::pin(slots.acquire(A));
        assert!((&mut waiting).now_or_never().is_none());
        assert!(slots.try_acquire(B).is_some());
        drop(held);
        assert!(waiting.now_or_never().is_some_and(|slot| slot.is_ok()));
    }

    #[tokio::test]
    async fn waiting_work_gets_the_slot_before_new_work() {
        let slots = CompanySlots::new(1);
        let first = slots.try_acquire(A).unwrap();
        let mut waiting = std::pin::pin!(slots.acquire(B));
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!(slots.try_acquire(A).is_none());
        assert!(waiting.await.is_ok());
        assert!(slots.try_acquire(A).is_some());
    }
}
