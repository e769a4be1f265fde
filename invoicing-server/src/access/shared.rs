//! Counting in a database that several nodes share (PostgreSQL): one statement of `keys::quota`
//! decides and counts.

use std::collections::HashMap;

use invoicing_core::{CompanyId, KeyId, Plan, QuotaDecision, QuotaWindow, Timestamp};

use super::key_cache::{Key, KeyState};
use super::{Access, IDLE_LIMIT_MS, UsedQuota};
use crate::error::Error;
use crate::store::Tables;
use crate::store::keys::quota::{Caller, Counted};

impl Access {
    /// Counts a request, or refuses it. `None` if the key was revoked or the plan of the company
    /// has changed.
    pub(super) async fn count_in_database(
        &self,
        key: &Key,
        plan: Plan,
    ) -> Result<Option<QuotaDecision>, Error> {
        let quota = self.quota;
        if quota == 0 {
            self.store_last_use(key).await?;
            return Ok(Some(QuotaDecision::Accepted { remaining: u32::MAX, reset_ms: 0 }));
        }
        let now = self.env.now();
        if let Some(refused) = key.state.lock().pending_refusal(now) {
            return Ok(Some(refused));
        }
        let idle_since = now.plus_millis(-IDLE_LIMIT_MS);
        let caller = Caller { key: key.id, plan, idle_since };
        // One statement needs no transaction. If its answer is lost, the store runs it again, so
        // the request may be counted twice, as if it had been sent twice.
        let counting = self
            .store
            .read(key.company, async move |mut tx| tx.keys().count_request(caller, quota, now).await);
        match counting.await? {
            Counted::Accepted(mut instants) => {
                key.state.lock().last_used = now;
                let this = instants.pop().map_or(now, Timestamp::from_millis);
                Ok(Some(window(&instants).try_acquire(quota, this)))
            }
            Counted::Refused(instants) => {
                // Never before the last instant that was counted, as another node's clock may be
                // ahead of this one's.
                let last = instants.last().map_or(now, |last| now.max(Timestamp::from_millis(*last)));
                // The clock has to reach the last instant first.
                let behind = last.as_millis() - now.as_millis();
                let wait_ms = match window(&instants).peek(quota, last) {
                    QuotaDecision::Refused { wait_ms } => wait_ms + behind,
                    // Another node has moved the window since the refusal, so the next request may
                    // pass.
                    QuotaDecision::Accepted { .. } => 1,
                };
                key.state.lock().refused_until = Some(now.plus_millis(wait_ms));
                Ok(Some(QuotaDecision::Refused { wait_ms }))
            }
            Counted::Changed => {
                self.keys.mark_stale();
                Ok(None)
            }
        }
    }

    pub(super) async fn used_in_database(
        &self,
        company: CompanyId,
    ) -> Result<HashMap<KeyId, UsedQuota>, Error> {
        let now = self.env.now();
        let rows = self.store.read(company, async move |mut tx| tx.keys().used(now).await).await?;
        Ok(rows.into_iter().map(|(id, requests, oldest)| (id, UsedQuota::since(requests, oldest))).collect())
    }

    /// Without a quota nothing is counted; the stored last use may lag.
    async fn store_last_use(&self, key: &Key) -> Result<(), Error> {
        let now = self.env.now();
        {
            let mut state = key.state.lock();
            state.last_used = now;
            if !state.lags(now) {
                return Ok(());
            }
            state.stored_at = Some(now);
        }
        let id = key.id;
        // One statement needs no transaction.
        self.store.read(key.company, async move |mut tx| tx.keys().set_last_used(id, now).await).await
    }
}

impl KeyState {
    /// The last refusal, if it has not ended.
    fn pending_refusal(&self, now: Timestamp) -> Option<QuotaDecision> {
        let wait_ms = self.refused_until?.as_millis() - now.as_millis();
        (wait_ms > 0).then_some(QuotaDecision::Refused { wait_ms })
    }
}

fn window(instants: &[i64]) -> QuotaWindow {
    let mut window = QuotaWindow::default();
    for at in instants {
        window.record(1, Timestamp::from_millis(*at));
    }
    window
}
