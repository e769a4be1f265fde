//! The state of this process's dispatcher, and the last turn of its loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest time between two turns of a loop that runs. The loop naps for
/// [`POLL`](super::storage::POLL) at most, and a turn waits for nothing.
const LONGEST_TURN: Duration = Duration::from_secs(9);

const NOT_RUN: u64 = 0;
const ENDED: u64 = 1;
/// The lowest number of a run: the state is this plus the milliseconds from the opening to the last
/// turn.
const RUNNING: u64 = 2;

/// The dispatcher of this process, as far as [`Dispatcher::run`](crate::Dispatcher::run) runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DispatcherHealth {
    /// It runs.
    Running,
    /// It was not run since the service was opened. Another node may run one.
    NotRun,
    /// It has not turned for 9 s: its future is not polled, or its thread is blocked.
    Stalled,
    /// It has ended, or its future was dropped.
    Ended,
}

/// The state of the dispatcher, shared by its loop and the health checks.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    opened_at: Instant,
    state: AtomicU64,
}

/// A run, which ends when this guard is dropped.
pub(super) struct RunGuard<'h>(&'h Heartbeat);

impl Heartbeat {
    pub(crate) fn new() -> Self {
        Self { opened_at: Instant::now(), state: AtomicU64::new(NOT_RUN) }
    }

    /// Begins a run. There is at most one at a time.
    pub(super) fn begin(&self) -> RunGuard<'_> {
        self.store(Instant::now());
        RunGuard(self)
    }

    /// Records a turn of the loop; outside of a run it does nothing.
    pub(super) fn beat(&self, now: Instant) {
        if self.state.load(Ordering::Relaxed) >= RUNNING {
            self.store(now);
        }
    }

    pub(crate) fn health(&self, now: Instant) -> DispatcherHealth {
        match self.state.load(Ordering::Relaxed) {
            NOT_RUN => DispatcherHealth::NotRun,
            ENDED => DispatcherHealth::Ended,
            turned if self.since_opening(now).saturating_sub(turned - RUNNING) > millis(LONGEST_TURN) => {
                DispatcherHealth::Stalled
            }
            _ => DispatcherHealth::Running,
        }
    }

    fn store(&self, now: Instant) {
        self.state.store(RUNNING + self.since_opening(now), Ordering::Relaxed);
    }

    fn since_opening(&self, now: Instant) -> u64 {
        millis(now.saturating_duration_since(self.opened_at))
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.0.state.store(ENDED, Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stalled_nine_seconds_after_its_last_turn_until_the_next() {
        let heartbeat = Heartbeat::new();
        let at = |millis| heartbeat.opened_at + Duration::from_millis(millis);
        assert_eq!(heartbeat.health(at(60_000)), DispatcherHealth::NotRun);
        heartbeat.beat(at(0));
        assert_eq!(heartbeat.health(at(0)), DispatcherHealth::NotRun, "a turn outside of a run");
        let run = heartbeat.begin();
        heartbeat.beat(at(1_000));
        assert_eq!(heartbeat.health(at(10_000)), DispatcherHealth::Running);
        assert_eq!(heartbeat.health(at(10_001)), DispatcherHealth::Stalled);
        heartbeat.beat(at(10_002));
        assert_eq!(heartbeat.health(at(10_003)), DispatcherHealth::Running);
        drop(run);
        heartbeat.beat(at(10_004));
        assert_eq!(heartbeat.health(at(10_005)), DispatcherHealth::Ended);
        let _run = heartbeat.begin();
        assert_eq!(heartbeat.health(Instant::now()), DispatcherHealth::Running);
    }
}
