//! Records the outcome of attempts.
//!
//! Each change of a claimed delivery repeats the token of the claim. An attempt whose claim is gone
//! is recorded and counted, and changes nothing else. `status || ''` is explained at
//! [`DeliveryTable`](super::deliveries::DeliveryTable).

use std::collections::HashSet;
use std::time::Duration;

use invoicing_core::{AttemptOutcome, CompanyId, DeliveryStatus, EventId, Timestamp, WebhookId};
use serde::Serialize;
use uuid::Uuid;

use super::connection::{Argument, Sql};
use super::deliveries::AllDeliveries;
use super::rows::to_json;
use crate::error::Error;
use crate::queue::Job;

/// An attempt as its row, with a status or a failure class. SQLite finds the company, the event and
/// the webhook by the delivery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptRow {
    delivery: i64,
    company: CompanyId,
    event: EventId,
    webhook: WebhookId,
    number: i64,
    at: i64,
    duration_ms: i64,
    status: Option<u16>,
    failure: Option<&'static str>,
}

impl AttemptRow {
    pub(crate) fn new(job: &Job, at: Timestamp, duration_ms: i64, outcome: AttemptOutcome) -> Self {
        let (status, failure) = match outcome {
            AttemptOutcome::Answered { status, .. } => (Some(status), None),
            AttemptOutcome::Failed(class) => (None, Some(class.as_str())),
        };
        let Job { delivery, company, event, webhook, number, .. } = *job;
        let (number, at) = (number.into(), at.as_millis());
        Self { delivery, company, event, webhook, number, at, duration_ms, status, failure }
    }

    /// The values of the SQLite statement, in its order.
    fn json_array(&self) -> impl Serialize {
        (self.delivery, self.number, self.at, self.duration_ms, self.status, self.failure)
    }
}

/// Number of companies whose last attempts are read, and number of attempts of each: more than a
/// company has webhooks.
const COMPANIES: u32 = 2_048;
const LAST_ATTEMPTS: u32 = 32;

