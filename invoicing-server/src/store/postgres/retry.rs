//! Retries of transient failures, for a few seconds.
//!
//! The only place that decides which failures are retried: serialization failures, deadlocks, lock
//! timeouts, broken connections, a server that starts or stops. A transaction is retried by the loop
//! in [`transactions`](super::transactions).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::Env;
use crate::error::Error;
use crate::error::StatementError;
use crate::store::call::{Group, shared_error};
use crate::store::group_commit::Failure;

/// Time for which a call is retried: longer than a node that stands still may hold a lock, with the
/// default limits.
const RETRY_FOR: Duration = Duration::from_secs(8);
/// Shortest wait for a connection, even if less of that time is left.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The first pause between two tries; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Classifies an error. A timeout of the pool is permanent: the call has waited long enough.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_transient = match &error {
            Error::StorageUnavailable(cause) => {
                cause.downcast_ref::<sqlx::Error>().is_some_and(is_transient)
                    || cause
                        .downcast_ref::<StatementError>()
                        .is_some_and(|error| is_transient_code(&error.code))
            }
            _ => false,
        };
        if is_transient { Self::Transient(error) } else { Self::Permanent(error) }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Error::from(error).into()
    }
}

/// The calls whose callers still wait. Callers that have waited too long are answered. `cause` is
/// the failure that kept the calls from being committed.
pub(super) fn in_time(calls: Group, cause: Option<&Arc<Error>>) -> Group {
    let wanted = calls.into_iter().filter(|call| call.is_wanted());
    let (in_time, late): (Group, Group) = wanted.partition(|call| has_time(call.begun()));
    for call in late {
        call.answer(Err(match cause {
            Some(cause) => shared_error(cause),
            None => Error::unavailable("too many operations wait for the database"),
        }));
    }
    in_time
}

/// Longest wait for a connection of a call that began at `begun`.
pub(super) fn time_left(begun: Instant) -> Duration {
    RETRY_FOR.saturating_sub(begun.elapsed()).max(SHORTEST_WAIT)
}

/// True if a call that began at `begun` may be tried again.
fn has_time(begun: Instant) -> bool {
    begun.elapsed() <= RETRY_FOR
}

/// The pauses between attempts, each twice as long as the one before.
pub(super) struct Pauses<'e> {
    env: &'e Env,
    next: Duration,
}

impl<'e> Pauses<'e> {
    pub(super) fn new(env: &'e Env) -> Self {
        Self { env, next: FIRST_PAUSE }
    }

    /// Waits, with jitter of up to one half, so that transactions that collided do not collide
    /// again.
    pub(super) async fn wait(&mut self) {
        let [chance] = self.env.bytes::<1>();
        tokio::time::sleep(self.next + self.next * u32::from(chance) / 512).await;
        self.next = (self.next * 2).min(LONGEST_PAUSE);
    }
}

/// Attempts at a call, until one succeeds or fails permanently, or the time is over.
pub(in crate::store) struct Attempts<'e> {
    begun: Instant,
    pauses: Pauses<'e>,
}

impl<'e> Attempts<'e> {
    pub(super) fn new(env: &'e Env) -> Self {
        Self { begun: Instant::now(), pauses: Pauses::new(env) }
    }

    /// Longest wait of the next attempt for a connection.
    pub(in crate::store) fn time_left(&self) -> Duration {
        time_left(self.begun)
    }

    /// The result of the call after an attempt; `None`, after a pause, if another attempt is to be
    /// made.
    pub(in crate::store) async fn ended<T>(
        &mut self,
        result: Result<T, Failure>,
    ) -> Option<Result<T, Error>> {
        let error = match result {
            Ok(value) => return Some(Ok(value)),
            Err(Failure::Transient(error)) if has_time(self.begun) => error,
            Err(failure) => return Some(Err(failure.into_error())),
        };
        tracing::debug!(error = &error as &dyn std::error::Error, "retry after a transient failure");
        self.pauses.wait().await;
        None
    }
}

/// SQLSTATE classes and codes (PostgreSQL, appendix A) after which the server has rolled back and a
/// retry may succeed.
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
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed)
}

fn is_transient_code(code: &str) -> bool {
    TRANSIENT.iter().any(|transient| code.starts_with(transient))
}
