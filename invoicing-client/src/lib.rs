//! Typed client of the quoting and invoicing API.
//!
//! Every endpoint; lists as streams; retries that never create anything twice; documents checked against their
//! SHA-256; and a catch-up that misses nothing.
//!
//! ```no_run
//! use futures_util::TryStreamExt;
//! use invoicing_client::{FileCheckpoint, InvoicingClient, NewClient, QuoteStatus};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = InvoicingClient::builder("https://quotes.example.com", std::env::var("INVOICING_KEY")?).build()?;
//!
//! // All accepted quotes, over as many pages as there are.
//! let mut accepted = client.quotes().list().status(QuoteStatus::Accepted).stream();
//! while let Some(quote) = accepted.try_next().await? {
//!     println!("{} {}", quote.summary.number, quote.summary.total_ttc);
//!     client.quotes().link(quote.summary.id, "crm-7").await?;
//! }
//!
//! // With an `externalId`, creating twice creates once.
//! let new = NewClient { external_id: Some("crm-42".into()), ..NewClient::named("Dupont SARL") };
//! let created = client.clients().create(&new).await?;
//! println!("{} is {}", created.client().id, if created.is_created() { "new" } else { "known" });
//!
//! // Everything that changed since the last time, oldest first. The checkpoint moves once all of it is stored.
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
//! # Requests
//!
//! Each endpoint has a request of its own: `client.quotes().list()` is a [`List`] with typed filters, read as one page,
//! as pages or as a stream; the others are a [`Request`] of what they answer. A request can be awaited or
//! [sent](Request::send), and takes a deadline and a number of attempts of its own.
//!
//! # The pace
//!
//! All clones of a client keep to the key's quota together: 30 requests in any 60 s, or what `RateLimit-Limit` says.
//! Nothing is spread: the first goes alone, to learn the quota and what is left of it, the next 29 at once, and then each
//! goes as soon as the service lets it pass, first come, first served. While the key has no other user, no call meets a
//! 429, but for the very first of a process that begins when an earlier one has just used up the quota; it then waits as
//! it is told. What others use is learnt from `RateLimit-Remaining`, and where they cause a 429, all clones wait. A call whose turn would come after its deadline fails at once with
//! [`ErrorKind::Pace`] and says when there may be room. So a bulk job keeps no more calls in flight than the quota has
//! places, or gives them a longer deadline:
//!
//! ```no_run
//! # use futures_util::{StreamExt, TryStreamExt, stream};
//! # use invoicing_client::{Error, InvoicingClient, QuoteId};
//! # async fn example(client: InvoicingClient, deals: Vec<(QuoteId, String)>) -> Result<(), Error> {
//! let links = stream::iter(&deals).map(|(id, deal)| client.quotes().link(*id, &**deal).into_future());
//! links.buffer_unordered(10).try_for_each(async |_| Ok(())).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`ClientBuilder::pacing`] turns it off.
//!
//! # Retries
//!
//! `GET`, `PATCH` and `POST /clients` with an `externalId` are repeated after connect errors, timeouts, broken
//! connections, 408, 429 and 5xx: at most 4 attempts under one deadline ([`ClientBuilder::deadline`]). The wait is the
//! larger of `Retry-After` and a random backoff (full jitter; its ceiling doubles from 0.5 s up to 8 s). A
//! `Retry-After` above 90 s, or a wait that would pass the deadline, is not waited for: the error carries it
//! ([`Error::retry_after`]). Redirects are not followed.
//!
//! # Readers survive what they do not know
//!
//! v1 of the API only grows. Unknown fields are ignored, and can be read with [`Request::decode`] and [`List::decode`]; an
//! unknown status or code keeps its text ([`OpenEnum::Other`], [`ErrorCode::Other`]).
//!
//! # What is logged
//!
//! With [`tracing`], a span per call (operation, path, status) at info, and in it an event per attempt: at info where
//! it failed and will be repeated (what failed, how long it waits), else at debug. Never the key, a query or a body.
//!
//! # Compared with
//!
//! What clients of two other services do, each at its defaults unless a setting is named, against the same server on
//! loopback. The project's tests make every row of what the crates do, and fail where this table says anything else.
//!
//! | Case | invoicing-client | octocrab 0.54.9 | async-stripe 1.0.0-rc.10 |
//! |---|---|---|---|
//! | The next attempt after 429 with `Retry-After: 2` | after 2 s | at once; with `HandleRateLimits` after 2 s | none; with `ExponentialBackoff` after 1 s |
//! | Attempts of a `POST` without an idempotency key, each answered 503 | 1; with an `externalId` 4 | 4 | 1; with `Retry(4)` 4 |
//! | The 4th call under a quota of 3 | is not sent before its turn | is sent, and refused | is sent, and refused |
//! | A limit for one call that hangs | for all its attempts and waits | only the client's, and for each of its 4 attempts | for each attempt |
//! | An unknown state | kept (`OpenEnum::Other`) | an error (`IssueState`) | kept (`ChargeStatus::Unknown`) |
//! | Asks again with the answer's `ETag` | no | yes, with `cache` | no |
//!
//! async-stripe sends a key with what it repeats if its feature `uuid` is on, which it is not here and by default.
//!
//! # Features
//!
//! | Feature | Brings |
//! |---|---|
//! | `blocking` | `blocking::InvoicingClient`, for programs without an async runtime; safe inside one too |
//! | `testing` | `testing::FakeServer`, which fails as a test asks for, for tests of integrations |
//!
//! # Foreign types in the API, and why
//!
//! Everything else in the public API is this project's own (`invoicing-core` is released with it) or the standard
//! library's.
//!
//! | Type | Where | Why |
//! |---|---|---|
//! | `bytes::Bytes` | documents, [`Transport`] | a body is shared and not copied |
//! | `http::Request`, `Response`; in `testing` also `Method`, `Uri`, `HeaderMap` | [`Transport`], `testing::ReceivedRequest` | what every HTTP library in Rust speaks |
//! | `futures_core`: `Stream`, `BoxStream`, `BoxFuture` | [`List::stream`], [`Follow::run`], [`Transport`], [`CheckpointStore`] | the standard library has no `Stream` yet; `BoxFuture` is only a name for its own types |
//! | `reqwest::Client`, `Error` | [`ClientBuilder::reqwest_client`], [`ConfigError::Http`] | for who has one set up already; nothing else shows it |
//! | `uuid::Uuid` | [`Version`], inside of ids | what ids are |
//! | `chrono::NaiveDate` | `validUntil`, `issueDate`, `dueDate` | the standard library has no calendar date |
//! | `chrono::DateTime` | [`Timestamp::to_chrono`] | the way to a calendar; nothing else needs it |
//! | `rust_decimal::Decimal` | [`Money::get`] | the standard library has no exact decimal |
//! | `serde::Serialize`, `Deserialize`, `DeserializeOwned` | implemented by records; asked for by [`Request::decode`], [`List::decode`], [`Resource::Item`] | for who stores them, or reads types of one's own |
//! | `serde_json::Error` | [`CheckpointError::Damaged`] | says at which line and column the file is damaged |

