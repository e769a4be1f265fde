//! What is copied: every table with its columns, the key first.

/// A table that both databases have.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// How many of the first columns are the key, by which the rows are read.
    pub(super) key: usize,
    pub(super) columns: &'static [Column],
}

#[derive(Debug)]
pub(super) struct Column {
    /// Its name in PostgreSQL.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What SQLite is asked for in its place; `$1` is the moment of the copy.
    pub(super) read: &'static str,
}

/// What a column holds, and so how its values are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 16 bytes in SQLite, a UUID in PostgreSQL.
    Id,
    Number,
    Text,
    Bytes,
    /// A text in SQLite, a DATE in PostgreSQL.
    Day,
    /// What a key has used of its quota: see [`super::quota`].
    Used,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, read: name }
}

const fn id(name: &'static str) -> Column {
    column(name, Kind::Id)
}

const fn number(name: &'static str) -> Column {
    column(name, Kind::Number)
}

const fn text(name: &'static str) -> Column {
    column(name, Kind::Text)
}

const fn bytes(name: &'static str) -> Column {
    column(name, Kind::Bytes)
}

const fn day(name: &'static str) -> Column {
    column(name, Kind::Day)
}

/// In the order in which they are copied. What a column computes from others is left to PostgreSQL.
pub(super) const TABLES: [Table; 22] = [
    Table { name: "setting", key: 1, columns: &[text("name"), bytes("value")] },
    Table {
        name: "company",
        key: 1,
        columns: &[id("id"), number("last_stamp"), text("record"), number("version")],
    },
    Table {
        name: "series",
        key: 3,
        columns: &[id("company_id"), text("kind"), number("year"), number("last"), day("last_date")],
    },
    Table {
        name: "api_key",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            bytes("hash"),
            text("last4"),
            text("label"),
            number("created_at"),
            number("last_used_at"),
            number("revoked_at"),
            Column { name: "accepted", kind: Kind::Used, read: "quota_log" },
        ],
    },
    Table {
        name: "client",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            text("external_id"),
            number("created_at"),
            number("updated_at"),
            text("search"),
            text("record"),
            number("version"),
        ],
    },
    Table {
        name: "quote",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            text("status"),
            day("valid_until"),
            number("created_at"),
            number("updated_at"),
            text("summary"),
            Column {
                name: "lines",
                kind: Kind::Text,
                read: "coalesce((SELECT l.lines FROM large_lines l \
                    WHERE l.company_id = quote.company_id AND l.document_id = quote.id), lines)",
            },
            text("detail"),
            text("work_site"),
            number("version"),
        ],
    },
    Table { name: "quote_costing", key: 2, columns: &[id("company_id"), id("quote_id"), text("costings")] },
    Table {
        name: "document",
        key: 3,
        columns: &[
            id("company_id"),
            id("quote_id"),
            number("number"),
            id("upload_id"),
            text("sha256"),
            number("size_bytes"),
            text("file_name"),
            number("created_at"),
            text("particulars"),
        ],
    },
    Table {
        name: "upload",
        key: 2,
        columns: &[id("company_id"), id("id"), number("began_at"), number("abandoned_at")],
    },
    Table {
        name: "signing_link",
        key: 2,
        columns: &[
            id("company_id"),
            bytes("token_hash"),
            id("quote_id"),
            number("created_at"),
            number("ends_at"),
            number("revoked_at"),
        ],
    },
    Table {
        name: "proof",
        key: 2,
        columns: &[
            id("company_id"),
            id("quote_id"),
            bytes("token_hash"),
            text("ip"),
            text("user_agent"),
            text("document_sha256"),
            text("fingerprint"),
            number("signed_at"),
        ],
    },
    Table {
        name: "invoice",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            id("quote_id"),
            text("status"),
            day("due_date"),
            number("created_at"),
            number("updated_at"),
            text("summary"),
            Column {
                name: "lines",
                kind: Kind::Text,
                read: "coalesce((SELECT l.lines FROM large_lines l \
                    WHERE l.company_id = invoice.company_id AND l.document_id = invoice.id), lines)",
            },
            text("detail"),
            number("version"),
        ],
    },
    Table {
        name: "payment",
        key: 3,
        columns: &[
            id("company_id"),
            id("invoice_id"),
            id("id"),
            text("reference"),
            number("reversed_at"),
            text("record"),
            number("version"),
        ],
    },
    Table {
        name: "project",
        key: 2,
        columns: &[id("company_id"), id("id"), text("record"), number("version")],
    },
    Table {
        name: "webhook",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            text("url"),
            number("kinds"),
            text("secret"),
            number("failures"),
            number("disabled_at"),
            text("disabled_reason"),
            number("created_at"),
            number("removed_at"),
            text("previous_secret"),
            number("previous_secret_until"),
            number("failing_since"),
            text("ping_log"),
        ],
    },
    Table {
        name: "disabled_notice",
        key: 3,
        columns: &[
            id("company_id"),
            id("webhook_id"),
            number("disabled_at"),
            text("reason"),
            // The stopped service called the host, which may not have ended.
            Column { name: "held_until", kind: Kind::Number, read: "0" },
        ],
    },
    Table {
        name: "bulk_change",
        key: 2,
        columns: &[
            id("company_id"),
            id("webhook_id"),
            number("at"),
            id("after_event"),
            id("until_event"),
            number("since"),
            number("ended_until"),
        ],
    },
    Table {
        name: "event",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            text("kind"),
            number("timestamp"),
            text("body"),
            text("request_id"),
            text("trace_context"),
        ],
    },
    Table {
        name: "delivery",
        key: 1,
        columns: &[
            number("id"),
            id("company_id"),
            id("event_id"),
            id("webhook_id"),
            text("status"),
            text("reason"),
            // What the stopped service had claimed is due and free.
            Column {
                name: "due_at",
                kind: Kind::Number,
                read: "CASE WHEN status = 'pending' AND claim <> 0 THEN min(due_at, $1) ELSE due_at END",
            },
            Column { name: "held_until", kind: Kind::Number, read: "0" },
            Column { name: "claim", kind: Kind::Number, read: "0" },
            number("claims"),
            number("attempts"),
            number("claims_in_all"),
            number("attempts_in_all"),
            number("ended_at"),
        ],
    },
    Table {
        name: "attempt",
        key: 5,
        columns: &[
            id("company_id"),
            number("at"),
            id("event_id"),
            id("webhook_id"),
            number("number"),
            number("duration_ms"),
            number("status"),
            text("failure"),
        ],
    },
    Table {
        name: "history",
        key: 2,
        columns: &[
            id("company_id"),
            number("number"),
            number("at"),
            text("actor"),
            text("action"),
            id("subject"),
            text("detail"),
        ],
    },
    Table { name: "spent_form", key: 2, columns: &[id("company_id"), id("token"), number("noted")] },
];

