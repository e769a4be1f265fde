//! The quota where several nodes share a database: each request is one statement that decides and counts.

use invoicing_core::{Plan, QuotaDecision, QuotaWindow, Timestamp};

use super::{IDLE_LIMIT_MS, Key, LAST_USE_LAG_MS};
use crate::Error;
use crate::invoicing::Inner;
use crate::store::keys::shared::{self, Caller, Counted};
use crate::store::reading;

/// How often it is asked again where the window moves meanwhile.
const TRIES: u32 = 5;

impl Inner {
    /// Counts a request, or refuses it. `None` where the key was revoked or has another plan by now.
    pub(super) async fn admit_shared(&self, key: &Key, plan: Plan) -> Result<Option<QuotaDecision>, Error> {
        let (now, limit) = (self.env.now(), self.settings.quota);
        if limit == 0 {
            self.store_last_use(key, now).await?;
            return Ok(Some(QuotaDecision::Accepted { remaining: u32::MAX, reset_ms: 0 }));
        }
        let idle_since = now.plus_millis(-IDLE_LIMIT_MS);
        let caller = Caller { company: key.company, key: key.id, plan, idle_since };
        for _ in 0..TRIES {
            let now = self.env.now();
            // Where the answer is lost, the request may be counted twice, as if it had been sent again.
            match reading!(self.store, |c| shared::admit(c, caller, limit, now))? {
                Counted::Accepted(mut instants) => {
                    key.live().last_used = now;
                    let this = instants.pop().map_or(now, Timestamp::from_millis);
                    return Ok(Some(window(&instants).try_acquire(limit, this)));
                }
                Counted::Refused(instants) => {
                    let last = last(&instants, now);
                    if let QuotaDecision::Refused { wait_ms } = window(&instants).peek(limit, last) {
                        // The clock has to get there first.
                        let behind = last.as_millis() - now.as_millis();
                        return Ok(Some(QuotaDecision::Refused { wait_ms: wait_ms + behind }));
                    }
                    // The window has moved between the refusal and the look at it: ask again, so that it is counted.
                }
                Counted::Changed => {
                    self.keys.forget_all();
                    return Ok(None);
                }
            }
        }
        Ok(Some(QuotaDecision::Refused { wait_ms: 1 }))
    }

    /// Without a quota there is nothing to count; the last use may lag.
    async fn store_last_use(&self, key: &Key, now: Timestamp) -> Result<(), Error> {
        let is_stored = {
            let mut live = key.live();
            live.last_used = now;
            let lag = live.stored_at.map(|at| now.as_millis() - at.as_millis());
            let is_stored = lag.is_some_and(|lag| lag < LAST_USE_LAG_MS);
            live.stored_at = Some(live.stored_at.filter(|_| is_stored).unwrap_or(now));
            is_stored
        };
        if !is_stored {
            reading!(self.store, |c| shared::set_last_used(c, key.company, key.id, now))?;
        }
        Ok(())
    }
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
