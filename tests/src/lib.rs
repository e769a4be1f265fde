//! What the tests and the benchmarks share: a service on a temporary file, a clock moved by hand, and a receiver.

#![expect(clippy::missing_panics_doc, reason = "a helper that panics fails its test, which is its purpose")]

pub mod bench;
pub mod documents;
pub mod hostile;
mod ledger;
mod receiver;
mod world;

pub use receiver::{Received, Receiver, Reply};
pub use world::{Answer, CANARY, World, new_quote};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
