//! Warnings about tasks that the host forgot to run: a dispatcher while deliveries wait, or the
//! sweep.
//!
//! Dispatchers and sweeps note in the database that they run, so each node finds the notes of all
//! others. Operations of companies look for these notes once a minute. So no task is needed: one
//! operation in a minute makes up to two more reads, and each other one a comparison.

use std::sync::atomic::{AtomicI64, Ordering};

use invoicing_core::Timestamp;

use crate::env::Env;
use crate::error::Error;
use crate::store::settings::HostTask;
use crate::store::{ServiceTables, Store};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// Longest wait of deliveries without a dispatcher.
const MAX_WAIT_MS: i64 = MINUTE_MS;
/// A dispatcher counts as running for this long after its last heartbeat row. Longer than the
/// interval between two rows.
const DISPATCHER_KNOWN_MS: i64 = HOUR_MS;
/// Longest time for which the service may be open without a sweep.
const MAX_SWEEP_GAP_MS: i64 = 2 * HOUR_MS;

/// An action that happens at most once in an interval.
#[derive(Debug)]
struct Throttle {
    last: AtomicI64,
    interval_ms: i64,
}

impl Throttle {
    const fn new(last: i64, interval_ms: i64) -> Self {
        Self { last: AtomicI64::new(last), interval_ms }
    }

    /// True if the interval is over, or if the clock was set back.
    fn is_due(&self, now: Timestamp) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        !(last..last.saturating_add(self.interval_ms)).contains(&now.as_millis())
    }

    /// Begins the next interval. Returns false if another caller has just done so.
    fn take(&self, now: Timestamp) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        let begin = |now| self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        self.is_due(now) && begin(now.as_millis()).is_ok()
    }
}

/// The times of this process's looks for notes and of its warnings.
#[derive(Debug)]
pub(crate) struct Reminder {
    opened_at: Timestamp,
    looks: Throttle,
    dispatcher_warnings: Throttle,
    sweep_warnings: Throttle,
}

impl Reminder {
    /// Sets the first look to a minute after the opening: this gives the host a minute to start its
    /// tasks.
    pub(crate) fn new(opened_at: Timestamp) -> Self {
        Self {
            opened_at,
            looks: Throttle::new(opened_at.as_millis(), MINUTE_MS),
            dispatcher_warnings: Throttle::new(i64::MIN, HOUR_MS),
            sweep_warnings: Throttle::new(i64::MIN, HOUR_MS),
        }
    }

    /// Warns if the host runs no dispatcher or no sweep. Operations call it after their work.
    pub(super) async fn remind(&self, store: &Store, env: &Env) {
        let now = env.now();
        if !self.looks.is_due(now) || !self.looks.take(now) {
            return;
        }
        let look = async {
            self.look_for_dispatcher(store, now).await?;
            self.look_for_sweep(store, now).await
        };
        // A look that failed is repeated in a minute. Boxed, as it is rare, and each operation
        // would hold its future.
        if let Err(error) = Box::pin(look).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "check for a dispatcher and a sweep failed; it is repeated in a minute"
            );
        }
    }

    async fn look_for_dispatcher(&self, store: &Store, now: Timestamp) -> Result<(), Error> {
        if !self.dispatcher_warnings.is_due(now) {
            return Ok(());
        }
        let webhooks = store.read_service(async move |tx| {
            let last = tx.settings().last_run(HostTask::Dispatcher).await?;
            if last.is_some_and(|at| at <= now && at.plus_millis(DISPATCHER_KNOWN_MS) > now) {
                return Ok(0);
            }
            let (due, _) = tx.deliveries().next_due(now).await?;
            Ok(due.into_iter().filter(|waiting| waiting.at.plus_millis(MAX_WAIT_MS) < now).count())
        });
        let webhooks = webhooks.await?;
        if webhooks > 0 && self.dispatcher_warnings.take(now) {
            tracing::warn!(
                webhooks,
                "deliveries wait, and no dispatcher runs: run `Invoicing::run`, or `Invoicing::dispatcher`"
            );
        }
        Ok(())
    }

    async fn look_for_sweep(&self, store: &Store, now: Timestamp) -> Result<(), Error> {
        let opened_at = self.opened_at;
        let is_over = move |since: Timestamp| since.plus_millis(MAX_SWEEP_GAP_MS) <= now;
        if !is_over(opened_at) || !self.sweep_warnings.is_due(now) {
            return Ok(());
        }
        let last = store.read_service(async |tx| tx.settings().last_run(HostTask::Sweep).await);
        // A note from a clock that ran ahead proves nothing.
        if last.await?.is_none_or(|at| at > now || is_over(at)) && self.sweep_warnings.take(now) {
            tracing::warn!(
                "no sweep has run for two hours, so quotes do not expire and invoices do not fall overdue: run \
                 `Invoicing::run`, or call `Invoicing::sweep` every hour"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_throttle_lets_one_caller_through_in_each_interval() {
        let throttle = Throttle::new(0, 100);
        assert_eq!(
            [0, 99, 100, 100, 199, 200].map(|now| throttle.take(at(now))),
            [false, false, true, false, false, true]
        );
        assert!(throttle.take(at(150)), "a clock that was set back stops it for ever");
        assert!(Throttle::new(i64::MIN, 100).take(at(0)), "the first one waits");
    }
}
