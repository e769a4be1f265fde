//! The domain of a quoting and invoicing service.
//!
//! ```
//! use invoicing_core::{NewLine, Totals, money, price_lines, quantity};
//!
//! let line = NewLine::new("Paint", quantity!(12.5), 24, 10).unit("m2");
//! let priced = price_lines(&[line])?;
//! let totals = Totals::of(&priced.lines)?;
//! assert_eq!((totals.total_ht, totals.total_ttc), (money!(300), money!(330)));
//! # Ok::<(), invoicing_core::Invalid>(())
//! ```
//!
//! Records, statuses, money, totals, states, events, and the decisions about deliveries and quotas:
//! all decisions that need no database, socket or clock. Functions take the instant as an argument
//! and return the new record *together with* the events it must cause, so that no caller can forget
//! one.
//!
//! The records are also the wire types of the API and of the webhooks. Internal costs and private
//! notes have no field in these types, so they cannot leave the service.
//!
//! # Inputs
//!
//! The inputs of a host are plain structs with public fields. Each has a constructor that takes the
//! required fields, and a setter for each other field, with the field's name:
//! `NewClient::named("Claire").city("Lyon")`.
//!
//! Numbers are exact. An integer can be passed for each; [`money!`], [`quantity!`], [`unit_price!`]
//! and [`percent!`] take a literal with decimals, which is checked when it is compiled. No function
//! takes a binary float.
//!
//! # Extension of types
//!
//! One policy decides which types are `#[non_exhaustive]`:
//!
//! | Types | `#[non_exhaustive]` | Reason |
//! |---|---|---|
//! | errors: [`Invalid`], [`Conflict`], [`DomainError`], [`ParseIdError`], [`ParseTimestampError`] | yes | later versions add causes and fields |
//! | statuses and kinds on the wire: [`QuoteStatus`], [`EventKind`], [`ErrorCode`], [`FailureClass`], … | yes | v1 of the API only grows |
//! | inputs and wire records: [`NewQuote`], [`Quote`], [`Page`], … | no | hosts and tests may build them as literals; a new field is a breaking change |
//! | decisions: [`NextStep`], [`DeliveryOutcome`], [`QuotaDecision`] | no | the caller must handle every case |
//! | reasons: [`Rule`] with [`IdentifierKind`] and [`LogoRule`], [`ConflictReason`], [`TargetError`] | no | pages translate every one |
//!
//! A reader of the API wraps a status in [`OpenEnum`], which keeps unknown values as text.
//!
//! # Foreign types in public signatures
//!
//! A new major version of one of these crates is a breaking change here.
//!
//! | Type | Reason |
//! |---|---|
//! | [`rust_decimal::Decimal`] | the value of [`Money`] and the other exact numbers, so that callers can compute |
//! | [`chrono::NaiveDate`], [`chrono::DateTime`] | calendar dates, and the conversion to a company's time zone |
//! | [`uuid::Uuid`] | the value of the ids, so that hosts can bring their own source of randomness |
//! | [`serde::Serialize`], [`serde::Deserialize`] | the wire form of every record |
//! | [`strum::VariantArray`] | derived by the enums; [`QuoteStatus::ALL`] and its like need no import |

mod address;
mod advice;
mod billing_address;
mod characters;
mod client;
mod company;
pub mod contract;
mod country;
mod credit;
mod credit_note;
mod currency;
mod date;
mod delivery;
mod disabled_reason;
mod document;
mod error;
mod event;
mod failure_count;
mod fixed;
#[cfg(test)]
mod fixtures;
mod flatten;
mod identifiers;
mod ids;
mod invoice;
mod invoice_states;
mod line;
mod list;
mod open_enum;
mod page_limit;
mod payment;
mod plan;
mod project;
mod project_states;
mod proof;
mod quota;
mod quote;
mod quote_states;
mod refusal;
mod retry_after;
mod retry_policy;
mod setters;
mod status;
mod target_error;
mod text;
mod timestamp;
mod totals;
mod vat;
mod wire_enum;

