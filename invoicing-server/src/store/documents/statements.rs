//! The statements on the table of a kind of document, made from its name and its columns. The
//! texts of all kinds are in `statements.sql`, in which a text that a database has logged is found.

use chrono::NaiveDate;
use invoicing_core::{QuoteId, Timestamp};

use super::StoredDocument;
use crate::store::connection::prefetch::Find;
use crate::store::connection::{Cell, Write};
use crate::store::newest::NewestStatements;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Integer,
    Text,
    Date,
    Id,
}

/// A column that repeats a field of the JSON, as lists, sweeps or reports ask for it.
pub(crate) struct FieldColumn<T> {
    pub(super) name: &'static str,
    pub(super) kind: ColumnType,
    /// The cell of a record.
    pub(super) cell: fn(&T) -> &dyn Cell,
}

/// The columns of a kind besides those that each kind has.
pub(crate) struct Columns<D: StoredDocument> {
    /// Fields of the summary that never change.
    pub(super) fixed: &'static [FieldColumn<D::Summary>],
    /// Fields of the summary that change; none if documents of the kind never do.
    pub(super) changing: &'static [FieldColumn<D::Summary>],
    /// Fields of the detail.
    pub(super) of_detail: &'static [FieldColumn<D::Detail>],
    /// Columns that are no part of the JSON.
    pub(super) beside: &'static [(&'static str, ColumnType)],
    /// A text in a table of its own, with a row for each document.
    pub(super) apart: Option<Apart>,
}

/// A text that is stored in a table beside that of the document.
pub(crate) struct Apart {
    pub(super) table: &'static str,
    /// The column with the id of the document.
    pub(super) key: &'static str,
    pub(super) column: &'static str,
}

/// The statements of a list of documents. Each returns one row, so a page is one snapshot: see
/// [`PageRow`](crate::store::page_json::PageRow).
///
/// `$1` company, `$2` limit, `$3` offset, `$4` since, `$5` status, `$6` true if items have their
/// lines, `$7` the company's last stamp with which they have large ones too, of more than 8 KiB.
/// Both databases read the size of lines without the lines. The inner select passes lines on, and
/// the outer one prints them: rows that the offset skips are never printed.
///
/// The filters leave the index of the order as the only useful one: `status || ''` keeps `changed`
/// off the index by status, which would require a sort. The aggregate takes the items in the order
/// of its subquery. SQLite keeps that order as there is a limit, and PostgreSQL as it is sorted.
pub(in crate::store) struct PageStatements {
    pub(super) newest: &'static str,
    pub(super) newest_in_status: &'static str,
    pub(super) changed: &'static str,
}

/// The statements on the table of a kind. Each is led by an index.
pub(crate) struct Statements {
    pub(super) pages: PageStatements,
    pub(in crate::store) newest: NewestStatements,
    pub(super) find: Find,
    pub(super) find_summary: Find,
    pub(super) small_detail: &'static str,
    pub(super) latest_file: &'static str,
    pub(super) exists: &'static str,
    pub(super) updated_at: &'static str,
    pub(super) insert: Write,
    pub(super) update: Write,
}

pub(super) const fn integer<T>(name: &'static str, cell: fn(&T) -> &dyn Cell) -> FieldColumn<T> {
    FieldColumn { name, kind: ColumnType::Integer, cell }
}

pub(super) const fn text<T>(name: &'static str, cell: fn(&T) -> &dyn Cell) -> FieldColumn<T> {
    FieldColumn { name, kind: ColumnType::Text, cell }
}

pub(super) const fn date<T>(name: &'static str, cell: fn(&T) -> &dyn Cell) -> FieldColumn<T> {
    FieldColumn { name, kind: ColumnType::Date, cell }
}

pub(super) const fn id<T>(name: &'static str, cell: fn(&T) -> &dyn Cell) -> FieldColumn<T> {
    FieldColumn { name, kind: ColumnType::Id, cell }
}

