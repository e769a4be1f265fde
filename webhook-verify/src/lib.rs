//! Sign and verify webhook deliveries.
//!
//! A delivery carries a header `X-Service-Signature: t=<unix seconds>,v1=<hex>`, where `v1` is the HMAC-SHA256,
//! under the webhook's secret, of the text of `t`, a dot and the raw bytes of the body. A receiver checks it
//! before it reads the body:
//!
//! ```
//! use webhook_verify::{Signer, Verifier, VerifyError};
//!
//! // Once, at start: the whole secret as it was shown, `whsec_` included.
//! let verifier = Verifier::new("whsec_example")?;
//!
//! // For each delivery: the header, the bytes of the body as they came, and the time.
//! # let sent = Signer::new("whsec_example")?.sign(1_789_378_867, br#"{"event":"ping"}"#);
//! # let header = sent.as_str();
//! let body = br#"{"event":"ping"}"#;
//! let verified = verifier.verify(header, body, 1_789_378_870)?;
//! assert_eq!(verified.timestamp, 1_789_378_867);
//!
//! // Anything else is refused, with the reason in the error.
//! let refused = verifier.verify(header, br#"{"event": "ping"}"#, 1_789_378_870);
//! assert_eq!(refused, Err(VerifyError::NoMatch { candidates: 1, secrets: 1 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `std` (default), `Verifier::verify_now` and `Signer::sign_now` read the system clock.
//! Without it the crate is `no_std` and needs `alloc`: to keep several secrets, and for [`explain()`]. Verifying
//! and signing do not allocate.
//!
//! # What a receiver must do
//!
//! - **Pass the raw body**, before any parser, decompressor or text conversion touches it. JSON that was parsed
//!   and printed again has other bytes, and so another MAC.
//! - **Drop repeats.** A delivery may arrive more than once, and a captured one stays valid for the tolerance. Keep
//!   the [`DedupKey`]s that were handled.
//! - **Keep the clock right.** More than [`TOLERANCE_SECONDS`] off in either direction, nothing passes.
//! - When nothing matches and it is unclear why, ask [`explain()`] on a development machine.
//!
//! # Rules
//!
//! | Item | Rule |
//! |---|---|
//! | Header | elements separated by `,`. One that starts with neither `t=` nor `v1=` is ignored. Nothing is trimmed: white space belongs to the element, so `t=1, v1=…` lacks a `v1` |
//! | `t` | exactly one; an optional `-` and decimal digits within `i64`; leading zeros and `-0` are accepted, a `+` is not. Otherwise the header is malformed |
//! | `v1` | at least one, or the header is malformed; any match is enough. Each is compared as 64 lowercase hex characters; another length or upper case does not match |
//! | MAC | over the text of `t` as it stands in the header, a dot, and the body, which need not be UTF-8 |
//! | Secrets | any match is enough; every secret is tried against every `v1`, in constant time, wherever the match is |
//! | Time | a difference of at most 300 s passes, 301 s does not, in the past and in the future. It is looked at *after* the MAC: [`VerifyError::TooOld`] and [`VerifyError::TooNew`] speak of genuine signatures only |
//!
//! The header and the secret are taken as anything that is bytes, so header values of any HTTP library fit
//! without a conversion. If the header came more than once, refuse the request: do not pick one.
//!
//! # What it does not do
//!
//! It parses no JSON and no HTTP, remembers nothing between calls (so it does not drop repeats by itself), and
//! does not wipe memory: a [`Verifier`] or [`Signer`] keeps a state derived from the secret for as long as it lives.

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[cfg(feature = "std")]
mod clock;
mod dedup;
mod error;
mod explain;
mod header;
mod key;
mod signer;
mod verifier;

#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "inbox")]
pub mod inbox;
#[cfg(feature = "tower")]
pub mod receiver;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "std")]
pub use clock::Clock;
pub use dedup::DedupKey;
pub use error::{EmptySecret, Malformed, VerifyError};
pub use explain::{BodyChange, Diagnosis, Scheme, SecretChange, explain, explain_within};
pub use signer::{Signature, Signer, sign};
pub use verifier::{TOLERANCE_SECONDS, Verified, Verifier, verify};
