//! Records that an operation reads first.
//!
//! On PostgreSQL the answer that begins the transaction contains them, so that reading them takes
//! no call. They are read after the lock of their company, and the transaction drops those that it
//! writes. Large lines are not prefetched.

use invoicing_core::{ClientId, InvoiceId, QuoteId};
#[cfg(feature = "postgres")]
use uuid::Uuid;

use super::sql::Sql;

/// A statement that finds a record by `$1`, the company, and `$2`, its id.
#[derive(Debug)]
pub(crate) struct Find {
    /// The part of `begin_change_1` that returns the same rows, if it has one.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(crate) part: &'static str,
    pub(crate) table: &'static str,
    pub(crate) sql: Sql,
}

/// A record that an operation reads first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Prefetch {
    Client(ClientId),
    Invoice(InvoiceId),
    Quote(QuoteId),
    /// The quote without lines and detail.
    QuoteSummary(QuoteId),
}

#[cfg(feature = "postgres")]
impl Prefetch {
    /// The name of its part in the rows of `begin_change_1`, and its id.
    pub(crate) fn part(self) -> (&'static str, Uuid) {
        match self {
            Self::Client(id) => (CLIENT.part, id.0),
            Self::Invoice(id) => ("invoice", id.0),
            Self::Quote(id) => ("quote", id.0),
            Self::QuoteSummary(id) => ("quote_summary", id.0),
        }
    }
}

pub(crate) static CLIENT: Find = Find {
    part: "client",
    table: "client",
    sql: Sql::both("SELECT record, version FROM client WHERE company_id = $1 AND id = $2"),
};
