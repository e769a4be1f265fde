//! API keys: only their hash is here, and what they have used of their quota.

use invoicing_core::{Company, CompanyId, KeyId, Timestamp};
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::companies::one_row;
use super::rows::from_json;
use crate::Error;

const INSERT: &str = "INSERT INTO api_key (company_id, id, hash, last4, label, created_at, quota_log) \
     VALUES ($1, $2, $3, $4, $5, $6, '[]')";
const FIND_BY_HASH: &str = "SELECT k.company_id, k.id, k.created_at, k.last_used_at, k.quota_log, c.record \
     FROM api_key k JOIN company c ON c.id = k.company_id WHERE k.hash = $1 AND k.revoked_at IS NULL";
const LIST: &str = "SELECT id, last4, label, created_at, last_used_at, revoked_at FROM api_key \
     WHERE company_id = $1 ORDER BY id";
const REVOKE: &str =
    "UPDATE api_key SET revoked_at = $3 WHERE company_id = $1 AND id = $2 AND revoked_at IS NULL";
const EXISTS: &str = "SELECT count(*) FROM api_key WHERE company_id = $1 AND id = $2";
const SET_USE: &str =
    "UPDATE api_key SET last_used_at = $3, quota_log = $4 WHERE company_id = $1 AND id = $2";
const REVOKE_IDLE: &str = "UPDATE api_key SET revoked_at = $1 \
     WHERE revoked_at IS NULL AND coalesce(last_used_at, created_at) < $2 RETURNING company_id, id";

/// An API key as its owner sees it. The key itself was shown once, when it was issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Identifies the key for revoking it.
    pub id: KeyId,
    /// The last four characters of the key.
    pub last4: String,
    /// What the owner calls it.
    pub label: String,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it was last used; may lag by up to a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked, by hand or because it was idle.
    pub revoked_at: Option<Timestamp>,
}

/// A key that is not revoked, as authentication needs it.
pub(crate) struct KeyRow {
    pub(crate) company: Company,
    pub(crate) id: KeyId,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used_at: Option<Timestamp>,
    pub(crate) quota_log: String,
}

pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    company: CompanyId,
    key: &KeyRecord,
    hash: &[u8; 32],
) -> Result<(), Error> {
    sqlx::query(INSERT)
        .bind(company.0)
        .bind(key.id.0)
        .bind(hash.as_slice())
        .bind(&key.last4)
        .bind(&key.label)
        .bind(key.created_at.as_millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// Looks a key up. The hash of 32 random bytes is the one thing that is found without naming the company.
pub(crate) async fn find_by_hash(
    connection: &mut SqliteConnection,
    hash: &[u8; 32],
) -> Result<Option<KeyRow>, Error> {
    type Row = (Uuid, Uuid, i64, Option<i64>, String, String);
    let row: Option<Row> =
        sqlx::query_as(FIND_BY_HASH).bind(hash.as_slice()).fetch_optional(connection).await?;
    row.map(|(company, id, created_at, last_used_at, quota_log, record)| {
        Ok(KeyRow {
            company: from_json(&record, "company", company)?,
            id: KeyId(id),
            created_at: Timestamp::from_millis(created_at),
            last_used_at: last_used_at.map(Timestamp::from_millis),
            quota_log,
        })
    })
    .transpose()
}

pub(crate) async fn list(
    connection: &mut SqliteConnection,
    company: CompanyId,
) -> Result<Vec<KeyRecord>, Error> {
    type Row = (Uuid, String, String, i64, Option<i64>, Option<i64>);
    let rows: Vec<Row> = sqlx::query_as(LIST).bind(company.0).fetch_all(connection).await?;
    let record = |(id, last4, label, created_at, last_used_at, revoked_at): Row| KeyRecord {
        id: KeyId(id),
        last4,
        label,
        created_at: Timestamp::from_millis(created_at),
        last_used_at: last_used_at.map(Timestamp::from_millis),
        revoked_at: revoked_at.map(Timestamp::from_millis),
    };
    Ok(rows.into_iter().map(record).collect())
}

/// Revokes a key for good. Revoking it again changes nothing.
pub(crate) async fn revoke(
    connection: &mut SqliteConnection,
    company: CompanyId,
    id: KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    let done =
        sqlx::query(REVOKE).bind(company.0).bind(id.0).bind(at.as_millis()).execute(&mut *connection).await?;
    if done.rows_affected() == 1 {
        return Ok(());
    }
    let found: i64 = sqlx::query_scalar(EXISTS).bind(company.0).bind(id.0).fetch_one(connection).await?;
    if found == 1 { Ok(()) } else { Err(Error::NotFound) }
}

/// Revokes every key that was last used, or issued, before `idle_since`.
pub(crate) async fn revoke_idle(
    connection: &mut SqliteConnection,
    at: Timestamp,
    idle_since: Timestamp,
) -> Result<Vec<KeyId>, Error> {
    let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(REVOKE_IDLE)
        .bind(at.as_millis())
        .bind(idle_since.as_millis())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|(_, id)| KeyId(id)).collect())
}

/// Stores when the key was last used and what it has used of its quota.
pub(crate) async fn set_use(
    connection: &mut SqliteConnection,
    company: CompanyId,
    id: KeyId,
    at: Timestamp,
    quota_log: &str,
) -> Result<(), Error> {
    let done = sqlx::query(SET_USE)
        .bind(company.0)
        .bind(id.0)
        .bind(at.as_millis())
        .bind(quota_log)
        .execute(connection)
        .await?;
    one_row(done.rows_affected(), "api_key")
}
