//! Whether this node has been in touch with the database for a while.
//!
//! While the database is away nobody can record what came of his attempts, and leases run out all the same. So a node that
//! has been out of touch leaves what others held to them for some time: whoever holds a claim records first, and nothing
//! is sent again that has arrived. The database's clock, which is asked for every second, keeps a node in touch that has
//! nothing else to do; and so does each commit.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the database is asked for its clock at least.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// Out of touch is who has heard nothing for longer: as long as an outcome may wait at least before its lease runs out.
const SILENCE: Duration = Duration::from_secs(5);
/// How long what others held is left to them then: longer than it takes to find the database back and to record.
const LEFT_FOR: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Contact(Mutex<State>);

#[derive(Debug)]
struct State {
    last: Instant,
    /// Since when there was no silence; `None` where there never was one.
    since: Option<Instant>,
}

impl State {
    fn heard(&mut self, now: Instant) {
        if now.saturating_duration_since(self.last) > SILENCE {
            self.since = Some(now);
        }
        self.last = now;
    }

    fn is_steady(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) <= SILENCE
            && self.since.is_none_or(|since| now.saturating_duration_since(since) >= LEFT_FOR)
    }
}

impl Contact {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { last: Instant::now(), since: None }))
    }

    /// The database has answered, and takes changes.
    pub(super) fn heard(&self) {
        self.state().heard(Instant::now());
    }

    /// Whether claims of others that have run out may be taken over.
    pub(super) fn is_steady(&self) -> bool {
        self.state().is_steady(Instant::now())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_out_of_touch_takes_over_nothing_for_a_while() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut state = State { last: start, since: None };
        assert!(state.is_steady(at(5)), "a node that has just started");
        for second in 1..=5 {
            state.heard(at(second));
        }
        assert!(state.is_steady(at(10)));
        assert!(!state.is_steady(at(11)), "silence, though nobody has said so yet");
        state.heard(at(40));
        for second in 41..50 {
            assert!(!state.is_steady(at(second)), "{second}");
            state.heard(at(second));
        }
        assert!(state.is_steady(at(50)));
        state.heard(at(56));
        assert!(!state.is_steady(at(65)), "out of touch again");
    }
}
