//! Look-ups of keys that are not in memory, or were read too long ago.
//!
//! One task at a time reads, with one statement, all keys that were asked for while its previous statement ran. So any
//! number of unknown keys occupies one connection, and a valid key waits for two reads at most. It ends when no caller
//! waits, and the next caller starts another, so what ends a task ends no later look-up.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::Error;
use crate::store::keys::ActiveKeyRow;
use crate::store::{ServiceTables, Store};

/// Most callers that wait for the next read with keys that are not in memory. Each keeps the head of its request in memory.
const UNKNOWN: usize = 1_024;
/// Most callers that wait for the next read with the same key.
const OF_ONE_KEY: usize = 256;

/// See the module's text.
pub(crate) struct KeyLookup {
    store: Arc<Store>,
    waiting: Arc<Mutex<Waiting>>,
}

type Reply = oneshot::Sender<Result<Option<ActiveKeyRow>, Error>>;

/// Callers, by the hash that they wait for.
type Callers = HashMap<[u8; 32], Vec<Reply>>;

/// What the next read is for.
#[derive(Default)]
struct Waiting {
    callers: Callers,
    /// Those with keys that are not in memory.
    unknown: usize,
    /// A task has the permit.
    is_reading: bool,
}

impl KeyLookup {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// The key of this hash, as it is after the call; `None` where there is none or it is revoked. A key that is in memory,
    /// though outdated, takes no place from others.
    ///
    /// # Errors
    /// `Overloaded` where too many callers wait.
    pub(super) async fn find(&self, hash: [u8; 32], is_known: bool) -> Result<Option<ActiveKeyRow>, Error> {
        let (reply, answer) = oneshot::channel();
        if let Some(permit) = self.enter(hash, is_known, reply)? {
            self.start(permit);
        }
        answer.await.map_err(|_| Error::internal("a key look-up ended before its answer"))?
    }

    /// Adds a caller; the permit to read, if no task has it.
    fn enter(&self, hash: [u8; 32], is_known: bool, reply: Reply) -> Result<Option<ReadPermit>, Error> {
        let mut waiting = self.waiting.lock();
        waiting.add(hash, is_known, reply)?;
        let is_free = !std::mem::replace(&mut waiting.is_reading, true);
        Ok(is_free.then(|| ReadPermit(Some(Arc::clone(&self.waiting)))))
    }

    #[expect(clippy::disallowed_methods, reason = "a caller that goes away must not end the read of others")]
    fn start(&self, permit: ReadPermit) {
        tokio::spawn(work(Arc::clone(&self.store), permit));
    }
}

impl Waiting {
    fn add(&mut self, hash: [u8; 32], is_known: bool, reply: Reply) -> Result<(), Error> {
        let of_this_key = self.callers.get(&hash).map_or(0, Vec::len);
        if of_this_key >= OF_ONE_KEY || !is_known && self.unknown >= UNKNOWN {
            return Err(Error::Overloaded);
        }
        self.unknown += usize::from(!is_known);
        self.callers.entry(hash).or_default().push(reply);
        Ok(())
    }
}

/// The right to read, which one task has. Where the task is dropped with it, as by a panic, those that wait get an error.
struct ReadPermit(Option<Arc<Mutex<Waiting>>>);

impl ReadPermit {
    /// All callers that wait. Without any it ends.
    fn next(&mut self) -> Option<Callers> {
        let mut waiting = self.0.as_ref()?.lock();
        if !waiting.callers.is_empty() {
            waiting.unknown = 0;
            return Some(std::mem::take(&mut waiting.callers));
        }
        waiting.is_reading = false;
        drop(waiting);
        self.0 = None;
        None
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        if let Some(waiting) = &self.0 {
            *waiting.lock() = Waiting::default();
        }
    }
}

async fn work(store: Arc<Store>, mut permit: ReadPermit) {
    // All that wait are one batch: in smaller ones the retries of a database that is down would add up.
    while let Some(mut callers) = permit.next() {
        // A caller that has gone away needs no key.
        callers.retain(|_, replies| replies.iter().any(|reply| !reply.is_closed()));
        answer(&store, callers).await;
    }
}

async fn answer(store: &Store, callers: Callers) {
    if callers.is_empty() {
        return;
    }
    let hashes: Vec<_> = callers.keys().copied().collect();
    match store.read_service(async move |tx| tx.keys().find_by_hashes(&hashes).await).await {
        Ok(rows) => {
            let found: HashMap<_, _> = rows.iter().map(|row| (row.hash(), row)).collect();
            for (hash, replies) in callers {
                let row = found.get(&hash[..]).copied();
                for reply in replies {
                    let _ = reply.send(Ok(row.cloned()));
                }
            }
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "key look-up failed");
            for reply in callers.into_values().flatten() {
                let _ = reply.send(Err(failure(&error)));
            }
        }
    }
}

/// The error of a batch as each of its callers gets it.
fn failure(error: &Error) -> Error {
    const FAILED: &str = "a key look-up failed";
    if matches!(error, Error::Internal(_)) { Error::internal(FAILED) } else { Error::unavailable(FAILED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> [u8; 32] {
        std::array::from_fn(|index| n.to_le_bytes().get(index).copied().unwrap_or_default())
    }

    fn add(waiting: &mut Waiting, n: usize, is_known: bool) -> Result<(), Error> {
        waiting.add(hash(n), is_known, oneshot::channel().0)
    }

    /// Rules: KEY-8
    #[test]
    fn unknown_keys_take_no_place_from_known_ones_and_no_key_has_more_than_its_share() {
        let mut waiting = Waiting::default();
        for n in 0..UNKNOWN {
            add(&mut waiting, n, false).unwrap();
        }
        assert!(matches!(add(&mut waiting, UNKNOWN, false), Err(Error::Overloaded)));
        for _ in 0..OF_ONE_KEY {
            add(&mut waiting, UNKNOWN, true).unwrap();
        }
        assert!(matches!(add(&mut waiting, UNKNOWN, true), Err(Error::Overloaded)));
        add(&mut waiting, UNKNOWN + 1, true).unwrap();
    }

    #[test]
    fn one_key_cannot_take_all_places_of_unknown_ones() {
        let mut waiting = Waiting::default();
        let refused = (0..2 * UNKNOWN).filter(|_| add(&mut waiting, 1, false).is_err()).count();
        assert_eq!(refused, 2 * UNKNOWN - OF_ONE_KEY);
        add(&mut waiting, 2, false).unwrap();
    }

    #[test]
    fn the_permit_is_given_back_in_the_end_and_where_its_task_is_dropped() {
        let waiting = Arc::new(Mutex::new(Waiting { is_reading: true, ..Waiting::default() }));
        let permit = || ReadPermit(Some(Arc::clone(&waiting)));
        let enter = |n| {
            let (reply, answer) = oneshot::channel();
            waiting.lock().add(hash(n), false, reply).unwrap();
            answer
        };
        let mut ending = permit();
        let _answer = enter(1);
        assert_eq!(ending.next().unwrap().len(), 1);
        assert!(ending.next().is_none());
        assert!(!waiting.lock().is_reading);
        // The next task has the permit by now, and those that wait for it are its own.
        waiting.lock().is_reading = true;
        let mut kept = enter(2);
        drop(ending);
        assert!(waiting.lock().is_reading);
        assert!(matches!(kept.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        drop(permit());
        assert!(!waiting.lock().is_reading);
        assert!(matches!(kept.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
}
