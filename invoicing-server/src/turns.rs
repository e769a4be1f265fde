//! Work of this process on one company, in turn.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::CompanyId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;

/// How many may work on a company at once; the companies on which somebody works or waits, and how many do.
#[derive(Debug)]
pub(crate) struct Turns {
    at_once: usize,
    companies: Mutex<HashMap<CompanyId, (usize, Arc<Semaphore>)>>,
}

/// The right to work on a company, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    _permit: OwnedSemaphorePermit,
    _place: Place<'t>,
}

/// Somebody who works on a company or waits for it. The last one takes the company out of the list.
#[derive(Debug)]
struct Place<'t> {
    turns: &'t Turns,
    company: CompanyId,
}

impl Turns {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { at_once, companies: Mutex::default() }
    }

    /// Waits for a turn, in the order of the calls.
    pub(crate) async fn wait(&self, company: CompanyId) -> Result<Turn<'_>, Error> {
        let (place, semaphore) = self.join(company);
        let permit = semaphore.acquire_owned().await.map_err(Error::internal)?;
        Ok(Turn { _permit: permit, _place: place })
    }

    /// As [`Self::wait`], but not for longer than that.
    pub(crate) async fn wait_for(&self, company: CompanyId, limit: Duration) -> Result<Turn<'_>, Error> {
        let turn = tokio::time::timeout(limit, self.wait(company)).await;
        turn.unwrap_or_else(|_| Err(Error::unavailable("too much is done to the company at once")))
    }

    fn join(&self, company: CompanyId) -> (Place<'_>, Arc<Semaphore>) {
        let mut all = self.all();
        let (places, semaphore) =
            all.entry(company).or_insert_with(|| (0, Arc::new(Semaphore::new(self.at_once))));
        *places += 1;
        (Place { turns: self, company }, Arc::clone(semaphore))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<CompanyId, (usize, Arc<Semaphore>)>> {
        self.companies.lock()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.turns.all();
        if let Entry::Occupied(mut entry) = all.entry(self.company) {
            entry.get_mut().0 -= 1;
            if entry.get().0 == 0 {
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

    #[tokio::test]
    async fn turns_are_given_in_order_and_to_each_company_by_itself() {
        let (turns, [a, b]) = (Turns::new(2), [1, 2].map(|id| CompanyId(Uuid::from_u128(id))));
        let first = turns.wait(a).await.unwrap();
        let second = turns.wait(a).await.unwrap();
        let (mut third, mut fourth) = (Box::pin(turns.wait(a)), Box::pin(turns.wait(a)));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(fourth.as_mut().now_or_never().is_none());
        let other = turns.wait(b).await.unwrap();
        assert_eq!(turns.all().len(), 2);
        drop(first);
        assert!(fourth.as_mut().now_or_never().is_none(), "out of order");
        let third = third.now_or_never().expect("its turn").unwrap();
        // One who no longer wants a turn keeps nobody from his.
        drop(fourth);
        drop((second, third));
        assert_eq!(turns.all().len(), 1);
        drop(other);
        assert!(turns.all().is_empty(), "a company on which nobody works is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_not_waited_for_without_end() {
        let (turns, company) = (Turns::new(1), CompanyId(Uuid::from_u128(1)));
        let held = turns.wait(company).await.unwrap();
        let refused = turns.wait_for(company, Duration::from_secs(8)).await;
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))));
        drop(held);
        assert!(turns.all().is_empty());
    }
}
