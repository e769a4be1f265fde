//! Trying again what cannot be answered at present, for a few seconds.
//!
//! The one place that decides it: after a serialization failure, a deadlock, a lock that was not to be had, a connection
//! that broke, a server that starts or stops.

use std::time::{Duration, Instant};

use crate::Error;
use crate::env::Env;
use crate::error::StatementError;

/// How long something is tried again: longer than a node that stands still may hold a lock, with the default limits.
pub(super) const TRIED_FOR: Duration = Duration::from_secs(8);
/// What is left of that at least for a connection, to whom others have left little.
const LEAST: Duration = Duration::from_secs(1);
/// The first pause between two tries; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why a try came to nothing.
pub(super) enum Failed {
    /// It was refused, or failed for good.
    ForGood(Error),
    /// It may go better the next time. Nothing was committed.
    ForNow(Error),
}

impl Failed {
    /// Whether the same may go better the next time. A pool that has no connection to give has waited long enough.
    pub(super) fn of(error: impl Into<Error>) -> Self {
        let error = error.into();
        let is_passing = match &error {
            Error::StorageUnavailable(cause) => {
                cause.downcast_ref::<sqlx::Error>().is_some_and(is_passing)
                    || cause
                        .downcast_ref::<StatementError>()
                        .is_some_and(|refused| is_passing_code(&refused.code))
            }
            _ => false,
        };
        if is_passing { Self::ForNow(error) } else { Self::ForGood(error) }
    }
}

/// The tries of one call.
pub(in crate::store) struct Tries {
    begun: Instant,
    pause: Duration,
}

impl Tries {
    /// Those of what was asked for then.
    pub(in crate::store) fn since(begun: Instant) -> Self {
        Self { begun, pause: FIRST_PAUSE }
    }

    /// How long a connection may be waited for.
    pub(super) fn left(&self) -> Duration {
        TRIED_FOR.saturating_sub(self.begun.elapsed()).max(LEAST)
    }

    /// Waits before the next try; fails where there is to be none.
    pub(super) async fn again(&mut self, env: &Env, failed: Failed) -> Result<(), Error> {
        let error = match failed {
            Failed::ForNow(error) if self.begun.elapsed() + self.pause <= TRIED_FOR => error,
            Failed::ForNow(error) | Failed::ForGood(error) => return Err(error),
        };
        tracing::debug!(error = &error as &dyn std::error::Error, "the database is asked again");
        // Up to half as long again, so that those who got into each other's way do not do so again.
        let [chance] = env.bytes::<1>();
        tokio::time::sleep(self.pause + self.pause * u32::from(chance) / 512).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

/// SQLSTATE classes and codes (PostgreSQL, appendix A) that say that the server rolled back and that it may go better.
const PASSING: [&str; 10] = [
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

fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => is_passing_code(&error.code().unwrap_or_default()),
        _ => false,
    }
}

fn is_passing_code(code: &str) -> bool {
    PASSING.iter().any(|passing| code.starts_with(passing))
}
