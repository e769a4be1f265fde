//! Client-side rate limiting: all clones of a client share the key's quota and use it as fast as it allows.
//!
//! Calls queue in the order of arrival. Only the first in the queue consults the [`QuotaEstimate`], which makes the
//! limiter fair without a background task. Each retry queues again; `retry` decides whether there is one.

mod quota_estimate;

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::env::Env;
pub(crate) use quota_estimate::RateLimitHeaders;
use quota_estimate::{QuotaEstimate, SentRequest};

/// Shared by all clones of a client.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    estimate: Mutex<QuotaEstimate>,
    /// One permit, granted in the order of the requests for it: its holder is the head of the queue.
    head: Semaphore,
    queued: AtomicUsize,
    /// Signals that a request has ended: capacity may be free early, or the limit may have changed.
    changed: Notify,
}

/// Permission to send one request. If it is dropped unused, the request counts as possibly accepted.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    limiter: &'a RateLimiter,
    env: &'a dyn Env,
    /// `None` once the outcome of the request is recorded.
    sent: Option<SentRequest>,
}

/// The quota has no capacity before the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoPermit {
    /// Time until there may be capacity.
    pub(crate) after: Duration,
}

impl RateLimiter {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            estimate: Mutex::new(QuotaEstimate::new(now)),
            head: Semaphore::new(1),
            queued: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    /// Waits for permission to send. Fails as soon as none is possible before the deadline.
    ///
    /// Dropping the future leaves the queue. `on_wait` is called when a wait at the head of the queue begins or is extended.
    pub(crate) async fn acquire<'a>(
        &'a self,
        env: &'a dyn Env,
        deadline: Instant,
        on_wait: impl Fn(Duration),
    ) -> Result<Permit<'a>, NoPermit> {
        let slot = QueueSlot::take(&self.queued);
        self.check_deadline(slot.ahead, env, deadline)?;
        // The timer is created lazily: a call that is first in the queue does not read the clock for it.
        let expired = async { env.sleep(deadline.saturating_duration_since(env.now())).await };
        let _head = match select(pin!(self.head.acquire()), pin!(expired)).await {
            Either::Left((head, _)) => head,
            Either::Right(_) => return Err(self.no_permit(slot.ahead, env)),
        };
        let mut reported = None;
        loop {
            let now = env.now();
            let sent = self.estimate.lock().try_send(now);
            match sent {
                Ok(sent) => return Ok(Permit { limiter: self, env, sent: Some(sent) }),
                Err(None) if now >= deadline => return Err(self.no_permit(0, env)),
                Err(at) => {
                    self.check_deadline(0, env, deadline)?;
                    let wait = at.unwrap_or(deadline).saturating_duration_since(now);
                    if at > reported {
                        reported = at;
                        on_wait(wait);
                    }
                    let waited = async { env.sleep(wait).await };
                    select(pin!(self.changed.notified()), pin!(waited)).await;
                }
            }
        }
    }

    fn check_deadline(&self, ahead: usize, env: &dyn Env, deadline: Instant) -> Result<(), NoPermit> {
        let now = env.now();
        let at = self.estimate.lock().earliest_send(ahead, now);
        if at > now && at >= deadline { Err(NoPermit { after: at - now }) } else { Ok(()) }
    }

    fn no_permit(&self, ahead: usize, env: &dyn Env) -> NoPermit {
        let now = env.now();
        let at = self.estimate.lock().earliest_send(ahead, now);
        NoPermit { after: at.saturating_duration_since(now) }
    }
}

impl Permit<'_> {
    /// Records a response. The service has counted the request unless the status is 429.
    pub(crate) fn answered(mut self, status: u16, headers: RateLimitHeaders, retry_after: Option<Duration>) {
        if let Some(sent) = self.sent.take() {
            let now = self.env.now();
            let mut estimate = self.limiter.estimate.lock();
            if status == 429 {
                estimate.refused(sent, headers, retry_after, now);
            } else {
                estimate.answered(sent, (200..300).contains(&status), headers, now);
            }
            drop(estimate);
            self.limiter.changed.notify_one();
        }
    }

    /// Records that the request never reached the service: its capacity is free at once.
    pub(crate) fn not_sent(mut self) {
        if self.sent.take().is_some() {
            self.limiter.estimate.lock().not_sent();
            self.limiter.changed.notify_one();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.sent.take().is_some() {
            self.limiter.estimate.lock().abandoned(self.env.now());
            self.limiter.changed.notify_one();
        }
    }
}

/// A place in the queue, released on drop.
struct QueueSlot<'a> {
    queued: &'a AtomicUsize,
    ahead: usize,
}

impl<'a> QueueSlot<'a> {
    fn take(queued: &'a AtomicUsize) -> Self {
        Self { queued, ahead: queued.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the `RateLimit-*` headers. A missing or malformed one is `None`, but a malformed limit is 0: there is one.
pub(crate) fn rate_limit_headers(headers: &HeaderMap) -> RateLimitHeaders {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u32>().ok();
    RateLimitHeaders {
        limit: headers.contains_key("ratelimit-limit").then(|| number("ratelimit-limit").unwrap_or(0)),
        remaining: number("ratelimit-remaining"),
        reset: number("ratelimit-reset").map(|seconds| Duration::from_secs(seconds.into())),
    }
}

#[cfg(test)]
mod tests;
