//! Clock and randomness: the only module that reads either.
//!
//! All other code gets an [`Env`], so that a host can test expiry, retries, idle keys and quota
//! windows in milliseconds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use invoicing_core::Timestamp;
use uuid::Uuid;

use crate::telemetry::Metrics;

/// A source of the time.
pub trait Clock: Send + Sync {
    /// The current instant. It may go backwards: modification stamps and quota windows do not.
    fn now(&self) -> Timestamp;

    /// True if the service corrects this clock by the clock of its PostgreSQL database, so that
    /// leases, due times and quotas mean the same instant on all nodes. `true` for [`SystemClock`];
    /// a clock for tests is not corrected.
    fn follows_database(&self) -> bool {
        false
    }
}

/// A source of unpredictable bytes, for ids, keys, secrets and links.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// Clock and randomness of a service. Cheap to clone.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// Time of the last identifier in milliseconds, shifted by 12 bits; the lower 12 bits count
    /// within a millisecond.
    last_id: Arc<AtomicU64>,
    /// The correction that is added to the clock, in milliseconds.
    correction: Arc<AtomicI64>,
    metrics: Metrics,
}

impl Env {
    /// The system's clock and the operating system's randomness.
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRandom))
    }

    /// A clock and a source of randomness that the host chooses. Predictable randomness exposes
    /// keys, secrets and signing links: it is for tests and demonstrations only.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            clock,
            random,
            last_id: Arc::default(),
            correction: Arc::default(),
            metrics: Metrics::default(),
        }
    }

    /// This environment with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The current instant, corrected.
    pub fn now(&self) -> Timestamp {
        self.clock.now().plus_millis(self.correction.load(Ordering::Relaxed))
    }

    /// This environment for one service: with a separate correction, as a service must not shift
    /// the clock of another one, and with its metrics.
    pub(crate) fn of_service(self, metrics: Metrics) -> Self {
        Self { correction: Arc::default(), metrics, ..self }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The correction of the clock, in milliseconds.
    #[cfg(feature = "postgres")]
    pub(crate) fn correction(&self) -> i64 {
        self.correction.load(Ordering::Relaxed)
    }

    /// Corrects the clock by `millis` milliseconds, if it follows the database. Returns true if it
    /// does.
    #[cfg(feature = "postgres")]
    pub(crate) fn correct(&self, millis: i64) -> bool {
        let follows = self.clock.follows_database();
        if follows {
            self.correction.fetch_add(millis, Ordering::Relaxed);
        }
        follows
    }

    /// A new `UUIDv7`, greater than every earlier one of this environment. Records sorted by id are
    /// therefore sorted by creation, even within a millisecond (RFC 9562, section 6.2).
    pub fn uuid(&self) -> Uuid {
        let now = u64::try_from(self.now().as_millis()).unwrap_or(0) << 12;
        let next = |last: u64| now.max(last + 1);
        let last = self.last_id.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        let id = next(last.unwrap_or_else(|last| last));
        self.uuid_of(id >> 12, id)
    }

    /// A `UUIDv7` for a given instant. `order` (0 to 4095) sorts identifiers of the same instant.
    pub(crate) fn uuid_at(&self, at: Timestamp, order: u16) -> Uuid {
        self.uuid_of(u64::try_from(at.as_millis()).unwrap_or(0), u64::from(order))
    }

    /// Builds a `UUIDv7` from the time, the lower 12 bits of `order`, and random bits.
    fn uuid_of(&self, millis: u64, order: u64) -> Uuid {
        let [.., high, low] = order.to_be_bytes();
        let mut rest: [u8; 10] = self.bytes();
        [rest[0], rest[1]] = [high, low];
        uuid::Builder::from_unix_timestamp_millis(millis, &rest).into_uuid()
    }

    /// Unpredictable bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn follows_database(&self) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy)]
struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads system randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            // Continuing would issue predictable secrets.
            panic!("the operating system provides no randomness: {error}");
        }
    }
}

/// A clock that a test sets, in milliseconds.
///
/// ```
/// use std::time::Duration;
///
/// use invoicing_server::{Env, Invoicing, ManualClock};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let database = folder.path().join("invoicing.db");
/// let clock = ManualClock::at("2026-09-14T09:00:00Z".parse()?);
/// let invoicing = Invoicing::sqlite(database).env(Env::system().with_clock(clock.clone())).open().await?;
///
/// clock.advance(Duration::from_hours(24 * 31)); // quotes without an answer expire
/// println!("{} quotes expired", invoicing.sweep().await?.expired_quotes);
/// # Ok(()) }
/// ```
#[cfg(any(test, feature = "testing"))]
#[derive(Debug)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

#[cfg(any(test, feature = "testing"))]
impl ManualClock {
    /// A clock that shows `instant` until it is changed.
    pub fn at(instant: Timestamp) -> Arc<Self> {
        Arc::new(Self(instant.as_millis().into()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: std::time::Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
    }

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, instant: Timestamp) {
        self.0.store(instant.as_millis(), std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_even_when_the_clock_is_set_back() {
        let clock = ManualClock::at(Timestamp::from_millis(1_789_378_867_123));
        let env = Env::system().with_clock(clock.clone());
        let mut ids: Vec<Uuid> = (0..10_000).map(|_| env.uuid()).collect();
        clock.set(Timestamp::from_millis(1_789_378_860_000));
        ids.extend((0..10).map(|_| env.uuid()));
        clock.set(Timestamp::from_millis(1_789_378_900_000));
        ids.push(env.uuid());
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        let millis = |id: &Uuid| id.get_timestamp().unwrap().to_unix();
        assert_eq!(millis(&ids[0]), (1_789_378_867, 123_000_000));
        assert_eq!(millis(ids.last().unwrap()), (1_789_378_900, 0));
    }
}
