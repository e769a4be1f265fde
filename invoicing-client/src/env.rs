//! Time, waiting and chance: the only place of the crate that reaches for any of them.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use futures_core::future::BoxFuture;

/// What a call needs besides the network.
pub(crate) trait Env: fmt::Debug + Send + Sync {
    /// Monotonic time, for deadlines.
    fn now(&self) -> Instant;

    /// Calendar time, to read a `Retry-After` that is a date.
    fn wall_clock(&self) -> SystemTime;

    /// 64 random bits, for jitter and request ids; not for secrets.
    fn random(&self) -> u64;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The real thing.
#[derive(Debug)]
pub(crate) struct SystemEnv;

impl Env for SystemEnv {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the clock")]
    fn wall_clock(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> u64 {
        // Without randomness a call still works: every backoff then takes its full length.
        getrandom::u64().unwrap_or(u64::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
