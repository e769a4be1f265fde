//! Where a copy stands: the key of the last row, as a JSON array that is kept in PostgreSQL and shown in errors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde_json::Value;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Row as _, Sqlite};
use uuid::Uuid;

use super::tables::{Kind, Table};

/// The key of a row: ids and texts as texts, numbers as numbers, bytes in base 64.
pub(super) fn of(table: &Table, row: &SqliteRow) -> Result<String, sqlx::Error> {
    let part = |(index, kind)| {
        Ok(match kind {
            Kind::Id => Value::from(row.try_get::<Uuid, _>(index)?.to_string()),
            Kind::Number => Value::from(row.try_get::<i64, _>(index)?),
            Kind::Bytes => Value::from(BASE64.encode(row.try_get::<&[u8], _>(index)?)),
            Kind::Text | Kind::Day | Kind::Used => Value::from(row.try_get::<&str, _>(index)?),
        })
    };
    let kinds = table.key().iter().map(|column| column.kind);
    let parts: Result<Vec<Value>, sqlx::Error> = kinds.enumerate().map(part).collect();
    Ok(Value::Array(parts?).to_string())
}

pub(super) type Statement = Query<'static, Sqlite, SqliteArguments>;

/// Binds the parts of a key that [`of`] has made; `None` where it is no such key.
pub(super) fn bind(table: &Table, key: &str, statement: Statement) -> Option<Statement> {
    let parts: Vec<Value> = serde_json::from_str(key).ok()?;
    if parts.len() != table.key {
        return None;
    }
    table.key().iter().zip(parts).try_fold(statement, |statement, (column, part)| {
        Some(match (column.kind, part) {
            (Kind::Number, part) => statement.bind(part.as_i64()?),
            (Kind::Id, Value::String(id)) => statement.bind(Uuid::parse_str(&id).ok()?),
            (Kind::Bytes, Value::String(bytes)) => statement.bind(BASE64.decode(bytes).ok()?),
            (_, Value::String(text)) => statement.bind(text),
            _ => return None,
        })
    })
}
