//! The SQLite side: one snapshot, read in the order of the keys, as rows for PostgreSQL.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chrono::{Datelike as _, NaiveDate};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqliteConnection, ValueRef as _};
use uuid::Uuid;

use super::tables::{Catalogue, CatalogueRow, ColumnKind, CopiedColumn, CopiedTable, catalogue};
use super::{CopyError, Moment, binary, quota};
use crate::store::migrate::KNOWN_SQLITE;
use crate::store::sqlite::{self, DatabaseLock};

/// Maximum number of rows by which SQLite's thread may be ahead.
const AHEAD: usize = 1_000;
/// Maximum number of rows in a batch.
const BATCH: u64 = 5_000;
/// Bytes of a batch; the row that exceeds them is the last one.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The day 0 of PostgreSQL, 2000-01-01, in days of the calendar library.
const YEAR_2000: i32 = 730_120;
/// `hidden` marks computed columns.
const CATALOGUE: &str = "SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t, pragma_table_xinfo(t.name) c \
     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.hidden = 0";

/// A SQLite database that no other process has open.
pub(super) struct SqliteSource {
    connection: SqliteConnection,
    _lock: DatabaseLock,
}

/// The content of a database.
pub(super) struct Survey<'t> {
    pub(super) tables: Vec<SurveyedTable<'t>>,
}

/// The content of a table: the number of rows, and the SHA-256 of their binary form.
pub(super) struct SurveyedTable<'t> {
    pub(super) table: &'t CopiedTable,
    pub(super) rows: u64,
    pub(super) sha256: [u8; 32],
}

/// The rows of a table, in batches.
pub(super) struct TableRows<'s> {
    table: &'s CopiedTable,
    moment: Moment,
    stream: BoxStream<'s, Result<SqliteRow, sqlx::Error>>,
}

/// Rows in the binary form of PostgreSQL.
#[derive(Default)]
pub(super) struct BinaryRows {
    pub(super) rows: u64,
    pub(super) bytes: Vec<u8>,
}

impl SqliteSource {
    /// Takes the lock of the service and opens a snapshot.
    pub(super) async fn open(path: &Path) -> Result<Self, CopyError> {
        if !path.is_file() {
            return Err(CopyError::NoSource(path.to_owned()));
        }
        let lock = sqlite::lock(path).await.map_err(CopyError::Locked)?;
        let connection = Self::connect(lock.file().path()).await.map_err(CopyError::Source)?;
        let mut source = Self { connection, _lock: lock };
        let found = source.schema().await.map_err(CopyError::Source)?;
        if found != KNOWN_SQLITE {
            return Err(CopyError::Schema { found, known: KNOWN_SQLITE });
        }
        Ok(source)
    }

    async fn connect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true).row_buffer_size(AHEAD);
        // Some of these statements take long by nature.
        let options = options.disable_statement_logging();
        let mut connection = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await?;
        Ok(connection)
    }

    /// The schema version; 0 if the file is no database of the service.
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

    /// The tables to copy.
    pub(super) async fn catalogue(&mut self) -> Result<Catalogue, CopyError> {
        let rows = sqlx::query_as::<_, CatalogueRow>(CATALOGUE).fetch_all(&mut self.connection).await;
        Ok(catalogue(rows.map_err(CopyError::Source)?))
    }

    /// Reads everything once: checks that PostgreSQL can hold it, and computes the counts and
    /// hashes of its copy.
    pub(super) async fn survey<'t>(
        &mut self,
        copied: &'t [CopiedTable],
        moment: Moment,
    ) -> Result<Survey<'t>, CopyError> {
        let mut tables = Vec::with_capacity(copied.len());
        for table in copied {
            let mut batches = self.rows(table, moment, 0);
            let mut rows = 0;
            let mut hash = Sha256::new_with_prefix(binary::HEADER);
            while let Some(batch) = batches.next().await? {
                rows += batch.rows;
                hash.update(batch.bytes);
            }
            hash.update(binary::TRAILER);
            tables.push(SurveyedTable { table, rows, sha256: hash.finalize().into() });
        }
        Ok(Survey { tables })
    }

    /// The rows of a table behind the first `skipped` ones.
    pub(super) fn rows<'s>(
        &'s mut self,
        table: &'s CopiedTable,
        moment: Moment,
        skipped: u64,
    ) -> TableRows<'s> {
        let skipped = i64::try_from(skipped).unwrap_or(i64::MAX);
        let statement = sqlx::query(AssertSqlSafe(table.select())).bind(moment.at).bind(skipped);
        TableRows { table, moment, stream: statement.fetch(&mut self.connection) }
    }
}

