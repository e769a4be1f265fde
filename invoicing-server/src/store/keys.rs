//! API keys: found by their hash (`secret::sha256`), and the requests that count in their quota.

#[cfg(feature = "postgres")]
pub(crate) mod quota;

use invoicing_core::{Company, CompanyId, KeyId, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::{Connection, Sql};
use super::scope::Scope;
use super::versions;
use crate::error::Error;
use crate::records::KeyRecord;

#[derive(FromRow)]
struct KeyRow {
    id: Uuid,
    last4: String,
    label: String,
    created_at: i64,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl From<KeyRow> for KeyRecord {
    fn from(row: KeyRow) -> Self {
        Self {
            id: KeyId(row.id),
            last4: row.last4,
            label: row.label,
            created_at: Timestamp::from_millis(row.created_at),
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
        }
    }
}

/// The API keys of a company.
pub(crate) struct KeyTable<'c>(pub(super) Scope<'c>);

impl KeyTable<'_> {
    pub(crate) async fn insert(&mut self, key: &KeyRecord, hash: &[u8; 32]) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO api_key (company_id, id, hash, last4, label, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
        self.0.query(INSERT, &[&key.id, hash, &key.last4, &key.label, &key.created_at]).execute().await?;
        Ok(())
    }

    /// The number of keys that are not revoked.
    pub(crate) async fn count_active(&mut self) -> Result<i64, Error> {
        const COUNT_ACTIVE: &str =
            "SELECT count(*) FROM api_key WHERE company_id = $1 AND revoked_at IS NULL";
        Ok(self.0.query(COUNT_ACTIVE, &[]).scalar().await?)
    }

    /// All keys, oldest first, revoked ones included.
    pub(crate) async fn list(&mut self) -> Result<Vec<KeyRecord>, Error> {
        const LIST: &str = "
            SELECT id, last4, label, created_at, last_used_at, revoked_at FROM api_key
            WHERE company_id = $1 ORDER BY id";
        let rows: Vec<KeyRow> = self.0.query(LIST, &[]).fetch_all().await?;
        Ok(rows.into_iter().map(KeyRecord::from).collect())
    }

    pub(crate) async fn find(&mut self, id: KeyId) -> Result<KeyRecord, Error> {
        const FIND: &str = "
            SELECT id, last4, label, created_at, last_used_at, revoked_at FROM api_key
            WHERE company_id = $1 AND id = $2";
        let row: Option<KeyRow> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        row.map(KeyRecord::from).ok_or(Error::NotFound)
    }

    /// The quota windows of all keys, as they are stored. For a database that one process owns.
    pub(crate) async fn quota_logs(&mut self) -> Result<Vec<(KeyId, String)>, Error> {
        const QUOTA_LOGS: &str = "SELECT id, quota_log FROM api_key WHERE company_id = $1";
        let rows: Vec<(Uuid, String)> = self.0.query(QUOTA_LOGS, &[]).fetch_all().await?;
        Ok(rows.into_iter().map(|(id, log)| (KeyId(id), log)).collect())
    }

    /// Revokes a key for good. Returns its label, unless it was revoked before: then nothing
    /// changes.
    pub(crate) async fn revoke(&mut self, id: KeyId, at: Timestamp) -> Result<Option<String>, Error> {
        const REVOKE: &str = "
            UPDATE api_key SET revoked_at = $3 WHERE company_id = $1 AND id = $2 AND revoked_at IS NULL";
        const LABEL: &str = "SELECT label FROM api_key WHERE company_id = $1 AND id = $2";
        let revoked = self.0.query(REVOKE, &[&id, &at]).execute().await? > 0;
        let label: Option<String> = self.0.query(LABEL, &[&id]).optional_scalar().await?;
        Ok(Some(label.ok_or(Error::NotFound)?).filter(|_| revoked))
    }

    /// Revokes a key that was last used, or issued, before `idle_since`. Returns true if it was.
    pub(crate) async fn revoke_idle(
        &mut self,
        id: KeyId,
        at: Timestamp,
        idle_since: Timestamp,
    ) -> Result<bool, Error> {
        const REVOKE_IDLE: &str = "
            UPDATE api_key SET revoked_at = $3
            WHERE company_id = $1 AND id = $2 AND revoked_at IS NULL AND coalesce(last_used_at, created_at) < $4";
        let revoked = self.0.query(REVOKE_IDLE, &[&id, &at, &idle_since]).execute().await?;
        Ok(revoked > 0)
    }

    /// Stores when a key was last used, and its quota window. For a database that one process owns.
    pub(crate) async fn set_use(&mut self, id: KeyId, at: Timestamp, quota_log: &str) -> Result<(), Error> {
        const SET_USE: &str = "
            UPDATE api_key SET last_used_at = $3, quota_log = $4 WHERE company_id = $1 AND id = $2";
        self.0.query(SET_USE, &[&id, &at, &quota_log]).change_one("api_key").await
    }
}

