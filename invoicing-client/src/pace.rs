//! The pace of a key: all clones of a client together stay within the quota, at the fastest speed that it allows.
//!
//! Who waits, waits in line; only the head of the line looks at the [`Window`], so that it is fair without a task of its
//! own. Whether a call is repeated, and when, is decided elsewhere: each of its attempts stands in line anew.

mod window;

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use http::HeaderMap;
use tokio::sync::{Notify, Semaphore};

use crate::env::Env;
pub(crate) use window::Quota;
use window::{Sent, Window};

/// What the clones of a client share.
#[derive(Debug)]
pub(crate) struct Pace {
    window: Mutex<Window>,
    /// One permit, handed on in the order in which it was asked for.
    head: Semaphore,
    /// How many stand in line.
    line: AtomicUsize,
    /// A request has ended: a place may be free before its time, or there may be more of them.
    changed: Notify,
}

/// The permission to send one request. Dropped unused, it counts as a request that may have been accepted.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pace: &'a Pace,
    env: &'a dyn Env,
    /// `None` once it is known what became of the request.
    sent: Option<Sent>,
}

/// There is no turn before the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLate {
    /// When there may be one, from now.
    pub(crate) after: Duration,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            window: Mutex::new(Window::new(now)),
            head: Semaphore::new(1),
            line: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    /// Waits for a turn. Fails as soon as it is known that there is none before the deadline; whoever stops waiting
    /// leaves the line. `waits` is told of a wait that begins at the head of the line.
    pub(crate) async fn turn<'a>(
        &'a self,
        env: &'a dyn Env,
        deadline: Instant,
        waits: impl Fn(Duration),
    ) -> Result<Turn<'a>, TooLate> {
        let place = Place::take(&self.line);
        self.in_time(place.ahead, env, deadline)?;
        // Built only when it is needed: whoever is at the head at once does not look at the clock.
        let late = async { env.sleep(deadline.saturating_duration_since(env.now())).await };
        let _head = match select(pin!(self.head.acquire()), pin!(late)).await {
            Either::Left((head, _)) => head,
            Either::Right(_) => return Err(self.too_late(place.ahead, env)),
        };
        loop {
            let now = env.now();
            let sent = self.window().send(now);
            match sent {
                Ok(sent) => return Ok(Turn { pace: self, env, sent: Some(sent) }),
                Err(None) if now >= deadline => return Err(self.too_late(0, env)),
                Err(at) => {
                    self.in_time(0, env, deadline)?;
                    let wait = at.unwrap_or(deadline).saturating_duration_since(now);
                    if at.is_some() {
                        waits(wait);
                    }
                    let opens = async { env.sleep(wait).await };
                    select(pin!(self.changed.notified()), pin!(opens)).await;
                }
            }
        }
    }

    fn in_time(&self, ahead: usize, env: &dyn Env, deadline: Instant) -> Result<(), TooLate> {
        let now = env.now();
        let at = self.window().earliest(ahead, now);
        if at > now && at >= deadline { Err(TooLate { after: at - now }) } else { Ok(()) }
    }

    fn too_late(&self, ahead: usize, env: &dyn Env) -> TooLate {
        let now = env.now();
        TooLate { after: self.window().earliest(ahead, now).saturating_duration_since(now) }
    }

    /// The window. It is consistent between any two statements, so that a panic elsewhere does not matter.
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// The service answered, and counted the request unless the status is 429.
    pub(crate) fn answered(mut self, status: u16, quota: Quota, retry_after: Option<Duration>) {
        if let Some(sent) = self.sent.take() {
            let now = self.env.now();
            let mut window = self.pace.window();
            if status == 429 {
                window.refused(sent, quota, retry_after, now);
            } else {
                window.answered(sent, quota, now);
            }
            drop(window);
            self.pace.changed.notify_one();
        }
    }

    /// The request did not reach the service: its place is free at once.
    pub(crate) fn unsent(mut self) {
        if self.sent.take().is_some() {
            self.pace.window().unsent();
            self.pace.changed.notify_one();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.sent.take().is_some() {
            self.pace.window().given_up(self.env.now());
            self.pace.changed.notify_one();
        }
    }
}

/// A place in the line, left when it is dropped.
struct Place<'a> {
    line: &'a AtomicUsize,
    ahead: usize,
}

impl<'a> Place<'a> {
    fn take(line: &'a AtomicUsize) -> Self {
        Self { line, ahead: line.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.line.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the `RateLimit-*` headers; what is not there or not a number is `None`.
pub(crate) fn quota(headers: &HeaderMap) -> Quota {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u32>().ok();
    Quota {
        limit: number("ratelimit-limit"),
        remaining: number("ratelimit-remaining"),
        reset: number("ratelimit-reset").map(|seconds| Duration::from_secs(seconds.into())),
    }
}

#[cfg(test)]
mod tests;
