//! The operations that a host's UI and the API call: one file per noun, one call = one transaction.
//!
//! An operation reads its records, lets `invoicing-core` decide, and stores the record, its events
//! and their deliveries together. It has no access to HTTP or SQL.

mod clients;
mod closing;
mod companies;
mod company_handle;
mod conversion;
mod credit_notes;
mod events;
#[cfg(feature = "console")]
mod form_once;
mod freezing;
mod frozen_files;
mod held_dates;
mod history;
mod invoices;
mod keys;
mod numbering;
mod projects;
mod quotes;
pub(crate) mod reading;
mod reminder;
pub(crate) mod resealing;
mod services;
mod signing;
pub(crate) mod sweep;
mod webhooks;

use invoicing_core::{Invalid, Rule};

pub use clients::{ClientCreation, Clients};
pub use companies::Companies;
pub use company_handle::CompanyHandle;
pub use credit_notes::CreditNotes;
pub use events::Events;
pub use frozen_files::OpenedDocument;
pub use history::History;
pub use invoices::{Invoices, IssueOptions, NewPayment, RecordedPayment};
pub use keys::{IssuedKey, KeyUsage, Keys};
pub use projects::{NewProject, Projects};
pub use quotes::Quotes;
#[cfg(feature = "console")]
pub(crate) use quotes::sent_again;
pub use resealing::ResealReport;
pub use signing::{Decline, Signature, SigningLinks, SigningPage};
pub use sweep::{SweepReport, UnreadableRecord};
pub use webhooks::{NewWebhook, RegisteredWebhook, WebhookChange, Webhooks};

use crate::error::Error;
#[cfg(feature = "console")]
pub(crate) use form_once::CarriedOut;
pub(crate) use held_dates::HeldDates;
pub(crate) use numbering::Numbering;
pub(crate) use reminder::Reminder;
pub(crate) use services::Services;
#[cfg(feature = "console")]
pub(crate) use signing::{ACTOR, LinkedQuote, REASON_LIMIT, SignableQuote, entry_sealer, split_behind_token};
pub(crate) use webhooks::MAX_WEBHOOKS;

/// Turns [`Error::NotFound`] about a record that an input names into [`Error::Invalid`] about the
/// field.
fn missing(error: Error, field: &'static str, rule: Rule) -> Error {
    match error {
        Error::NotFound => Invalid::new(field, rule).into(),
        error => error,
    }
}

fn missing_client(error: Error) -> Error {
    missing(error, "clientId", Rule::ClientOfCompany)
}
