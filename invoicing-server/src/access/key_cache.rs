//! The keys in use, in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use invoicing_core::{CompanyId, KeyId, Plan, Timestamp};
use parking_lot::{Mutex, RwLock};

use super::reservations::Reservations;
use super::unknown::UnknownKeys;
use crate::error::Error;
use crate::store::keys::ActiveKey;

/// Longest lag of the stored `lastUsedAt`, in milliseconds. The contract allows a minute.
const LAST_USE_LAG_MS: i64 = 30_000;

/// A key in use.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) company: CompanyId,
    pub(super) id: KeyId,
    pub(super) state: Mutex<KeyState>,
    /// Held while requests are being reserved, or a use is being stored.
    pub(super) storing: tokio::sync::Mutex<()>,
}

/// The changing part of a key in use.
#[derive(Debug)]
pub(super) struct KeyState {
    pub(super) plan: Plan,
    pub(super) revoked: bool,
    /// Unused if the database counts.
    pub(super) reservations: Reservations,
    pub(super) last_used: Timestamp,
    /// When the last use was last stored.
    pub(super) stored_at: Option<Timestamp>,
    /// True if requests were accepted that are not stored.
    pub(super) is_unnoted: bool,
    /// When the key was read from the database; `None` if it may have changed since.
    pub(super) read_at: Option<Instant>,
    /// The instant until which requests are refused, by the last refusal of the database. It cannot
    /// become earlier by requests that other nodes accept, since requests leave the window with
    /// time only.
    pub(super) refused_until: Option<Timestamp>,
}

impl KeyState {
    /// True if the stored last use is too old.
    pub(super) fn lags(&self, now: Timestamp) -> bool {
        self.stored_at.is_none_or(|at| now.as_millis() - at.as_millis() >= LAST_USE_LAG_MS)
    }
}

impl Key {
    pub(super) fn from_row(row: ActiveKey, opened_at: Timestamp, now: Timestamp) -> Result<Self, Error> {
        let ActiveKey { company, id, last_used, quota_log } = row;
        let reservations = Reservations::from_log(&quota_log, opened_at, now)
            .map_err(|cause| Error::bad_row("api_key", "quota_log", id, cause))?;
        let state = KeyState {
            plan: company.plan,
            revoked: false,
            reservations,
            last_used,
            stored_at: None,
            is_unnoted: false,
            read_at: Some(Instant::now()),
            refused_until: None,
        };
        Ok(Self { company: company.id, id, state: Mutex::new(state), storing: tokio::sync::Mutex::default() })
    }
}

/// The keys in use, by the hash of their text.
#[derive(Debug)]
pub(crate) struct KeyCache {
    keys: RwLock<HashMap<[u8; 32], Arc<Key>>>,
    /// Hashes that were looked up without finding a key.
    unknown: Mutex<UnknownKeys>,
    /// Number of changes, so that a row that was read before a change is not inserted after it.
    generation: AtomicU64,
    /// Age at which a key is read again.
    max_age: Duration,
}

impl KeyCache {
    /// An empty cache. A key is read again after `max_age`.
    pub(crate) fn new(max_age: Duration) -> Self {
        let unknown = Mutex::new(UnknownKeys::new(Instant::now()));
        Self { keys: RwLock::default(), unknown, generation: AtomicU64::default(), max_age }
    }

    /// Applies the new plan of a company.
    pub(crate) fn set_plan(&self, company: CompanyId, plan: Plan) {
        let keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.values().filter(|key| key.company == company).for_each(|key| key.state.lock().plan = plan);
    }

    /// Removes a revoked key.
    pub(crate) fn revoke(&self, id: KeyId) {
        let mut keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.retain(|_, key| {
            if key.id == id {
                key.state.lock().revoked = true;
            }
            key.id != id
        });
    }

    /// Marks all keys as stale, since any of them may have changed. They stay in the cache, because
    /// the look-up of a key that was in use takes no place from unknown ones.
    pub(crate) fn mark_stale(&self) {
        let keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        for key in keys.values() {
            let mut state = key.state.lock();
            (state.read_at, state.refused_until) = (None, None);
        }
        self.unknown.lock().clear();
    }

    /// Clears the unknown hashes: a key was issued, and one of them may belong to it.
    pub(crate) fn clear_unknown(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.unknown.lock().clear();
    }

    pub(super) fn is_unknown(&self, hash: &[u8; 32]) -> bool {
        self.unknown.lock().contains(hash, Instant::now())
    }

