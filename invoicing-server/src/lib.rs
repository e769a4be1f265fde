//! An embeddable quoting and invoicing service for tradespeople and small businesses.
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
//! A host opens [`Invoicing`] on a SQLite file, or, with the feature `postgres`, on a PostgreSQL
//! database that several processes share. It then has three parts: the **API** as a hyper and tower
//! service, the **operations** that its own UI calls, and the **dispatcher** that delivers signed
//! webhooks.
//!
//! The service starts background tasks for the database only: the writer on SQLite; on PostgreSQL
//! the listener, the clock synchronisation and each commit. The host serves the API, and runs the
//! dispatcher and the hourly sweep with [`Invoicing::run`]. The log warns if a host does not run
//! them.
//!
//! # Where to find what a host needs
//!
//! | For | Start at |
//! |---|---|
//! | the database, the settings, the parts that can be replaced | [`Invoicing::sqlite`], `Invoicing::postgres`, [`InvoicingBuilder`], [`Settings`] |
//! | companies, and every operation on the records of one | [`Companies`], [`CompanyHandle`] |
//! | the API, by a server of this crate or another | [`serve()`] with [`ServeLimits`]; [`Invoicing::service`] |
//! | keys of the API | [`Keys`] |
//! | webhooks: registered, delivered, replayed | [`Webhooks`], [`Dispatcher`] |
//! | quotes, and the links by which clients sign them | [`Quotes`], [`SigningLinks`] |
//! | invoices, payments and credit notes | [`Invoices`], [`CreditNotes`] |
//! | the look of documents, and the place where they are kept | [`DocumentRenderer`], `PdfRenderer`; [`DocumentStore`], [`ObjectStorage`] |
//! | pages for the people of a company, and for signers | `Invoicing::console`, `Invoicing::signing_page`, `ConsoleSettings`, `SignIn` |
//! | secrets sealed at rest | [`SealingKeys`] |
//! | probes, measurements, traces | [`Invoicing::health_service`], the feature `metrics`, [`TraceContext`] |
//! | the move from SQLite to PostgreSQL | `copy_to_postgres` |
//! | tests of a host | `ManualClock`, `MemoryStore`, [`TargetPolicy`] |
//!
//! # Features
//!
//! | Feature | Provides |
//! |---|---|
//! | `pdf` (default) | `PdfRenderer`, which typesets documents. Without it the host gives a [`DocumentRenderer`] |
//! | `postgres` | `Invoicing::postgres`, and `copy_to_postgres` |
//! | `postgres-tls` | TLS to PostgreSQL, by the `sslmode` of its URL |
//! | `console` | `Invoicing::console` and `Invoicing::signing_page` |
//! | `reference` | the reference of the API as a page, at `/api/v1/docs` |
//! | `metrics` | measurements through the facade of the crate `metrics` |
//! | `s3`, `gcs`, `azure` | [`ObjectStorage`] in a cloud |
//! | `platform-roots` | `TransportBuilder::platform_roots`: webhooks to receivers that the operating system trusts |
//! | `testing` | `ManualClock` and `MemoryStore` |
//!
//! # The life of a quote
//!
//! This example has the calls of a host's UI, in their order. Each noun has a type with further
//! operations and an example: [`Companies`], [`CompanyHandle`], [`Clients`], [`Quotes`],
//! [`SigningLinks`], [`Invoices`], [`Projects`], [`Webhooks`], [`Events`], [`Keys`] and
//! [`History`]. A running host leaves the dispatcher and the sweep to [`Invoicing::run`]; the
//! example calls them. The routes of a host answer an [`Error`] with [`Error::status`] and
//! [`Error::body`], as the API does.
//!
//! ```
//! use invoicing_server::{
//!     CompanyIdentity, InvoiceStatus, Invoicing, NewClient, NewCompany, NewLine, NewPayment, NewQuote, NewWebhook,
//!     PaymentMethod, PaymentSource, Plan, QuoteStatus, Settings, Signature, SignatureEvidence, TargetPolicy, money,
//!     unit_price,
//! };
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let database = folder.path().join("invoicing.db");
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let receiver = format!("http://{}/hook", listener.local_addr()?);
//! # tokio::spawn(receive(listener));
//! // The receiver of this example is on loopback. Otherwise webhooks reach public addresses only, with `https`.
//! let target = TargetPolicy { allow_http: true, allow_private: true };
//! let settings = Settings { target, ..Settings::default() };
//! let invoicing = Invoicing::sqlite(database).settings(settings).open().await?;
//!
//! // A company with the legal data that its invoices state, its webhook, its client.
//! let identity = CompanyIdentity::default()
//!     .address("8 impasse des Tanneurs\n69007 Lyon")
//!     .siret("732 829 320 00074")
//!     .vat_number("FR44732829320");
//! let new = NewCompany::named("Martin Peinture", Plan::Team).identity(identity);
//! let company = invoicing.companies().create(&new).await?;
//! let company = invoicing.company(company.id);
//! let webhook = company.webhooks().register(&NewWebhook::for_all_events(receiver)).await?;
//! println!("Shown this once: {}", webhook.secret.reveal()); // for a `webhook_verify::Verifier`
//! let claire = NewClient::named("Claire Lefèvre").email("claire@exemple.fr").city("Villeurbanne");
//! let claire = company.clients().create(&claire).await?;
//!
//! // A quote in two lots. 5 % is held back until the work is approved.
//! let draft = NewQuote::empty(claire.id)
//!     .line(NewLine::new("Protecting the floor", 1, 100, 10).lot("Preparation"))
//!     .line(NewLine::new("Two coats of matt paint", 40, unit_price!(22.50), 10).unit("m2").lot("Painting"))
//!     .retention_rate(5);
//! let quote = company.quotes().create(&draft).await?; // quote.created
//! assert_eq!(quote.summary.total_ttc, money!(1_100));
//!
//! // A draft is edited, discarded (`reject`), or sent: that locks it and freezes its document.
//! let id = quote.summary.id;
//! company.quotes().send(id, None).await?;
//!
//! // The client opens the link with this token, reads the document, and signs it.
//! let token = company.quotes().create_signing_link(id).await?;
//! let links = invoicing.signing_links();
//! let shown = links.document(token.reveal()).await?;
//! let evidence = SignatureEvidence::new("Claire Lefèvre", "claire@exemple.fr", "Bon pour accord");
//! let signature = Signature::new(evidence).document_sha256(shown.sha256);
//! let signed = links.sign(token.reveal(), &signature).await?; // quote.signed, quote.accepted
//! assert_eq!(signed.summary.status, QuoteStatus::Accepted);
//!
//! // The invoice gets its number when it is issued.
//! let invoice = company.invoices().convert(id).await?.summary.id; // invoice.created
//! let issued = company.invoices().issue(invoice, None).await?; // invoice.issued
//! assert_eq!(issued.summary.amount_due, money!(1_045));
//! let cheque =
//!     NewPayment::new(money!(400.50), PaymentSource::Entered).method(PaymentMethod::Cheque).reference("CHQ 0412");
//! company.invoices().pay(invoice, &cheque).await?;
//! // The bank's identifier of the movement: the same one twice is one payment.
//! let transfer = NewPayment::new(money!(644.50), PaymentSource::Bank)
//!     .method(PaymentMethod::Transfer)
//!     .movement_id("2026-09-14/7781");
//! let paid = company.invoices().pay(invoice, &transfer).await?.invoice; // invoice.paid
//! assert_eq!(paid.summary.status, InvoiceStatus::Paid);
//!
//! // The receiver answers 404 at first: its log says so. Once it is repaired, it gets what it missed.
//! let report = invoicing.dispatcher().run_once().await?;
//! assert_eq!((report.delivered, report.failed), (0, 6));
//! let log = company.webhooks().log(webhook.webhook.id, 100).await?;
//! assert!(log.iter().all(|attempt| attempt.status == Some(404)));
//! assert_eq!(company.webhooks().replay(webhook.webhook.id, None).await?, 6);
//! assert_eq!(invoicing.dispatcher().run_once().await?.delivered, 6);
//!
//! // Every hour: quotes expire, invoices fall overdue, idle keys are revoked.
//! let swept = invoicing.sweep().await?;
//! assert_eq!((swept.expired_quotes, swept.overdue_invoices), (0, 0));
//! invoicing.close().await;
//! # Ok(()) }
//! #
//! # /// Answers the first six deliveries with 404, and the others with 204.
//! # async fn receive(listener: tokio::net::TcpListener) {
//! #     use std::sync::atomic::{AtomicUsize, Ordering};
//! #     use http_body_util::BodyExt;
//! #     static ANSWERED: AtomicUsize = AtomicUsize::new(0);
//! #     while let Ok((stream, _)) = listener.accept().await {
//! #         let answer = hyper::service::service_fn(|request: http::Request<hyper::body::Incoming>| async move {
//! #             request.into_body().collect().await?;
//! #             let status = if ANSWERED.fetch_add(1, Ordering::Relaxed) < 6 { 404 } else { 204 };
//! #             let response = http::Response::builder().status(status).body(String::new());
//! #             Ok::<_, hyper::Error>(response.expect("a status"))
//! #         });
//! #         let stream = hyper_util::rt::TokioIo::new(stream);
//! #         tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(stream, answer));
//! #     }
//! # }
//! ```
//!
//! # Inputs and records
//!
//! Inputs and records are types of [`invoicing_core`]. This crate re-exports that crate as a whole,
//! and beside it the types that operations take and return. [`chrono`] and [`rust_decimal`] are the
//! versions whose [`NaiveDate`] and [`Decimal`] these types hold.
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
//!
//! Errors, kinds, reports and records of this crate are `#[non_exhaustive]`. Its inputs, queries
//! and settings are not, nor is the input of a [`DocumentRenderer`], so that hosts and tests may
//! build them as literals, as those of [`invoicing_core`](invoicing_core#extension-of-types). A
//! field that is added to one is a breaking change; calls with setters or
//! `..Settings::default()` are not affected by it.
//!
//! # Foreign types in public signatures
//!
//! A new major version of one of these crates, or a new minor version of one at 0.x, is a breaking
//! change here.
//!
//! | Type | Feature | Reason |
//! |---|---|---|
//! | [`invoicing_core`], and its [`chrono`], [`rust_decimal`], `uuid` and `serde` | | records and inputs |
//! | `http::{Request, Response, StatusCode, Method}`, `http_body::Body`, `bytes::Bytes` | | any HTTP server that uses them fits |
//! | `tower_service::Service`, `hyper::service::Service` | | the interfaces of servers and routers |
//! | `tokio::net::TcpListener` | | the listener of [`serve()`] |
//! | `futures_util::future::BoxFuture` | | an alias of types of the standard library |
//! | `tracing::Span` | | [`TraceContext::attempt`] |
//! | [`object_store`] 0.14 | | the stores, builders and signers that [`ObjectStorage`] takes; the cause in [`StorageSetupError::Store`] |
//! | `sqlx::Error` 0.9 | | the cause in [`DatabaseError`] and `CopyError`; [`Error`] is made from it |
//! | `rustls::Error` 0.23 | | the cause in [`TransportSetupError`] |
//! | `strum::VariantArray` 0.28 | | derived by enums whose `ALL` needs no import |
//! | `metrics::Recorder` 0.24 | `metrics` | the recorder of the host |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod api;
mod cause;
mod company_slots;
mod config;
#[cfg(feature = "console")]
mod console;
#[cfg(feature = "postgres")]
mod copy;
mod dispatch;
mod documents;
mod env;
mod error;
mod forward_proxy;
mod health;
mod http;
mod invoicing;
mod keyed_semaphore;
mod list_query;
mod log;
mod open_error;
mod operations;
mod queue;
mod records;
mod sealing;
mod secret;
mod serve;
#[cfg(any(feature = "console", feature = "reference"))]
mod snippets;
mod store;
mod target;
mod telemetry;
#[cfg(test)]
mod tests;
mod trace_context;

