//! Records that an operation reads first.
//!
//! On PostgreSQL they come along with the answer that begins the transaction, so that reading them takes no call. They are
//! read after the lock of their company, and the transaction drops what it changes. Lines that are large do not come along.

use invoicing_core::{ClientId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::query::Sql;
use super::{clients, invoices, quotes};

/// A statement that finds a record by `$1`, the company, and `$2`, its id.
#[derive(Debug)]
pub(super) struct Find {
    /// As [`Write`](super::deferred::Write) names it.
    pub(super) table: &'static str,
    /// That for PostgreSQL returns `company_id` and `id`, too, and has `company_id = $1 AND id = $2` as its condition.
    pub(super) sql: Sql,
    /// What else a row that comes along has to fulfil.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the form of a database that is left out")
    )]
    pub(super) prefetched_if: &'static str,
}

/// See the module's text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prefetch {
    Client(ClientId),
    Invoice(InvoiceId),
    Quote(QuoteId),
    /// Without lines and detail.
    QuoteSummary(QuoteId),
}

impl Prefetch {
    /// How it is found, and its id.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(super) fn find(self) -> (&'static Find, Uuid) {
        match self {
            Self::Client(id) => (&clients::FIND, id.0),
            Self::Invoice(id) => (&invoices::FIND, id.0),
            Self::Quote(id) => (&quotes::FIND, id.0),
            Self::QuoteSummary(id) => (&quotes::FIND_SUMMARY, id.0),
        }
    }
}
