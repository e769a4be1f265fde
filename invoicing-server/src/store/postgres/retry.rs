//! Retries of transient failures, for a few seconds.
//!
//! The one place that decides what is retried: serialization failures, deadlocks, lock timeouts, broken connections, a
//! server that starts or stops.

use std::time::{Duration, Instant};

use crate::Error;
use crate::env::Env;
use crate::error::Refused;

/// How long a call is retried: longer than a node that stands still may hold a lock, with the default limits.
pub(super) const RETRY_FOR: Duration = Duration::from_secs(8);
/// Shortest wait for a connection, however little of that is left.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The first pause between two tries; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why a try failed.
pub(super) enum Failure {
    /// A retry would fail as well, or could do the same twice.
    Permanent(Error),
    /// A retry may succeed. Nothing was committed.
    Transient(Error),
}

impl Failure {
    /// Classifies an error. A timeout of the pool is permanent: the call has waited long enough.
    pub(super) fn of(error: impl Into<Error>) -> Self {
        let error = error.into();
        let is_transient = match &error {
            Error::StorageUnavailable(cause) => {
                cause.downcast_ref::<sqlx::Error>().is_some_and(is_transient)
                    || cause.downcast_ref::<Refused>().is_some_and(|refused| is_transient_code(&refused.code))
            }
            _ => false,
        };
        if is_transient { Self::Transient(error) } else { Self::Permanent(error) }
    }
}

/// The pauses between the tries of one call.
pub(in crate::store) struct Backoff {
    begun: Instant,
    pause: Duration,
}

impl Backoff {
    /// For a call that began then.
    pub(in crate::store) fn since(begun: Instant) -> Self {
        Self { begun, pause: FIRST_PAUSE }
    }

    /// How long to wait for a connection.
    pub(super) fn left(&self) -> Duration {
        RETRY_FOR.saturating_sub(self.begun.elapsed()).max(SHORTEST_WAIT)
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The failure itself where it is permanent, or the time is over.
    pub(super) async fn wait(&mut self, env: &Env, failure: Failure) -> Result<(), Error> {
        let error = match failure {
            Failure::Transient(error) if self.begun.elapsed() + self.pause <= RETRY_FOR => error,
            Failure::Transient(error) | Failure::Permanent(error) => return Err(error),
        };
        tracing::debug!(error = &error as &dyn std::error::Error, "retry after a transient failure");
        // Jitter of up to one half, so that transactions that collided do not collide again.
        let [chance] = env.bytes::<1>();
        tokio::time::sleep(self.pause + self.pause * u32::from(chance) / 512).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

/// SQLSTATE classes and codes (PostgreSQL, appendix A) after which the server has rolled back and a retry may succeed.
const TRANSIENT: [&str; 10] = [
    "08",    // connection exception
    "40001", // serialization_failure
    "40P01", // deadlock_detected
    "55P03", // lock_not_available
    "57P01", // admin_shutdown
    "57P02", // crash_shutdown
    "57P03", // cannot_connect_now
    "25006", // read_only_sql_transaction: a standby that has not been promoted yet
    "25P03", // idle_in_transaction_session_timeout
    "53300", // too_many_connections
];

fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => is_transient_code(&error.code().unwrap_or_default()),
        _ => false,
    }
}

fn is_transient_code(code: &str) -> bool {
    TRANSIENT.iter().any(|transient| code.starts_with(transient))
}
