//! Whether this node has been in touch with the database for a while.
//!
//! While nothing can be committed nobody can record what came of his attempts, and leases run out all the same. So a node
//! that has been out of touch leaves what others held to them for some time: whoever holds a claim records first, and
//! nothing is sent again that has arrived. Each commit keeps a node in touch, and one that has nothing else to commit
//! writes a row of its own every second.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// How often something is committed at least.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// Out of touch is who could commit nothing for longer: as long as an outcome may wait at least before its lease runs out.
const SILENCE: Duration = Duration::from_secs(5);
/// How long what others held is left to them then: longer than it takes to find the database back and to record.
const LEFT_FOR: Duration = Duration::from_secs(10);

/// See the module's text. None for a clock that is moved by hand, by which leases do not run out while nothing is heard.
#[derive(Debug)]
pub(super) struct Contact(Option<Mutex<State>>);

#[derive(Debug)]
struct State {
    last: Instant,
    /// Since when there was no silence.
    since: Instant,
}

impl State {
    /// Whether there was a silence before.
    fn heard(&mut self, now: Instant) -> bool {
        let was_silent = now.saturating_duration_since(self.last) > SILENCE;
        if was_silent {
            self.since = now;
        }
        self.last = now;
        was_silent
    }

    fn is_steady(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) <= SILENCE
            && now.saturating_duration_since(self.since) >= LEFT_FOR
    }
}

impl Contact {
    /// Of a node that has just come: perhaps it had to wait for the database, as the others had.
    pub(super) fn new(clock_is_real: bool) -> Self {
        let now = Instant::now();
        Self(clock_is_real.then(|| Mutex::new(State { last: now, since: now })))
    }

    /// Something was committed. Whether there was a silence before.
    pub(super) fn heard(&self) -> bool {
        self.state().is_some_and(|mut state| state.heard(Instant::now()))
    }

    /// Whether claims of others that have run out may be taken over.
    pub(super) fn is_steady(&self) -> bool {
        self.state().is_none_or(|state| state.is_steady(Instant::now()))
    }

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        Some(self.0.as_ref()?.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_out_of_touch_takes_over_nothing_for_a_while() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut state = State { last: start, since: start };
        for second in 1..10 {
            assert!(!state.heard(at(second)));
            assert!(!state.is_steady(at(second)), "{second}: a node that has just come");
        }
        assert!(state.is_steady(at(10)));
        assert!(state.is_steady(at(14)));
        assert!(!state.is_steady(at(15)), "silence, though nobody has said so yet");
        assert!(state.heard(at(40)));
        for second in 41..50 {
            assert!(!state.is_steady(at(second)), "{second}");
            assert!(!state.heard(at(second)));
        }
        assert!(state.is_steady(at(50)));
        assert!(state.heard(at(56)));
        assert!(!state.is_steady(at(65)), "out of touch again");
    }
}
