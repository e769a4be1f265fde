//! API keys: only their hash is here, and what they have used of their quota.

use invoicing_core::{Company, CompanyId, KeyId, Timestamp};
use uuid::Uuid;

use super::companies::one_row;
use super::connection::{Connection, Sql, on, run};
use super::rows::from_json;
use crate::Error;

const INSERT: Sql = Sql {
    sqlite: "INSERT INTO api_key (company_id, id, hash, last4, label, created_at, quota_log) \
         VALUES ($1, $2, $3, $4, $5, $6, '[]')",
    postgres: "INSERT INTO api_key (company_id, id, hash, last4, label, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
};
macro_rules! find_by_hash {
    ($quota_log:literal) => {
        concat!(
            "SELECT k.company_id, k.id, k.created_at, k.last_used_at, ",
            $quota_log,
            ", c.record FROM api_key k JOIN company c ON c.id = k.company_id \
             WHERE k.hash = $1 AND k.revoked_at IS NULL"
        )
    };
}
const FIND_BY_HASH: Sql = Sql { sqlite: find_by_hash!("k.quota_log"), postgres: find_by_hash!("'[]'") };
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
    connection: &mut Connection,
    company: CompanyId,
    key: &KeyRecord,
    hash: &[u8; 32],
) -> Result<(), Error> {
    run!(connection, |c, dialect| sqlx::query(INSERT.of(dialect))
        .bind(company.0)
        .bind(key.id.0)
        .bind(hash.as_slice())
        .bind(&key.last4)
        .bind(&key.label)
        .bind(key.created_at.as_millis())
        .execute(c))?;
    Ok(())
}

/// Looks a key up. The hash of 32 random bytes is the one thing that is found without naming the company.
pub(crate) async fn find_by_hash(
    connection: &mut Connection,
    hash: &[u8; 32],
) -> Result<Option<KeyRow>, Error> {
    type Row = (Uuid, Uuid, i64, Option<i64>, String, String);
    let row: Option<Row> = on!(connection, |c, dialect| sqlx::query_as(FIND_BY_HASH.of(dialect))
        .bind(hash.as_slice())
        .fetch_optional(c))?;
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

pub(crate) async fn list(connection: &mut Connection, company: CompanyId) -> Result<Vec<KeyRecord>, Error> {
    type Row = (Uuid, String, String, i64, Option<i64>, Option<i64>);
    let rows: Vec<Row> = on!(connection, |c| sqlx::query_as(LIST).bind(company.0).fetch_all(c))?;
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
    connection: &mut Connection,
    company: CompanyId,
    id: KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    let done =
        run!(connection, |c| sqlx::query(REVOKE).bind(company.0).bind(id.0).bind(at.as_millis()).execute(c))?;
    if done == 1 {
        return Ok(());
    }
    let found: i64 = on!(connection, |c| sqlx::query_scalar(EXISTS).bind(company.0).bind(id.0).fetch_one(c))?;
    if found == 1 { Ok(()) } else { Err(Error::NotFound) }
}

/// Revokes every key that was last used, or issued, before `idle_since`.
pub(crate) async fn revoke_idle(
    connection: &mut Connection,
    at: Timestamp,
    idle_since: Timestamp,
) -> Result<Vec<KeyId>, Error> {
    let rows: Vec<(Uuid, Uuid)> = on!(connection, |c| sqlx::query_as(REVOKE_IDLE)
        .bind(at.as_millis())
        .bind(idle_since.as_millis())
        .fetch_all(c))?;
    Ok(rows.into_iter().map(|(_, id)| KeyId(id)).collect())
}

/// Stores when the key was last used and what it has used of its quota.
pub(crate) async fn set_use(
    connection: &mut Connection,
    company: CompanyId,
    id: KeyId,
    at: Timestamp,
    quota_log: &str,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(SET_USE)
        .bind(company.0)
        .bind(id.0)
        .bind(at.as_millis())
        .bind(quota_log)
        .execute(c))?;
    one_row(done, "api_key")
}

