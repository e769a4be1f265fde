//! The SQLite side: one snapshot, read in the order of the keys, as rows for PostgreSQL.

use std::fs::File;
use std::path::Path;
use std::str::FromStr;

use chrono::{Datelike as _, NaiveDate};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use sha2::{Digest, Sha256};
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

use super::binary::{self, Field};
use super::tables::{Column, Kind, TABLES, Table};
use super::{CopyError, Moment, key, quota};
use crate::store::sqlite;

/// Rows that SQLite's thread may be ahead.
const AHEAD: usize = 1_000;
/// Rows are handed on in pieces of about so many bytes.
const PIECE: usize = 256 * 1024;
/// What PostgreSQL counts its days from, 2000-01-01, in days of our calendar library.
const YEAR_2000: i32 = 730_120;

/// A SQLite database that no other process has open.
pub(super) struct Source {
    connection: SqliteConnection,
    _lock: File,
}

/// What a database holds: per table how many rows, and the SHA-256 of their binary form.
pub(super) struct Survey {
    pub(super) tables: Vec<(u64, [u8; 32])>,
}

/// Rows of a table, written in pieces.
pub(super) struct Rows<'s> {
    table: &'static Table,
    moment: Moment,
    stream: BoxStream<'s, Result<SqliteRow, sqlx::Error>>,
    piece: Vec<u8>,
    last: Option<SqliteRow>,
    /// How many were written so far.
    pub(super) count: u64,
}

impl Source {
    /// Takes the lock of the service and opens a snapshot.
    pub(super) async fn open(path: &Path) -> Result<Self, CopyError> {
        if !path.is_file() {
            return Err(CopyError::NoSource(path.to_owned()));
        }
        let lock = sqlite::lock(path).await.map_err(|error| CopyError::Locked(error.into()))?;
        let connection = Self::connect(path).await.map_err(CopyError::Source)?;
        let mut source = Self { connection, _lock: lock };
        let found = source.schema().await.map_err(CopyError::Source)?;
        if found != sqlite::KNOWN {
            return Err(CopyError::Schema { found, known: sqlite::KNOWN });
        }
        Ok(source)
    }

    async fn connect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
        let options = SqliteConnectOptions::from_str("sqlite://")?
            .filename(path)
            .read_only(true)
            .row_buffer_size(AHEAD);
        // Some of these statements take long by nature.
        let options = options.disable_statement_logging();
        let mut connection = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await?;
        Ok(connection)
    }

    /// 0 where it is no database of the service.
    async fn schema(&mut self) -> Result<i64, sqlx::Error> {
        const TABLE: &str =
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'invoicing_migration'";
        const VERSION: &str = "SELECT coalesce(max(version), 0) FROM invoicing_migration";
        let tables: i64 = sqlx::query_scalar(TABLE).fetch_one(&mut self.connection).await?;
        if tables == 0 {
            return Ok(0);
        }
        sqlx::query_scalar(VERSION).fetch_one(&mut self.connection).await
    }

    /// Reads everything once: that PostgreSQL can hold it, and what its copy has to be.
    pub(super) async fn survey(&mut self, moment: Moment) -> Result<Survey, CopyError> {
        let mut tables = Vec::with_capacity(TABLES.len());
        for table in &TABLES {
            let mut rows = self.rows(table, moment, None, None)?;
            let mut hash = Sha256::new_with_prefix(binary::HEADER);
            while let Some(piece) = rows.piece().await? {
                hash.update(piece);
            }
            hash.update(binary::TRAILER);
            tables.push((rows.count, hash.finalize().into()));
        }
        Ok(Survey { tables })
    }

    /// The rows behind a key.
    pub(super) fn rows(
        &mut self,
        table: &'static Table,
        moment: Moment,
        behind: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Rows<'_>, CopyError> {
        let statement = sqlx::query(AssertSqlSafe(table.select(behind.is_some(), limit))).bind(moment.at);
        let statement = match behind {
            Some(key) => key::bind(table, key, statement).ok_or(CopyError::OtherSource)?,
            None => statement,
        };
        let stream = statement.fetch(&mut self.connection);
        Ok(Rows { table, moment, stream, piece: Vec::with_capacity(2 * PIECE), last: None, count: 0 })
    }
}

impl Rows<'_> {
    /// The next rows; `None` behind the last one.
    pub(super) async fn piece(&mut self) -> Result<Option<&[u8]>, CopyError> {
        self.piece.clear();
        while self.piece.len() < PIECE
            && let Some(row) = self.stream.try_next().await.map_err(CopyError::Source)?
        {
            write_row(self.table, &row, self.moment, &mut self.piece)?;
            self.count += 1;
            self.last = Some(row);
        }
        Ok(Some(&self.piece[..]).filter(|piece| !piece.is_empty()))
    }

    /// The key of the last row that was written.
    pub(super) fn last(&self) -> Result<Option<String>, CopyError> {
        let key = self.last.as_ref().map(|row| key::of(self.table, row));
        key.transpose().map_err(CopyError::Source)
    }
}

impl Survey {
    /// Knows a database by what it holds, wherever it is.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (table, (rows, sha256)) in TABLES.iter().zip(&self.tables) {
            hash.update(table.name);
            hash.update(rows.to_be_bytes());
            hash.update(sha256);
        }
        hash.finalize().into()
    }
}

fn write_row(
    table: &'static Table,
    row: &SqliteRow,
    moment: Moment,
    out: &mut Vec<u8>,
) -> Result<(), CopyError> {
    binary::row(table.columns.len(), out);
    for (index, column) in table.columns.iter().enumerate() {
        match field(column.kind, row, index, moment) {
            Ok(field) => field.write(out),
            Err(cause) => return Err(bad_value(table, column, row, cause)),
        }
    }
    Ok(())
}

fn bad_value(table: &Table, column: &Column, row: &SqliteRow, cause: String) -> CopyError {
    let key = key::of(table, row).unwrap_or_else(|error| error.to_string());
    CopyError::Value { table: table.name, column: column.name, key, cause }
}

/// A value as PostgreSQL takes it, or why it does not.
fn field(kind: Kind, row: &SqliteRow, index: usize, moment: Moment) -> Result<Field<'_>, String> {
    if let Kind::Number = kind {
        let number: Option<i64> = row.try_get(index).map_err(|error| error.to_string())?;
        return Ok(number.map_or(Field::Null, Field::Number));
    }
    let bytes: Option<&[u8]> = row.try_get(index).map_err(|error| error.to_string())?;
    let Some(bytes) = bytes else { return Ok(Field::Null) };
    if matches!(kind, Kind::Bytes) {
        return Ok(Field::Bytes(bytes));
    }
    if matches!(kind, Kind::Id) {
        return if bytes.len() == 16 { Ok(Field::Bytes(bytes)) } else { Err("is not 16 bytes".into()) };
    }
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    match kind {
        Kind::Day => Ok(Field::Day(days(text).ok_or_else(|| format!("{text:?} is no date"))?)),
        Kind::Used => Ok(Field::Numbers(quota::accepted(text, moment).map_err(|error| error.to_string())?)),
        _ if bytes.contains(&0) => Err("has the character U+0000, which PostgreSQL cannot hold".into()),
        _ => Ok(Field::Bytes(bytes)),
    }
}

pub(super) fn days(text: &str) -> Option<i32> {
    Some(text.parse::<NaiveDate>().ok()?.num_days_from_ce() - YEAR_2000)
}
