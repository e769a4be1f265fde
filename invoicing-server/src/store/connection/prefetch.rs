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
            Self::Invoice(id) => (INVOICE.part, id.0),
            Self::Quote(id) => (QUOTE.part, id.0),
            Self::QuoteSummary(id) => (QUOTE_SUMMARY.part, id.0),
        }
    }
}

pub(crate) static CLIENT: Find = Find {
    part: "client",
    table: "client",
    sql: Sql::both("SELECT record, version FROM client WHERE company_id = $1 AND id = $2"),
};

pub(crate) static INVOICE: Find = Find {
    part: "invoice",
    table: "invoice",
    sql: Sql {
        sqlite: "
            SELECT d.summary, coalesce(l.lines, d.lines) AS lines, d.detail, d.version FROM invoice d
            LEFT JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
            WHERE d.company_id = $1 AND d.id = $2",
        postgres: "SELECT summary, lines, detail, version FROM invoice WHERE company_id = $1 AND id = $2",
    },
};

/// A summary is stored without its closing brace, as the lines of a list item follow it.
pub(crate) static INVOICE_SUMMARY: Find = Find {
    part: "invoice_summary",
    table: "invoice",
    sql: Sql::both("SELECT summary || '}' AS record, version FROM invoice WHERE company_id = $1 AND id = $2"),
};

pub(crate) static QUOTE: Find = Find {
    part: "quote",
    table: "quote",
    sql: Sql {
        sqlite: "
            SELECT d.summary, coalesce(l.lines, d.lines) AS lines, d.detail, d.version FROM quote d
            LEFT JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
            WHERE d.company_id = $1 AND d.id = $2",
        postgres: "SELECT summary, lines, detail, version FROM quote WHERE company_id = $1 AND id = $2",
    },
};

pub(crate) static QUOTE_SUMMARY: Find = Find {
    part: "quote_summary",
    table: "quote",
    sql: Sql::both("SELECT summary || '}' AS record, version FROM quote WHERE company_id = $1 AND id = $2"),
};
