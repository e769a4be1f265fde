//! Sign and verify webhook deliveries.
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
//! A delivery carries a header `X-Service-Signature: t=<unix seconds>,v1=<hex>`, where `v1` is the
//! HMAC-SHA256, under the webhook's secret, of the text of `t`, a dot and the raw bytes of the
//! body. A receiver checks it before it reads the body.
//!
//! Verifying and signing do not allocate. Without any feature the crate is `no_std`, needs `alloc`
//! (to keep several secrets, and for [`explain()`]), and has three dependencies.
//!
//! # A whole receiver
//!
//! The features add the rest of a receiver. Here every delivery is verified, stored in a SQLite
//! file before it is answered, and handled exactly once, despite repeats and crashes:
//!
#![cfg_attr(all(feature = "axum", feature = "sqlite"), doc = "```no_run")]
#![cfg_attr(not(all(feature = "axum", feature = "sqlite")), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use webhook_verify::Verifier;
//! use webhook_verify::events::{EventData, EventError};
//! use webhook_verify::inbox::{Claim, InboxService, SqliteInbox, Worker};
//! use webhook_verify::receiver::Receiver;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let receiver = Receiver::new(Verifier::new(std::env::var("SIGNING_SECRET")?)?)
//!     .on_refusal(|refusal| eprintln!("delivery refused: {refusal}"));
//! let inbox = Arc::new(SqliteInbox::open("webhooks.db").await?);
//! let router = axum::Router::new().route_service("/hook", InboxService::new(receiver, inbox.clone()));
//!
//! let handler = async |claim: Claim| {
//!     match claim.event()?.data {
//!         EventData::QuoteSigned(quote) => println!("{} signed: {}", quote.number, quote.total_ttc),
//!         EventData::InvoicePaid(invoice) => println!("{:?} paid: {}", invoice.number, invoice.amount_paid),
//!         _ => {} // later versions send more
//!     }
//!     Ok::<(), EventError>(())
//! };
//! let worker = Worker::new(inbox).on_error(|error| eprintln!("{error}"));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
//! tokio::select! {
//!     served = axum::serve(listener, router).into_future() => served?,
//!     () = worker.run(handler, std::future::pending()) => {}
//! }
//! # Ok(()) }
//! ```
//!
//! If lost work can be recovered by other means, an extractor in an axum handler is enough:
//!
#![cfg_attr(all(feature = "axum", feature = "events"), doc = "```")]
#![cfg_attr(not(all(feature = "axum", feature = "events")), doc = "```ignore")]
//! use axum::{Router, http::StatusCode, routing::post};
//! use webhook_verify::{Verifier, events::Event, receiver::Receiver};
//!
//! async fn hook(event: Event) -> StatusCode {
//!     println!("{} at {}", event.name(), event.timestamp);
//!     StatusCode::NO_CONTENT
//! }
//!
//! let receiver = Receiver::new(Verifier::new("whsec_example")?);
//! let router: Router = Router::new().route("/hook", post(hook)).with_state(receiver);
//! # Ok::<(), webhook_verify::SecretError>(())
//! ```
//!
//! # Features
//!
//! | Feature | What it adds | What it brings |
//! |---|---|---|
//! | `std` (default) | `Verifier::verify_now`, `Signer::sign_now`, `Clock` | – |
//! | `events` | `events`: typed events with exact amounts, unknown ones kept; deduplication keys from a raw body. Ids, amounts and statuses are those of `invoicing-client` | `invoicing-core`, `serde_json`, `chrono` |
//! | `tower` | `receiver`: reads a request's raw body within a limit, verifies it and chooses the status; a tower layer | http, http-body, bytes, tower-layer, tower-service |
//! | `axum` | the extractors `Delivery` and, with `events`, `Event` | axum-core |
//! | `tracing` | each refused request is logged as a warning, with its reason | tracing |
//! | `inbox` | `inbox`: each event once; in memory, or any `Inbox`; a worker; with `tower`, the service `InboxService` | tokio's timers, `parking_lot` |
//! | `sqlite` | `SqliteInbox` | sqlx, SQLite compiled in |
//! | `testing` | `testing`: a sender with delays, repeats, losses, forgeries and clock skew, in simulated time | futures-util |
//! | `zeroize` | the keyed HMAC states are wiped when they are dropped | zeroize |
//!
//! # What a receiver must do
//!
//! - **Pass the raw body**, before any parser, decompressor or text conversion touches it. JSON
//!   that was parsed and printed again has other bytes, and so another MAC.
//! - **Drop repeats.** A delivery may arrive more than once, and a captured one stays valid for the
//!   tolerance. Keep the [`DedupKey`]s that were handled, or use an inbox. The header
//!   `X-Service-Event-Id` identifies repeats as well, but no signature covers it: it serves logs
//!   and support, not protection.
//! - **Answer within 5 s**, with the right status: a 2xx for a stored delivery, a repeat and an
//!   unknown kind; a 400 for a forgery, so that its sender stops; a 5xx only for a failure of the
//!   receiver, as it makes the sender retry.
//! - **Keep the clock right.** If it is off by more than [`TOLERANCE_SECONDS`] in either direction,
//!   no delivery passes.
//! - If no signature matches and the reason is unclear, call [`explain()`] on a development
//!   machine.
//!
//! # Rotation of a secret
//!
//! A sender may sign with both secrets while one is rotated: `t=…,v1=<new>,v1=<old>`. A receiver
//! that accepts any matching `v1`, as [`Verifier`] does, changes over without a refused delivery:
//! with the old secret until it has the new one. If a rotation has no overlap, give the receiver
//! [both secrets](Verifier::with_secrets) as soon as the new one is known. Other ways to read the
//! header have these results:
//!
//! | The receiver looks at | with the old secret | with the new secret |
//! |---|---|---|
//! | any `v1` | accepts until the overlap ends | accepts |
//! | the first `v1` | refuses | accepts |
//! | the last `v1` | accepts until the overlap ends | refuses until the overlap ends |
//! | one `v1`, and refuses more | refuses | refuses until the overlap ends |
//!
//! # Rules
//!
//! | Item | Rule |
//! |---|---|
//! | Header | elements separated by `,`. One that starts with neither `t=` nor `v1=` is ignored. No element is trimmed: white space belongs to the element, so `t=1, v1=…` lacks a `v1` |
//! | `t` | exactly one; an optional `-` and decimal digits within `i64`; leading zeros and `-0` are accepted, a `+` is not. Otherwise the header is malformed |
//! | `v1` | at least one, or the header is malformed; any match is enough. Each is compared as 64 lowercase hex characters; another length or upper case does not match |
//! | MAC | over the text of `t` in the header, a dot, and the body, which need not be UTF-8 |
//! | Secrets | any match is enough; every secret is tried against every `v1`, in constant time, wherever the match is |
//! | Time | a difference of at most 300 s passes, 301 s does not, in the past and in the future. It is checked *after* the MAC: [`VerifyError::TooOld`] and [`VerifyError::TooNew`] are for genuine signatures only |
//!
//! The header and the secret may be of any type with bytes, so header values of any HTTP library
//! fit without a conversion. If the header came more than once, refuse the request: do not pick
//! one.
//!
//! # Compared with
//!
//! The crates verify different formats, so each row except the last two uses the crate's own
//! format. The project's tests produce every row and fail if this table differs. Its benchmarks
//! compare the time of a verification.
//!
//! | Case | webhook-verify | svix 2.9.1 | standardwebhooks 1.0.1 | async-stripe-webhook 1.0.0-rc.10 |
//! |---|---|---|---|---|
//! | A body that is not UTF-8 | accepted | refused | refused | refused |
//! | A body that was reserialised | refused, `explain` says why | refused | refused | refused |
//! | A genuine signature, 320 s in the future | refused | refused | refused | refused |
//! | A time beyond `i64` | refused | refused | refused | refused |
//! | The time `i64::MIN`, forged | refused | refused | panics | refused |
//! | The time `i64::MIN`, genuine | refused | refused | panics | panics |
//! | A delivery of 2001, verified at its time | time is an argument | only without looking at the time | no | time is an argument |
//! | Three signatures, any one of them good | accepted | accepted | accepted | accepted |
//! | Two secrets | one verifier | one verifier each | one verifier each | one call each |
//! | A secret that is not base64 is noticed | no, any text is one | yes | yes | no, any text is one |
//! | Allocations for a body of 600 B | 0 | 6 | 6 | 7 |
//! | A delivery of Stripe's (`t=…,v1=…`) | accepted | refused | refused | accepted |
//! | A delivery of Standard Webhooks (`v1,…`) | refused | accepted | accepted | refused |
//!
//! The panics are those of builds that check for overflow, as debug builds do. async-stripe-webhook
//! takes the body as `&str`, and verifies only together with parsing an event of Stripe's, whose
//! allocations are not counted here.
//!
//! # Foreign types in public signatures
//!
//! A new major version of one of these crates is a breaking change here.
//!
//! | Type | Feature | Reason |
//! |---|---|---|
//! | `bytes::Bytes` | `tower`, `inbox`, `testing` | a raw body is shared without a copy |
//! | `http::{Request, Response, HeaderValue, StatusCode, …}`, `http_body::Body`, `http_body_util::Full` | `tower` | any HTTP server that uses them fits |
//! | `tower_layer::Layer`, `tower_service::Service` | `tower` | the interfaces that routers accept |
//! | `axum_core::extract::FromRequest` | `axum` | the interface of axum's extractors |
//! | `invoicing_core`: ids, `Money`, `Percent`, `Timestamp`, statuses | `events` | the types of the client |
//! | `chrono::NaiveDate` | `events` | calendar dates of an invoice or a credit note |
//! | `serde::Serialize` | `events` | events can be written again |
//! | `sqlx::SqlitePool`, `sqlx::SqliteConnection` | `sqlite` | the inbox shares the database and the transactions of the handlers |
//!
//! # Limits
//!
//! The core parses no JSON and no HTTP and keeps no state between calls, so it does not drop
//! repeats by itself. A [`Verifier`] or [`Signer`] holds a state derived from the secret, not the
//! secret. The feature `zeroize` wipes that state on drop; copies on the stack are not wiped. No
//! `Debug` form, error or answer contains a secret.

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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "std")]
pub use clock::Clock;
pub use dedup::DedupKey;
pub use error::{HeaderError, SecretError, VerifyError};
pub use explain::{BodyChange, Diagnosis, Scheme, SecretChange, explain, explain_within};
pub use signer::{Signature, Signer, sign};
pub use verifier::{TOLERANCE_SECONDS, Verified, Verifier, verify};
