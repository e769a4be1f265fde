//! What the tests and the benchmarks share: a service on a temporary file, a clock moved by hand, and a receiver.

mod receiver;
mod world;

pub use receiver::{Received, Receiver, Reply};
pub use world::{Answer, CANARY, World, new_quote};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
