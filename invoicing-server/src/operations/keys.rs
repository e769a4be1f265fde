//! API keys: issued, listed, revoked; who calls with one, and how much of its quota is left.
//!
//! Keys in use are kept in memory with the window of their quota. What a key has accepted must survive the process:
//! so requests are reserved on disk in small blocks before they are accepted. A process that dies leaves its blocks
//! counted as used; a clean stop gives the rest back. On one process the count is exact at every moment.
//!
//! Where several nodes share a database, each request is counted there; see [`shared`].

#[cfg(feature = "postgres")]
mod shared;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use invoicing_core::{Admission, CompanyId, KeyId, Plan, QuotaWindow, SHORT_TEXT, Timestamp, required_text};
use parking_lot::{Mutex, MutexGuard, RwLock};

use super::CompanyHandle;
use crate::Error;
use crate::invoicing::Inner;
use crate::secret::{self, Secret, sha256};
use crate::store::companies;
use crate::store::keys::{self, KeyRecord, KeyRow};
use crate::store::news::News;
use crate::store::reading;

/// A key that was not used for longer than this is revoked: 90 days in milliseconds.
pub(super) const IDLE_LIMIT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;
/// How far the stored `lastUsedAt` may lag, in milliseconds. The contract allows a minute.
const LAST_USE_LAG_MS: i64 = 30_000;
/// A block of reserved requests is this part of the quota.
const BLOCKS: u32 = 10;
/// Most requests in a block: what a crash can cost a key.
const LARGEST_BLOCK: u32 = 1_000;
/// Grain of the stored window in milliseconds; instants are rounded up to it, so it never forgets too early.
const LOG_GRAIN_MS: i64 = 100;

/// How long is believed what another node may have changed: as long as its news may be missed.
const BELIEVED_FOR: Duration = Duration::from_secs(5);

/// The API keys of a company.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a>(pub(super) &'a CompanyHandle);

/// A key with its text, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedKey {
    /// Its record.
    pub record: KeyRecord,
    /// `isk_` and 43 characters: what goes into the `Authorization` header.
    pub key: Secret,
}

impl Keys<'_> {
    /// Issues a key. Any plan may have keys; only the team plan may use them.
    pub async fn issue(&self, label: &str) -> Result<IssuedKey, Error> {
        let label = required_text("label", label, SHORT_TEXT)?;
        let env = &self.0.inner.env;
        let key = Secret::generate(secret::API_KEY, env);
        let hash = key.sha256();
        let last4 = key.reveal().chars().skip(key.reveal().len() - 4).collect();
        let (id, created_at) = (KeyId(env.uuid()), env.now());
        let record = KeyRecord { id, last4, label, created_at, last_used_at: None, revoked_at: None };
        let (company, stored) = (self.0.id, record.clone());
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    companies::find(tx.connection(), company).await?.ok_or(Error::NotFound)?;
                    keys::insert(tx.connection(), company, &stored, &hash).await
                })
            })
            .await?;
        Ok(IssuedKey { record, key })
    }

    /// All keys, oldest first, revoked ones included.
    pub async fn list(&self) -> Result<Vec<KeyRecord>, Error> {
        reading!(self.0.inner.store, |c| keys::list(c, self.0.id))
    }

    /// Revokes a key for good.
    pub async fn revoke(&self, id: KeyId) -> Result<(), Error> {
        let company = self.0.id;
        let inner = Arc::clone(&self.0.inner);
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let at = tx.env().now();
                    keys::revoke(tx.connection(), company, id, at).await?;
                    tx.on_commit(move || inner.keys.forget(id));
                    tx.announce(News::Key(id));
                    Ok(())
                })
            })
            .await
    }
}

/// Who calls.
#[derive(Debug, Clone)]
pub(crate) struct Authenticated {
    pub(crate) company: CompanyId,
    pub(crate) plan: Plan,
    key: Arc<Key>,
}

/// A key in use.
#[derive(Debug)]
struct Key {
    company: CompanyId,
    id: KeyId,
    live: Mutex<Live>,
    /// Held while a block is being reserved, or what was used is being stored.
    reserving: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Live {
    plan: Plan,
    revoked: bool,
    window: QuotaWindow,
    /// Requests that are on disk as used and have not been accepted yet.
    reserved: u32,
    last_used: Timestamp,
    /// When the window and the last use were last stored.
    stored_at: Option<Timestamp>,
    /// When it was read from the database.
    read_at: Instant,
}

impl Key {
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock()
    }
}

/// The keys in use, by the hash of their text.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    keys: RwLock<HashMap<[u8; 32], Arc<Key>>>,
    /// Counts changes, so that a key that was read before one is not kept after it.
    generation: AtomicU64,
}

