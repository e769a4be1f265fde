//! The tables to copy: each with its columns, the key first.

/// A table that both databases have.
#[derive(Debug)]
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    /// Number of key columns, which come first. The rows are read in their order.
    pub(super) key: usize,
    pub(super) columns: &'static [CopiedColumn],
}

/// A column that both databases have.
#[derive(Debug)]
pub(super) struct CopiedColumn {
    /// Its name in PostgreSQL.
    pub(super) name: &'static str,
    pub(super) kind: ColumnKind,
    /// The expression that SQLite is to return for it; `$1` is the moment of the copy.
    pub(super) read: &'static str,
}

/// The kind of a column, which decides how its values are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// 16 bytes in SQLite, a UUID in PostgreSQL.
    Id,
    Number,
    Text,
    Bytes,
    /// A text in SQLite, a DATE in PostgreSQL.
    Day,
    /// The used quota of a key: see [`super::quota`].
    UsedQuota,
}

const fn column(name: &'static str, kind: ColumnKind) -> CopiedColumn {
    CopiedColumn { name, kind, read: name }
}

const fn id(name: &'static str) -> CopiedColumn {
    column(name, ColumnKind::Id)
}

const fn number(name: &'static str) -> CopiedColumn {
    column(name, ColumnKind::Number)
}

const fn text(name: &'static str) -> CopiedColumn {
    column(name, ColumnKind::Text)
}

const fn bytes(name: &'static str) -> CopiedColumn {
    column(name, ColumnKind::Bytes)
}

const fn day(name: &'static str) -> CopiedColumn {
    column(name, ColumnKind::Day)
}