impl Table {
    /// The columns of the key.
    pub(super) fn key(&self) -> &'static [Column] {
        self.columns.split_at_checked(self.key).map_or(self.columns, |(key, _)| key)
    }

    fn listed(columns: &[Column], part: fn(&Column) -> &'static str) -> String {
        columns.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Reads rows from SQLite in the order of the key: `$1` is the moment of the copy, `$2` how many rows are skipped.
    pub(super) fn select(&self) -> String {
        let (name, key) = (self.name, Self::listed(self.key(), |column| column.name));
        let columns = Self::listed(self.columns, |column| column.read);
        format!("SELECT {columns} FROM {name} ORDER BY {key} LIMIT -1 OFFSET $2")
    }

    /// Takes rows into PostgreSQL.
    pub(super) fn copy_in(&self) -> String {
        let columns = Self::listed(self.columns, |column| column.name);
        format!("COPY {} ({columns}) FROM STDIN (FORMAT binary)", self.name)
    }

    /// Gives all rows of PostgreSQL in the order of the key.
    pub(super) fn copy_out(&self) -> String {
        let (columns, key) = (
            Self::listed(self.columns, |column| column.name),
            Self::listed(self.key(), |column| column.name),
        );
        format!("COPY (SELECT {columns} FROM {} ORDER BY {key}) TO STDOUT (FORMAT binary)", self.name)
    }
}
