//! Authentication and quota: which company a key belongs to, and whether its next request is
//! accepted.
//!
//! Keys in use are kept in memory. If one process owns the database, their quota windows are in
//! memory too ([`local`]). If several nodes share the database, it counts each request
//! ([`shared`]), and a key in memory is used for a few seconds only.

mod key_cache;
mod local;
mod lookup;
mod reservations;
#[cfg(feature = "postgres")]
mod shared;
mod unknown;
mod unnoted;

use std::collections::HashMap;
use std::sync::Arc;

use invoicing_core::{CompanyId, KeyId, Plan, QUOTA_WINDOW_MS, QuotaDecision, Timestamp};

use crate::env::Env;
use crate::error::Error;
use crate::secret::{is_api_key, sha256};
use crate::store::keys::ActiveKeyRow;
use crate::store::{Store, UNAUDITED};
use key_cache::Key;
pub(crate) use key_cache::KeyCache;
pub(crate) use lookup::Lookup;
pub(crate) use unnoted::Unnoted;

/// A key that was not used for longer than this is revoked: 90 days in milliseconds.
pub(crate) const IDLE_LIMIT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;
/// Maximum number of reads of a key that another node is changing.
const MAX_READS: u32 = 5;

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

/// The requests that count in the quota of a key now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsedQuota {
    pub(crate) requests: u32,
    /// When the oldest of them stops counting; `None` without any.
    pub(crate) oldest_until: Option<Timestamp>,
}

impl UsedQuota {
    /// `requests` requests, the oldest of which was accepted at `oldest`.
    fn since(requests: u32, oldest: Option<Timestamp>) -> Self {
        // A request still counts in the last millisecond of its window.
        Self { requests, oldest_until: oldest.map(|at| at.plus_millis(QUOTA_WINDOW_MS + 1)) }
    }
}

/// The place where requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    /// In memory: this process owns the database.
    Local,
    /// In the database, which other nodes use too.
    #[cfg(feature = "postgres")]
    Shared,
}

/// The authentication of requests by their keys, and the quotas of these.
pub(crate) struct Access {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Env,
    /// When this process opened the database.
    pub(crate) opened_at: Timestamp,
    /// Requests per key and minute; 0 for no quota.
    pub(crate) quota: u32,
    pub(crate) counting: Counting,
    /// The keys in use, shared with the listener to changes.
    pub(crate) keys: Arc<KeyCache>,
    /// The look-up of all other keys.
    pub(crate) lookup: Lookup<ActiveKeyRow>,
    /// Requests that could not be stored.
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
    /// The key that a request carries; `None` for an unknown one. Costs nothing for a text that
    /// cannot be a key.
    ///
    /// # Errors
    /// `Overloaded` if too many keys are being looked up.
    pub(crate) async fn identify(&self, text: &str) -> Result<Option<PresentedKey>, Error> {
        if !is_api_key(text) {
            return Ok(None);
        }
        let hash = sha256(text);
        Ok(self.find(hash).await?.map(|key| PresentedKey { hash, key }))
    }

    /// Decides on a request with this key, and counts it.
    pub(crate) async fn admit(&self, PresentedKey { hash, mut key }: PresentedKey) -> Result<Verdict, Error> {
        for _ in 0..MAX_READS {
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
        Err(Error::internal("the key or its plan changed during each read"))
    }

    /// The requests of each key of a company that count in its quota now. The call itself is not
    /// counted.
    pub(crate) async fn used(&self, company: CompanyId) -> Result<HashMap<KeyId, UsedQuota>, Error> {
        if self.quota == 0 {
            return Ok(HashMap::new());
        }
        match self.counting {
            Counting::Local => self.used_in_memory(company).await,
            #[cfg(feature = "postgres")]
            Counting::Shared => self.used_in_database(company).await,
        }
    }

    /// The plan of the key's company, if the key may be used.
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
            // Read before the look-up, so that `insert` notices a change during the look-up.
            let (generation, is_known) = (self.keys.generation(), self.keys.holds(&hash));
            let unnoted = self.found_unnoted();
            let Some(row) = self.lookup.find(hash, is_known).await? else {
                if is_known {
                    self.keys.remove(&hash);
                }
                self.keys.insert_unknown(hash, generation);
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

    /// Counts a request against the key's quota, or refuses it. `None` if the key or the plan has
    /// changed since the authentication.
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