/// Counting requests where several nodes do: one statement decides and counts, under the lock of the key's row.
#[cfg(feature = "postgres")]
pub(crate) mod shared {
    use invoicing_core::{CompanyId, KeyId, Plan, QUOTA_WINDOW_MS, Timestamp};

    use crate::Error;
    use crate::store::connection::{Connection, on, run};

    /// `$3` now, `$4` limit, `$5` since when a key that was not used is idle, `$6` plan, `$7` length of the window. An
    /// instant is never before the last one, whichever node's clock it comes from.
    const ADMIT: &str = "UPDATE api_key k SET last_used_at = greatest(k.last_used_at, $3), accepted = \
         ARRAY(SELECT a FROM unnest(k.accepted) a WHERE a >= greatest($3, k.accepted[cardinality(k.accepted)]) - $7) \
         || greatest($3, k.accepted[cardinality(k.accepted)]) \
         FROM company c WHERE c.id = $1 AND k.company_id = $1 AND k.id = $2 AND k.revoked_at IS NULL \
         AND coalesce(k.last_used_at, k.created_at) >= $5 AND c.record::json ->> 'plan' = $6 \
         AND (SELECT count(*) FROM unnest(k.accepted) a \
         WHERE a >= greatest($3, k.accepted[cardinality(k.accepted)]) - $7) < $4 RETURNING array_to_json(k.accepted)::text";
    const FIND: &str = "SELECT array_to_json(k.accepted)::text FROM api_key k JOIN company c ON c.id = k.company_id \
         WHERE k.company_id = $1 AND k.id = $2 AND k.revoked_at IS NULL \
         AND coalesce(k.last_used_at, k.created_at) >= $3 AND c.record::json ->> 'plan' = $4";
    const SET_LAST_USED: &str =
        "UPDATE api_key SET last_used_at = greatest(last_used_at, $3) WHERE company_id = $1 AND id = $2";

    /// Who asks, as it was read: if that has changed, nothing is counted.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Caller {
        pub(crate) company: CompanyId,
        pub(crate) key: KeyId,
        pub(crate) plan: Plan,
        /// A key that was not used since is idle.
        pub(crate) idle_since: Timestamp,
    }

    /// What a key has been accepted in the last window, oldest first.
    pub(crate) enum Counted {
        /// This request is the last of them.
        Accepted(Vec<i64>),
        /// It is none of them.
        Refused(Vec<i64>),
        /// The key was revoked or has another plan by now.
        Changed,
    }

    pub(crate) async fn admit(
        connection: &mut Connection,
        caller: Caller,
        limit: u32,
        now: Timestamp,
    ) -> Result<Counted, Error> {
        let Caller { company, key, plan, idle_since } = caller;
        let accepted: Option<String> = on!(connection, |c| sqlx::query_scalar(ADMIT)
            .bind(company.0)
            .bind(key.0)
            .bind(now.as_millis())
            .bind(i64::from(limit))
            .bind(idle_since.as_millis())
            .bind(plan.as_str())
            .bind(QUOTA_WINDOW_MS)
            .fetch_optional(c))?;
        if let Some(accepted) = accepted {
            return Ok(Counted::Accepted(instants(&accepted, key)?));
        }
        let accepted: Option<String> = on!(connection, |c| sqlx::query_scalar(FIND)
            .bind(company.0)
            .bind(key.0)
            .bind(idle_since.as_millis())
            .bind(plan.as_str())
            .fetch_optional(c))?;
        let Some(accepted) = accepted else { return Ok(Counted::Changed) };
        Ok(Counted::Refused(instants(&accepted, key)?))
    }

    fn instants(json: &str, key: KeyId) -> Result<Vec<i64>, Error> {
        serde_json::from_str(json).map_err(|cause| Error::bad_row("api_key", "accepted", key, cause))
    }

    /// Stores that a key was used that has no quota.
    pub(crate) async fn set_last_used(
        connection: &mut Connection,
        company: CompanyId,
        key: KeyId,
        at: Timestamp,
    ) -> Result<(), Error> {
        run!(connection, |c| sqlx::query(SET_LAST_USED)
            .bind(company.0)
            .bind(key.0)
            .bind(at.as_millis())
            .execute(c))?;
        Ok(())
    }
}