/// All tables, in the order of the copy. Computed columns are left to PostgreSQL.
pub(super) const TABLES: [CopiedTable; 25] = [
    CopiedTable { name: "setting", key: 1, columns: &[text("name"), bytes("value")] },
    CopiedTable {
        name: "company",
        key: 1,
        columns: &[id("id"), number("last_stamp"), text("record"), number("version")],
    },
    CopiedTable {
        name: "series",
        key: 3,
        columns: &[id("company_id"), text("kind"), number("year"), number("last"), day("last_date")],
    },
    CopiedTable {
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
            CopiedColumn { name: "accepted", kind: ColumnKind::UsedQuota, read: "quota_log" },
        ],
    },
    CopiedTable {
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
    CopiedTable {
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
            CopiedColumn {
                name: "lines",
                kind: ColumnKind::Text,
                read: "coalesce((SELECT l.lines FROM large_lines l \
                    WHERE l.company_id = quote.company_id AND l.document_id = quote.id), lines)",
            },
            text("detail"),
            text("work_site"),
            text("operations"),
            number("reverse_charge"),
            number("version"),
        ],
    },
    CopiedTable {
        name: "quote_costing",
        key: 2,
        columns: &[id("company_id"), id("quote_id"), text("costings")],
    },
    CopiedTable {
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
    CopiedTable {
        name: "upload",
        key: 2,
        columns: &[id("company_id"), id("id"), number("began_at"), number("abandoned_at")],
    },
    CopiedTable {
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
    CopiedTable {
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
    CopiedTable {
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
            CopiedColumn {
                name: "lines",
                kind: ColumnKind::Text,
                read: "coalesce((SELECT l.lines FROM large_lines l \
                    WHERE l.company_id = invoice.company_id AND l.document_id = invoice.id), lines)",
            },
            text("detail"),
            number("version"),
        ],
    },
    CopiedTable {
        name: "credit_note",
        key: 2,
        columns: &[
            id("company_id"),
            id("id"),
            id("invoice_id"),
            number("created_at"),
            number("updated_at"),
            text("summary"),
            CopiedColumn {
                name: "lines",
                kind: ColumnKind::Text,
                read: "coalesce((SELECT l.lines FROM large_lines l \
                    WHERE l.company_id = credit_note.company_id AND l.document_id = credit_note.id), lines)",
            },
            text("detail"),
            text("parts"),
            number("version"),
        ],
    },
    CopiedTable {
        name: "issued_document",
        key: 2,
        columns: &[
            id("company_id"),
            id("record_id"),
            id("upload_id"),
            text("sha256"),
            number("size_bytes"),
            text("file_name"),
            number("created_at"),
            text("particulars"),
        ],
    },
    CopiedTable { name: "logo", key: 2, columns: &[id("company_id"), text("sha256"), bytes("bytes")] },
    CopiedTable {
        name: "payment",
        key: 3,
        columns: &[
            id("company_id"),
            id("invoice_id"),
            id("id"),
            text("reference"),
            text("movement_id"),
            number("reversed_at"),
            text("record"),
            number("version"),
        ],
    },
    CopiedTable {
        name: "project",
        key: 2,
        columns: &[id("company_id"), id("id"), text("record"), number("version")],
    },
    CopiedTable {
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
            number("rotated_at"),
            number("failing_since"),
            text("ping_log"),
        ],
    },
    CopiedTable {
        name: "disabled_notice",
        key: 3,
        columns: &[
            id("company_id"),
            id("webhook_id"),
            number("disabled_at"),
            text("reason"),
            // The stopped service may have died during its call of the host, so the notice is free.
            CopiedColumn { name: "held_until", kind: ColumnKind::Number, read: "0" },
        ],
    },
    CopiedTable {
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
    CopiedTable {
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
    CopiedTable {
        name: "delivery",
        key: 1,
        columns: &[
            number("id"),
            id("company_id"),
            id("event_id"),
            id("webhook_id"),
            text("status"),
            text("reason"),
            // A delivery that the stopped service had claimed is due and free.
            CopiedColumn {
                name: "due_at",
                kind: ColumnKind::Number,
                read: "CASE WHEN status = 'pending' AND claim <> 0 THEN min(due_at, $1) ELSE due_at END",
            },
            CopiedColumn { name: "held_until", kind: ColumnKind::Number, read: "0" },
            CopiedColumn { name: "claim", kind: ColumnKind::Number, read: "0" },
            number("claims"),
            number("attempts"),
            number("claims_in_all"),
            number("attempts_in_all"),
            number("ended_at"),
        ],
    },
    CopiedTable {
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
    CopiedTable {
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
    CopiedTable { name: "spent_form", key: 2, columns: &[id("company_id"), id("token"), number("noted")] },
];

impl CopiedTable {
    /// The columns of the key.
    pub(super) fn key(&self) -> &'static [CopiedColumn] {
        self.columns.split_at_checked(self.key).map_or(self.columns, |(key, _)| key)
    }

    fn listed(columns: &[CopiedColumn], part: fn(&CopiedColumn) -> &'static str) -> String {
        columns.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// The statement that reads rows from SQLite in the order of the key: `$1` is the moment of the
    /// copy, `$2` the number of rows to skip.
    pub(super) fn select(&self) -> String {
        let (name, key) = (self.name, Self::listed(self.key(), |column| column.name));
        let columns = Self::listed(self.columns, |column| column.read);
        format!("SELECT {columns} FROM {name} ORDER BY {key} LIMIT -1 OFFSET $2")
    }

    /// The statement that takes rows into PostgreSQL.
    pub(super) fn copy_in(&self) -> String {
        let columns = Self::listed(self.columns, |column| column.name);
        format!("COPY {} ({columns}) FROM STDIN (FORMAT binary)", self.name)
    }

    /// The statement that returns all rows of PostgreSQL in the order of the key.
    pub(super) fn copy_out(&self) -> String {
        let (columns, key) = (
            Self::listed(self.columns, |column| column.name),
            Self::listed(self.key(), |column| column.name),
        );
        format!("COPY (SELECT {columns} FROM {} ORDER BY {key}) TO STDOUT (FORMAT binary)", self.name)
    }
}
