//! The domain of a quoting and invoicing service.
//!
//! Records, statuses, money, totals, states, events, and the decisions about deliveries and quotas: everything
//! that can be decided without a database, a socket or a clock. Functions take the instant as an argument and
//! return the new record *together with* the events it must cause, so that no caller can forget one.
//!
//! The records double as the wire types of the API and of the webhooks: what cannot be said in these types
//! (internal costs, private notes) cannot leave the service.
//!
//! ```
//! use invoicing_core::{NewLine, price_lines, Totals};
//!
//! let lines: Vec<NewLine> = serde_json::from_str(
//!     r#"[{"description": "Paint", "quantity": 12.5, "unit": "m2", "unitPrice": 24, "tvaRate": 10}]"#,
//! )?;
//! let priced = price_lines(&lines)?;
//! let totals = Totals::of(&priced.lines)?;
//! assert_eq!(totals.total_ht.to_string(), "300");
//! assert_eq!(totals.total_ttc.to_string(), "330");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod company;
pub mod contract;
mod date;
mod delivery;
mod document;
mod error;
mod event;
mod fixed;
#[cfg(test)]
mod fixtures;
mod flat;
mod ids;
mod invoice;
mod invoice_states;
mod line;
mod list;
mod open;
mod project;
mod proof;
mod quota;
mod quote;
mod quote_states;
mod text;
mod timestamp;
mod totals;

pub use client::{Client, ClientChange, ClientFields, ClientType, NewClient};
pub use company::{Company, CompanyIdentity, NewCompany, Plan};
pub use delivery::{
    AttemptOutcome, DISABLE_AFTER, DeliveryEnd, DeliveryStatus, FailureClass, NextStep, RetryPolicy, Streak,
};
pub use document::{DocumentLink, sha256_hex};
pub use error::{ApiErrorBody, ApiErrorDetail, Conflict, ErrorCode, Invalid, Refusal, TooManyRequests};
pub use event::{
    Event, EventData, EventKind, InvoiceEventData, PingEventData, ProjectEventData, QuoteEventData,
};
pub use fixed::{Money, Percent, Quantity, UnitPrice};
pub use ids::{
    ClientId, CompanyId, EventId, InvoiceId, KeyId, NotAnId, PaymentId, ProjectId, QuoteId, WebhookId,
    parse_uuid,
};
pub use invoice::{Invoice, InvoiceHead, InvoiceItem, InvoiceStatus, InvoiceTerms};
pub use invoice_states::{Issue, PAYMENT_TERM_DAYS};
pub use line::{Costing, Line, MAX_LINES, NewLine, PricedLines, price_lines};
pub use list::{DEFAULT_LIMIT, MAX_LIMIT, Page, Pagination};
pub use open::Open;
pub use project::{Project, ProjectStatus};
pub use proof::{ProofParts, proof_fingerprint};
pub use quota::{Admission, QUOTA_WINDOW_MS, QuotaWindow};
pub use quote::{
    ExternalLink, NewQuote, Quote, QuoteHead, QuoteItem, QuoteStatus, QuoteTerms, SignatureBlock,
};
pub use quote_states::{QuoteImport, QuoteOrigin, SignatureEvidence, VALIDITY_DAYS};
pub use text::{LONG_TEXT, SHORT_TEXT, check_email, fold_for_search, optional_text, required_text};
pub use timestamp::{Timestamp, TimestampError};
pub use totals::{Totals, VatShare, retention_amount};

/// A record after a change, with every event that the change must cause.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "the events belong to the change: store both or neither"]
pub struct Changed<T> {
    /// The record as it stands after the change.
    pub record: T,
    /// What has to be announced, in order. Often empty.
    pub events: Vec<Event>,
}

impl<T> Changed<T> {
    /// A change that nobody is told about.
    pub(crate) fn silent(record: T) -> Self {
        Self { record, events: Vec::new() }
    }
}
