//! Authentication and quota: which company a key belongs to, and whether its next request is accepted.
//!
//! Keys in use are kept in memory. Where one process owns the database, their quota windows are too ([`local`]). Where
//! several nodes share it, the database counts each request ([`shared`]), and what was read of a key is used for a few
//! seconds only.

mod local;
mod lookup;
#[cfg(feature = "postgres")]
mod shared;
mod unknown;
mod unnoted;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use invoicing_core::{CompanyId, KeyId, Plan, QUOTA_WINDOW_MS, QuotaDecision, Timestamp};
use parking_lot::{Mutex, RwLock};

use crate::Error;
use crate::env::Env;
use crate::secret::{is_api_key, sha256};
use crate::store::keys::{ActiveKey, ActiveKeyRow};
use crate::store::{Store, UNAUDITED};
use local::Reservations;
pub(crate) use lookup::Lookup;
use unknown::UnknownKeys;
pub(crate) use unnoted::Unnoted;

/// A key that was not used for longer than this is revoked: 90 days in milliseconds.
pub(crate) const IDLE_LIMIT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;
/// How far the stored `lastUsedAt` may lag, in milliseconds. The contract allows a minute.
const LAST_USE_LAG_MS: i64 = 30_000;
/// How often a key that another node is changing is read again.
const TRIES: u32 = 5;

/// The answer to a request with a key.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The key is unknown, revoked, or idle for more than 90 days, which revokes it.
    Unauthorized,
    /// The company's plan does not include the API. Nothing was counted.
    PlanRequired,
    /// The request was counted against the key's quota, or refused because the quota is used up.
    Decided { company: CompanyId, decision: QuotaDecision },
}

/// What counts in the quota of a key now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) requests: u32,
    /// When the oldest of them counts no longer; `None` where there is none.
    pub(crate) oldest_until: Option<Timestamp>,
}

impl Used {
    /// So many requests, the oldest of which was accepted at an instant.
    fn since(requests: u32, oldest: Option<Timestamp>) -> Self {
        Self { requests, oldest_until: oldest.map(|at| at.plus_millis(QUOTA_WINDOW_MS + 1)) }
    }
}

/// Where requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    /// In memory: this process owns the database.
    Local,
    /// In the database, which other nodes use too.
    #[cfg(feature = "postgres")]
    Shared,
}

/// See the module's text.
pub(crate) struct Access {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Env,
    /// When this process opened the database.
    pub(crate) opened_at: Timestamp,
    /// Requests per key and minute; 0 for no quota.
    pub(crate) quota: u32,
    pub(crate) counting: Counting,
    /// The keys in use, for the listener that learns of their changes.
    pub(crate) keys: Arc<KeyCache>,
    /// Reads the others.
    pub(crate) lookup: Lookup<ActiveKeyRow>,
    /// Requests that could not be noted.
    pub(crate) unnoted: Unnoted,
}

/// A key that a request carries: issued at some time, and perhaps revoked since.
pub(crate) struct PresentedKey {
    hash: [u8; 32],
    key: Arc<Key>,
}

impl PresentedKey {
    /// The company that the key was issued for.
    pub(crate) fn company(&self) -> CompanyId {
        self.key.company
    }
}

impl Access {
    /// The key that a request carries; `None` for an unknown one. Costs nothing for a text that cannot be a key.
    ///
    /// # Errors
    /// `Overloaded` where too many keys are being looked up.
    pub(crate) async fn identify(&self, text: &str) -> Result<Option<PresentedKey>, Error> {
        if !is_api_key(text) {
            return Ok(None);
        }
        let hash = sha256(text);
        Ok(self.find(hash).await?.map(|key| PresentedKey { hash, key }))
    }

