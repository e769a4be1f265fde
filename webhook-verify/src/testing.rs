//! For the tests of receivers: a sender with an unreliable network, on a simulated clock.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), webhook_verify::SecretError> {
//! use webhook_verify::Verifier;
//! use webhook_verify::testing::{FakeSender, Faults, sample_bodies};
//!
//! let mut sender = FakeSender::new("whsec_example", 42).faults(Faults::FREQUENT);
//! let (verifier, clock) = (Verifier::new("whsec_example")?, sender.clock());
//! let report = sender
//!     .deliver(&sample_bodies(42, 20), async |attempt| {
//!         // What is under test: any function of the headers and the body, over HTTP or not.
//!         let [signature] = &attempt.signatures[..] else { return Some(400) };
//!         let verdict = verifier.verify(signature, &attempt.body, clock.to_clock().unix_seconds());
//!         Some(if verdict.is_ok() { 204 } else { 400 })
//!     })
//!     .await;
//! assert_eq!(report.violations, []);
//! # Ok(()) }
//! ```
//!
//! A [`FakeSender`] delivers bodies the way the service does (three attempts, 1 s and 5 s apart,
//! each signed anew; a 4xx ends the delivery). Its [`Faults`] delay, double, reorder and drop
//! attempts, lose answers, skew its clock, and add forgeries and replays. Time is simulated, so an
//! hour of retries takes no time. The whole run follows from a seed, so a failure can be
//! reproduced.
//!
//! Every run is judged by the same rules: [`Report::violations`] lists each answer that breaks one,
//! and the receiver must handle each body that [`Report::accepted`] names exactly once.

mod clock;
mod crash;
mod forgery;
mod report;
mod rng;
mod samples;
mod sender;

pub use clock::ManualClock;
pub use crash::crash_after;
pub use forgery::Forgery;
pub use report::{BodyOutcome, Report, Violation};
pub use samples::sample_bodies;
pub use sender::{Attempt, FakeSender, Faults};
