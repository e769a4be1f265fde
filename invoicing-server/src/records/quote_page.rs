//! Pages of the host's list of quotes.

use invoicing_core::{QuoteId, QuoteSummary};

/// A part of the quotes of a company.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QuotePage {
    /// Newest first. May be fewer than the limit, or none, although a next page follows.
    pub items: Vec<QuoteSummary>,
    /// Start of the next page; `None` at the end.
    pub next: Option<QuoteId>,
}
