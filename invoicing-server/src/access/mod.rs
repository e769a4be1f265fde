//! Authentication and quota: which company a key belongs to, and whether its next request is accepted.
//!
//! Keys in use are kept in memory. Where one process owns the database, their quota windows are too ([`local`]). Where
//! several nodes share it, the database counts each request ([`shared`]), and what was read of a key is used for a few
//! seconds only.

mod local;
#[cfg(feature = "postgres")]
mod shared;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use invoicing_core::{CompanyId, KeyId, Plan, QuotaDecision, Timestamp};
use parking_lot::{Mutex, RwLock};

use crate::Error;
use crate::env::Env;
use crate::secret::sha256;
use crate::store::keys::ActiveKey;
use crate::store::{ServiceTables, Store};
use local::Reservations;

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
    Decided(CompanyId, QuotaDecision),
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
    /// Requests per key and minute; 0 for no quota.
    pub(crate) quota: u32,
    pub(crate) counting: Counting,
    /// The keys in use, for the listener that learns of their changes.
    pub(crate) keys: Arc<KeyCache>,
}

impl Access {
    /// Authenticates a request and counts it.
    pub(crate) async fn admit(&self, key: &str) -> Result<Verdict, Error> {
        let hash = sha256(key);
        for _ in 0..TRIES {
            let Some((key, plan)) = self.authenticate(hash).await? else { return Ok(Verdict::Unauthorized) };
            if !plan.has_api() {
                return Ok(Verdict::PlanRequired);
            }
            // `None`: another node has just changed the key or the plan, so the request is authenticated again.
            if let Some(decision) = self.count(&key, plan).await? {
                return Ok(Verdict::Decided(key.company, decision));
            }
        }
        Err(Error::internal("the key keeps changing"))
    }

    /// The key and the plan of its company, where the key may be used.
    async fn authenticate(&self, hash: [u8; 32]) -> Result<Option<(Arc<Key>, Plan)>, Error> {
        let Some(key) = self.find(hash).await? else { return Ok(None) };
        let (plan, revoked, last_used) = {
            let state = key.state.lock();
            (state.plan, state.revoked, state.last_used)
        };
        if revoked {
            return Ok(None);
        }
        if self.env.now().as_millis() - last_used.as_millis() > IDLE_LIMIT_MS {
            let id = key.id;
            self.store.write_company(key.company, async move |mut tx| tx.revoke_key(id).await).await?;
            return Ok(None);
        }
        Ok(Some((key, plan)))
    }

    /// The key in use, or in the database.
    async fn find(&self, hash: [u8; 32]) -> Result<Option<Arc<Key>>, Error> {
        loop {
            if let Some(key) = self.keys.get(&hash) {
                return Ok(Some(key));
            }
            let generation = self.keys.generation();
            let row = self.store.read_service(async move |tx| tx.keys().find_by_hash(&hash).await).await?;
            let Some(row) = row else { return Ok(None) };
            let key = Key::from_row(row, self.env.now())?;
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
    /// When the key was read from the database.
    read_at: Instant,
}

impl KeyState {
    /// Whether the stored last use is too old.
    fn lags(&self, now: Timestamp) -> bool {
        self.stored_at.is_none_or(|at| now.as_millis() - at.as_millis() >= LAST_USE_LAG_MS)
    }
}

impl Key {
    fn from_row(row: ActiveKey, now: Timestamp) -> Result<Self, Error> {
        let ActiveKey { company, id, last_used, quota_log } = row;
        let reservations = Reservations::from_log(&quota_log, now)
            .map_err(|cause| Error::bad_row("api_key", "quota_log", id, cause))?;
        let state = KeyState {
            plan: company.plan,
            revoked: false,
            reservations,
            last_used,
            stored_at: None,
            read_at: Instant::now(),
        };
        Ok(Self { company: company.id, id, state: Mutex::new(state), storing: tokio::sync::Mutex::default() })
    }
}

/// The keys in use, by the hash of their text.
#[derive(Debug)]
pub(crate) struct KeyCache {
    keys: RwLock<HashMap<[u8; 32], Arc<Key>>>,
    /// Counts changes, so that a key that was read before a change is not inserted after it.
    generation: AtomicU64,
    /// For how long a key is used before it is read again.
    max_age: Duration,
}

impl KeyCache {
    /// An empty cache. A key is read again after `max_age`.
    pub(crate) fn new(max_age: Duration) -> Self {
        Self { keys: RwLock::default(), generation: AtomicU64::default(), max_age }
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

    /// Any key may have changed.
    pub(crate) fn clear(&self) {
        let mut keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.clear();
    }

    fn get(&self, hash: &[u8; 32]) -> Option<Arc<Key>> {
        self.keys.read().get(hash).filter(|key| !self.is_stale(key)).cloned()
    }

    fn is_stale(&self, key: &Key) -> bool {
        key.state.lock().read_at.elapsed() > self.max_age
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Inserts a key that was read at a generation, unless another request was first; `None` where the key may be
    /// outdated.
    fn insert(&self, hash: [u8; 32], key: Key, generation: u64) -> Option<Arc<Key>> {
        let mut keys = self.keys.write();
        if self.generation() != generation {
            return None;
        }
        if keys.get(&hash).is_some_and(|known| self.is_stale(known)) {
            keys.remove(&hash);
        }
        Some(Arc::clone(keys.entry(hash).or_insert_with(|| Arc::new(key))))
    }

    fn all(&self) -> Vec<Arc<Key>> {
        self.keys.read().values().cloned().collect()
    }
}