impl AllDeliveries<'_> {
    /// The webhooks whose last attempts, among those of their companies, took less than `late` on
    /// average. Most recent companies and webhooks first.
    pub(crate) async fn prompt_webhooks(
        &mut self,
        late: Duration,
        max: usize,
    ) -> Result<Vec<WebhookId>, Error> {
        // Both forms read from the end of each company's part of the key.
        const PROMPT: Sql = Sql {
            sqlite: "
                SELECT a.webhook_id
                FROM (
                    SELECT company_id,
                        (
                            SELECT at FROM attempt WHERE company_id = w.company_id ORDER BY at DESC LIMIT 1
                        ) AS last_at
                    FROM webhook w WHERE removed_at IS NULL
                    GROUP BY company_id ORDER BY last_at DESC NULLS LAST LIMIT $1
                ) c
                CROSS JOIN attempt a ON a.company_id = c.company_id AND a.at >= coalesce(
                    (
                        SELECT at FROM attempt WHERE company_id = c.company_id
                        ORDER BY at DESC LIMIT 1 OFFSET $2 - 1
                    ),
                    0
                )
                CROSS JOIN webhook w
                    ON w.company_id = a.company_id AND w.id = a.webhook_id AND w.removed_at IS NULL
                GROUP BY a.webhook_id HAVING avg(a.duration_ms) < $3
                ORDER BY max(a.at) DESC LIMIT $4",
            postgres: "
                SELECT a.webhook_id
                FROM (
                    SELECT company_id,
                        (
                            SELECT at FROM attempt WHERE company_id = w.company_id ORDER BY at DESC LIMIT 1
                        ) AS last_at
                    FROM webhook w WHERE removed_at IS NULL
                    GROUP BY company_id ORDER BY last_at DESC NULLS LAST LIMIT $1
                ) c
                CROSS JOIN LATERAL (
                    SELECT company_id, webhook_id, duration_ms, at FROM attempt WHERE company_id = c.company_id
                    ORDER BY at DESC LIMIT $2
                ) a
                JOIN webhook w ON w.company_id = a.company_id AND w.id = a.webhook_id AND w.removed_at IS NULL
                GROUP BY a.webhook_id HAVING avg(a.duration_ms) < CAST($3 AS bigint)
                ORDER BY max(a.at) DESC LIMIT $4",
        };
        let late = i64::try_from(late.as_millis()).unwrap_or(i64::MAX);
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let webhooks: Vec<Uuid> =
            self.0.query(PROMPT, &[&COMPANIES, &LAST_ATTEMPTS, &late, &max]).all_scalars().await?;
        Ok(webhooks.into_iter().map(WebhookId).collect())
    }

    /// Adds a row per attempt. Returns false if all of them are on record, because the answer to an
    /// earlier commit was lost.
    ///
    /// # Errors
    /// If some of a batch are on record: each attempt has to be recorded by itself.
    pub(crate) async fn insert_attempts(&mut self, attempts: &[AttemptRow]) -> Result<bool, Error> {
        // `WHERE true` keeps SQLite from reading `ON CONFLICT` as the `ON` of the join.
        const SQLITE: &str = "
            INSERT INTO attempt (company_id, event_id, webhook_id, number, at, duration_ms, status, failure)
            SELECT d.company_id, d.event_id, d.webhook_id,
                j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5
            FROM json_each($1) j JOIN delivery d ON d.id = j.value ->> 0 WHERE true
            ON CONFLICT DO NOTHING";
        let inserted = if self.0.is_shared() {
            self.insert_attempts_shared(attempts).await?
        } else {
            let rows: Vec<_> = attempts.iter().map(AttemptRow::json_array).collect();
            self.0.query(SQLITE, &[&to_json(&rows)?]).execute().await?
        };
        match inserted {
            0 => Ok(false),
            inserted if inserted == attempts.len() as u64 => Ok(true),
            _ => Err(Error::internal("some attempts of a batch are on record")),
        }
    }

    async fn insert_attempts_shared(&mut self, attempts: &[AttemptRow]) -> Result<u64, Error> {
        // PostgreSQL reads lists of columns twenty times as fast as JSON.
        const INSERT: &str = "
            INSERT INTO attempt (company_id, event_id, webhook_id, number, at, duration_ms, status, failure)
            SELECT company, event, webhook, number, at, took, nullif(status, 0), failure
            FROM unnest(
                $1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]
            ) AS a(company, event, webhook, number, at, took, status, failure)";
        // Looking for a conflict costs a third of the insertion, so only a single row does. A batch
        // with a conflict fails as a whole.
        const INSERT_ONE: &str = "
            INSERT INTO attempt (company_id, event_id, webhook_id, number, at, duration_ms, status, failure)
            SELECT company, event, webhook, number, at, took, nullif(status, 0), failure
            FROM unnest(
                $1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]
            ) AS a(company, event, webhook, number, at, took, status, failure)
            ON CONFLICT DO NOTHING";
        let column = |of: fn(&AttemptRow) -> i64| attempts.iter().map(of).collect::<Vec<i64>>();
        let ids = |of: fn(&AttemptRow) -> Uuid| attempts.iter().map(of).collect::<Vec<Uuid>>();
        let (companies, events) = (ids(|row| row.company.0), ids(|row| row.event.0));
        let (webhooks, numbers) = (ids(|row| row.webhook.0), column(|row| row.number));
        let (starts, durations) = (column(|row| row.at), column(|row| row.duration_ms));
        let statuses = column(|row| row.status.map_or(0, i64::from));
        let failures: Vec<Option<String>> =
            attempts.iter().map(|row| row.failure.map(str::to_owned)).collect();
        let arguments: [&dyn Argument; 8] =
            [&companies, &events, &webhooks, &numbers, &starts, &durations, &statuses, &failures];
        let insert = if attempts.len() == 1 { INSERT_ONE } else { INSERT };
        Ok(self.0.query(insert, &arguments).execute().await?)
    }

    /// Counts attempts of deliveries that have not ended. An attempt whose claim is gone counts in
    /// `attempts_in_all`, but not towards the limit.
    pub(crate) async fn count_attempts(&mut self, ids: &[i64], token: i64) -> Result<(), Error> {
        const COUNT: Sql = Sql {
            sqlite: "
                UPDATE delivery SET attempts = attempts + CASE WHEN claim = $2 THEN 1 ELSE 0 END,
                    attempts_in_all = attempts_in_all + 1
                WHERE id IN (SELECT value FROM json_each($1))",
            postgres: "
                UPDATE delivery SET attempts = attempts + CASE WHEN claim = $2 THEN 1 ELSE 0 END,
                    attempts_in_all = attempts_in_all + 1
                WHERE id = ANY($1)",
        };
        self.0.query(COUNT, &[&ids, &token]).execute().await?;
        Ok(())
    }

    /// Ends deliveries with the attempt that has just been recorded. Returns the deliveries whose
    /// claim is gone: they stay as they are, and only count the attempt.
    pub(crate) async fn end(
        &mut self,
        ids: &[i64],
        status: DeliveryStatus,
        at: Timestamp,
        token: i64,
    ) -> Result<Vec<i64>, Error> {
        const END: Sql = Sql {
            sqlite: "
                UPDATE delivery SET status = $2, ended_at = $3, claim = 0, held_until = 0,
                    attempts = attempts + 1, attempts_in_all = attempts_in_all + 1
                WHERE id IN (SELECT value FROM json_each($1)) AND status || '' = 'pending' AND claim = $4",
            postgres: "
                UPDATE delivery SET status = $2, ended_at = $3, claim = 0, held_until = 0,
                    attempts = attempts + 1, attempts_in_all = attempts_in_all + 1
                WHERE id = ANY($1) AND status || '' = 'pending' AND claim = $4",
        };
        const NOT_ENDED: Sql = Sql {
            sqlite: "
                SELECT id FROM delivery
                WHERE id IN (SELECT value FROM json_each($1)) AND NOT (status || '' = $2 AND ended_at = $3)",
            postgres: "
                SELECT id FROM delivery WHERE id = ANY($1) AND NOT (status || '' = $2 AND ended_at = $3)",
        };
        let ended = self.0.query(END, &[&ids, &status, &at, &token]).execute().await?;
        if ended == ids.len() as u64 {
            return Ok(Vec::new());
        }
        // Read separately, as it is rare: a lease ran out, or its dispatcher was dropped.
        let late: Vec<i64> = self.0.query(NOT_ENDED, &[&ids, &status, &at]).all_scalars().await?;
        self.count_attempts(&late, token).await?;
        Ok(late)
    }

    /// Puts deliveries back, each with a time before which it is not attempted. Returns those that
    /// were put back: a delivery whose claim is gone stays as it is.
    pub(crate) async fn retry(
        &mut self,
        retries: &[(i64, Timestamp)],
        token: i64,
    ) -> Result<HashSet<i64>, Error> {
        const SQLITE: &str = "
            UPDATE delivery SET due_at = r.at, claim = 0, held_until = 0
            FROM (SELECT value ->> 0 AS delivery, value ->> 1 AS at FROM json_each($1)) r
            WHERE id = r.delivery AND status || '' = 'pending' AND claim = $2 RETURNING id";
        // Written without a join, as a plan could turn a join round.
        const POSTGRES: &str = "
            UPDATE delivery SET due_at = ($3::bigint[])[array_position($1::bigint[], id)], claim = 0, held_until = 0
            WHERE id = ANY($1) AND status || '' = 'pending' AND claim = $2 RETURNING id";
        let put_back: Vec<i64> = if self.0.is_shared() {
            let ids: Vec<i64> = retries.iter().map(|(id, _)| *id).collect();
            let instants: Vec<i64> = retries.iter().map(|(_, at)| at.as_millis()).collect();
            self.0.query(POSTGRES, &[&ids, &token, &instants]).all_scalars().await?
        } else {
            let pairs: Vec<_> = retries.iter().map(|(id, at)| (id, at.as_millis())).collect();
            self.0.query(SQLITE, &[&to_json(&pairs)?, &token]).all_scalars().await?
        };
        Ok(put_back.into_iter().collect())
    }

    /// Ends claimed deliveries as skipped. Returns their number.
    pub(crate) async fn skip(
        &mut self,
        ids: &[i64],
        reason: &str,
        at: Timestamp,
        token: i64,
    ) -> Result<u64, Error> {
        const SKIP: Sql = Sql {
            sqlite: "
                UPDATE delivery SET status = 'skipped', reason = $2, ended_at = $3, claim = 0, held_until = 0
                WHERE id IN (SELECT value FROM json_each($1)) AND status || '' = 'pending' AND claim = $4",
            postgres: "
                UPDATE delivery SET status = 'skipped', reason = $2, ended_at = $3, claim = 0, held_until = 0
                WHERE id = ANY($1) AND status || '' = 'pending' AND claim = $4",
        };
        Ok(self.0.query(SKIP, &[&ids, &reason, &at, &token]).execute().await?)
    }
}
