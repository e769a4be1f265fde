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
//!     println!("{} {}", quote.number, quote.total_ttc);
//!     client.quotes().link(quote.id, "crm-7").await?;
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
//!         println!("store {} {}", quote.number, quote.status);
//!         Ok::<(), std::io::Error>(())
//!     })
//!     .await?;
//! println!("{} records", pass.delivered);
//! # Ok(())
//! # }
//! ```
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
//! v1 of the API only grows. Unknown fields are ignored; an unknown status or code keeps its text ([`Open::Other`],
//! [`ErrorCode::Other`]).
//!
//! # What is logged
//!
//! With [`tracing`], a debug span per call and an event per attempt: operation, path, status, waits. Never the key, a
//! query or a body.

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
    NewClient, Open, Page, Pagination, Percent, QuoteId, QuoteStatus, SignatureBlock, Timestamp, VatShare,
};

/// A quote with everything that the API shows of it.
pub type Quote = invoicing_core::Quote<Open<QuoteStatus>>;
/// A quote as a list shows it.
pub type QuoteItem = invoicing_core::QuoteItem<Open<QuoteStatus>>;
/// An invoice with everything that the API shows of it.
pub type Invoice = invoicing_core::Invoice<Open<InvoiceStatus>>;
/// An invoice as a list shows it.
pub type InvoiceItem = invoicing_core::InvoiceItem<Open<InvoiceStatus>>;
/// A client record.
pub type Client = invoicing_core::Client<Open<ClientType>>;
