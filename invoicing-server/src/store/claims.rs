//! Claims on deliveries.
//!
//! A claim is a token, a lease (`held_until`), and the number of the attempt that may be made with it. The attempt ends
//! the delivery only while its token is still there. Once the lease has expired, the delivery may be claimed again. New
//! deliveries may be inserted as claimed; all others are claimed here.

#[cfg(feature = "postgres")]
use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, Timestamp, WebhookId};
use serde::Deserialize;
use sqlx::{FromRow, Row as _};
use uuid::Uuid;

use super::deliveries::AllDeliveries;
#[cfg(feature = "postgres")]
use super::deliveries::small;
use super::query::Sql;
use super::rows::from_json;
use crate::Error;
use crate::queue::Job;

/// When a webhook is claimed for again whose next due time is not known, in milliseconds.
#[cfg(feature = "postgres")]
const AGAIN_MS: i64 = 250;

/// Token and lease of new claims.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimant {
    pub(crate) token: i64,
    pub(crate) now: Timestamp,
    pub(crate) lease_until: Timestamp,
}

/// Claimed deliveries of a webhook, oldest first, and when its next one falls due.
pub(crate) type Claimed = (Vec<Job>, Option<Timestamp>);

/// A claimed delivery: row id, company, attempts, claims, number, kind and body of its event.
#[derive(Deserialize)]
struct ClaimedRow(i64, Uuid, u32, u32, u32, String, #[serde(deserialize_with = "bytes_of_text")] Bytes);

fn bytes_of_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    String::deserialize(deserializer).map(Bytes::from)
}

impl Claimant {
    fn job(self, webhook: WebhookId, row: ClaimedRow) -> Job {
        let ClaimedRow(delivery, company, attempts, claims, number, kind, body) = row;
        Job {
            delivery,
            company: CompanyId(company),
            webhook,
            body,
            is_ping: kind == Event::PING,
            attempts,
            claims,
            number,
            lease_until: self.lease_until,
            token: self.token,
        }
    }
}

#[derive(FromRow)]
struct DueRow {
    webhook_id: Uuid,
    at: i64,
}

impl AllDeliveries<'_> {
    /// Every webhook with pending deliveries, and when the next of them can be claimed: when the first unclaimed one falls
    /// due, or else when the first lease ends.
    pub(crate) async fn next_due(&mut self, now: Timestamp) -> Result<Vec<(WebhookId, Timestamp)>, Error> {
        // On PostgreSQL the index leads from one webhook with pending deliveries to the next: webhooks without any cost
        // nothing.
        const NEXT_DUE: Sql = Sql {
            sqlite: "
                SELECT webhook_id, at FROM (
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
                        SELECT webhook_id, held_until FROM delivery WHERE status = 'pending'
                        ORDER BY webhook_id, due_at LIMIT 1
                    )
                    UNION ALL
                    SELECT d.webhook_id, d.held_until FROM waiting w
                    CROSS JOIN LATERAL (
                        SELECT webhook_id, held_until FROM delivery
                        WHERE status = 'pending' AND webhook_id > w.webhook_id
                        ORDER BY webhook_id, due_at LIMIT 1
                    ) d
                )
                SELECT webhook_id, coalesce(
                    (
                        SELECT due_at FROM delivery d
                        WHERE d.webhook_id = w.webhook_id AND d.status = 'pending' AND d.held_until <= $1
                        ORDER BY due_at LIMIT 1
                    ),
                    held_until
                ) AS at FROM waiting w",
        };
        let rows: Vec<DueRow> = self.0.query(NEXT_DUE, &[&now]).fetch_all().await?;
        Ok(rows.into_iter().map(|row| (WebhookId(row.webhook_id), Timestamp::from_millis(row.at))).collect())
    }

    /// Claims due deliveries of one webhook, in SQLite.
    pub(super) async fn claim_one(
        &mut self,
        claimant: Claimant,
        webhook: WebhookId,
        room: usize,
    ) -> Result<Claimed, Error> {
        // Three statements in one call: the deliveries as one row, since every row is a hop between threads; the claim;
        // when the next one falls due.
        const CLAIM: &str = "
            SELECT json_group_array(
                json_array(d.id, hex(d.company_id), d.attempts, d.claims + 1, d.claims_in_all + 1, e.kind, e.body)
                ORDER BY d.due_at, d.id
            )
            FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id
            WHERE d.id IN (
                SELECT id FROM delivery
                WHERE webhook_id = $3 AND status = 'pending' AND due_at <= $4 AND held_until <= $4
                ORDER BY due_at, id LIMIT $5
            );
            UPDATE delivery SET claim = $1, held_until = $2, claims = claims + 1, claims_in_all = claims_in_all + 1
            WHERE id IN (
                SELECT id FROM delivery
                WHERE webhook_id = $3 AND status = 'pending' AND due_at <= $4 AND held_until <= $4
                ORDER BY due_at, id LIMIT $5
            );
            SELECT due_at FROM delivery WHERE webhook_id = $3 AND status = 'pending' AND due_at > $4
            ORDER BY due_at LIMIT 1";
        let connection = self.0.sqlite()?;
        let rows = sqlx::query(CLAIM)
            .bind(claimant.token)
            .bind(claimant.lease_until.as_millis())
            .bind(webhook.0)
            .bind(claimant.now.as_millis())
            .bind(i64::try_from(room).unwrap_or(i64::MAX))
            .fetch_all(connection)
            .await?;
        let (claimed, next) = rows.split_first().ok_or_else(|| Error::internal("a claim without a row"))?;
        let claimed: Vec<ClaimedRow> = from_json(claimed.try_get::<&str, _>(0)?, "delivery", webhook)?;
        let next = match next.first() {
            _ if claimed.len() >= room => Some(claimant.now),
            Some(row) => Some(Timestamp::from_millis(row.try_get(0)?)),
            None => None,
        };
        Ok((claimed.into_iter().map(|row| claimant.job(webhook, row)).collect(), next))
    }

    /// Releases claimed deliveries that were not attempted; how many. The number of the claim is not used again.
    pub(crate) async fn release(&mut self, ids: &[i64], token: i64, now: Timestamp) -> Result<u64, Error> {
        // A due delivery stays due, also where the clock was set back since.
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

    /// Releases the claims of a run that ends: these, and in SQLite all others that it has made, also those that were
    /// committed after it had ended.
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

    /// Releases the claims of dead processes. On PostgreSQL a dead process cannot be told from a slow one: its leases
    /// expire.
    pub(crate) async fn release_dead(&mut self, now: Timestamp) -> Result<u64, Error> {
        const RELEASE_ALL: &str = "
            UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $1)
            WHERE status = 'pending' AND claim <> 0";
        if self.0.is_shared() {
            return Ok(0);
        }
        Ok(self.0.query(RELEASE_ALL, &[&now]).execute().await?)
    }
}

