//! What a host's UI calls, and what the API needs: one file per noun, one call = one transaction.
//!
//! An operation reads what it needs, lets `invoicing-core` decide, and stores the record, its events and their
//! deliveries together. It knows neither HTTP nor SQL.

mod clients;
mod companies;
mod documents;
mod events;
mod invoices;
mod keys;
mod projects;
mod quotes;
pub(crate) mod sealing;
mod signing;
mod sweep;
mod webhooks;

pub use clients::{Clients, Creation};
pub use companies::{Companies, CompanyHandle};
pub use documents::OpenedDocument;
pub use events::Events;
pub use invoices::{Invoices, NewPayment, Recorded};
pub(crate) use keys::KeyCache;
pub use keys::{IssuedKey, Keys};
pub use projects::{NewProject, Projects};
pub use quotes::Quotes;
pub use sealing::ResealReport;
pub use signing::{Signature, SigningLinks, SigningPage};
pub use sweep::SweepReport;
pub use webhooks::{NewWebhook, RegisteredWebhook, WebhookChange, Webhooks};