pub use advice::Advice;
pub use billing_address::BillingAddress;
pub use client::{Client, ClientChange, ClientFields, ClientType, NewClient};
pub use company::{Company, CompanyIdentity, EInvoicing, NewCompany};
pub use credit::{
    CreditContent, CreditItem, CreditNoteIssue, CreditableBalance, CreditedPart, NewCreditNote,
};
pub use credit_note::{CreditNote, CreditNoteDetail, CreditNoteItem, CreditNoteSummary};
pub use delivery::{AttemptOutcome, DeliveryOutcome, DeliveryStatus, FailureClass};
pub use disabled_reason::DisabledReason;
pub use document::{DocumentFormat, DocumentLink, sha256_hex};
pub use error::{
    ApiErrorBody, ApiErrorDetail, Conflict, DomainError, ErrorCode, Invalid, TooManyRequestsBody,
};
pub use event::{
    CreditNoteEventData, Event, EventData, EventKind, InvoiceEventData, PingEventData, ProjectEventData,
    QuoteEventData,
};
pub use failure_count::{DISABLE_AFTER_FAILURES, FailureCount};
pub use fixed::{IntoExact, Money, Percent, Quantity, UnitPrice};
pub use identifiers::{french_vat_number, is_siren, is_vat_number};
pub use ids::{
    ClientId, CompanyId, CreditNoteId, EventId, InvoiceId, KeyId, ParseIdError, PaymentId, ProjectId,
    QuoteId, WebhookId,
};
pub use invoice::{
    CreditNoteReference, Deduction, Invoice, InvoiceDetail, InvoiceItem, InvoiceSummary, InvoiceType,
};
pub use invoice_states::{DEFAULT_PAYMENT_DAYS, InvoiceIssue};
pub use line::{Costing, Line, MAX_LINES, MAX_LINES_BYTES, NewLine, PricedLines, price_lines};
pub use list::{DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, Page, Pagination};
pub use open_enum::OpenEnum;
pub use payment::{PaymentMethod, PaymentSource};
pub use plan::Plan;
pub use project::{Project, ProjectStatus};
pub use proof::{ProofParts, proof_fingerprint};
pub use quota::{QUOTA_WINDOW_MS, QuotaDecision, QuotaWindow};
pub use quote::{
    ExternalLink, NewQuote, Quote, QuoteDetail, QuoteItem, QuoteSummary, QuoteTerms, SignatureBlock,
};
pub use quote_states::{DEFAULT_VALIDITY_DAYS, QuoteCreation, QuoteImport, SignatureEvidence};
pub use refusal::{ConflictReason, IdentifierKind, LogoRule, Rule};
pub use retry_policy::{NextStep, RetryPolicy};
pub use status::{InvoiceStatus, QuoteStatus};
pub use target_error::{MAX_URL_CHARS, TargetError};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use totals::{Totals, VatShare};
pub use vat::{OperationNature, VatRegime};

/// Helpers for the other crates of this workspace. Their signatures may change in any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::address::PostalAddress;
    pub use crate::characters::{is_bidi_control, renders_as_nothing, trim_invisible};
    pub use crate::fixed::exact_number;
    pub use crate::identifiers::is_electronic_address;
    pub use crate::ids::parse_uuid;
    pub use crate::text::{
        LONG_TEXT, RefusedCharacter, SHORT_TEXT, fold_for_search, has_dotted_domain, optional_text,
        required_text, search_words, signer_email, signer_name, sought_text, without_bidi_controls,
    };
    pub use crate::totals::retention_amount;

    pub mod page_limit {
        pub use crate::page_limit::{MAX_PAGE_BYTES, check, parse};
    }

    pub mod retry_after {
        pub use crate::retry_after::parse;
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The time of a change. A clock that once ran ahead moves the stamps ahead for good, but dates no
/// later record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTime {
    /// The clock's instant: `createdAt`, `acceptedAt`, `paidAt` and every other instant that a
    /// record keeps.
    pub now: Timestamp,
    /// The modification stamp: `updatedAt`, and the `timestamp` of events.
    pub stamp: Timestamp,
}

/// A record after a change, with every event that the change must cause.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "the events belong to the change: store both or neither"]
pub struct Changed<T> {
    /// The record after the change.
    pub record: T,
    /// The events to store with the record, in order. Often empty.
    pub events: Vec<Event>,
}

impl<T> Changed<T> {
    /// A change without events.
    pub(crate) fn without_events(record: T) -> Self {
        Self { record, events: Vec::new() }
    }
}
