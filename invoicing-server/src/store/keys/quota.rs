//! Counts requests in a database that several nodes share: one statement decides and counts, under
//! the lock of the key's row.

use invoicing_core::{KeyId, Plan, QUOTA_WINDOW_MS, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::super::deliveries::small;
use super::super::rows::from_json;
use super::KeyTable;
use crate::error::Error;

/// A caller as it was read. If its key or plan has changed since, its request is not counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) key: KeyId,
    pub(crate) plan: Plan,
    /// A key that was not used since then is idle.
    pub(crate) idle_since: Timestamp,
}

#[derive(FromRow)]
struct UsedRow {
    id: Uuid,
    used: i64,
    oldest: Option<i64>,
}

/// The requests of a key that count in the present window, oldest first.
pub(crate) enum Counted {
    /// The request was accepted and is the last of them.
    Accepted(Vec<i64>),
    /// The request was refused and is none of them.
    Refused(Vec<i64>),
    /// The key was revoked or its company has another plan by now.
    Changed,
}

impl KeyTable<'_> {
    /// Counts a request, if the quota of `limit` allows it.
    pub(crate) async fn count_request(
        &mut self,
        caller: Caller,
        limit: u32,
        now: Timestamp,
    ) -> Result<Counted, Error> {
        // `$3` now, `$4` limit, `$5` instant since which an unused key is idle, `$6` plan, `$7`
        // length of the window. No instant is earlier than the last one, although each may come
        // from another node's clock.
        const COUNT: &str = "
            UPDATE api_key k SET
                last_used_at = greatest(k.last_used_at, $3),
                accepted = ARRAY(
                    SELECT a FROM unnest(k.accepted) a
                    WHERE a >= greatest($3, k.accepted[cardinality(k.accepted)]) - $7
                ) || greatest($3, k.accepted[cardinality(k.accepted)])
            FROM company c
            WHERE c.id = $1 AND k.company_id = $1 AND k.id = $2 AND k.revoked_at IS NULL
                AND coalesce(k.last_used_at, k.created_at) >= $5 AND c.record::json ->> 'plan' = $6
                AND (
                    SELECT count(*) FROM unnest(k.accepted) a
                    WHERE a >= greatest($3, k.accepted[cardinality(k.accepted)]) - $7
                ) < $4
            RETURNING array_to_json(k.accepted)::text";
        const FIND: &str = "
            SELECT array_to_json(k.accepted)::text FROM api_key k JOIN company c ON c.id = k.company_id
            WHERE k.company_id = $1 AND k.id = $2 AND k.revoked_at IS NULL
                AND coalesce(k.last_used_at, k.created_at) >= $3 AND c.record::json ->> 'plan' = $4";
        let Caller { key, plan, idle_since } = caller;
        let plan = plan.as_str();
        let count = self.0.query(COUNT, &[&key, &now, &limit, &idle_since, &plan, &QUOTA_WINDOW_MS]);
        let accepted: Option<String> = count.optional_scalar().await?;
        if let Some(accepted) = accepted {
            return Ok(Counted::Accepted(from_json(accepted, "api_key", key)?));
        }
        let find = self.0.query(FIND, &[&key, &idle_since, &plan]);
        let accepted: Option<String> = find.optional_scalar().await?;
        accepted.map_or(Ok(Counted::Changed), |accepted| {
            Ok(Counted::Refused(from_json(accepted, "api_key", key)?))
        })
    }

    /// For each key, the number of requests in the present window, and the instant of the oldest of
    /// them.
    pub(crate) async fn used(
        &mut self,
        now: Timestamp,
    ) -> Result<Vec<(KeyId, u32, Option<Timestamp>)>, Error> {
        const USED: &str = "
            SELECT k.id, count(u.accepted_at) AS used, min(u.accepted_at) AS oldest
            FROM api_key k
            LEFT JOIN LATERAL unnest(k.accepted) u(accepted_at)
                ON u.accepted_at >= greatest($2, k.accepted[cardinality(k.accepted)]) - $3
            WHERE k.company_id = $1
            GROUP BY k.id";
        let rows: Vec<UsedRow> = self.0.query(USED, &[&now, &QUOTA_WINDOW_MS]).fetch_all().await?;
        let used = |row: UsedRow| (KeyId(row.id), small(row.used), row.oldest.map(Timestamp::from_millis));
        Ok(rows.into_iter().map(used).collect())
    }

    /// Stores the use of a key without a quota.
    pub(crate) async fn set_last_used(&mut self, key: KeyId, at: Timestamp) -> Result<(), Error> {
        const SET_LAST_USED: &str = "
            UPDATE api_key SET last_used_at = greatest(last_used_at, $3) WHERE company_id = $1 AND id = $2";
        self.0.query(SET_LAST_USED, &[&key, &at]).execute().await?;
        Ok(())
    }
}
