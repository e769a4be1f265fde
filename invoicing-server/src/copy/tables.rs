//! The tables to copy: those of SQLite, each paired with the table of the same name in PostgreSQL.

use std::collections::BTreeMap;

use super::CopyError;

/// The tables of a database by name. Columns that the database computes are left out.
pub(super) type Catalogue = BTreeMap<String, Columns>;
type Columns = BTreeMap<String, DeclaredColumn>;

/// An entry of a catalogue: the table, the column, its type, and its position in the primary key,
/// from 1 on; 0 if it is not in the key.
pub(super) type CatalogueRow = (String, String, String, i64);

#[derive(Debug, Clone)]
pub(super) struct DeclaredColumn {
    data_type: String,
    position: i64,
}

/// A table that both databases have.
#[derive(Debug)]
pub(super) struct CopiedTable {
    pub(super) name: String,
    /// The columns of the key come first. The rows are read in their order.
    pub(super) columns: Vec<CopiedColumn>,
}

/// A column that both databases have.
#[derive(Debug)]
pub(super) struct CopiedColumn {
    /// Its name in PostgreSQL.
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    /// The expression that SQLite is to return for it; `$1` is the moment of the copy.
    pub(super) read: String,
    /// Its position in the key, from 1 on; 0 if it is not in the key.
    position: i64,
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

/// Tables of SQLite that are not copied.
const LEFT_OUT: [&str; 2] = [
    // Each database counts its own migrations.
    "invoicing_migration",
    // In PostgreSQL large lines stand in the row of their document: see `LINES`.
    "large_lines",
];

const USED_QUOTA: &str = "quota_log";
const LINES: &str = "coalesce((SELECT l.lines FROM large_lines l \
     WHERE l.company_id = copied.company_id AND l.document_id = copied.id), copied.lines)";

/// The size of lines, which PostgreSQL tells by itself.
const SIZE_OF_LINES: &str = "lines_bytes";

/// Columns that are not copied as they are: the table, the column of PostgreSQL, and the expression
/// or the column of SQLite.
pub(super) const EXCEPTIONS: [(&str, &str, &str); 8] = [
    // The databases store the used quota in different forms.
    ("api_key", "accepted", USED_QUOTA),
    // Large lines stand apart in SQLite.
    ("credit_note", "lines", LINES),
    ("invoice", "lines", LINES),
    ("quote", "lines", LINES),
    // A delivery that the stopped service had claimed is due and free.
    (
        "delivery",
        "due_at",
        "CASE WHEN status = 'pending' AND claim <> 0 THEN min(due_at, $1) ELSE due_at END",
    ),
    ("delivery", "held_until", "0"),
    ("delivery", "claim", "0"),
    // The stopped service may have died during its call of the host, so the notice is free.
    ("disabled_notice", "held_until", "0"),
];

pub(super) fn catalogue(rows: Vec<CatalogueRow>) -> Catalogue {
    let mut tables = Catalogue::new();
    for (table, column, data_type, position) in rows {
        tables.entry(table).or_default().insert(column, DeclaredColumn { data_type, position });
    }
    tables.retain(|name, _| !LEFT_OUT.contains(&&**name));
    for columns in tables.values_mut() {
        columns.retain(|name, _| name != SIZE_OF_LINES);
    }
    tables
}

/// The tables of `sqlite` in the order of their names. Further tables of PostgreSQL may be the
/// host's own.
pub(super) fn paired(sqlite: &Catalogue, postgres: &Catalogue) -> Result<Vec<CopiedTable>, CopyError> {
    let pair = |(name, columns): (&String, &Columns)| {
        let theirs = postgres.get(name).ok_or("PostgreSQL has no such table".to_owned());
        theirs
            .and_then(|theirs| CopiedTable::paired(name, columns.clone(), theirs))
            .map_err(|cause| CopyError::Unmatched { table: name.clone(), cause })
    };
    sqlite.iter().map(pair).collect()
}

impl ColumnKind {
    fn of(read: Option<&str>, sqlite: &str, postgres: &str) -> Option<Self> {
        Some(match (sqlite, postgres) {
            ("BLOB", "uuid") => Self::Id,
            ("BLOB", "bytea") => Self::Bytes,
            ("TEXT", "text") => Self::Text,
            ("TEXT", "date") => Self::Day,
            ("INTEGER", "bigint") => Self::Number,
            ("TEXT", "bigint[]") if read == Some(USED_QUOTA) => Self::UsedQuota,
            _ => return None,
        })
    }
}

impl CopiedTable {
    fn paired(name: &str, mut sqlite: Columns, postgres: &Columns) -> Result<Self, String> {
        let mut columns = Vec::with_capacity(postgres.len());
        for (column, theirs) in postgres {
            let mut exceptions = EXCEPTIONS.iter();
            let exception = exceptions.find(|(table, named, _)| *table == name && named == column);
            let read = exception.map(|(_, _, read)| *read);
            let ours = sqlite
                .remove(column)
                .or_else(|| sqlite.remove(read?))
                .ok_or_else(|| format!("SQLite has no column {column}"))?;
            let kind = ColumnKind::of(read, &ours.data_type, &theirs.data_type).ok_or_else(|| {
                format!("column {column} has the types {} and {}", ours.data_type, theirs.data_type)
            })?;
            let read = read.map_or_else(|| quoted(column), str::to_owned);
            columns.push(CopiedColumn { name: column.clone(), kind, read, position: ours.position });
        }
        if let Some(column) = sqlite.into_keys().next() {
            return Err(format!("PostgreSQL has no column {column}"));
        }
        columns.sort_by_key(|column| (column.position == 0, column.position));
        Ok(Self { name: name.to_owned(), columns })
    }

    /// The columns of the key.
    pub(super) fn key(&self) -> impl Iterator<Item = &CopiedColumn> {
        self.columns.iter().take_while(|column| column.position > 0)
    }

    /// The statement that reads rows from SQLite in the order of the key: `$1` is the moment of the
    /// copy, `$2` the number of rows to skip.
    pub(super) fn select(&self) -> String {
        let name = quoted(&self.name);
        let columns = listed(&self.columns, |column| column.read.clone());
        let key = listed(self.key(), |column| quoted(&column.name));
        format!("SELECT {columns} FROM {name} AS copied ORDER BY {key} LIMIT -1 OFFSET $2")
    }

    /// The statement that takes rows into PostgreSQL.
    pub(super) fn copy_in(&self) -> String {
        let (name, columns) = (quoted(&self.name), listed(&self.columns, |column| quoted(&column.name)));
        format!("COPY {name} ({columns}) FROM STDIN (FORMAT binary)")
    }

    /// The statement that returns all rows of PostgreSQL in the order of the key. Texts are compared
    /// by their bytes, as in SQLite.
    pub(super) fn copy_out(&self) -> String {
        let name = quoted(&self.name);
        let columns = listed(&self.columns, |column| quoted(&column.name));
        let key = listed(self.key(), |column| match column.kind {
            ColumnKind::Text => format!("{} COLLATE \"C\"", quoted(&column.name)),
            _ => quoted(&column.name),
        });
        format!("COPY (SELECT {columns} FROM {name} ORDER BY {key}) TO STDOUT (FORMAT binary)")
    }
}

fn listed<'c>(
    columns: impl IntoIterator<Item = &'c CopiedColumn>,
    part: fn(&CopiedColumn) -> String,
) -> String {
    columns.into_iter().map(part).collect::<Vec<_>>().join(", ")
}

/// A name of a catalogue in a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
