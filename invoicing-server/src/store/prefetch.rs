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
    /// Of the statement that brings a record along.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(super) name: &'static str,
    /// As [`Write`](super::deferred::Write) names it.
    pub(super) table: &'static str,
    pub(super) sql: Sql,
    /// A further condition of what comes along.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(super) comes_along: &'static str,
}

impl Find {
    #[cfg(feature = "postgres")]
    pub(super) const ALL: [&Self; 4] =
        [&clients::FIND, &invoices::FIND, &quotes::FIND, &quotes::FIND_SUMMARY];
}

/// See the module's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
