//! Records that an operation reads first.
//!
//! On PostgreSQL they come along with the answer that begins the transaction, so that reading them takes no call. They are
//! read after the lock of their company, and the transaction drops what it changes. Lines that are large do not come along.

use invoicing_core::{ClientId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::sql::Sql;

/// A statement that finds a record by `$1`, the company, and `$2`, its id.
#[derive(Debug)]
pub(super) struct Find {
    /// Of the statement that brings a record along.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(super) name: &'static str,
    /// As [`Write`](super::write::Write) names it.
    pub(super) table: &'static str,
    pub(super) sql: Sql,
    /// A further condition of what comes along.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing comes along on SQLite"))]
    pub(super) comes_along: &'static str,
}

impl Find {
    #[cfg(feature = "postgres")]
    pub(super) const ALL: [&Self; 4] = [&CLIENT, &INVOICE, &QUOTE, &QUOTE_SUMMARY];
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
            Self::Client(id) => (&CLIENT, id.0),
            Self::Invoice(id) => (&INVOICE, id.0),
            Self::Quote(id) => (&QUOTE, id.0),
            Self::QuoteSummary(id) => (&QUOTE_SUMMARY, id.0),
        }
    }
}

pub(super) static CLIENT: Find = Find {
    name: "find_client",
    table: "client",
    sql: Sql::both("SELECT record, version FROM client WHERE company_id = $1 AND id = $2"),
    comes_along: "",
};

pub(super) static INVOICE: Find = Find {
    name: "find_invoice",
    table: "invoice",
    sql: Sql {
        sqlite: "
            SELECT d.summary, coalesce(l.lines, d.lines) AS lines, d.detail, d.version FROM invoice d
            LEFT JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
            WHERE d.company_id = $1 AND d.id = $2",
        postgres: "SELECT summary, lines, detail, version FROM invoice WHERE company_id = $1 AND id = $2",
    },
    comes_along: " AND octet_length(lines) <= 8192",
};

pub(super) static QUOTE: Find = Find {
    name: "find_quote",
    table: "quote",
    sql: Sql {
        sqlite: "
            SELECT d.summary, coalesce(l.lines, d.lines) AS lines, d.detail, d.version FROM quote d
            LEFT JOIN large_lines l ON l.company_id = d.company_id AND l.document_id = d.id
            WHERE d.company_id = $1 AND d.id = $2",
        postgres: "SELECT summary, lines, detail, version FROM quote WHERE company_id = $1 AND id = $2",
    },
    comes_along: " AND octet_length(lines) <= 8192",
};

pub(super) static QUOTE_SUMMARY: Find = Find {
    name: "find_quote_summary",
    table: "quote",
    sql: Sql::both("SELECT summary || '}' AS record, version FROM quote WHERE company_id = $1 AND id = $2"),
    comes_along: "",
};
