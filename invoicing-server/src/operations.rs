//! What a host's UI calls, and what the API needs: one file per noun, one call = one transaction.
//!
//! An operation reads what it needs, lets `invoicing-core` decide, and stores the record, its events and their
//! deliveries together. It knows neither HTTP nor SQL.

mod clients;
mod closing;
mod companies;
mod documents;
mod events;
#[cfg(feature = "console")]
mod forms;
mod history;
mod invoices;
mod keys;
mod named;
mod projects;
mod quotes;
mod reminder;
pub(crate) mod sealing;
mod signing;
pub(crate) mod sweep;
mod webhooks;

use std::fmt;
use std::sync::Arc;

use invoicing_core::Invalid;

pub use clients::{ClientCreation, Clients};
pub use companies::{Companies, CompanyHandle};
pub use documents::OpenedDocument;
pub use events::Events;
pub use history::History;
pub use invoices::{Invoices, NewPayment, RecordedPayment};
pub use keys::{IssuedKey, KeyUsage, Keys};
pub use projects::{NewProject, Projects};
pub use quotes::Quotes;
pub use sealing::ResealReport;
pub use signing::{Decline, Signature, SigningLinks, SigningPage};
pub use sweep::{SweepReport, UnreadableRecord};
pub use webhooks::{NewWebhook, RegisteredWebhook, WebhookChange, Webhooks};

use crate::Error;
use crate::access::{Access, Lookup};
use crate::cause::TraceContext;
use crate::documents::{Documents, UrlSigner};
use crate::env::Env;
use crate::sealing::Sealer;
use crate::store::Store;
use crate::store::signatures::GoodLinkRow;
use crate::target::TargetPolicy;
#[cfg(feature = "console")]
pub(crate) use forms::CarriedOut;
pub(crate) use invoices::HeldDates;
pub(crate) use quotes::Numbering;
pub(crate) use reminder::Reminder;
#[cfg(feature = "console")]
pub(crate) use signing::{ACTOR, REASON_LIMIT, ShownQuote};
pub(crate) use webhooks::MAX_WEBHOOKS;

/// What the operations work with.
pub(crate) struct Services {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Env,
    /// Knows how much of its quota a key has used.
    pub(crate) access: Arc<Access>,
    /// Finds the signing links whose tokens callers present.
    pub(crate) links: Lookup<GoodLinkRow>,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) url_signer: UrlSigner,
    /// What URLs of documents begin with, without a slash at the end.
    pub(crate) base_url: String,
    /// Whether URLs lead to the document store itself, where it can sign them.
    pub(crate) presigned_urls: bool,
    /// Which URLs webhooks may have.
    pub(crate) target: TargetPolicy,
    pub(crate) numbering: Numbering,
    pub(crate) held_dates: HeldDates,
    pub(crate) reminder: Reminder,
    /// Takes contexts from where operations are called to the attempts.
    pub(crate) traces: Option<Arc<dyn TraceContext>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

/// A record that an input names and that does not exist is bad input.
fn missing(error: Error, field: &'static str, rule: &'static str) -> Error {
    match error {
        Error::NotFound => Invalid::new(field, rule).into(),
        error => error,
    }
}

fn missing_client(error: Error) -> Error {
    missing(error, "clientId", "must be a client of the company")
}