pub use self::http::response_body::{Body, UnreadResponse};
pub use api::{ApiService, Endpoint, ROUTES, Route};
#[cfg(feature = "postgres")]
pub use config::PostgresSettings;
pub use config::{
    DispatchSettings, DocumentSettings, ReferenceSettings, RequestLimits, SettingError, Settings,
};
#[cfg(feature = "console")]
pub use console::{
    Console, ConsoleAction, ConsoleRole, ConsoleSession, ConsoleSettings, Language, SignIn, SignInDecision,
    SignInFuture, Theme, ThemeLogo,
};
#[cfg(feature = "postgres")]
pub use copy::{CopyError, CopyReport, copy_to_postgres};
pub use dispatch::transport::{Resolve, ResolveFuture, TransportBuilder, TransportSetupError};
pub use dispatch::{DisabledWebhook, DispatchReport, Dispatcher, DispatcherHealth};
pub use documents::{
    Buyer, ContentHash, DocumentFacts, DocumentFile, DocumentInput, DocumentKey, DocumentKind, DocumentLogo,
    DocumentRef, DocumentRenderer, DocumentStore, DocumentStoreError, LogoFormat, ObjectStorage,
    ParseHashError, Parties, RenderDeadline, RenderError, SentCopy, StorageSetupError,
};
#[cfg(feature = "pdf")]
pub use documents::{FontError, PdfRenderer};
#[cfg(any(test, feature = "testing"))]
pub use documents::{MemoryStore, factur_x};
#[cfg(any(test, feature = "testing"))]
pub use env::ManualClock;
pub use env::{Clock, Env, Random, SystemClock};
pub use error::Error;
pub use forward_proxy::{ForwardProxy, ParseProxyError};
pub use health::{DocumentsHealth, Health, HealthService};
pub use invoicing::{Invoicing, InvoicingBuilder};
pub use list_query::{
    ClientQuery, CreditNoteQuery, DeliveryQuery, EventQuery, HistoryQuery, InvoiceQuery, PageQuery,
    PageWindow, QuoteQuery, QuoteSearch, RecordedKind,
};
/// The crate in the version whose recorders the service accepts.
#[cfg(feature = "metrics")]
pub use metrics;
/// The crate in the version that [`ObjectStorage`] is built from.
pub use object_store;
pub use open_error::OpenError;
pub use operations::{
    ClientCreation, Clients, Companies, CompanyHandle, CreditNotes, Decline, Events, History, Invoices,
    IssueOptions, IssuedKey, KeyUsage, Keys, NewPayment, NewProject, NewWebhook, OpenedDocument, Projects,
    Quotes, RecordedPayment, RegisteredWebhook, ResealReport, Signature, SigningLinks, SigningPage,
    SweepReport, UnreadableRecord, WebhookChange, Webhooks,
};
pub use records::{
    AttemptRecord, DayCounts, DeliveryCounts, DeliveryDetail, DeliveryItem, DeliveryPage, DeliveryRecord,
    EventItem, EventPage, EventRecord, EventSubject, FrozenFile, GapLevel, GapPlace, HistoryAction,
    HistoryPage, HistoryRecord, KeyRecord, NextAttempt, Payment, ProofRecord, QuotePage, ReadinessGap,
    SealingStats, SigningLinkRecord, Version, Webhook, WebhookDayStats,
};
pub use sealing::{SealingError, SealingKey, SealingKeyError, SealingKeys};
pub use secret::Secret;
pub use serve::{ServeLimits, ServedApp, serve};
pub use store::{DatabaseError, DatabaseHealth};
pub use target::{TargetPolicy, TargetUrl, is_public};
pub use trace_context::TraceContext;

pub use chrono::{self, NaiveDate};
pub use invoicing_core::{
    self, ApiErrorBody, BillingAddress, Client, ClientChange, ClientId, ClientType, Company, CompanyId,
    CompanyIdentity, Conflict, ConflictReason, Costing, CreditItem, CreditNote, CreditNoteId, CreditNoteItem,
    DeliveryStatus, DisabledReason, DocumentFormat, EInvoicing, ErrorCode, EventId, EventKind, ExternalLink,
    IdentifierKind, Invalid, Invoice, InvoiceId, InvoiceItem, InvoiceStatus, InvoiceType, KeyId, Line,
    LogoRule, MAX_URL_CHARS, Money, NewClient, NewCompany, NewCreditNote, NewLine, NewQuote, OperationNature,
    Page, PaymentId, PaymentMethod, PaymentSource, Percent, Plan, Project, ProjectId, ProjectStatus,
    Quantity, Quote, QuoteId, QuoteImport, QuoteItem, QuoteStatus, QuoteSummary, Rule, SignatureEvidence,
    TargetError, Timestamp, UnitPrice, VatRegime, WebhookId, money, percent, quantity, unit_price,
};
pub use rust_decimal::{self, Decimal};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
