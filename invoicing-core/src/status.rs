//! The states of quotes and invoices.

use strum::{Display, IntoStaticStr, VariantArray};

/// The state of a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum QuoteStatus {
    /// Draft: only in this state the content can change.
    Draft,
    /// With the client; content locked, document frozen.
    Sent,
    /// Signed or marked accepted; final.
    Accepted,
    /// Declined by the client, or discarded as a draft.
    Rejected,
    /// Its validity has ended.
    Expired,
}

/// The state of an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum InvoiceStatus {
    /// Converted, not issued yet; without a number.
    Draft,
    /// Issued.
    Sent,
    /// Paid: no amount is due any more.
    Paid,
    /// Issued, past its due date, and an amount is due.
    Overdue,
    /// Cancelled; keeps its number.
    Canceled,
}