impl ColumnType {
    /// Its name in PostgreSQL.
    fn name(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Text => "text",
            Self::Date => "date",
            Self::Id => "uuid",
        }
    }

    /// A cell without a value.
    pub(super) fn null(self) -> &'static dyn Cell {
        match self {
            Self::Integer => &None::<Timestamp>,
            Self::Text => &None::<&str>,
            Self::Date => &None::<NaiveDate>,
            Self::Id => &None::<QuoteId>,
        }
    }
}

impl<D: StoredDocument> Columns<D> {
    pub(super) fn of_summary(&self) -> impl Iterator<Item = &FieldColumn<D::Summary>> {
        self.fixed.iter().chain(self.changing)
    }

    /// The columns of a new row, in the order of its cells.
    pub(super) fn inserted(&self) -> Vec<Column> {
        let beside = self.beside.iter().copied();
        let apart = self.apart.iter().map(|apart| (apart.column, ColumnType::Text));
        [&KEY[..], &of(self.fixed), &of(self.changing), &of(self.of_detail), &JSON]
            .concat()
            .into_iter()
            .chain(beside)
            .chain(apart)
            .chain([VERSION])
            .collect()
    }

    /// The columns of a changed row, in the order of its cells.
    fn updated(&self) -> Vec<Column> {
        let [summary, _, detail] = JSON;
        [&KEY[..], &of(self.changing), &of(self.of_detail), &[summary, detail, VERSION]].concat()
    }

    /// The columns that an update without a detail leaves as they are.
    fn stays(&self, name: &str) -> bool {
        name == "detail" || self.of_detail.iter().any(|column| column.name == name)
    }
}

