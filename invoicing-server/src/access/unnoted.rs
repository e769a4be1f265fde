//! Requests that are counted in memory alone, while the database cannot be written: a full disk
//! must not end reads.
//!
//! Before the first of them is accepted, a mark is stored that needs no room. It stays until all of
//! them are stored. If a starting process finds the mark, the previous process did not store them.
//! So it counts the quota of each key as used at that moment, and that moment as each key's last
//! use.
//!
//! Such a request is counted while `Key::storing` and the state of [`Unnoted`] are locked, and the
//! mark is cleared under the lock of that state. So the mark exists as long as there is such a
//! request.

use std::time::{Duration, Instant};

use invoicing_core::{QuotaDecision, Timestamp};
use parking_lot::Mutex;

use super::key_cache::{Key, KeyState};
use super::reservations::Reservations;
use super::{Access, Counting, IDLE_LIMIT_MS};
use crate::error::Error;
use crate::store::{ServiceTables, ServiceTx};

/// Pause between a failed write and the next one.
const PAUSE: Duration = Duration::from_secs(1);

/// The requests that are counted in memory alone, and the mark that the previous process has left.
#[derive(Debug, Default)]
pub(crate) struct Unnoted {
    state: Mutex<UnnotedState>,
    /// Held while the requests of the previous process are being stored.
    noting: tokio::sync::Mutex<()>,
}

/// The state of [`Unnoted`], behind its lock.
#[derive(Debug, Default)]
struct UnnotedState {
    /// True if the mark is stored.
    is_marked: bool,
    /// When a write failed last.
    failed_at: Option<Instant>,
    found: Option<FoundMark>,
}

/// A mark of the previous process.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundMark {
    /// The instant from which on it may have accepted requests without storing them.
    since: Timestamp,
    /// When this process started.
    started: Timestamp,
}

impl Access {
    /// Takes over the mark of the previous process.
    pub(crate) async fn take_over_unnoted(&self) {
        let Some(mark) = self.store.mark() else { return };
        let Some(since) = mark.found() else { return };
        let found = FoundMark { since, started: self.env.now() };
        {
            let mut unnoted = self.unnoted.state.lock();
            (unnoted.is_marked, unnoted.found) = (true, Some(found));
        }
        tracing::warn!(%since, "the previous process may have accepted requests unstored: each quota counts as used");
        if let Err(error) = self.note_unnoted().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "used quotas not stored; the next accepted request of a key or the next sweep stores them"
            );
        }
    }

    /// The mark of the previous process, until its requests are stored.
    pub(super) fn found_unnoted(&self) -> Option<FoundMark> {
        self.unnoted.state.lock().found
    }

    /// Counts a request in memory alone, if a write has just failed. `Key::storing` is locked.
    pub(super) fn count_during_pause(&self, key: &Key) -> Option<QuotaDecision> {
        let unnoted = self.unnoted.state.lock();
        let is_pause = unnoted.is_marked && unnoted.failed_at.is_some_and(|at| at.elapsed() < PAUSE);
        is_pause.then(|| key.state.lock().count_unnoted(self.quota, self.env.now()))
    }

    /// Counts a request in memory alone, as its key could not be stored. `Key::storing` is locked.
    ///
    /// # Errors
    /// The store's error, if the mark cannot be stored.
    pub(super) fn count_unnoted(&self, key: &Key, error: Error) -> Result<QuotaDecision, Error> {
        let (Error::StorageUnavailable(_), Some(mark)) = (&error, self.store.mark()) else {
            return Err(error);
        };
        let mut unnoted = self.unnoted.state.lock();
        let now = self.env.now();
        if !unnoted.is_marked {
            if mark.set(now).is_err() {
                return Err(error);
            }
            unnoted.is_marked = true;
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "database not writable; uses of keys are counted in memory until it is");
        }
        unnoted.failed_at = Some(Instant::now());
        Ok(key.state.lock().count_unnoted(self.quota, now))
    }

    /// Stores the requests that were counted in memory alone, and clears the mark.
    ///
    /// # Errors
    /// The database still cannot be written.
    pub(crate) async fn note_unnoted(&self) -> Result<(), Error> {
        if self.counting != Counting::Local || !self.unnoted.state.lock().is_marked {
            return Ok(());
        }
        let noted = self.note_all().await;
        let mut unnoted = self.unnoted.state.lock();
        if noted.is_err() {
            unnoted.failed_at = Some(Instant::now());
            return noted;
        }
        let is_left =
            unnoted.found.is_some() || self.keys.all().iter().any(|key| key.state.lock().is_unnoted);
        if unnoted.is_marked && !is_left && self.store.mark().is_some_and(|mark| mark.clear().is_ok()) {
            unnoted.is_marked = false;
            tracing::info!("database writable again; all uses of keys are stored");
        }
        Ok(())
    }

    /// Stores the requests of the previous process. Comes first, because it replaces the stored use
    /// of each key.
    pub(super) async fn note_found(&self) -> Result<(), Error> {
        let _noting = self.unnoted.noting.lock().await;
        let Some(FoundMark { since, started }) = self.found_unnoted() else { return Ok(()) };
        let (quota, idle_before) = (self.quota, since.plus_millis(-IDLE_LIMIT_MS));
        let set = async move |tx: ServiceTx<'_>| tx.keys().set_all_used(started, quota, idle_before).await;
        self.store.write_service(set).await?;
        self.unnoted.state.lock().found = None;
        Ok(())
    }

    async fn note_all(&self) -> Result<(), Error> {
        self.note_found().await?;
        for key in self.keys.all() {
            let _storing = key.storing.lock().await;
            let used_at = {
                let state = key.state.lock();
                state.is_unnoted.then_some(state.last_used)
            };
            if let Some(used_at) = used_at {
                self.store_use(&key, 0, used_at).await?;
            }
        }
        Ok(())
    }
}

impl FoundMark {
    /// Applies the mark to a key that may have been read before its requests were stored.
    pub(super) fn apply(self, state: &mut KeyState, quota: u32) {
        if self.since.as_millis() - state.last_used.as_millis() <= IDLE_LIMIT_MS {
            state.last_used = state.last_used.max(self.started);
        }
        state.reservations = self.reservations(quota);
    }

    /// The window of a key under this mark: its whole quota is used.
    pub(super) fn reservations(self, quota: u32) -> Reservations {
        Reservations::used_up(quota, self.started)
    }
}

impl KeyState {
    fn count_unnoted(&mut self, quota: u32, now: Timestamp) -> QuotaDecision {
        let decision = self.reservations.count(quota, now);
        if let QuotaDecision::Accepted { .. } = decision {
            self.last_used = now;
            self.is_unnoted = true;
        }
        decision
    }

    /// Marks the use at that instant as stored, with all requests that were counted until then.
    pub(super) fn set_noted(&mut self, used_at: Timestamp) {
        self.stored_at = Some(used_at);
        self.is_unnoted = false;
    }
}
