//! Look-ups of callers' proofs by their hashes: keys that are not in memory or were read too long
//! ago, and signing links.
//!
//! One task at a time reads, with one statement, all hashes that callers have added while its
//! previous statement ran. So any number of unknown proofs occupies one connection, and a valid one
//! waits for two reads at most, with their answers. The task ends when no caller waits, and the
//! next caller starts another one. So the end of a task, even by a panic, ends no later look-up.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use crate::error::Error;
use crate::store::keys::ActiveKeyRow;
use crate::store::signatures::GoodLinkRow;
use crate::store::{ServiceTables, Store};

/// Maximum number of callers with the same hash that wait for the next read.
const MAX_PER_HASH: usize = 256;

/// Callers that are woken before other tasks have their turn: thousands at once would delay other
/// requests. The turns of other tasks take time too, so a batch has at most `MAX_PAUSES` pauses.
const WOKEN_AT_ONCE: usize = 16;
const MAX_PAUSES: usize = 128;

/// A row that is found by the hash of a proof.
pub(crate) trait HashedRow: Clone + Send + Sync + 'static {
    /// Maximum number of callers that wait for the next read with a proof that is not in memory.
    /// Each keeps the head of its request in memory.
    const MAX_UNKNOWN: usize;

    fn hash(&self) -> &[u8];

    /// The rows that exist and are not revoked, in any order.
    fn read(store: &Store, hashes: Vec<[u8; 32]>) -> impl Future<Output = Result<Vec<Self>, Error>> + Send;
}

impl HashedRow for ActiveKeyRow {
    const MAX_UNKNOWN: usize = 1_024;

    fn hash(&self) -> &[u8] {
        self.hash()
    }

    async fn read(store: &Store, hashes: Vec<[u8; 32]>) -> Result<Vec<Self>, Error> {
        store.read_service(async move |tx| tx.keys().find_by_hashes(&hashes).await).await
    }
}

impl HashedRow for GoodLinkRow {
    /// Links are never kept in memory, so the places are for good ones too.
    const MAX_UNKNOWN: usize = 4_096;

    fn hash(&self) -> &[u8] {
        self.hash()
    }

    async fn read(store: &Store, hashes: Vec<[u8; 32]>) -> Result<Vec<Self>, Error> {
        store.read_service(async move |tx| tx.signing_links().find_by_hashes(&hashes).await).await
    }
}

/// The look-up of rows by hashes, with the callers that wait for it.
pub(crate) struct Lookup<R> {
    store: Arc<Store>,
    waiting: Arc<Mutex<PendingCallers<R>>>,
}

/// The channel to a waiting caller.
type Reply<R> = oneshot::Sender<Result<Option<R>, Error>>;

/// Waiting callers, by hash.
type Callers<R> = HashMap<[u8; 32], Vec<Reply<R>>>;

/// The callers of the next read.
struct PendingCallers<R> {
    callers: Callers<R>,
    /// Number of callers whose row is not in memory.
    unknown: usize,
    /// True if a task has the permit.
    is_reading: bool,
}

impl<R> Default for PendingCallers<R> {
    fn default() -> Self {
        Self { callers: HashMap::new(), unknown: 0, is_reading: false }
    }
}

impl<R: HashedRow> Lookup<R> {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// The row of this hash, read after the call began; `None` if there is none or it is revoked. A
    /// row that is in memory, even an outdated one, takes no place from unknown ones.
    ///
    /// # Errors
    /// `Overloaded` if too many callers wait.
    pub(crate) async fn find(&self, hash: [u8; 32], is_known: bool) -> Result<Option<R>, Error> {
        let (reply, answer) = oneshot::channel();
        if let Some(permit) = self.enter(hash, is_known, reply)? {
            self.start(permit);
        }
        answer.await.map_err(|_| Error::internal("a look-up ended without a result"))?
    }

    /// Adds a caller, and returns the permit to read if no task has it.
    fn enter(&self, hash: [u8; 32], is_known: bool, reply: Reply<R>) -> Result<Option<ReadPermit<R>>, Error> {
        let mut waiting = self.waiting.lock();
        waiting.add(hash, is_known, reply)?;
        let is_free = !std::mem::replace(&mut waiting.is_reading, true);
        Ok(is_free.then(|| ReadPermit(Some(Arc::clone(&self.waiting)))))
    }

    #[expect(clippy::disallowed_methods, reason = "a caller that goes away must not end the read of others")]
    fn start(&self, permit: ReadPermit<R>) {
        tokio::spawn(work(Arc::clone(&self.store), permit));
    }
}