#[cfg(feature = "postgres")]
#[derive(FromRow)]
struct ClaimedDelivery {
    webhook_id: Uuid,
    id: i64,
    company_id: Uuid,
    event_id: Uuid,
    attempts: i64,
    claims: i64,
    claims_in_all: i64,
}

#[cfg(feature = "postgres")]
#[derive(FromRow)]
struct EventOfDelivery {
    company_id: Uuid,
    event_id: Uuid,
    kind: String,
    body: String,
}

/// In PostgreSQL: several webhooks per call, beside other nodes that do the same.
#[cfg(feature = "postgres")]
impl AllDeliveries<'_> {
    /// Claims due deliveries of several webhooks, expired claims included.
    pub(super) async fn claim_several(
        &mut self,
        claimant: Claimant,
        wanted: &[(WebhookId, usize)],
    ) -> Result<HashMap<WebhookId, Claimed>, Error> {
        let rows = self.claim_rows(claimant, wanted).await?;
        let events = match self.events_of(&rows).await {
            Ok(events) => events,
            Err(error) => {
                // Where that fails too, the leases expire.
                let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
                let _ = self.release(&ids, claimant.token, claimant.now).await;
                return Err(error);
            }
        };
        let mut claimed: HashMap<WebhookId, Claimed> =
            wanted.iter().map(|(webhook, _)| (*webhook, Claimed::default())).collect();
        for row in rows {
            let Some((kind, body)) = events.get(&(row.company_id, row.event_id)) else {
                tracing::error!(delivery = row.id, event = %row.event_id, "the event of a delivery is missing");
                continue;
            };
            let webhook = WebhookId(row.webhook_id);
            let (attempts, claims, number) =
                (small(row.attempts), small(row.claims), small(row.claims_in_all));
            let (kind, body) = (kind.clone(), body.clone());
            let row = ClaimedRow(row.id, row.company_id, attempts, claims, number, kind, body);
            claimed.entry(webhook).or_default().0.push(claimant.job(webhook, row));
        }
        for (webhook, at) in self.due_after(claimant.now, wanted).await {
            claimed.entry(webhook).or_default().1 = Some(at);
        }
        for (webhook, room) in wanted {
            let (jobs, next) = claimed.entry(*webhook).or_default();
            if jobs.len() >= *room {
                *next = Some(claimant.now);
            }
        }
        Ok(claimed)
    }

    async fn claim_rows(
        &mut self,
        claimant: Claimant,
        wanted: &[(WebhookId, usize)],
    ) -> Result<Vec<ClaimedDelivery>, Error> {
        // $3 which webhooks, $5 how many of each. Rows that another node is claiming are skipped. The update goes by an
        // array, which the planner takes for a few rows and looks up one by one, and not by a join.
        const CLAIM: &str = "
            WITH due AS (
                SELECT d.id, d.due_at FROM unnest($3::uuid[], $5::bigint[]) AS w(webhook, room)
                CROSS JOIN LATERAL (
                    SELECT id, due_at FROM delivery
                    WHERE webhook_id = w.webhook AND status = 'pending' AND due_at <= $4 AND held_until <= $4
                    ORDER BY due_at, id LIMIT w.room FOR UPDATE SKIP LOCKED
                ) d
            ), claimed AS (
                UPDATE delivery
                SET claim = $1, held_until = $2, claims = claims + 1, claims_in_all = claims_in_all + 1
                WHERE id = ANY(ARRAY(SELECT id FROM due))
                RETURNING webhook_id, id, company_id, event_id, attempts, claims, claims_in_all
            )
            SELECT c.webhook_id, c.id, c.company_id, c.event_id, c.attempts, c.claims, c.claims_in_all
            FROM claimed c JOIN due ON due.id = c.id ORDER BY due.due_at, c.id";
        let rooms: Vec<i64> =
            wanted.iter().map(|(_, room)| i64::try_from(*room).unwrap_or(i64::MAX)).collect();
        let Claimant { token, now, lease_until } = claimant;
        let claim = self.0.query(CLAIM, &[&token, &lease_until, &webhooks_of(wanted), &now, &rooms]);
        Ok(claim.fetch_all().await?)
    }

    /// Kind and body of the events of deliveries, by company and event.
    async fn events_of(
        &mut self,
        deliveries: &[ClaimedDelivery],
    ) -> Result<HashMap<(Uuid, Uuid), (String, Bytes)>, Error> {
        // Each event once, however many webhooks it goes to. The limit makes the planner look them up one by one.
        const EVENTS: &str = "
            SELECT w.company AS company_id, w.event AS event_id, e.kind, e.body
            FROM unnest($1::uuid[], $2::uuid[]) AS w(company, event)
            CROSS JOIN LATERAL
                (SELECT kind, body FROM event WHERE company_id = w.company AND id = w.event LIMIT 1) e";
        let keys: HashSet<(Uuid, Uuid)> =
            deliveries.iter().map(|delivery| (delivery.company_id, delivery.event_id)).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let (companies, events): (Vec<Uuid>, Vec<Uuid>) = keys.into_iter().unzip();
        let rows: Vec<EventOfDelivery> = self.0.query(EVENTS, &[&companies, &events]).fetch_all().await?;
        let event =
            |row: EventOfDelivery| ((row.company_id, row.event_id), (row.kind, Bytes::from(row.body)));
        Ok(rows.into_iter().map(event).collect())
    }

    /// When the next delivery of each webhook falls due.
    async fn due_after(
        &mut self,
        now: Timestamp,
        wanted: &[(WebhookId, usize)],
    ) -> Vec<(WebhookId, Timestamp)> {
        const NEXT: &str = "
            SELECT w.webhook AS webhook_id, d.due_at AS at FROM unnest($1::uuid[]) AS w(webhook)
            CROSS JOIN LATERAL (
                SELECT due_at FROM delivery
                WHERE webhook_id = w.webhook AND status = 'pending' AND due_at > $2 ORDER BY due_at LIMIT 1
            ) d";
        let rows: Result<Vec<DueRow>, sqlx::Error> =
            self.0.query(NEXT, &[&webhooks_of(wanted), &now]).fetch_all().await;
        match rows {
            Ok(rows) => {
                let due = |row: DueRow| (WebhookId(row.webhook_id), Timestamp::from_millis(row.at));
                rows.into_iter().map(due).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "next due times not read; webhooks are claimed for again");
                wanted.iter().map(|(webhook, _)| (*webhook, now.plus_millis(AGAIN_MS))).collect()
            }
        }
    }
}

#[cfg(feature = "postgres")]
fn webhooks_of(wanted: &[(WebhookId, usize)]) -> Vec<Uuid> {
    wanted.iter().map(|(webhook, _)| webhook.0).collect()
}
