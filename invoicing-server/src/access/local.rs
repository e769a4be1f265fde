//! Counting in memory, for a process that owns the database.
//!
//! Accepted requests must survive the process, so requests are reserved on disk in small blocks
//! before they are accepted. A process that dies leaves its blocks counted as used; a clean stop
//! gives the rest back. The count is exact at every moment.

use std::collections::HashMap;

use invoicing_core::{CompanyId, KeyId, QuotaDecision, Timestamp};

use super::key_cache::{Key, KeyState};
use super::reservations::Reservations;
use super::{Access, Counting, UsedQuota};
use crate::error::Error;
use crate::store::{Tables, UNAUDITED};

/// A block of reserved requests is this part of the quota.
const BLOCKS: u32 = 10;
/// Maximum number of requests in a block, which a crash can cost a key.
const LARGEST_BLOCK: u32 = 1_000;

impl Access {
    /// Counts a request against the key's quota, or refuses it.
    pub(super) async fn count_in_memory(&self, key: &Key) -> Result<QuotaDecision, Error> {
        loop {
            {
                let mut state = key.state.lock();
                // Under the lock: an instant from before the wait for it would look like a clock
                // that was set back.
                if let Some(decision) = state.try_count(self.quota, self.env.now()) {
                    return Ok(decision);
                }
            }
            let storing = key.storing.lock().await;
            let (now, block) = {
                let mut state = key.state.lock();
                let now = self.env.now();
                // Another request may have stored meanwhile.
                if state.must_store(self.quota, now) {
                    (now, state.next_block(self.quota, now))
                } else {
                    continue;
                }
            };
            if let Some(decision) = self.count_during_pause(key) {
                return Ok(decision);
            }
            if let Err(error) = self.store_use(key, block, now).await {
                return self.count_unnoted(key, error);
            }
            key.state.lock().reservations.reserved += block;
            drop(storing);
            // An error concerns only the other keys: this request is stored.
            let _ = self.note_unnoted().await;
        }
    }

    /// The requests of each key of a company that count: for keys in use by the window in memory,
    /// for the others by the stored one, without requests that were only reserved.
    pub(super) async fn used_in_memory(
        &self,
        company: CompanyId,
    ) -> Result<HashMap<KeyId, UsedQuota>, Error> {
        let logs = self.store.read(company, async |mut tx| tx.keys().quota_logs().await).await?;
        let used = |(id, log): (KeyId, String)| {
            if let Some(key) = self.keys.by_id(id) {
                let mut state = key.state.lock();
                return Ok((id, state.reservations.used(self.quota, self.env.now())));
            }
            let now = self.env.now();
            if let Some(found) = self.found_unnoted() {
                return Ok((id, found.reservations(self.quota).used(self.quota, now)));
            }
            let stored = Reservations::read(&log, now);
            let (mut stored, _) =
                stored.map_err(|cause| Error::bad_row("api_key", "quota_log", id, cause))?;
            Ok((id, stored.used(self.quota, now)))
        };
        logs.into_iter().map(used).collect()
    }

    /// Stores the requests of the key, and reserves `block` more. `Key::storing` is locked.
    pub(super) async fn store_use(&self, key: &Key, block: u32, used_at: Timestamp) -> Result<(), Error> {
        self.note_found().await?;
        let (id, log) = (key.id, key.state.lock().reservations.to_log(block));
        self.store
            .write(key.company, UNAUDITED, [], async move |mut tx| tx.keys().set_use(id, used_at, &log).await)
            .await?;
        key.state.lock().set_noted(used_at);
        Ok(())
    }

    /// Stores the use of a key if it is in memory only and the stored key would look idle since
    /// `idle_since`. A shared database stores every use as it counts it.
    pub(crate) async fn store_late_use(&self, id: KeyId, idle_since: Timestamp) -> Result<(), Error> {
        let Some(key) = self.keys.by_id(id) else { return Ok(()) };
        if self.counting == Counting::Local && key.state.lock().looks_idle(idle_since) {
            let _storing = key.storing.lock().await;
            let used_at = key.state.lock().last_used;
            self.store_use(&key, 0, used_at).await?;
        }
        Ok(())
    }

    /// Gives back the reserved requests that were not used, for a clean stop. A shared database
    /// reserves nothing.
    pub(crate) async fn release_reservations(&self) -> Result<(), Error> {
        if self.counting != Counting::Local {
            return Ok(());
        }
        for key in self.keys.all() {
            // The lock excludes the time between another request's reservation and its write.
            let _storing = key.storing.lock().await;
            let used_at = {
                let mut state = key.state.lock();
                state.reservations.reserved = 0;
                // Only keys that this process has counted: they have a stored or an unnoted use.
                ((state.stored_at.is_some() || state.is_unnoted) && !state.revoked).then_some(state.last_used)
            };
            if let Some(used_at) = used_at {
                self.store_use(&key, 0, used_at).await?;
            }
        }
        self.note_unnoted().await
    }
}

impl KeyState {
    /// True if a write must reach the disk before the next request is accepted.
    fn must_store(&self, quota: u32, now: Timestamp) -> bool {
        self.lags(now) || (quota > 0 && self.reservations.reserved == 0)
    }

    /// True if the key was used since that instant, but its stored last use is before it.
    fn looks_idle(&self, idle_since: Timestamp) -> bool {
        !self.revoked && self.last_used >= idle_since && self.stored_at.is_none_or(|at| at < idle_since)
    }

    /// Number of requests to reserve.
    fn next_block(&mut self, quota: u32, now: Timestamp) -> u32 {
        if quota == 0 || self.reservations.reserved > 0 {
            return 0;
        }
        let wanted = (quota / BLOCKS).clamp(1, LARGEST_BLOCK);
        match self.reservations.window.peek(quota, now) {
            // `remaining` leaves out the request that is being decided.
            QuotaDecision::Accepted { remaining, .. } => wanted.min(remaining + 1),
            QuotaDecision::Refused { .. } => 0,
        }
    }

    /// The decision, or `None` if a write must reach the disk first.
    fn try_count(&mut self, quota: u32, now: Timestamp) -> Option<QuotaDecision> {
        if quota > 0
            && let refused @ QuotaDecision::Refused { .. } = self.reservations.window.peek(quota, now)
        {
            return Some(refused);
        }
        if self.must_store(quota, now) {
            return None;
        }
        self.last_used = now;
        Some(self.reservations.count(quota, now))
    }
}