impl<R: HashedRow> PendingCallers<R> {
    fn add(&mut self, hash: [u8; 32], is_known: bool, reply: Reply<R>) -> Result<(), Error> {
        let with_this_hash = self.callers.get(&hash).map_or(0, Vec::len);
        if with_this_hash >= MAX_PER_HASH || !is_known && self.unknown >= R::MAX_UNKNOWN {
            return Err(Error::Overloaded);
        }
        self.unknown += usize::from(!is_known);
        self.callers.entry(hash).or_default().push(reply);
        Ok(())
    }
}

/// The right to read, which one task has. If the permit is dropped before its end, as by a panic of
/// its task, the waiting callers get an error.
struct ReadPermit<R>(Option<Arc<Mutex<PendingCallers<R>>>>);

impl<R> ReadPermit<R> {
    /// Takes all waiting callers. Without any, the permit ends.
    fn next(&mut self) -> Option<Callers<R>> {
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

impl<R> Drop for ReadPermit<R> {
    fn drop(&mut self) {
        if let Some(waiting) = &self.0 {
            *waiting.lock() = PendingCallers::default();
        }
    }
}

async fn work<R: HashedRow>(store: Arc<Store>, mut permit: ReadPermit<R>) {
    // All waiting callers are one batch: with smaller batches the retries of a database that is
    // down would add up.
    while let Some(mut callers) = permit.next() {
        // A caller that has gone away needs no answer.
        callers.retain(|_, replies| replies.iter().any(|reply| !reply.is_closed()));
        answer(&store, callers).await;
    }
}

async fn answer<R: HashedRow>(store: &Store, callers: Callers<R>) {
    if callers.is_empty() {
        return;
    }
    let read = R::read(store, callers.keys().copied().collect()).await;
    if let Err(error) = &read {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "look-up of keys or signing links failed; its requests fail"
        );
    }
    let found = read.as_ref().map(|rows| rows.iter().map(|row| (row.hash(), row)).collect::<HashMap<_, _>>());
    let count = callers.values().map(Vec::len).sum::<usize>();
    let at_once = WOKEN_AT_ONCE.max(count / MAX_PAUSES);
    let replies =
        callers.into_iter().flat_map(|(hash, replies)| replies.into_iter().map(move |reply| (hash, reply)));
    for (answered, (hash, reply)) in replies.enumerate() {
        if answered % at_once == at_once - 1 {
            yield_now().await;
        }
        let row = found.as_ref().map(|found| found.get(&hash[..]).map(|row| R::clone(row)));
        let _ = reply.send(row.map_err(|error| failure(error)));
    }
}

/// The error of a batch for each of its callers.
fn failure(error: &Error) -> Error {
    const FAILED: &str = "the look-up of a key or signing link failed";
    if matches!(error, Error::Internal(_)) { Error::internal(FAILED) } else { Error::unavailable(FAILED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> [u8; 32] {
        std::array::from_fn(|index| n.to_le_bytes().get(index).copied().unwrap_or_default())
    }

    const MAX_UNKNOWN: usize = ActiveKeyRow::MAX_UNKNOWN;

    fn add(waiting: &mut PendingCallers<ActiveKeyRow>, n: usize, is_known: bool) -> Result<(), Error> {
        waiting.add(hash(n), is_known, oneshot::channel().0)
    }

    /// Rules: KEY-8
    #[test]
    fn unknown_keys_displace_no_known_ones_and_each_has_its_share_at_most() {
        let mut waiting = PendingCallers::default();
        for n in 0..MAX_UNKNOWN {
            add(&mut waiting, n, false).unwrap();
        }
        assert!(matches!(add(&mut waiting, MAX_UNKNOWN, false), Err(Error::Overloaded)));
        for _ in 0..MAX_PER_HASH {
            add(&mut waiting, MAX_UNKNOWN, true).unwrap();
        }
        assert!(matches!(add(&mut waiting, MAX_UNKNOWN, true), Err(Error::Overloaded)));
        add(&mut waiting, MAX_UNKNOWN + 1, true).unwrap();
    }

    #[test]
    fn one_key_cannot_take_all_places_of_unknown_ones() {
        let mut waiting = PendingCallers::default();
        let refused = (0..2 * MAX_UNKNOWN).filter(|_| add(&mut waiting, 1, false).is_err()).count();
        assert_eq!(refused, 2 * MAX_UNKNOWN - MAX_PER_HASH);
        add(&mut waiting, 2, false).unwrap();
    }

    #[test]
    fn the_permit_is_given_back_in_the_end_and_where_its_task_is_dropped() {
        let waiting = Arc::new(Mutex::new(PendingCallers::<ActiveKeyRow> {
            is_reading: true,
            ..PendingCallers::default()
        }));
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
        // The next task has the permit by now, and its callers wait for it.
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