#[cfg(feature = "blocking")]
pub mod blocking;
mod call;
mod catch_up;
mod checkpoint;
mod client;
mod clients;
mod config;
mod document;
mod env;
mod error;
mod follow;
mod invoices;
mod key;
mod list;
#[cfg(any(feature = "blocking", feature = "testing"))]
mod own_thread;
mod pace;
mod quotes;
mod request;
mod resource;
mod retry;
mod retry_after;
mod send;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;

#[cfg(test)]
mod tests;

pub use catch_up::{CatchUp, CatchUpError, Pass, Progress};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointStore, FileCheckpoint, MemoryCheckpoint};
pub use client::InvoicingClient;
pub use clients::{ClientCreation, Clients};
pub use config::ClientBuilder;
pub use document::{Document, DownloadDocument};
pub use error::{ConfigError, Error, ErrorKind};
pub use follow::{Follow, Notice, NoticeError};
pub use invoices::Invoices;
pub use key::ApiKey;
pub use list::List;
pub use quotes::Quotes;
pub use request::Request;
pub use resource::{Resource, Version};
pub use transport::{Transport, TransportError, TransportFailure};

pub use invoicing_core::{
    ClientId, ClientType, DocumentLink, ErrorCode, ExternalLink, InvoiceId, InvoiceStatus, Line, Money,
    NewClient, OpenEnum, Page, Pagination, Percent, QuoteId, QuoteStatus, SignatureBlock, Timestamp,
    VatShare,
};

/// A quote with everything that the API shows of it.
pub type Quote = invoicing_core::Quote<OpenEnum<QuoteStatus>>;
/// A quote as a list shows it.
pub type QuoteItem = invoicing_core::QuoteItem<OpenEnum<QuoteStatus>>;
/// An invoice with everything that the API shows of it.
pub type Invoice = invoicing_core::Invoice<OpenEnum<InvoiceStatus>>;
/// An invoice as a list shows it.
pub type InvoiceItem = invoicing_core::InvoiceItem<OpenEnum<InvoiceStatus>>;
/// A client record.
pub type Client = invoicing_core::Client<OpenEnum<ClientType>>;
