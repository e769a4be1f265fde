//! Clock, timers and randomness: the only module that accesses them, so that tests can replace them.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use futures_core::future::BoxFuture;

/// The environment of a call, besides the network.
pub(crate) trait Env: fmt::Debug + Send + Sync {
    /// Monotonic time, for deadlines.
    fn now(&self) -> Instant;

    /// Calendar time, for a `Retry-After` that is a date.
    fn wall_clock(&self) -> SystemTime;

    /// 64 random bits, for jitter and request ids; not for secrets.
    fn random(&self) -> u64;

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The system's clock, tokio's timers and the operating system's randomness.
#[derive(Debug)]
pub(crate) struct SystemEnv;

impl Env for SystemEnv {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "the only module that reads the clock")]
    fn wall_clock(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> u64 {
        // If randomness is unavailable, every backoff takes its full length.
        getrandom::u64().unwrap_or(u64::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