    /// Adds a hash without a key for some seconds, unless the generation has changed since the
    /// look-up.
    pub(super) fn insert_unknown(&self, hash: [u8; 32], generation: u64) {
        let mut unknown = self.unknown.lock();
        // A change increments the generation before it clears the unknown hashes, so no outdated
        // one stays.
        if self.generation() == generation {
            unknown.insert(hash, Instant::now());
        }
    }

    /// Removes a key that a look-up has not found any more.
    pub(super) fn remove(&self, hash: &[u8; 32]) {
        self.keys.write().remove(hash);
    }

    pub(super) fn get(&self, hash: &[u8; 32]) -> Option<Arc<Key>> {
        self.keys.read().get(hash).filter(|key| !self.is_stale(key)).cloned()
    }

    /// True if the key is in the cache, stale or not.
    pub(super) fn holds(&self, hash: &[u8; 32]) -> bool {
        self.keys.read().contains_key(hash)
    }

    fn is_stale(&self, key: &Key) -> bool {
        key.state.lock().read_at.is_none_or(|at| at.elapsed() > self.max_age)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Inserts a key that was read at a generation, unless another request was first; `None` if the
    /// key may be outdated.
    pub(super) fn insert(&self, hash: [u8; 32], mut key: Key, generation: u64) -> Option<Arc<Key>> {
        let mut keys = self.keys.write();
        if self.generation() != generation {
            return None;
        }
        if let Some(stale) = keys.get(&hash).filter(|known| self.is_stale(known)) {
            key.state.get_mut().refused_until = stale.state.lock().refused_until;
            keys.remove(&hash);
        }
        Some(Arc::clone(keys.entry(hash).or_insert_with(|| Arc::new(key))))
    }

    pub(super) fn by_id(&self, id: KeyId) -> Option<Arc<Key>> {
        self.keys.read().values().find(|key| key.id == id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Key>> {
        self.keys.read().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const HASH: [u8; 32] = [1; 32];

    fn key(refused_until: Option<Timestamp>) -> Key {
        let state = KeyState {
            plan: Plan::Team,
            revoked: false,
            reservations: Reservations::default(),
            last_used: Timestamp::from_millis(0),
            stored_at: None,
            is_unnoted: false,
            read_at: Some(Instant::now()),
            refused_until,
        };
        let (company, id) = (CompanyId(Uuid::nil()), KeyId(Uuid::nil()));
        Key { company, id, state: Mutex::new(state), storing: tokio::sync::Mutex::default() }
    }

    #[test]
    fn an_unknown_key_is_remembered_until_a_key_is_issued() {
        let keys = KeyCache::new(Duration::MAX);
        let before = keys.generation();
        keys.insert_unknown(HASH, before);
        assert!(keys.is_unknown(&HASH));
        keys.clear_unknown();
        assert!(!keys.is_unknown(&HASH));
        keys.insert_unknown(HASH, before);
        assert!(!keys.is_unknown(&HASH), "read before the key was issued");
        keys.insert_unknown(HASH, keys.generation());
        keys.mark_stale();
        assert!(!keys.is_unknown(&HASH));
    }

    /// Rules: KEY-8
    #[test]
    fn a_key_that_may_have_changed_is_read_again_and_stays_known() {
        let keys = KeyCache::new(Duration::MAX);
        let until = Some(Timestamp::from_millis(60_000));
        let before = keys.insert(HASH, key(until), keys.generation()).unwrap();
        keys.mark_stale();
        assert!(keys.get(&HASH).is_none());
        assert!(keys.holds(&HASH), "it keeps its place");
        let read_again = keys.insert(HASH, key(None), keys.generation()).unwrap();
        assert!(!Arc::ptr_eq(&before, &read_again));
        assert_eq!(read_again.state.lock().refused_until, None, "the refusal may have ended too");
        assert!(keys.get(&HASH).is_some());
        keys.remove(&HASH);
        assert!(!keys.holds(&HASH));
    }

    /// Rules: QUOTA-8
    #[test]
    fn a_key_that_is_read_again_keeps_its_refusal() {
        let keys = KeyCache::new(Duration::ZERO);
        let until = Some(Timestamp::from_millis(60_000));
        for read in [key(until), key(None)] {
            let kept = keys.insert(HASH, read, keys.generation()).unwrap();
            assert_eq!(kept.state.lock().refused_until, until);
            // Older than a cache without age allows.
            kept.state.lock().read_at = Instant::now().checked_sub(Duration::from_millis(1));
        }
    }
}
