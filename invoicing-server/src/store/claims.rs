//! Claims on deliveries.
//!
//! A claim is a token, a lease (`held_until`), and the number of the attempt that may be made with
//! it. The attempt ends the delivery only while its token is still there. Once the lease has
//! expired, the delivery may be claimed again. New deliveries may be inserted as claimed; all
//! others are claimed here. The setting `DispatchSettings::lease_ms` is the length of a lease.

#[cfg(feature = "postgres")]
mod postgres;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, EventId, Timestamp, WebhookId};
use serde::Deserialize;
use uuid::Uuid;

use super::connection::Sql;
use super::deliveries::AllDeliveries;
use super::rows::from_json;
use crate::cause::Cause;
use crate::error::Error;
use crate::queue::Job;

/// Token and lease of new claims.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimLease {
    pub(crate) token: i64,
    pub(crate) now: Timestamp,
    pub(crate) lease_until: Timestamp,
}

/// A claim request: a webhook, and the bounds of its deliveries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimRequest {
    pub(crate) webhook: WebhookId,
    /// Maximum number of deliveries to claim.
    pub(crate) room: usize,
    /// The claim leaves out deliveries that fell due earlier: a claim after the next poll takes
    /// them. SQLite claims them too.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite removes old entries at once"))]
    pub(crate) from: Timestamp,
}

/// The deliveries that were claimed for a webhook.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    /// The deliveries, oldest first.
    pub(crate) jobs: Vec<Job>,
    /// The instant of the next claim for the webhook, if there may be more.
    pub(crate) again: Option<Timestamp>,
    /// The due time of the last of these deliveries; `None` on SQLite.
    pub(crate) last_due: Option<Timestamp>,
}

/// A webhook with pending deliveries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingWebhook {
    pub(crate) webhook: WebhookId,
    /// The instant at which the next of them can be claimed.
    pub(crate) at: Timestamp,
    /// The due time of the first unclaimed one, or of the first of all if all are claimed; `None`
    /// on SQLite.
    pub(crate) from: Option<Timestamp>,
}

/// A claimed delivery: row id, company, webhook, event, attempts, claims, number.
#[derive(Deserialize)]
struct ClaimedRow(i64, Uuid, Uuid, Uuid, u32, u32, u32, ClaimedEvent);

/// The columns of an event that its deliveries need.
#[derive(Clone, Deserialize)]
#[serde(from = "EventColumns")]
struct ClaimedEvent {
    is_ping: bool,
    body: Bytes,
    cause: Option<Arc<Cause>>,
}

/// Kind, body, request and context of an event.
#[derive(Deserialize)]
struct EventColumns(String, String, Option<String>, Option<String>);

impl From<EventColumns> for ClaimedEvent {
    fn from(EventColumns(kind, body, request_id, trace_context): EventColumns) -> Self {
        let cause = Cause::of_row(request_id, trace_context);
        Self { is_ping: kind == Event::PING, body: body.into(), cause }
    }
}

impl ClaimLease {
    fn job(self, row: ClaimedRow) -> Job {
        let ClaimedRow(delivery, company, webhook, event, attempts, claims, number, claimed) = row;
        let ClaimedEvent { is_ping, body, cause } = claimed;
        Job {
            delivery,
            company: CompanyId(company),
            webhook: WebhookId(webhook),
            event: EventId(event),
            cause,
            body,
            is_ping,
            attempts,
            claims,
            number,
            lease_until: self.lease_until,
            token: self.token,
        }
    }
}

/// Number and age of the waiting deliveries.
#[cfg(feature = "metrics")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct BacklogSize {
    /// Their number, up to 10,000.
    pub(crate) pending: u32,
    /// The instant at which the oldest was queued, without the time of its attempts.
    pub(crate) oldest: Option<Timestamp>,
}

