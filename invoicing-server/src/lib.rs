//! An embeddable quoting and invoicing service for tradespeople and small businesses.
//!
//! A host opens [`Invoicing`] on a SQLite file, or, with the feature `postgres`, on a PostgreSQL database that several
//! processes share. It then has three parts: the **API** as a hyper and tower service, the **operations** that its own UI
//! calls, and the **dispatcher** that delivers signed webhooks.
//!
//! ```no_run
//! use invoicing_server::{Invoicing, NewCompany, Plan, ServeLimits, serve};
//!
//! # async fn host() -> Result<(), Box<dyn std::error::Error>> {
//! let invoicing = Invoicing::sqlite("invoicing.db").open().await?;
//! let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
//! let key = invoicing.company(company.id).keys().issue("CRM").await?;
//! println!("Authorization: Bearer {}", key.key.reveal());
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let stop = std::future::pending();
//! let (served, ran) = tokio::join!(
//!     serve(listener, invoicing.service(), ServeLimits::default(), stop),
//!     // The dispatcher of webhooks, and the hourly sweep.
//!     invoicing.run(std::future::pending()),
//! );
//! # served?; ran?; Ok(()) }
//! ```
//!
//! The service starts background tasks for the database only: the writer on SQLite; on PostgreSQL the listener, the clock
//! synchronisation and each commit. The host serves the API, and runs the dispatcher and the hourly sweep with
//! [`Invoicing::run`].

//!
//! # Inputs and records
//!
//! They are types of [`invoicing_core`], which is re-exported here as a whole, with those that operations take and return
//! beside it. [`chrono`] and [`rust_decimal`] are the versions whose [`NaiveDate`] and [`Decimal`] these types hold.
//!
//! ```
//! use invoicing_server::{ClientId, NewLine, NewQuote, quantity, unit_price};
//!
//! fn quote(client: ClientId) -> NewQuote {
//!     NewQuote::empty(client)
//!         .line(NewLine::new("Two coats of matt paint", quantity!(37.5), unit_price!(19.90), 10).unit("m2"))
//!         .line(NewLine::new("Discount", -1, 50, 10))
//!         .retention_rate(5)
//! }
//! ```

mod access;
mod api;
mod company_slots;
mod config;
#[cfg(feature = "postgres")]
mod copy;
mod dispatch;
mod documents;
mod env;
mod error;
mod forward_proxy;
mod invoicing;
mod keyed_semaphore;
mod log;
mod open_error;
mod operations;
mod page;
mod queue;
mod sealing;
mod secret;
mod serve;
mod store;
mod target;

pub use api::response_body::{Body, UnreadResponse};
pub use api::routes::{Endpoint, ROUTES, Route};
pub use api::service::ApiService;
#[cfg(feature = "postgres")]
pub use config::PostgresSettings;
pub use config::{DispatchSettings, DocumentSettings, RequestLimits, SettingError, Settings};
#[cfg(feature = "postgres")]
pub use copy::{CopyError, CopyReport, copy_to_postgres};
pub use dispatch::transport::{Resolve, Resolving, TransportBuilder, TransportError};
pub use dispatch::{DispatchReport, Dispatcher};
#[cfg(any(test, feature = "testing"))]
pub use documents::MemoryStore;
pub use documents::{
    ContentHash, DocumentFile, DocumentInput, DocumentKey, DocumentRenderer, DocumentStore, NotAHash,
    ObjectStorage, RenderDeadline, RenderError, SentCopy, StorageSetupError, StoreError,
};
#[cfg(feature = "pdf")]
pub use documents::{NotAFont, PdfRenderer};
#[cfg(any(test, feature = "testing"))]
pub use env::ManualClock;
pub use env::{Clock, Env, Random, SystemClock};
pub use error::Error;
pub use forward_proxy::{ForwardProxy, ProxyError};
pub use invoicing::{Builder, Invoicing};
/// The version of the crate that [`ObjectStorage`] is built from.
pub use object_store;
pub use open_error::OpenError;
pub use operations::{
    Clients, Companies, CompanyHandle, Creation, Events, Invoices, IssuedKey, Keys, NewPayment, NewProject,
    NewWebhook, OpenedDocument, Projects, Quotes, Recorded, RegisteredWebhook, ResealReport, Signature,
    SigningLinks, SigningPage, SweepReport, UnreadableRecord, WebhookChange, Webhooks,
};
pub use page::{ClientQuery, PageQuery, PageWindow};
pub use sealing::{SealingError, SealingKey, SealingKeyError, SealingKeys};
pub use secret::Secret;
pub use serve::{ServeLimits, serve};
pub use store::DatabaseError;
pub use store::deliveries::{AttemptRecord, DeliveryRecord};
pub use store::documents::DocumentRecord;
pub use store::events::EventRecord;
pub use store::invoices::{Payment, PaymentMethod, PaymentSource};
pub use store::keys::KeyRecord;
pub use store::sealed::SealedWith;
pub use store::signatures::{ProofRecord, SigningLinkRecord};
pub use store::webhooks::{DisabledReason, Webhook};
pub use target::{MAX_URL_CHARS, TargetError, TargetPolicy, TargetUrl, is_public};

pub use chrono::{self, NaiveDate};
pub use invoicing_core::{
    self, Client, ClientChange, ClientId, ClientType, Company, CompanyId, CompanyIdentity, Conflict, Costing,
    DeliveryStatus, ErrorCode, EventId, EventKind, ExternalLink, Invalid, Invoice, InvoiceId, InvoiceItem,
    InvoiceStatus, KeyId, Line, Money, NewClient, NewCompany, NewLine, NewQuote, Page, PaymentId, Percent,
    Plan, Project, ProjectId, ProjectStatus, Quantity, Quote, QuoteId, QuoteImport, QuoteItem, QuoteStatus,
    SignatureEvidence, Timestamp, UnitPrice, WebhookId, money, percent, quantity, unit_price,
};
pub use rust_decimal::{self, Decimal};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