impl KeyCache {
    pub(super) fn set_plan(&self, company: CompanyId, plan: Plan) {
        let keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.values().filter(|key| key.company == company).for_each(|key| key.live().plan = plan);
    }

    /// Forgets all keys: another node has changed some.
    #[cfg(feature = "postgres")]
    pub(crate) fn forget_all(&self) {
        let mut keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.clear();
    }

    pub(super) fn forget(&self, id: KeyId) {
        let mut keys = self.keys.write();
        self.generation.fetch_add(1, Ordering::SeqCst);
        keys.retain(|_, key| {
            if key.id == id {
                key.live().revoked = true;
            }
            key.id != id
        });
    }

    fn get(&self, hash: &[u8; 32]) -> Option<Arc<Key>> {
        self.keys.read().get(hash).cloned()
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Keeps a key that was read at a generation; `None` where it may be outdated. Whoever was first stays, but where the
    /// database is shared, for as long as it is believed.
    fn keep(&self, hash: [u8; 32], key: Key, generation: u64, is_shared: bool) -> Option<Arc<Key>> {
        let mut keys = self.keys.write();
        if self.generation() != generation {
            return None;
        }
        if is_shared && keys.get(&hash).is_some_and(|known| known.live().is_stale()) {
            keys.remove(&hash);
        }
        Some(Arc::clone(keys.entry(hash).or_insert_with(|| Arc::new(key))))
    }

    fn all(&self) -> Vec<Arc<Key>> {
        self.keys.read().values().cloned().collect()
    }
}

impl Inner {
    /// Who calls with this key. `None` for a key that is unknown, revoked, or idle for more than 90 days, which
    /// revokes it.
    pub(crate) async fn authenticate(self: &Arc<Self>, text: &str) -> Result<Option<Authenticated>, Error> {
        let hash = sha256(text);
        let is_believed = |key: &Arc<Key>| !self.store.is_shared() || !key.live().is_stale();
        let key = match self.keys.get(&hash).filter(is_believed) {
            Some(key) => key,
            None => match self.load_key(hash).await? {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        let (plan, idle) = {
            let live = key.live();
            if live.revoked {
                return Ok(None);
            }
            (live.plan, self.env.now().as_millis() - live.last_used.as_millis() > IDLE_LIMIT_MS)
        };
        if idle {
            CompanyHandle::new(Arc::clone(self), key.company).keys().revoke(key.id).await?;
            return Ok(None);
        }
        Ok(Some(Authenticated { company: key.company, plan, key }))
    }

    async fn load_key(&self, hash: [u8; 32]) -> Result<Option<Arc<Key>>, Error> {
        loop {
            let generation = self.keys.generation();
            let row = reading!(self.store, |c| keys::find_by_hash(c, &hash))?;
            let Some(row) = row else { return Ok(None) };
            let key = key_from(row, self.env.now())?;
            if let Some(key) = self.keys.keep(hash, key, generation, self.store.is_shared()) {
                return Ok(Some(key));
            }
        }
    }

    /// Counts a request against the key's quota, or refuses it. `None` where the key is not what it was when it was
    /// authenticated.
    pub(crate) async fn admit(&self, caller: &Authenticated) -> Result<Option<Admission>, Error> {
        let key = &caller.key;
        let limit = self.settings.quota;
        #[cfg(feature = "postgres")]
        if self.store.is_shared() {
            return self.admit_shared(key, caller.plan).await;
        }
        loop {
            let now = self.env.now();
            if let Some(admission) = try_admit(&mut key.live(), limit, now) {
                return Ok(Some(admission));
            }
            let _alone = key.reserving.lock().await;
            let block = {
                let mut live = key.live();
                if live.needs_store(limit, now) { live.block(limit, now) } else { continue }
            };
            self.store_use(key, block, now).await?;
            let mut live = key.live();
            live.reserved += block;
            live.stored_at = Some(now);
        }
    }

    /// Writes what the key has used, and `block` requests more that it may use.
    async fn store_use(&self, key: &Key, block: u32, used_at: Timestamp) -> Result<(), Error> {
        let (company, id) = (key.company, key.id);
        let log = {
            let live = key.live();
            quota_log(&live.window, live.reserved + block)
        };
        self.store
            .write(move |tx| {
                Box::pin(async move { keys::set_use(tx.connection(), company, id, used_at, &log).await })
            })
            .await
    }

    /// Stores uses that are in memory only, of keys that would look idle since that instant without them.
    pub(super) async fn store_late_uses(&self, idle_since: Timestamp) -> Result<(), Error> {
        if self.store.is_shared() {
            // Every use is stored as it is counted.
            return Ok(());
        }
        for key in self.keys.all() {
            if key.live().looks_idle(idle_since) {
                let _alone = key.reserving.lock().await;
                let used_at = key.live().last_used;
                self.store_use(&key, 0, used_at).await?;
                key.live().stored_at = Some(used_at);
            }
        }
        Ok(())
    }

    /// Gives back what was reserved and not used: for a clean stop.
    pub(crate) async fn settle_quotas(&self) -> Result<(), Error> {
        if self.store.is_shared() {
            return Ok(());
        }
        for key in self.keys.all() {
            // Not between another request's reservation and its write.
            let _alone = key.reserving.lock().await;
            let used_at = {
                let mut live = key.live();
                live.reserved = 0;
                (live.stored_at.is_some() && !live.revoked).then_some(live.last_used)
            };
            if let Some(used_at) = used_at {
                self.store_use(&key, 0, used_at).await?;
            }
        }
        Ok(())
    }
}

impl Live {
    /// Whether it was read so long ago that another node may have changed it.
    fn is_stale(&self) -> bool {
        self.read_at.elapsed() > BELIEVED_FOR
    }

    /// Whether something must reach the disk before the next request is accepted.
    fn needs_store(&self, limit: u32, now: Timestamp) -> bool {
        let stale = self.stored_at.is_none_or(|at| now.as_millis() - at.as_millis() >= LAST_USE_LAG_MS);
        stale || (limit > 0 && self.reserved == 0)
    }

    /// Whether it was used since that instant, but is stored as last used before it.
    fn looks_idle(&self, idle_since: Timestamp) -> bool {
        !self.revoked && self.last_used >= idle_since && self.stored_at.is_some_and(|at| at < idle_since)
    }

    /// How many requests to reserve.
    fn block(&mut self, limit: u32, now: Timestamp) -> u32 {
        if limit == 0 || self.reserved > 0 {
            return 0;
        }
        let wanted = (limit / BLOCKS).clamp(1, LARGEST_BLOCK);
        match self.window.peek(limit, now) {
            Admission::Accepted { remaining, .. } => wanted.min(remaining + 1),
            Admission::Refused { .. } => 0,
        }
    }
}

/// Decides at once where nothing has to reach the disk first.
fn try_admit(live: &mut Live, limit: u32, now: Timestamp) -> Option<Admission> {
    if limit > 0
        && let refused @ Admission::Refused { .. } = live.window.peek(limit, now)
    {
        return Some(refused);
    }
    if live.needs_store(limit, now) {
        return None;
    }
    live.last_used = now;
    if limit == 0 {
        return Some(Admission::Accepted { remaining: u32::MAX, reset_ms: 0 });
    }
    live.reserved -= 1;
    Some(live.window.admit(limit, now))
}

fn key_from(row: KeyRow, now: Timestamp) -> Result<Key, Error> {
    let KeyRow { company, id, created_at, last_used_at, quota_log } = row;
    let window =
        window_from(&quota_log, now).map_err(|cause| Error::bad_row("api_key", "quota_log", id, cause))?;
    let live = Live {
        plan: company.plan,
        revoked: false,
        window,
        reserved: 0,
        last_used: last_used_at.unwrap_or(created_at),
        stored_at: None,
        read_at: Instant::now(),
    };
    Ok(Key { company: company.id, id, live: Mutex::new(live), reserving: tokio::sync::Mutex::new(()) })
}

/// The window as it is stored: pairs of an instant and how many requests were accepted by then, and last, without
/// an instant, how many may have been accepted since.
fn quota_log(window: &QuotaWindow, reserved: u32) -> String {
    let mut log: Vec<(i64, u32)> = Vec::new();
    for at in window.instants() {
        let at = (at.as_millis() + LOG_GRAIN_MS - 1).div_euclid(LOG_GRAIN_MS) * LOG_GRAIN_MS;
        match log.last_mut() {
            Some((last, count)) if *last == at => *count += 1,
            _ => log.push((at, 1)),
        }
    }
    if reserved > 0 {
        log.push((i64::MAX, reserved));
    }
    // Pairs of numbers always have a JSON form.
    serde_json::to_string(&log).unwrap_or_default()
}

/// Whatever was reserved counts as used just now.
fn window_from(log: &str, now: Timestamp) -> Result<QuotaWindow, serde_json::Error> {
    let log: Vec<(i64, u32)> = serde_json::from_str(log)?;
    let mut window = QuotaWindow::default();
    for (at, count) in log {
        window.count(count as usize, Timestamp::from_millis(at).min(now));
    }
    Ok(window)
}
