//! The answers of a receiver, and the answers that break a rule.

use super::Forgery;

/// The answers of a receiver to a [`FakeSender`](super::FakeSender).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The outcome of each body, in order.
    pub outcomes: Vec<BodyOutcome>,
    /// Answers that break a rule.
    pub violations: Vec<Violation>,
    /// Number of requests that reached the receiver, forged ones included.
    pub requests: usize,
    /// Number of these requests that were forged.
    pub forged: usize,
}

/// The outcome of one body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyOutcome {
    /// Number of its attempts that were answered with a 2xx, even if the answer was lost. If it is
    /// not 0, the receiver must handle the event exactly once.
    pub accepted: u32,
    /// Number of attempts, at most three.
    pub attempts: u32,
    /// True if the sender saw a 2xx. If not, the delivery ended as failed.
    pub is_delivered: bool,
}

/// An answer that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A genuine delivery was answered with neither a 2xx nor 429 nor a 5xx: the sender stops, the
    /// event is lost.
    GenuineRefused {
        /// Index of the body.
        event: usize,
        /// The status.
        status: u16,
    },
    /// A forged delivery was not answered with a 400. A 5xx makes its sender retry; a 2xx is a
    /// security hole.
    ForgedNotRefused {
        /// Index of the body.
        event: usize,
        /// The kind of the forgery.
        forgery: Forgery,
        /// The status.
        status: u16,
    },
}

impl Report {
    /// The indexes of the bodies that the receiver accepted with a 2xx. Each must be handled
    /// exactly once. No other may be handled, unless its attempt got no answer.
    pub fn accepted(&self) -> impl Iterator<Item = usize> {
        self.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.accepted > 0).map(|(event, _)| event)
    }

    pub(super) fn note(&mut self, event: usize, forgery: Option<Forgery>, status: u16) {
        match (forgery, status) {
            (None, 200..=299) => self.outcomes[event].accepted += 1,
            (None, 429 | 500..=599) | (Some(_), 400) => {}
            (None, _) => self.violations.push(Violation::GenuineRefused { event, status }),
            (Some(forgery), _) => {
                self.violations.push(Violation::ForgedNotRefused { event, forgery, status });
            }
        }
    }
}