    /// Decides on a request with this key, and counts it.
    pub(crate) async fn admit(&self, PresentedKey { hash, mut key }: PresentedKey) -> Result<Verdict, Error> {
        for _ in 0..TRIES {
            let Some(plan) = self.usable_plan(&key).await? else { return Ok(Verdict::Unauthorized) };
            if !plan.has_api() {
                return Ok(Verdict::PlanRequired);
            }
            if let Some(decision) = self.count(&key, plan).await? {
                return Ok(Verdict::Decided { company: key.company, decision });
            }
            // Another node has just changed the key or the plan.
            let Some(changed) = self.find(hash).await? else { return Ok(Verdict::Unauthorized) };
            key = changed;
        }
        Err(Error::internal("the key keeps changing"))
    }

    /// How many requests of each key of a company count in its quota now. Counts nothing itself.
    pub(crate) async fn used(&self, company: CompanyId) -> Result<HashMap<KeyId, Used>, Error> {
        if self.quota == 0 {
            return Ok(HashMap::new());
        }
        match self.counting {
            Counting::Local => self.used_in_memory(company).await,
            #[cfg(feature = "postgres")]
            Counting::Shared => self.used_in_database(company).await,
        }
    }

    /// The plan of the key's company, where the key may be used.
    async fn usable_plan(&self, key: &Key) -> Result<Option<Plan>, Error> {
        let (plan, revoked, last_used) = {
            let state = key.state.lock();
            (state.plan, state.revoked, state.last_used)
        };
        if revoked {
            return Ok(None);
        }
        if self.env.now().as_millis() - last_used.as_millis() > IDLE_LIMIT_MS {
            let id = key.id;
            self.store.write(key.company, UNAUDITED, [], async move |mut tx| tx.revoke_key(id).await).await?;
            return Ok(None);
        }
        Ok(Some(plan))
    }

    /// The key in use, or in the database.
    async fn find(&self, hash: [u8; 32]) -> Result<Option<Arc<Key>>, Error> {
        loop {
            if let Some(key) = self.keys.get(&hash) {
                return Ok(Some(key));
            }
            if self.keys.is_unknown(&hash) {
                return Ok(None);
            }
            let (generation, is_known) = (self.keys.generation(), self.keys.holds(&hash));
            let unnoted = self.found_unnoted();
            let Some(row) = self.lookup.find(hash, is_known).await? else {
                if is_known {
                    self.keys.remove(&hash);
                }
                self.keys.remember_unknown(hash, generation);
                return Ok(None);
            };
            let mut key = Key::from_row(row.parse()?, self.opened_at, self.env.now())?;
            if let Some(unnoted) = unnoted {
                unnoted.apply(key.state.get_mut(), self.quota);
            }
            if let Some(key) = self.keys.insert(hash, key, generation) {
                return Ok(Some(key));
            }
        }
    }

    /// Counts a request against the key's quota, or refuses it. `None` where the key is not what it was when it was
    /// authenticated.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "only the shared count needs it")
    )]
    async fn count(&self, key: &Key, plan: Plan) -> Result<Option<QuotaDecision>, Error> {
        match self.counting {
            Counting::Local => self.count_in_memory(key).await.map(Some),
            #[cfg(feature = "postgres")]
            Counting::Shared => self.count_in_database(key, plan).await,
        }
    }
}

