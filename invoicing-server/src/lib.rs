//! An embeddable quoting and invoicing service for tradespeople and small businesses.
//!
//! A host opens [`Invoicing`] on a SQLite file, or with the feature `postgres` on a PostgreSQL database that several
//! processes share, and gets three things: the **API** as a hyper and tower service, the **operations** that its own UI
//! calls, and the **dispatcher** that delivers signed webhooks.
//!
//! ```no_run
//! use invoicing_core::{NewCompany, Plan};
//! use invoicing_server::{Invoicing, ServeLimits, serve};
//!
//! # async fn host() -> Result<(), Box<dyn std::error::Error>> {
//! let invoicing = Invoicing::builder("invoicing.db").open().await?;
//! let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
//! let key = invoicing.company(company.id).keys().issue("CRM").await?;
//! println!("Authorization: Bearer {}", key.key.reveal());
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let stop = std::future::pending();
//! let (dispatcher, service) = (invoicing.dispatcher(), invoicing.service());
//! let (served, dispatched) = tokio::join!(
//!     serve(listener, service, ServeLimits::default(), stop),
//!     dispatcher.run(std::future::pending()),
//! );
//! # served?; dispatched?; Ok(()) }
//! ```
//!
//! Nothing runs behind the host's back but what the database needs: on SQLite the task that writes, on PostgreSQL one that
//! hears from the other processes and asks for the time, and each commit. The host runs the dispatcher, serves the API, and
//! calls [`Invoicing::sweep`] once an hour or more often.

mod config;
mod dispatch;
mod documents;
mod env;
mod error;
mod http;
mod invoicing;
#[cfg(feature = "postgres")]
mod moving;
mod operations;
mod sealing;
mod secret;
mod serve;
mod service;
mod store;
mod turns;

#[cfg(feature = "postgres")]
pub use config::PostgresSettings;
pub use config::{DispatchSettings, DocumentSettings, RequestLimits, Settings};
pub use dispatch::target::{MAX_URL_CHARS, TargetError, TargetPolicy, TargetUrl, is_public};
pub use dispatch::transport::{
    ForwardProxy, ProxyError, Resolve, Resolving, TransportBuilder, TransportError,
};
pub use dispatch::{DispatchReport, Dispatcher};
#[cfg(any(test, feature = "testing"))]
pub use documents::MemoryStore;
pub use documents::{
    ContentHash, DocumentFile, DocumentInput, DocumentKey, DocumentRenderer, DocumentStore, NotAHash,
    ObjectStorage, RenderError, SignedCopy, StorageSetupError, StoreError,
};
#[cfg(feature = "pdf")]
pub use documents::{NotAFont, PdfRenderer};
#[cfg(any(test, feature = "testing"))]
pub use env::ManualClock;
pub use env::{Clock, Env, Random, SystemClock};
pub use error::Error;
pub use http::{Endpoint, ROUTES, Route};
pub use invoicing::{Builder, Invoicing};
#[cfg(feature = "postgres")]
pub use moving::{CopyError, CopyReport, copy_to_postgres};
/// What [`ObjectStorage`] is made from, in the version that it takes.
pub use object_store;
pub use operations::{
    Clients, Companies, CompanyHandle, Creation, Events, Invoices, IssuedKey, Keys, NewPayment, NewProject,
    NewWebhook, OpenedDocument, Projects, Quotes, Recorded, RegisteredWebhook, ResealReport, Signature,
    SigningLinks, SigningPage, SweepReport, WebhookChange, Webhooks,
};
pub use sealing::{SealingError, SealingKey, SealingKeyError, SealingKeys};
pub use secret::Secret;
pub use serve::{ServeLimits, serve};
pub use service::{ApiService, Body};
pub use store::OpenError;
pub use store::deliveries::{AttemptRecord, DeliveryRecord};
pub use store::events::EventRecord;
pub use store::invoices::{Payment, PaymentMethod};
pub use store::keys::KeyRecord;
pub use store::page::{ClientQuery, PageQuery, PageWindow};
pub use store::quotes::{DocumentRecord, ProofRecord};
pub use store::sealed::SealedWith;
pub use store::webhooks::{DisabledReason, Webhook};
