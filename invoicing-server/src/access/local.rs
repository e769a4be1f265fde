//! Counting where one process owns the database.
//!
//! What a key has been accepted must survive the process, so requests are reserved on disk in small blocks before they
//! are accepted. A process that dies leaves its blocks counted as used; a clean stop gives the rest back. The count is
//! exact at every moment.

use std::collections::HashMap;

use invoicing_core::{CompanyId, KeyId, QuotaDecision, QuotaWindow, Timestamp};

use super::{Access, Counting, Key, KeyState, Used};
use crate::Error;
use crate::store::{Tables, UNAUDITED};

/// A block of reserved requests is this part of the quota.
const BLOCKS: u32 = 10;
/// Most requests in a block: what a crash can cost a key.
const LARGEST_BLOCK: u32 = 1_000;
/// Grain of the stored window in milliseconds. Instants are rounded up to it, so the window never forgets too early.
const LOG_GRAIN_MS: i64 = 100;
/// Where a stored window has the requests that are only reserved: at the end of time.
const RESERVED: i64 = i64::MAX;

/// The quota window of a key, and the requests that are reserved on disk and have not been accepted yet.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    window: QuotaWindow,
    reserved: u32,
}

impl Reservations {
    /// The window as it was stored, and how many requests were only reserved. No use is known of these.
    fn read(log: &str, now: Timestamp) -> Result<(Self, u32), serde_json::Error> {
        let (mut window, mut reserved) = (QuotaWindow::default(), 0);
        for (at, count) in serde_json::from_str::<Vec<(i64, u32)>>(log)? {
            if at == RESERVED {
                reserved = count;
            } else {
                window.record(count as usize, Timestamp::from_millis(at).min(now));
            }
        }
        Ok((Self { window, reserved: 0 }, reserved))
    }

    /// The window as it was stored. Requests that were only reserved count as used when this process opened the database:
    /// the process that had reserved them accepted none later.
    pub(super) fn from_log(
        log: &str,
        opened_at: Timestamp,
        now: Timestamp,
    ) -> Result<Self, serde_json::Error> {
        let (mut stored, reserved) = Self::read(log, now)?;
        stored.window.record(reserved as usize, opened_at.min(now));
        Ok(stored)
    }

    /// With the whole quota used at an instant.
    pub(super) fn used_up(quota: u32, at: Timestamp) -> Self {
        let mut window = QuotaWindow::default();
        window.record(quota as usize, at);
        Self { window, reserved: 0 }
    }

    /// Counts a request, reserved or not.
    pub(super) fn count(&mut self, quota: u32, now: Timestamp) -> QuotaDecision {
        if quota == 0 {
            return QuotaDecision::Accepted { remaining: u32::MAX, reset_ms: 0 };
        }
        let decision = self.window.try_acquire(quota, now);
        if let QuotaDecision::Accepted { .. } = decision {
            self.reserved = self.reserved.saturating_sub(1);
        }
        decision
    }

    /// Requests that count at an instant.
    fn used(&mut self, quota: u32, now: Timestamp) -> Used {
        // Drops what has left the window.
        self.window.peek(quota, now);
        let requests = u32::try_from(self.window.instants().count()).unwrap_or(u32::MAX);
        Used::since(requests, self.window.instants().next())
    }

    /// The window as it is stored: pairs of an instant and how many requests were accepted by then; last, at the end of
    /// time, how many are reserved.
    fn to_log(&self, block: u32) -> String {
        let mut log: Vec<(i64, u32)> = Vec::new();
        for at in self.window.instants() {
            let at = (at.as_millis() + LOG_GRAIN_MS - 1).div_euclid(LOG_GRAIN_MS) * LOG_GRAIN_MS;
            match log.last_mut() {
                Some((last, count)) if *last == at => *count += 1,
                _ => log.push((at, 1)),
            }
        }
        let reserved = self.reserved + block;
        if reserved > 0 {
            log.push((RESERVED, reserved));
        }
        // Pairs of numbers always have a JSON form.
        serde_json::to_string(&log).unwrap_or_default()
    }
}

impl Access {
    /// Counts a request against the key's quota, or refuses it.
    pub(super) async fn count_in_memory(&self, key: &Key) -> Result<QuotaDecision, Error> {
        loop {
            {
                let mut state = key.state.lock();
                // Under the lock: an instant from before the wait for it would look like a clock that was set back.
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
            // A failure is that of the other keys.
            let _ = self.note_unnoted().await;
        }
    }

    /// How many requests of each key of a company count: of those in use in memory, of the others as it is stored, without
    /// what was only reserved.
    pub(super) async fn used_in_memory(&self, company: CompanyId) -> Result<HashMap<KeyId, Used>, Error> {
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

    /// Stores what the key has used, and `block` requests more that it may use. `Key::storing` is locked.
    pub(super) async fn store_use(&self, key: &Key, block: u32, used_at: Timestamp) -> Result<(), Error> {
        self.note_found().await?;
        let (id, log) = (key.id, key.state.lock().reservations.to_log(block));
        self.store
            .write(key.company, UNAUDITED, [], async move |mut tx| tx.keys().set_use(id, used_at, &log).await)
            .await?;
        key.state.lock().set_noted(used_at);
        Ok(())
    }

    /// Stores the use of a key if it is in memory only and the key would look idle since that instant without it. A
    /// shared database stores every use as it counts it.
    pub(crate) async fn store_late_use(&self, id: KeyId, idle_since: Timestamp) -> Result<(), Error> {
        let Some(key) = self.keys.by_id(id) else { return Ok(()) };
        if self.counting == Counting::Local && key.state.lock().looks_idle(idle_since) {
            let _storing = key.storing.lock().await;
            let used_at = key.state.lock().last_used;
            self.store_use(&key, 0, used_at).await?;
        }
        Ok(())
    }

    /// Gives back what was reserved and not used: for a clean stop. A shared database reserves nothing.
    pub(crate) async fn release_reservations(&self) -> Result<(), Error> {
        if self.counting != Counting::Local {
            return Ok(());
        }
        for key in self.keys.all() {
            // Not between another request's reservation and its write.
            let _storing = key.storing.lock().await;
            let used_at = {
                let mut state = key.state.lock();
                state.reservations.reserved = 0;
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
    /// Whether something must reach the disk before the next request is accepted.
    fn must_store(&self, quota: u32, now: Timestamp) -> bool {
        self.lags(now) || (quota > 0 && self.reservations.reserved == 0)
    }

    /// Whether it was used since that instant, but is stored as last used before it.
    fn looks_idle(&self, idle_since: Timestamp) -> bool {
        !self.revoked && self.last_used >= idle_since && self.stored_at.is_none_or(|at| at < idle_since)
    }

    /// How many requests to reserve.
    fn next_block(&mut self, quota: u32, now: Timestamp) -> u32 {
        if quota == 0 || self.reservations.reserved > 0 {
            return 0;
        }
        let wanted = (quota / BLOCKS).clamp(1, LARGEST_BLOCK);
        match self.reservations.window.peek(quota, now) {
            QuotaDecision::Accepted { remaining, .. } => wanted.min(remaining + 1),
            QuotaDecision::Refused { .. } => 0,
        }
    }

    /// Decides where nothing has to reach the disk first.
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
