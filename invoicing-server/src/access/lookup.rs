//! Look-ups of what callers present as proof: keys that are not in memory or were read too long ago, and signing links.
//!
//! One task at a time reads, with one statement, all that were asked for while its previous statement ran. So any
//! number of unknown ones occupies one connection, and a valid one waits for two reads at most, with their answers. It ends
//! when no caller waits, and the next caller starts another, so what ends a task ends no later look-up.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use crate::Error;
use crate::store::keys::ActiveKeyRow;
use crate::store::signatures::GoodLinkRow;
use crate::store::{ServiceTables, Store};

/// Most callers that wait for the next read with the same proof.
const OF_ONE: usize = 256;

/// Callers that are woken before other tasks have their turn: thousands at once would delay what others ask for. In turn these
/// take time, so they come at most so often in one batch.
const WOKEN_AT_ONCE: usize = 16;
const MOST_PAUSES: usize = 128;

/// A row that is found by the hash of a proof.
pub(crate) trait Proven: Clone + Send + Sync + 'static {
    /// Most callers that wait for the next read with what is not in memory. Each keeps the head of its request in memory.
    const UNKNOWN: usize;

    fn hash(&self) -> &[u8];

    /// Those that exist and are not revoked, in any order.
    fn read(store: &Store, hashes: Vec<[u8; 32]>) -> impl Future<Output = Result<Vec<Self>, Error>> + Send;
}

impl Proven for ActiveKeyRow {
    const UNKNOWN: usize = 1_024;

    fn hash(&self) -> &[u8] {
        self.hash()
    }

    async fn read(store: &Store, hashes: Vec<[u8; 32]>) -> Result<Vec<Self>, Error> {
        store.read_service(async move |tx| tx.keys().find_by_hashes(&hashes).await).await
    }
}

impl Proven for GoodLinkRow {
    /// None is kept in memory, so the places are for good links too.
    const UNKNOWN: usize = 4_096;

    fn hash(&self) -> &[u8] {
        self.hash()
    }

    async fn read(store: &Store, hashes: Vec<[u8; 32]>) -> Result<Vec<Self>, Error> {
        store.read_service(async move |tx| tx.signing_links().find_by_hashes(&hashes).await).await
    }
}

/// See the module's text.
pub(crate) struct Lookup<R> {
    store: Arc<Store>,
    waiting: Arc<Mutex<Waiting<R>>>,
}

type Reply<R> = oneshot::Sender<Result<Option<R>, Error>>;

/// Callers, by the hash that they wait for.
type Callers<R> = HashMap<[u8; 32], Vec<Reply<R>>>;

/// What the next read is for.
struct Waiting<R> {
    callers: Callers<R>,
    /// Those with what is not in memory.
    unknown: usize,
    /// A task has the permit.
    is_reading: bool,
}

impl<R> Default for Waiting<R> {
    fn default() -> Self {
        Self { callers: HashMap::new(), unknown: 0, is_reading: false }
    }
}

impl<R: Proven> Lookup<R> {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// The row of this hash, as it is after the call; `None` where there is none or it is revoked. One that is in memory,
    /// though outdated, takes no place from others.
    ///
    /// # Errors
    /// `Overloaded` where too many callers wait.
    pub(crate) async fn find(&self, hash: [u8; 32], is_known: bool) -> Result<Option<R>, Error> {
        let (reply, answer) = oneshot::channel();
        if let Some(permit) = self.enter(hash, is_known, reply)? {
            self.start(permit);
        }
        answer.await.map_err(|_| Error::internal("a look-up ended before its answer"))?
    }

    /// Adds a caller; the permit to read, if no task has it.
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

impl<R: Proven> Waiting<R> {
    fn add(&mut self, hash: [u8; 32], is_known: bool, reply: Reply<R>) -> Result<(), Error> {
        let of_this_one = self.callers.get(&hash).map_or(0, Vec::len);
        if of_this_one >= OF_ONE || !is_known && self.unknown >= R::UNKNOWN {
            return Err(Error::Overloaded);
        }
        self.unknown += usize::from(!is_known);
        self.callers.entry(hash).or_default().push(reply);
        Ok(())
    }
}

/// The right to read, which one task has. Where the task is dropped with it, as by a panic, those that wait get an error.
struct ReadPermit<R>(Option<Arc<Mutex<Waiting<R>>>>);

impl<R> ReadPermit<R> {
    /// All callers that wait. Without any it ends.
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
            *waiting.lock() = Waiting::default();
        }
    }
}

async fn work<R: Proven>(store: Arc<Store>, mut permit: ReadPermit<R>) {
    // All that wait are one batch: in smaller ones the retries of a database that is down would add up.
    while let Some(mut callers) = permit.next() {
        // A caller that has gone away needs no answer.
        callers.retain(|_, replies| replies.iter().any(|reply| !reply.is_closed()));
        answer(&store, callers).await;
    }
}

async fn answer<R: Proven>(store: &Store, callers: Callers<R>) {
    if callers.is_empty() {
        return;
    }
    let read = R::read(store, callers.keys().copied().collect()).await;
    if let Err(error) = &read {
        tracing::warn!(error = error as &dyn std::error::Error, "look-up of keys or signing links failed");
    }
    let found = read.as_ref().map(|rows| rows.iter().map(|row| (row.hash(), row)).collect::<HashMap<_, _>>());
    let count = callers.values().map(Vec::len).sum::<usize>();
    let at_once = WOKEN_AT_ONCE.max(count / MOST_PAUSES);
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

/// The error of a batch as each of its callers gets it.
fn failure(error: &Error) -> Error {
    const FAILED: &str = "a look-up failed";
    if matches!(error, Error::Internal(_)) { Error::internal(FAILED) } else { Error::unavailable(FAILED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> [u8; 32] {
        std::array::from_fn(|index| n.to_le_bytes().get(index).copied().unwrap_or_default())
    }

    const UNKNOWN: usize = ActiveKeyRow::UNKNOWN;

    fn add(waiting: &mut Waiting<ActiveKeyRow>, n: usize, is_known: bool) -> Result<(), Error> {
        waiting.add(hash(n), is_known, oneshot::channel().0)
    }

    /// Rules: KEY-8
    #[test]
    fn unknown_keys_displace_no_known_ones_and_each_has_its_share_at_most() {
        let mut waiting = Waiting::default();
        for n in 0..UNKNOWN {
            add(&mut waiting, n, false).unwrap();
        }
        assert!(matches!(add(&mut waiting, UNKNOWN, false), Err(Error::Overloaded)));
        for _ in 0..OF_ONE {
            add(&mut waiting, UNKNOWN, true).unwrap();
        }
        assert!(matches!(add(&mut waiting, UNKNOWN, true), Err(Error::Overloaded)));
        add(&mut waiting, UNKNOWN + 1, true).unwrap();
    }

    #[test]
    fn one_key_cannot_take_all_places_of_unknown_ones() {
        let mut waiting = Waiting::default();
        let refused = (0..2 * UNKNOWN).filter(|_| add(&mut waiting, 1, false).is_err()).count();
        assert_eq!(refused, 2 * UNKNOWN - OF_ONE);
        add(&mut waiting, 2, false).unwrap();
    }

    #[test]
    fn the_permit_is_given_back_in_the_end_and_where_its_task_is_dropped() {
        let waiting =
            Arc::new(Mutex::new(Waiting::<ActiveKeyRow> { is_reading: true, ..Waiting::default() }));
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