/// A key in use.
#[derive(Debug)]
struct Key {
    company: CompanyId,
    id: KeyId,
    state: Mutex<KeyState>,
    /// Held while requests are being reserved, or a use is being stored.
    storing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct KeyState {
    plan: Plan,
    revoked: bool,
    /// Unused where the database counts.
    reservations: Reservations,
    last_used: Timestamp,
    /// When the last use was last stored.
    stored_at: Option<Timestamp>,
    /// Requests were accepted that are not stored.
    is_unnoted: bool,
    /// When the key was read from the database; `None` where it may have changed since.
    read_at: Option<Instant>,
    /// Until when requests are refused for the quota, as far as the database has said it. Requests that other nodes
    /// accept cannot make it earlier, since requests leave the window with time only.
    refused_until: Option<Timestamp>,
}

impl KeyState {
    /// Whether the stored last use is too old.
    fn lags(&self, now: Timestamp) -> bool {
        self.stored_at.is_none_or(|at| now.as_millis() - at.as_millis() >= LAST_USE_LAG_MS)
    }
}

impl Key {
    fn from_row(row: ActiveKey, opened_at: Timestamp, now: Timestamp) -> Result<Self, Error> {
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
    /// Texts that were looked up and are no keys.
    unknown: Mutex<UnknownKeys>,
    /// Counts changes, so that what was read before a change is not remembered after it.
    generation: AtomicU64,
    /// For how long a key is used before it is read again.
    max_age: Duration,
}

impl KeyCache {
    /// An empty cache. A key is read again after `max_age`.
    pub(crate) fn new(max_age: Duration) -> Self {
        let unknown = Mutex::new(UnknownKeys::new(Instant::now()));
        Self { keys: RwLock::default(), unknown, generation: AtomicU64::default(), max_age }
    }

    /// The company has another plan.
    pub(crate) fn set_plan(&self, company: CompanyId, plan: Plan) {
        let keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.values().filter(|key| key.company == company).for_each(|key| key.state.lock().plan = plan);
    }

    /// The key was revoked.
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

    /// Any key may have changed. They stay, as the look-up of one that was in use takes no place from others.
    pub(crate) fn outdate(&self) {
        let keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        for key in keys.values() {
            let mut state = key.state.lock();
            (state.read_at, state.refused_until) = (None, None);
        }
        self.unknown.lock().clear();
    }

    /// A key was issued, so a text that was unknown may be one.
    pub(crate) fn forget_unknown(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.unknown.lock().clear();
    }

    fn is_unknown(&self, hash: &[u8; 32]) -> bool {
        self.unknown.lock().contains(hash, Instant::now())
    }

    /// Remembers for some seconds that there was no such key at a generation.
    fn remember_unknown(&self, hash: [u8; 32], generation: u64) {
        let mut unknown = self.unknown.lock();
        // A change moves the generation before it clears the memory, so nothing outdated stays.
        if self.generation() == generation {
            unknown.insert(hash, Instant::now());
        }
    }

    /// A look-up has found no such key any more.
    fn remove(&self, hash: &[u8; 32]) {
        self.keys.write().remove(hash);
    }

    fn get(&self, hash: &[u8; 32]) -> Option<Arc<Key>> {
        self.keys.read().get(hash).filter(|key| !self.is_stale(key)).cloned()
    }

    /// Also where it is stale.
    fn holds(&self, hash: &[u8; 32]) -> bool {
        self.keys.read().contains_key(hash)
    }

    fn is_stale(&self, key: &Key) -> bool {
        key.state.lock().read_at.is_none_or(|at| at.elapsed() > self.max_age)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Inserts a key that was read at a generation, unless another request was first; `None` where the key may be
    /// outdated.
    fn insert(&self, hash: [u8; 32], mut key: Key, generation: u64) -> Option<Arc<Key>> {
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

    fn by_id(&self, id: KeyId) -> Option<Arc<Key>> {
        self.keys.read().values().find(|key| key.id == id).cloned()
    }

    fn all(&self) -> Vec<Arc<Key>> {
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
        keys.remember_unknown(HASH, before);
        assert!(keys.is_unknown(&HASH));
        keys.forget_unknown();
        assert!(!keys.is_unknown(&HASH));
        keys.remember_unknown(HASH, before);
        assert!(!keys.is_unknown(&HASH), "read before the key was issued");
        keys.remember_unknown(HASH, keys.generation());
        keys.outdate();
        assert!(!keys.is_unknown(&HASH));
    }

    /// Rules: KEY-8
    #[test]
    fn a_key_that_may_have_changed_is_read_again_and_stays_known() {
        let keys = KeyCache::new(Duration::MAX);
        let until = Some(Timestamp::from_millis(60_000));
        let before = keys.insert(HASH, key(until), keys.generation()).unwrap();
        keys.outdate();
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
