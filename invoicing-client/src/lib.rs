//! Typed client of the quoting and invoicing API.
//!
//! ```no_run
//! use futures_util::TryStreamExt;
//! use invoicing_client::{FileCheckpoint, InvoicingClient, NewClient, QuoteStatus};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = InvoicingClient::builder("https://quotes.example.com", std::env::var("INVOICING_KEY")?).build()?;
//!
//! // All accepted quotes, on any number of pages.
//! let mut accepted = client.quotes().list().status(QuoteStatus::Accepted).stream();
//! while let Some(quote) = accepted.try_next().await? {
//!     println!("{} {}", quote.summary.number, quote.summary.total_ttc);
//!     client.quotes().link(quote.summary.id, "crm-7").await?;
//! }
//!
//! // An `externalId` makes the creation idempotent.
//! let new = NewClient::named("Dupont SARL").external_id("crm-42");
//! let created = client.clients().create(&new).await?;
//! println!("{} is {}", created.client().id, if created.is_created() { "new" } else { "known" });
//!
//! // All changes since the last pass, oldest first. The checkpoint moves once all of them are stored.
//! let mut catch_up = client.quotes().catch_up(FileCheckpoint::new("quotes.checkpoint.json"));
//! let pass = catch_up
//!     .pass(async |quote| {
//!         println!("store {} {}", quote.summary.number, quote.summary.status);
//!         Ok::<(), std::io::Error>(())
//!     })
//!     .await?;
//! println!("{} records", pass.delivered);
//! # Ok(())
//! # }
//! ```
//!
//! It covers every endpoint: lists as streams, retries without duplicates, documents checked against their SHA-256, and a
//! catch-up that misses no change.
//!
//! # Requests
//!
//! `client.quotes().list()` and its siblings return a [`List`] with typed filters, read as one page, as pages or as a
//! stream. Every other endpoint returns a [`Request`]. A request can be awaited or [sent](Request::send), and has its own
//! deadline and number of attempts.
//!
//! # Rate limiting
//!
//! All clones of a client share a rate limiter that keeps to the key's quota: 30 requests in any 60 s, or the value of
//! `RateLimit-Limit`. Requests are not spread over the minute. The first goes alone, to learn the quota and what is left
//! of it. The next 29 follow at once. After that, each is sent as soon as the service accepts it, in the order of the
//! calls.
//!
//! While the key has no other user and the `RateLimit-*` headers arrive, no call meets a 429, with one exception: the
//! first request of a process that starts
//! when an earlier one has just used up the quota. It waits for its `Retry-After`. Usage by others is learned from
//! `RateLimit-Remaining`; if it causes a 429, all clones wait.
//!
//! A call that would have to wait past its deadline fails at once with [`ErrorKind::LocalRateLimit`], and states when
//! there may be capacity. A bulk job should keep no more calls in flight than the quota allows, or extend their deadline:
//!
//! ```no_run
//! # use futures_util::{StreamExt, TryStreamExt, stream};
//! # use invoicing_client::{Error, InvoicingClient, QuoteId};
//! # async fn example(client: InvoicingClient, deals: Vec<(QuoteId, String)>) -> Result<(), Error> {
//! let links = stream::iter(&deals).map(|(id, deal)| client.quotes().link(*id, deal).into_future());
//! links.buffer_unordered(10).try_for_each(async |_| Ok(())).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A service that states no quota in its responses is not paced. A 429 paces it for 10 minutes. [`ClientBuilder::rate_limiting`] turns the limiter off.
//!
//! # Retries
//!
//! `GET`, `PATCH` and `POST /clients` with an `externalId` are retried after connect errors, timeouts, broken
//! connections, 408, 429 and 5xx; `POST /clients` without one only after 429 and 503 `overloaded`, before which nothing was
//! done. A call has at most 4 attempts under one deadline ([`ClientBuilder::deadline`]). The wait is the
//! larger of `Retry-After` and a random backoff with full jitter, whose upper bound doubles from 0.5 s to 8 s. A
//! `Retry-After` above 90 s, or one that ends after the deadline, is not waited for: the error carries it
//! ([`Error::retry_after`]). Redirects are not followed.
//!
//! # Stopping
//!
//! Every call, pass and [`Follow::run`] stops when its future is dropped, which loses no acknowledged record. There is no
//! other way to stop. With a `CancellationToken` of tokio-util:
//!
//! ```no_run
//! # use invoicing_client::{ChangeEvent, FileCheckpoint, InvoicingClient};
//! # use tokio_util::sync::CancellationToken;
//! # async fn example(client: InvoicingClient, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let events = futures_util::stream::pending::<ChangeEvent>();
//! let mut follow = client.quotes().follow(FileCheckpoint::new("quotes.checkpoint.json"));
//! let run = follow.run(events, async |_quote| Ok::<(), std::io::Error>(()));
//! match stop.run_until_cancelled(run).await {
//!     Some(Err(error)) => return Err(error.into()),
//!     Some(Ok(never)) => match never {},
//!     None => println!("stopped"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Compatibility with later versions of the service
//!
//! Within v1 the API only adds. Unknown fields are ignored; [`Request::decode`] and [`List::decode`] give access to them. An
//! unknown status or code keeps its text ([`OpenEnum::Other`], [`ErrorCode::Other`]).
//!
//! The same policy holds for this crate. Errors, kinds, reports and results of this crate are `#[non_exhaustive]`. Plain
//! inputs that a caller constructs are not: [`NewClient`], [`Checkpoint`], [`RecordVersion`] and [`ChangeEvent`]. Nor is
//! [`ClientCreation`], as a client is either new or existing. Records are not either, so that tests may build them; a
//! field that the API adds to one is a breaking change of this crate.
//!
//! # Logging
//!
//! With [`tracing`], each call is a span at info (operation, path, status) with an event per attempt. The event of an
//! attempt that failed and will be retried is at info (failure, wait), any other at debug. A wait for the quota of more than
//! a second is at info with its end. The key, queries and bodies are never logged.
//!
//! # Compared with
//!
//! Behaviour of the clients of two other services against the same server on loopback, with default settings unless one
//! is named. The project's tests verify every row.
//!
//! | Case | invoicing-client | octocrab 0.54.9 | async-stripe 1.0.0-rc.10 |
//! |---|---|---|---|
//! | The next attempt after 429 with `Retry-After: 2` | after 2 s | at once; with `HandleRateLimits` after 2 s | none; with `ExponentialBackoff` after 1 s |
//! | Attempts of a `POST` without an idempotency key, each answered 503 `storage_unavailable` | 1; with an `externalId` 4 | 4 | 1; with `Retry(4)` 4 |
//! | The 4th call under a quota of 3 | is not sent before its turn | is sent, and refused | is sent, and refused |
//! | A limit for one call that hangs | for all its attempts and waits | only the client's, and for each of its 4 attempts | for each attempt |
//! | An unknown state | kept (`OpenEnum::Other`) | an error (`IssueState`) | kept (`ChargeStatus::Unknown`) |
//! | Asks again with the answer's `ETag` | no | yes, with `cache` | no |
//!
//! async-stripe sends an idempotency key with its retries if its feature `uuid` is on. It is off here and by default.
//!
//! # Features
//!
//! | Feature | Provides |
//! |---|---|
//! | `blocking` | `blocking::InvoicingClient`, for programs without an async runtime; usable inside one too |
//! | `platform-roots` | `ClientBuilder::platform_roots`: the CAs of the machine are trusted too |
//! | `testing` | `testing::FakeServer` with fault injection, for tests of integrations |
//!
//! # Foreign types in the API
//!
//! All other types of the public API belong to this project (`invoicing-core` is released with this crate) or to the
//! standard library.
//!
//! | Type | Used by | Reason |
//! |---|---|---|
//! | `bytes::Bytes` | documents, [`Transport`] | bodies are shared without a copy |
//! | `http::Request`, `Response`; with `testing` also `Method`, `Uri`, `HeaderMap` | [`Transport`], `testing::ReceivedRequest` | the common types of HTTP libraries |
//! | `futures_core`: `Stream`, `BoxStream`, `BoxFuture` | [`List::stream`], [`Follow::run`], [`Transport`], [`CheckpointStore`] | the standard library has no `Stream`; `BoxFuture` is an alias of standard types |
//! | `reqwest::Client`, `Error` | [`ClientBuilder::reqwest_client`], [`ConfigError::Http`] | reuse of a configured client; nothing else exposes reqwest |
//! | `uuid::Uuid` | [`RecordVersion`], [`ChangeEvent`], inside ids | the type of ids |
//! | `chrono::NaiveDate` | `validUntil`, `issueDate`, `dueDate` and other days | the standard library has no calendar date |
//! | `chrono::DateTime` | [`Timestamp::to_chrono`] | conversion to a calendar; nothing else needs it |
//! | `rust_decimal::Decimal` | [`Money::get`] | the standard library has no exact decimal |
//! | `serde::Serialize`, `Deserialize`, `DeserializeOwned` | implemented by records; required by [`Request::decode`], [`List::decode`], [`Resource::Item`] | storage of records, and parsing into other types |
//! | `serde_json::Error` | [`CheckpointError::Damaged`] | states line and column of the damage |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod api_key;
mod attempt;
#[cfg(feature = "blocking")]
pub mod blocking;
mod call;
mod catch_up;
mod checkpoint;
mod client;
mod clients;
mod credit_notes;
mod document;
mod env;
mod error;
mod error_chain;
mod follow;
mod http_transport;
mod invoices;
mod limits;
mod list;
mod quota_wait;
mod quotes;
mod rate_limiter;
mod request;
mod request_factory;
mod resource;
mod response;
mod retry;
mod retry_after;
#[cfg(any(feature = "blocking", feature = "testing"))]
mod runtime_thread;
mod send;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;