/// A key that is not revoked, with the data for authentication.
pub(crate) struct ActiveKey {
    pub(crate) company: Company,
    pub(crate) id: KeyId,
    /// The last use, or the issue if it was never used.
    pub(crate) last_used: Timestamp,
    pub(crate) quota_log: String,
}

/// A key that is not revoked, as it is stored.
#[derive(Clone, FromRow)]
pub(crate) struct ActiveKeyRow {
    hash: Vec<u8>,
    company_id: Uuid,
    id: Uuid,
    last_used: i64,
    quota_log: String,
    record: String,
    version: i64,
}

impl ActiveKeyRow {
    /// The SHA-256 of the key's text.
    pub(crate) fn hash(&self) -> &[u8] {
        &self.hash
    }

    pub(crate) fn parse(self) -> Result<ActiveKey, Error> {
        Ok(ActiveKey {
            company: versions::read(self.record.as_bytes(), self.version, self.company_id)?,
            id: KeyId(self.id),
            last_used: Timestamp::from_millis(self.last_used),
            quota_log: self.quota_log,
        })
    }
}

#[derive(FromRow)]
struct IdleKeyRow {
    company_id: Uuid,
    id: Uuid,
}

/// The API keys of all companies, for authentication and the sweep.
pub(crate) struct AllKeys<'c>(pub(super) &'c mut Connection);

impl AllKeys<'_> {
    /// Looks keys up; those that exist come in any order. The text of a key is the proof that its
    /// caller belongs to the company.
    pub(crate) async fn find_by_hashes(&mut self, hashes: &[[u8; 32]]) -> Result<Vec<ActiveKeyRow>, Error> {
        // PostgreSQL counts requests in `accepted`, so there the window is not read.
        const FIND: Sql = Sql {
            sqlite: "
                SELECT k.hash, k.company_id, k.id, coalesce(k.last_used_at, k.created_at) AS last_used, k.quota_log,
                    c.record, c.version
                FROM json_each($1) h
                CROSS JOIN api_key k ON k.hash = unhex(h.value)
                JOIN company c ON c.id = k.company_id
                WHERE k.revoked_at IS NULL",
            postgres: "
                SELECT k.hash, k.company_id, k.id, coalesce(k.last_used_at, k.created_at) AS last_used,
                    '[]' AS quota_log, c.record, c.version
                FROM api_key k JOIN company c ON c.id = k.company_id
                WHERE k.hash = ANY($1) AND k.revoked_at IS NULL",
        };
        Ok(self.0.query(FIND, &[&hashes]).fetch_all().await?)
    }

    /// Stores for each key the instant of its last use and its quota, unless it was idle before.
    /// For a database that one process owns.
    pub(crate) async fn set_all_used(
        &mut self,
        at: Timestamp,
        quota: u32,
        idle_before: Timestamp,
    ) -> Result<(), Error> {
        // A key that was issued after `at` has no requests from before.
        const SET_ALL_USED: &str = "
            UPDATE api_key SET last_used_at = max(coalesce(last_used_at, created_at), $1), quota_log = $2
            WHERE revoked_at IS NULL AND created_at <= $1 AND coalesce(last_used_at, created_at) >= $3";
        let log = format!("[[{},{quota}]]", at.as_millis());
        self.0.query(SET_ALL_USED, &[&at, &log, &idle_before]).execute().await?;
        Ok(())
    }

    /// The keys that were last used, or issued, before `idle_since`.
    pub(crate) async fn idle(&mut self, idle_since: Timestamp) -> Result<Vec<(CompanyId, KeyId)>, Error> {
        const IDLE: &str = "
            SELECT company_id, id FROM api_key
            WHERE revoked_at IS NULL AND coalesce(last_used_at, created_at) < $1 ORDER BY company_id, id";
        let rows: Vec<IdleKeyRow> = self.0.query(IDLE, &[&idle_since]).fetch_all().await?;
        Ok(rows.into_iter().map(|row| (CompanyId(row.company_id), KeyId(row.id))).collect())
    }
}
