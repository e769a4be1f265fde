//! What a receiver answered, and what of it was not right.

use super::Forgery;

/// How a receiver has answered a [`FakeSender`](super::FakeSender).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What became of each body, in their order.
    pub fates: Vec<Fate>,
    /// Answers that a receiver should not have given.
    pub surprises: Vec<Surprise>,
    /// How many requests reached the receiver, forged ones included.
    pub requests: usize,
    /// How many of these were forged.
    pub forged: usize,
}

/// What became of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fate {
    /// How many of its attempts were answered with a 2xx, also where the sender never learned of it. If any was, the
    /// receiver must handle the event, exactly once.
    pub accepted: u32,
    /// How often the sender has tried, at most three times.
    pub attempts: u32,
    /// Whether the sender saw a 2xx. If not, the delivery ended as failed.
    pub is_delivered: bool,
}

/// An answer that is not lawful.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Surprise {
    /// A genuine delivery was answered with neither a 2xx nor 429 nor a 5xx: the sender stops, the event is lost.
    GenuineRefused {
        /// Which body.
        event: usize,
        /// The status.
        status: u16,
    },
    /// A forged delivery was not answered with a 400. After a 5xx its sender comes again; a 2xx is a hole.
    ForgedNotRefused {
        /// Which body.
        event: usize,
        /// What was wrong with it.
        forgery: Forgery,
        /// The status.
        status: u16,
    },
}

impl Report {
    /// The bodies that the receiver has answered for with a 2xx, by their place, in order. Each must be handled exactly
    /// once; no other may be, unless its attempt got no answer.
    pub fn accepted(&self) -> impl Iterator<Item = usize> {
        self.fates.iter().enumerate().filter(|(_, fate)| fate.accepted > 0).map(|(event, _)| event)
    }

    pub(super) fn note(&mut self, event: usize, forgery: Option<Forgery>, status: u16) {
        match (forgery, status) {
            (None, 200..=299) => self.fates[event].accepted += 1,
            (None, 429 | 500..=599) | (Some(_), 400) => {}
            (None, _) => self.surprises.push(Surprise::GenuineRefused { event, status }),
            (Some(forgery), _) => {
                self.surprises.push(Surprise::ForgedNotRefused { event, forgery, status });
            }
        }
    }
}