/// Name and type of a column.
type Column = (&'static str, ColumnType);

const KEY: [Column; 2] = [("company_id", ColumnType::Id), ("id", ColumnType::Id)];
const JSON: [Column; 3] =
    [("summary", ColumnType::Text), ("lines", ColumnType::Text), ("detail", ColumnType::Text)];
const VERSION: Column = ("version", ColumnType::Integer);

fn of<T>(columns: &[FieldColumn<T>]) -> Vec<Column> {
    columns.iter().map(|column| (column.name, column.kind)).collect()
}

fn names(columns: &[Column]) -> String {
    list(columns, |_, name, _| name.to_owned())
}

/// `$1::uuid[], $2::bigint[], …`
fn arrays(columns: &[Column]) -> String {
    list(columns, |number, _, kind| format!("${number}::{}[]", kind.name()))
}

/// A text for each column, which is counted from 1.
fn list(columns: &[Column], item: impl Fn(usize, &'static str, ColumnType) -> String) -> String {
    let items = columns.iter().zip(1..).map(|((name, kind), number)| item(number, name, *kind));
    in_rows(&items.collect::<Vec<_>>())
}

/// A list of a few items a row.
fn in_rows(items: &[String]) -> String {
    let rows: Vec<String> = items.chunks(6).map(|row| row.join(", ")).collect();
    rows.join(",\n        ")
}

/// The number of the argument of a column.
fn number_of(columns: &[Column], name: &str) -> usize {
    columns.iter().zip(1..).find(|((other, _), _)| *other == name).map_or(0, |(_, number)| number)
}

impl Statements {
    /// The texts are made once for each kind, and live as long as the process.
    pub(super) fn of<D: StoredDocument>() -> Self {
        let columns = D::COLUMNS;
        let made = |template: &str| &*template.replace("{table}", D::TABLE).leak();
        let has_status = columns.of_summary().any(|column| column.name == "status");
        let of_status = if has_status { " AND status = $5" } else { "" };
        let of_any_status =
            if has_status { " AND ($5 IS NULL OR status || '' = $5)" } else { " AND $5 IS NULL" };
        let page =
            |filters: &str, order: &str| made(&PAGE.replace("{filters}", filters).replace("{order}", order));
        let newest = |filter: &str| made(&NEWEST.replace("{filter}", filter));
        let (inserted, updated) = (columns.inserted(), columns.updated());
        Self {
            pages: PageStatements {
                newest: page("", "created_at"),
                newest_in_status: page(of_status, "created_at"),
                changed: page(&format!(" AND updated_at >= $4{of_any_status}"), "updated_at"),
            },
            newest: NewestStatements {
                all: newest(""),
                in_status: newest(of_status),
                created_at: made("SELECT created_at FROM {table} WHERE company_id = $1 AND id = $2"),
            },
            find: Find {
                part: D::TABLE,
                table: D::TABLE,
                sql: made(
                    "SELECT summary, lines, detail, version FROM {table}_item WHERE company_id = $1 AND id = $2",
                )
                .into(),
            },
            find_summary: Find {
                part: made("{table}_summary"),
                table: D::TABLE,
                // A summary is stored without its closing brace, as the lines of a list item follow
                // it.
                sql: made(
                    "SELECT summary || '}' AS record, version FROM {table} WHERE company_id = $1 AND id = $2",
                )
                .into(),
            },
            small_detail: made(SMALL_DETAIL),
            latest_file: made(LATEST_FILE),
            exists: made("SELECT CAST(1 AS BIGINT) FROM {table} WHERE company_id = $1 AND id = $2"),
            updated_at: made("SELECT updated_at FROM {table} WHERE company_id = $1 AND id = $2"),
            insert: Write {
                table: D::TABLE,
                sqlite: made(&insert_into_file(&inserted, &columns)),
                postgres: made(&insert_on_server(&inserted, &columns)),
                first: 0,
                refuses_newer_format: false,
            },
            update: Write {
                table: D::TABLE,
                sqlite: made(&update_in_file(&updated, &columns)),
                postgres: made(&update_on_server(&updated, &columns)),
                first: 0,
                refuses_newer_format: true,
            },
        }
    }
}

/// A page of a list: see [`PageStatements`].
const PAGE: &str = "
    SELECT coalesce(string_agg(concat(summary, ',\"lines\":' || lines, '}'), ',\n'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM {table}_item
        WHERE company_id = $1{filters}
        ORDER BY {order} DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items";

/// A page of a list for people: see [`NewestStatements`].
const NEWEST: &str = "
    SELECT id, created_at, summary || '}' AS record, version FROM {table}
    WHERE company_id = $1{filter} AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4";

const SMALL_DETAIL: &str = "
    SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
    FROM {table}_item WHERE company_id = $1 AND id = $2";

const LATEST_FILE: &str = "
    SELECT file.upload_id, file.sha256, file.size_bytes, file.file_name FROM {table} document
    LEFT JOIN frozen_file file ON file.company_id = document.company_id AND file.document_id = document.id
    WHERE document.company_id = $1 AND document.id = $2 ORDER BY file.number DESC LIMIT 1";

/// The insertion on SQLite, which stores large lines apart.
fn insert_into_file<D: StoredDocument>(inserted: &[Column], columns: &Columns<D>) -> String {
    let lines = number_of(inserted, "lines");
    let of_row = without_apart(inserted, columns);
    let names = list(
        &of_row,
        |_, name, _| if name == "lines" { format!("{name}, lines_bytes") } else { name.to_owned() },
    );
    let values = list(&of_row, |_, name, _| match (name, number_of(inserted, name)) {
        ("lines", number) => {
            format!("CASE WHEN octet_length(${number}) <= 8192 THEN ${number} END, octet_length(${number})")
        }
        (_, number) => format!("${number}"),
    });
    let apart = columns.apart.as_ref().map_or(String::new(), |Apart { table, key, column }| {
        let number = number_of(inserted, column);
        format!(";\n    INSERT INTO {table} (company_id, {key}, {column}) VALUES ($1, $2, ${number})")
    });
    format!(
        "
    INSERT INTO {{table}} ({names})
    VALUES ({values});
    INSERT INTO large_lines (company_id, document_id, lines) SELECT $1, $2, ${lines} WHERE octet_length(${lines}) > 8192{apart}"
    )
}

/// The insertion on PostgreSQL, of many rows.
fn insert_on_server<D: StoredDocument>(inserted: &[Column], columns: &Columns<D>) -> String {
    let of_row = names(&without_apart(inserted, columns));
    let apart = columns.apart.as_ref().map_or(String::new(), |Apart { table, key, column }| {
        format!(
            ", apart AS (
        INSERT INTO {table} (company_id, {key}, {column}) SELECT company_id, id, {column} FROM new
    )"
        )
    });
    format!(
        "
    WITH new AS (
        SELECT * FROM unnest({}) AS new ({})
    ){apart}
    INSERT INTO {{table}} ({of_row})
    SELECT {of_row} FROM new",
        arrays(inserted),
        names(inserted),
    )
}

fn without_apart<D: StoredDocument>(inserted: &[Column], columns: &Columns<D>) -> Vec<Column> {
    let is_apart = |name| columns.apart.as_ref().is_some_and(|apart| apart.column == name);
    inserted.iter().copied().filter(|(name, _)| !is_apart(*name)).collect()
}

fn update_in_file<D: StoredDocument>(updated: &[Column], columns: &Columns<D>) -> String {
    let set = updated.iter().zip(1..).skip(KEY.len()).map(|((name, _), number)| {
        if columns.stays(name) {
            format!("{name} = coalesce(${number}, {name})")
        } else {
            format!("{name} = ${number}")
        }
    });
    let set = in_rows(&set.collect::<Vec<_>>());
    let version = updated.len();
    format!(
        "
    UPDATE {{table}} SET {set}
    WHERE company_id = $1 AND id = $2 AND version <= ${version}"
    )
}

fn update_on_server<D: StoredDocument>(updated: &[Column], columns: &Columns<D>) -> String {
    let set = updated.iter().skip(KEY.len()).map(|(name, _)| {
        if columns.stays(name) {
            format!("{name} = coalesce(new.{name}, {{table}}.{name})")
        } else {
            format!("{name} = new.{name}")
        }
    });
    format!(
        "
    UPDATE {{table}} SET {}
    FROM unnest({}) AS new ({})
    WHERE {{table}}.company_id = new.company_id AND {{table}}.id = new.id AND {{table}}.version <= new.version",
        in_rows(&set.collect::<Vec<_>>()),
        arrays(updated),
        names(updated),
    )
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use invoicing_core::{CreditNote, Invoice, Quote};

    use super::*;

    fn printed<D: StoredDocument>() -> String {
        let Statements { pages, newest, find, find_summary, insert, update, .. } = D::statements();
        let mut all = vec![
            ("a page, newest first", pages.newest),
            ("a page of those in a status, newest first", pages.newest_in_status),
            ("a page of those that have changed", pages.changed),
            ("a page for people", newest.all),
            ("a page for people, of those in a status", newest.in_status),
            ("the place in the list for people", newest.created_at),
            ("the whole document", find.sql.sqlite),
            ("the summary", find_summary.sql.sqlite),
            ("the document unless it is large", D::statements().small_detail),
            ("the latest frozen file", D::statements().latest_file),
            ("whether it exists", D::statements().exists),
            ("its last change", D::statements().updated_at),
            ("insertion, SQLite", insert.sqlite),
            ("insertion, PostgreSQL", insert.postgres),
        ];
        if !D::COLUMNS.changing.is_empty() {
            all.extend([("update, SQLite", update.sqlite), ("update, PostgreSQL", update.postgres)]);
        }
        all.iter().fold(String::new(), |mut text, (name, statement)| {
            writeln!(text, "-- {}: {name}\n{};\n", D::TABLE, statement.trim_start_matches('\n')).unwrap();
            text
        })
    }

    #[test]
    fn the_statements_of_all_kinds_are_those_of_the_golden_file() {
        let printed = [printed::<Quote>(), printed::<Invoice>(), printed::<CreditNote>()].concat();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/documents/statements.sql");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &printed).unwrap();
        }
        let golden = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(golden, printed, "UPDATE_GOLDEN=1 writes the file anew");
    }
}
