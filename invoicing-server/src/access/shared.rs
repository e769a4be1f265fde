//! Counting where several nodes share the database: one statement decides and counts.

use invoicing_core::{Plan, QuotaDecision, QuotaWindow, Timestamp};

use super::{Access, IDLE_LIMIT_MS, Key, LAST_USE_LAG_MS};
use crate::Error;
use crate::store::ServiceTables;
use crate::store::keys::quota::{Caller, Counted};

/// How often a request is counted again where the window moves between the refusal and its explanation.
const TRIES: u32 = 5;

/// Counts a request, or refuses it. `None` where the key was revoked or the company has another plan by now.
pub(super) async fn count(access: &Access, key: &Key, plan: Plan) -> Result<Option<QuotaDecision>, Error> {
    let quota = access.quota;
    if quota == 0 {
        store_last_use(access, key).await?;
        return Ok(Some(QuotaDecision::Accepted { remaining: u32::MAX, reset_ms: 0 }));
    }
    let idle_since = access.env.now().plus_millis(-IDLE_LIMIT_MS);
    let caller = Caller { company: key.company, key: key.id, plan, idle_since };
    for _ in 0..TRIES {
        let now = access.env.now();
        // Where the answer is lost, the request may be counted twice, as if it had been sent twice.
        let counted = access
            .store
            .read_service(async move |mut tx| tx.keys().count_request(caller, quota, now).await)
            .await?;
        match counted {
            Counted::Accepted(mut instants) => {
                key.state().last_used = now;
                let this = instants.pop().map_or(now, Timestamp::from_millis);
                return Ok(Some(window(&instants).try_acquire(quota, this)));
            }
            Counted::Refused(instants) => {
                let last = last(&instants, now);
                if let QuotaDecision::Refused { wait_ms } = window(&instants).peek(quota, last) {
                    // The clock has to reach the last instant first.
                    let behind = last.as_millis() - now.as_millis();
                    return Ok(Some(QuotaDecision::Refused { wait_ms: wait_ms + behind }));
                }
            }
            Counted::Changed => {
                access.keys.clear();
                return Ok(None);
            }
        }
    }
    Ok(Some(QuotaDecision::Refused { wait_ms: 1 }))
}

/// Without a quota nothing is counted; the stored last use may lag.
async fn store_last_use(access: &Access, key: &Key) -> Result<(), Error> {
    let now = access.env.now();
    let is_stored = {
        let mut state = key.state();
        state.last_used = now;
        let lag = state.stored_at.map(|at| now.as_millis() - at.as_millis());
        let is_stored = lag.is_some_and(|lag| lag < LAST_USE_LAG_MS);
        state.stored_at = Some(state.stored_at.filter(|_| is_stored).unwrap_or(now));
        is_stored
    };
    if !is_stored {
        let (company, id) = (key.company, key.id);
        let stored =
            access.store.read_service(async move |mut tx| tx.keys().set_last_used(company, id, now).await);
        stored.await?;
    }
    Ok(())
}

/// Never before the last instant that was counted, as another node's clock may be ahead of this one's.
fn last(instants: &[i64], now: Timestamp) -> Timestamp {
    instants.last().map_or(now, |last| now.max(Timestamp::from_millis(*last)))
}

fn window(instants: &[i64]) -> QuotaWindow {
    let mut window = QuotaWindow::default();
    for at in instants {
        window.record(1, Timestamp::from_millis(*at));
    }
    window
}