impl AllDeliveries<'_> {
    /// Every webhook with pending deliveries, and the instant at which the next of them can be
    /// claimed: the due time of the first unclaimed one, or else the end of the first lease. Also
    /// returns the time that the server spent on the statement.
    pub(crate) async fn next_due(
        &mut self,
        now: Timestamp,
    ) -> Result<(Vec<PendingWebhook>, Duration), Error> {
        // On PostgreSQL the index leads from one webhook with pending deliveries to the next, so
        // webhooks without any cost nothing. The scan for the first one passes entries that no
        // vacuum has removed, and happens only once. The last row holds the time on the server, as
        // an answer may be late for other reasons.
        const NEXT_DUE: Sql = Sql {
            sqlite: "
                SELECT webhook_id, at, NULL AS from_at FROM (
                    SELECT w.id AS webhook_id, coalesce(
                        (
                            SELECT due_at FROM delivery d
                            WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.held_until <= $1
                            ORDER BY due_at LIMIT 1
                        ),
                        (
                            SELECT held_until FROM delivery d
                            WHERE d.webhook_id = w.id AND d.status = 'pending' ORDER BY due_at LIMIT 1
                        )
                    ) AS at FROM webhook w
                ) waiting WHERE at IS NOT NULL",
            postgres: "
                WITH RECURSIVE waiting AS (
                    (
                        SELECT webhook_id, due_at, held_until FROM delivery WHERE status = 'pending'
                        ORDER BY webhook_id, due_at LIMIT 1
                    )
                    UNION ALL
                    SELECT d.webhook_id, d.due_at, d.held_until FROM waiting w
                    CROSS JOIN LATERAL (
                        SELECT webhook_id, due_at, held_until FROM delivery
                        WHERE status = 'pending' AND webhook_id > w.webhook_id
                        ORDER BY webhook_id, due_at LIMIT 1
                    ) d
                )
                SELECT w.webhook_id, coalesce(d.due_at, w.held_until) AS at, coalesce(d.due_at, w.due_at) AS from_at
                FROM waiting w LEFT JOIN LATERAL (
                    SELECT due_at FROM delivery
                    WHERE webhook_id = w.webhook_id AND status = 'pending' AND due_at >= w.due_at AND held_until <= $1
                    ORDER BY due_at LIMIT 1
                ) d ON true
                UNION ALL
                SELECT NULL, CAST(extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000 AS bigint), NULL",
        };
        let rows: Vec<(Option<Uuid>, i64, Option<i64>)> = self.0.query(NEXT_DUE, &[&now]).fetch_all().await?;
        let (mut waiting, mut took) = (Vec::new(), Duration::ZERO);
        for (webhook, at, from) in rows {
            let from = from.map(Timestamp::from_millis);
            match webhook.map(WebhookId) {
                Some(webhook) => {
                    waiting.push(PendingWebhook { webhook, at: Timestamp::from_millis(at), from });
                }
                None => took = Duration::from_millis(u64::try_from(at).unwrap_or(0)),
            }
        }
        Ok((waiting, took))
    }

    /// The number of waiting deliveries, and the age of the oldest.
    #[cfg(feature = "metrics")]
    pub(crate) async fn backlog_size(&mut self) -> Result<BacklogSize, Error> {
        // A retry moves `due_at` by its gap (`RetryPolicy::GAPS_MS`). The statement is bounded, as
        // every poll executes it. It also reads the first deliveries of each webhook, as the bound
        // leaves out whole webhooks.
        const SIZE: Sql = Sql {
            sqlite: "
                WITH some_of_all AS (SELECT due_at, attempts FROM delivery WHERE status = 'pending' LIMIT 10000),
                first AS (
                    SELECT d.due_at, d.attempts FROM webhook w CROSS JOIN delivery d ON d.id = (
                        SELECT id FROM delivery WHERE webhook_id = w.id AND status = 'pending'
                        ORDER BY due_at LIMIT 1
                    )
                )
                SELECT (SELECT count(*) FROM some_of_all) AS pending, min(
                    due_at - CASE attempts
                        WHEN 0 THEN 0 WHEN 1 THEN 1000 ELSE 6000 + 30000 * (attempts - 2) END
                ) AS oldest
                FROM (SELECT * FROM some_of_all UNION ALL SELECT * FROM first) waiting",
            postgres: "
                WITH RECURSIVE first AS (
                    (
                        SELECT webhook_id, due_at, attempts FROM delivery WHERE status = 'pending'
                        ORDER BY webhook_id, due_at LIMIT 1
                    )
                    UNION ALL
                    SELECT d.webhook_id, d.due_at, d.attempts FROM first w
                    CROSS JOIN LATERAL (
                        SELECT webhook_id, due_at, attempts FROM delivery
                        WHERE status = 'pending' AND webhook_id > w.webhook_id
                        ORDER BY webhook_id, due_at LIMIT 1
                    ) d
                ),
                some_of_all AS (SELECT due_at, attempts FROM delivery WHERE status = 'pending' LIMIT 10000)
                SELECT (SELECT count(*) FROM some_of_all) AS pending, min(
                    due_at - CASE attempts
                        WHEN 0 THEN 0 WHEN 1 THEN 1000 ELSE 6000 + 30000 * (attempts - 2) END
                ) AS oldest
                FROM (SELECT * FROM some_of_all UNION ALL SELECT due_at, attempts FROM first) waiting",
        };
        let (pending, oldest): (i64, Option<i64>) = self.0.query(SIZE, &[]).fetch_one().await?;
        let pending = u32::try_from(pending).unwrap_or(u32::MAX);
        Ok(BacklogSize { pending, oldest: oldest.map(Timestamp::from_millis) })
    }

    /// The first deliveries by due time that have begun and are not claimed, with their due times.
    pub(crate) async fn begun(
        &mut self,
        now: Timestamp,
    ) -> Result<Vec<(Timestamp, (WebhookId, i64))>, Error> {
        // The limit bounds the statement, as every poll executes it.
        const BEGUN: Sql = Sql::both(
            "SELECT webhook_id, id, due_at FROM delivery
             WHERE status = 'pending' AND attempts > 0 AND held_until <= $1 ORDER BY due_at LIMIT 1000",
        );
        let rows: Vec<(Uuid, i64, i64)> = self.0.query(BEGUN, &[&now]).fetch_all().await?;
        let begun = |(webhook, id, due_at)| (Timestamp::from_millis(due_at), (WebhookId(webhook), id));
        Ok(rows.into_iter().map(begun).collect())
    }

    /// Claims deliveries that have begun and are due, in SQLite.
    pub(super) async fn resume(
        &mut self,
        lease: ClaimLease,
        begun: &[(WebhookId, i64)],
    ) -> Result<Vec<Job>, Error> {
        const BEGUN: &str = "
            SELECT json_group_array(id) FROM delivery
            WHERE id IN (SELECT value FROM json_each($1)) AND status || '' = 'pending' AND attempts > 0
                AND due_at <= $2 AND held_until <= $2";
        let ids: Vec<i64> = begun.iter().map(|(_, id)| *id).collect();
        let due: String = self.0.query(BEGUN, &[&&*ids, &lease.now]).scalar().await?;
        self.claim_ids(lease, due).await
    }

    /// Claims due deliveries of one webhook that have not begun, in SQLite.
    pub(super) async fn claim_one(
        &mut self,
        lease: ClaimLease,
        ClaimRequest { webhook, room, .. }: ClaimRequest,
    ) -> Result<Claimed, Error> {
        const WAITING: &str = "
            SELECT json_group_array(id) FROM (
                SELECT id FROM delivery
                WHERE webhook_id = $1 AND status = 'pending' AND attempts = 0 AND due_at <= $2 AND held_until <= $2
                ORDER BY due_at, id LIMIT $3
            )";
        let limit = i64::try_from(room).unwrap_or(i64::MAX);
        let waiting: String = self.0.query(WAITING, &[&webhook, &lease.now, &limit]).scalar().await?;
        let jobs = self.claim_ids(lease, waiting).await?;
        Ok(Claimed { again: (jobs.len() >= room).then_some(lease.now), jobs, last_due: None })
    }

    /// Claims these deliveries, in SQLite. The ids are a JSON array.
    async fn claim_ids(&mut self, lease: ClaimLease, ids: String) -> Result<Vec<Job>, Error> {
        // Two statements in one call: the deliveries as one row, since every row is a hop between
        // threads; and the claim.
        const CLAIM: &str = "
            SELECT json_group_array(
                json_array(
                    d.id, hex(d.company_id), hex(d.webhook_id), hex(d.event_id), d.attempts, d.claims + 1,
                    d.claims_in_all + 1, json_array(e.kind, e.body, e.request_id, e.trace_context)
                )
                ORDER BY d.due_at, d.id
            )
            FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id
            WHERE d.id IN (SELECT value FROM json_each($3));
            UPDATE delivery SET claim = $1, held_until = $2, claims = claims + 1, claims_in_all = claims_in_all + 1
            WHERE id IN (SELECT value FROM json_each($3))";
        let ClaimLease { token, lease_until, .. } = lease;
        let rows: String = self.0.query(CLAIM, &[&token, &lease_until, &ids]).scalar().await?;
        let claimed: Vec<ClaimedRow> = from_json(rows, "delivery", ids)?;
        Ok(claimed.into_iter().map(|row| lease.job(row)).collect())
    }

    /// Releases claimed deliveries that were not attempted. Returns their number. The number of the
    /// claim is not used again.
    pub(crate) async fn release(&mut self, ids: &[i64], token: i64, now: Timestamp) -> Result<u64, Error> {
        // A due delivery stays due, also if the clock was set back since.
        const RELEASE: Sql = Sql {
            sqlite: "
                UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $3), claims = claims - 1
                WHERE id IN (SELECT value FROM json_each($1)) AND status || '' = 'pending' AND claim = $2",
            postgres: "
                UPDATE delivery SET claim = 0, held_until = 0, due_at = least(due_at, $3), claims = claims - 1
                WHERE id = ANY($1) AND status || '' = 'pending' AND claim = $2",
        };
        Ok(self.0.query(RELEASE, &[&ids, &token, &now]).execute().await?)
    }

    /// Releases the claims of a run that ends: the ones with these ids, and in SQLite all others of
    /// its token, also those that were committed after its end.
    pub(crate) async fn release_run(
        &mut self,
        ids: &[i64],
        token: i64,
        now: Timestamp,
    ) -> Result<u64, Error> {
        const RELEASE_RUN: &str = "
            UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $2), claims = claims - 1
            WHERE status = 'pending' AND claim = $1";
        if self.0.is_shared() {
            return self.release(ids, token, now).await;
        }
        Ok(self.0.query(RELEASE_RUN, &[&token, &now]).execute().await?)
    }

    /// Releases the claims of dead processes. PostgreSQL cannot distinguish a dead process from a
    /// slow one: there the leases expire.
    pub(crate) async fn release_dead(&mut self, now: Timestamp) -> Result<u64, Error> {
        // The claims still count in `claims`: the dead process may have made the attempts.
        const RELEASE_ALL: &str = "
            UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $1)
            WHERE status = 'pending' AND claim <> 0";
        if self.0.is_shared() {
            return Ok(0);
        }
        Ok(self.0.query(RELEASE_ALL, &[&now]).execute().await?)
    }
}
