//! Waits for the key's quota, reported to an observer of the work that the call belongs to, and to
//! the log.

use std::time::{Duration, SystemTime};

use invoicing_core::Timestamp;
use tracing::info;

use crate::env::Env;

/// A longer wait is logged at info.
const SILENT_WAIT: Duration = Duration::from_secs(1);

type Observer = Box<dyn Fn(Duration) + Send + Sync>;

tokio::task_local! {
    /// No argument of a call can hold it: the handler of a pass makes calls with a client of its
    /// own, and their waits are observed too.
    static OBSERVER: Observer;
}

/// Does work, and observes the waits that calls in it begin. Calls in a task that it spawns wait
/// unobserved.
pub(crate) fn observe<T>(
    on_wait: impl Fn(Duration) + Send + Sync + 'static,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    OBSERVER.scope(Box::new(on_wait), work)
}

/// Reports the beginning of a wait: to the observer, if any, and to the log unless the wait is
/// short.
pub(crate) fn report(wait: Duration, env: &dyn Env) {
    // An error means that nothing observes the call.
    let _ = OBSERVER.try_with(|on_wait| on_wait(wait));
    if wait > SILENT_WAIT {
        info!(until = %wall_clock_after(wait, env), ?wait, "waiting for the quota of the key");
    }
}

fn wall_clock_after(wait: Duration, env: &dyn Env) -> Timestamp {
    let since_1970 = env.wall_clock().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from((since_1970 + wait).as_millis()).unwrap_or(i64::MAX))
}