#[cfg(test)]
mod tests;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

pub use api_key::ApiKey;
pub use catch_up::{CatchUp, CatchUpError, Pass, Progress};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointStore, FileCheckpoint, MemoryCheckpoint};
pub use client::{ClientBuilder, InvoicingClient};
pub use clients::{ClientCreation, Clients};
pub use credit_notes::CreditNotes;
pub use document::{Document, DownloadDocument};
pub use error::{ConfigError, Error, ErrorKind};
pub use follow::{
    ChangeEvent, ChangeEventError, ChangeEvents, ChangeNotifier, FailedPass, Follow, change_events,
};
pub use invoices::Invoices;
pub use list::List;
pub use quotes::Quotes;
pub use request::Request;
pub use resource::{RecordVersion, Resource};
pub use transport::{Transport, TransportError, TransportErrorKind};

pub use invoicing_core::{
    BillingAddress, ClientId, ClientType, CreditNote, CreditNoteId, CreditNoteItem, CreditNoteReference,
    Deduction, DocumentFormat, DocumentLink, ErrorCode, ExternalLink, InvoiceId, InvoiceStatus, InvoiceType,
    Line, Money, NewClient, OpenEnum, Page, Pagination, Percent, QuoteId, QuoteStatus, SignatureBlock,
    Timestamp, VatShare,
};

/// A quote with all members of the API: the response of [`Quotes::get`]. Lists and catch-ups bring [`QuoteItem`]s.
pub type Quote = invoicing_core::Quote<OpenEnum<QuoteStatus>>;
/// A quote in a list, a [`CatchUp`] or a [`Follow`]. In the last two it has its lines.
pub type QuoteItem = invoicing_core::QuoteItem<OpenEnum<QuoteStatus>>;
/// An invoice with all members of the API: the response of [`Invoices::get`]. Lists and catch-ups bring [`InvoiceItem`]s.
pub type Invoice = invoicing_core::Invoice<OpenEnum<InvoiceStatus>>;
/// An invoice in a list, a [`CatchUp`] or a [`Follow`]. In the last two it has its lines.
pub type InvoiceItem = invoicing_core::InvoiceItem<OpenEnum<InvoiceStatus>>;
/// A client record.
pub type Client = invoicing_core::Client<OpenEnum<ClientType>>;