impl TableRows<'_> {
    /// The next rows; `None` behind the last one.
    pub(super) async fn next(&mut self) -> Result<Option<BinaryRows>, CopyError> {
        let mut batch = BinaryRows::default();
        while batch.rows < BATCH
            && batch.bytes.len() < BATCH_BYTES
            && let Some(row) = self.stream.try_next().await.map_err(CopyError::Source)?
        {
            write_row(self.table, &row, self.moment, &mut batch.bytes)?;
            batch.rows += 1;
        }
        Ok((batch.rows > 0).then_some(batch))
    }
}

impl Survey<'_> {
    /// The identity of a database by its content, independent of its path.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for SurveyedTable { table, rows, sha256 } in &self.tables {
            hash.update(&table.name);
            hash.update(rows.to_be_bytes());
            hash.update(sha256);
        }
        hash.finalize().into()
    }
}

fn write_row(
    table: &CopiedTable,
    row: &SqliteRow,
    moment: Moment,
    out: &mut Vec<u8>,
) -> Result<(), CopyError> {
    binary::row(table.columns.len(), out);
    for (index, column) in table.columns.iter().enumerate() {
        write_value(column.kind, row, index, moment, out)
            .map_err(|cause| bad_value(table, column, row, &*cause))?;
    }
    Ok(())
}

fn bad_value(
    table: &CopiedTable,
    column: &CopiedColumn,
    row: &SqliteRow,
    cause: &dyn std::error::Error,
) -> CopyError {
    let key = key(table, row).unwrap_or_else(|error| error.to_string());
    let (table, column) = (table.name.clone(), column.name.clone());
    CopyError::Value { table, column, key, cause: cause.to_string() }
}

/// The key of a row as a JSON array: ids and texts as texts, numbers as numbers, bytes in base 64.
fn key(table: &CopiedTable, row: &SqliteRow) -> Result<String, sqlx::Error> {
    let part = |(index, column): (usize, &CopiedColumn)| {
        Ok(match column.kind {
            ColumnKind::Id => Value::from(row.try_get::<Uuid, _>(index)?.to_string()),
            ColumnKind::Number => Value::from(row.try_get::<i64, _>(index)?),
            ColumnKind::Bytes => Value::from(BASE64.encode(row.try_get::<&[u8], _>(index)?)),
            ColumnKind::Text | ColumnKind::Day | ColumnKind::UsedQuota => {
                Value::from(row.try_get::<&str, _>(index)?)
            }
        })
    };
    let parts: Result<Vec<Value>, sqlx::Error> = table.key().enumerate().map(part).collect();
    Ok(Value::Array(parts?).to_string())
}

/// Writes a value in the form of PostgreSQL, or returns the reason why PostgreSQL cannot hold it.
fn write_value(
    kind: ColumnKind,
    row: &SqliteRow,
    index: usize,
    moment: Moment,
    out: &mut Vec<u8>,
) -> Result<(), BoxDynError> {
    if row.try_get_raw(index)?.is_null() {
        binary::null(out);
        return Ok(());
    }
    let bytes = || row.try_get::<&[u8], _>(index);
    let text = || Ok::<_, BoxDynError>(std::str::from_utf8(bytes()?)?);
    match kind {
        ColumnKind::Number => binary::value(&row.try_get::<i64, _>(index)?.to_be_bytes(), out),
        ColumnKind::Bytes => binary::value(bytes()?, out),
        ColumnKind::Id => {
            let id: &[u8; 16] = bytes()?.try_into().map_err(|_| "is not 16 bytes")?;
            binary::value(id, out);
        }
        ColumnKind::Text => {
            let text = text()?;
            if text.contains('\0') {
                return Err("has the character U+0000, which PostgreSQL cannot hold".into());
            }
            binary::value(text.as_bytes(), out);
        }
        ColumnKind::Day => {
            let text = text()?;
            let days = days(text).ok_or_else(|| format!("{text:?} is no date"))?;
            binary::value(&days.to_be_bytes(), out);
        }
        ColumnKind::UsedQuota => binary::value(&binary::array(&quota::accepted(text()?, moment)?), out),
    }
    Ok(())
}

pub(super) fn days(text: &str) -> Option<i32> {
    Some(text.parse::<NaiveDate>().ok()?.num_days_from_ce() - YEAR_2000)
}
