//! For the tests of receivers: a sender that behaves as badly as the network does, on a clock that a test moves.
//!
//! A [`FakeSender`] delivers bodies the way the service does (three attempts, 1 s and 5 s apart, each signed anew; a 4xx
//! ends the delivery) and, as its [`Mischief`] says, delays, doubles, reorders and drops attempts, loses answers, runs
//! with a wrong clock, and mixes in forgeries, replays and lies about the time. Its time is simulated: an hour of
//! retries takes no time. Everything follows from a seed, so a failure can be seen again.
//!
//! What a receiver must do is the same whatever happens: [`Report::surprises`] lists each answer that is not lawful,
//! and what [`Report::accepted`] names must be handled exactly once.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use webhook_verify::Verifier;
//! use webhook_verify::testing::{FakeSender, Mischief, sample_bodies};
//!
//! let mut sender = FakeSender::new("whsec_example", 42).mischief(Mischief::WILD);
//! let (verifier, clock) = (Verifier::new("whsec_example").expect("a secret"), sender.clock());
//! let report = sender
//!     .deliver(&sample_bodies(42, 20), async |attempt| {
//!         // What is under test: any function of the headers and the body, over HTTP or not.
//!         let [signature] = &attempt.signatures[..] else { return Some(400) };
//!         let verdict = verifier.verify(signature, &attempt.body, clock.get().unix_seconds());
//!         Some(if verdict.is_ok() { 204 } else { 400 })
//!     })
//!     .await;
//! assert_eq!(report.surprises, []);
//! # }
//! ```

mod chance;
mod clock;
mod crash;
mod forgery;
mod report;
mod samples;
mod sender;

pub use clock::ManualClock;
pub use crash::crash_after;
pub use forgery::Forgery;
pub use report::{Fate, Report, Surprise};
pub use samples::sample_bodies;
pub use sender::{Attempt, FakeSender, Mischief};
