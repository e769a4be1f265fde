//! Claims in PostgreSQL: several webhooks per call, beside other nodes that do the same.

use std::collections::{HashMap, HashSet};

use invoicing_core::{Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::super::deliveries::{AllDeliveries, small};
use super::{ClaimLease, ClaimRequest, Claimed, ClaimedEvent, ClaimedRow, EventColumns};
use crate::error::Error;
use crate::queue::Job;

#[derive(FromRow)]
struct ClaimedDelivery {
    webhook_id: Uuid,
    id: i64,
    company_id: Uuid,
    event_id: Uuid,
    attempts: i64,
    claims: i64,
    claims_in_all: i64,
    due_at: i64,
}

/// Events by company and id.
type ClaimedEvents = HashMap<(Uuid, Uuid), ClaimedEvent>;

impl ClaimedDelivery {
    fn job(self, lease: ClaimLease, events: &ClaimedEvents) -> Option<Job> {
        let Self { webhook_id, id, company_id, event_id, attempts, claims, claims_in_all, .. } = self;
        let Some(event) = events.get(&(company_id, event_id)) else {
            tracing::error!(delivery = id, event = %event_id, "delivery not attempted: its event is missing");
            return None;
        };
        let (attempts, claims, number) = (small(attempts), small(claims), small(claims_in_all));
        let row = ClaimedRow(id, company_id, webhook_id, event_id, attempts, claims, number, event.clone());
        Some(lease.job(row))
    }
}

#[derive(FromRow)]
struct EventOfDelivery {
    company_id: Uuid,
    event_id: Uuid,
    kind: String,
    body: String,
    request_id: Option<String>,
    trace_context: Option<String>,
}

impl AllDeliveries<'_> {
    /// Claims due deliveries of several webhooks that have not begun, expired claims included.
    pub(in crate::store) async fn claim_several(
        &mut self,
        lease: ClaimLease,
        requests: &[ClaimRequest],
    ) -> Result<HashMap<WebhookId, Claimed>, Error> {
        let rows = self.claim_rows(lease, requests).await?;
        let events = self.events_of(lease, &rows).await?;
        let mut claimed = HashMap::<WebhookId, Claimed>::new();
        for row in rows {
            let of_webhook = claimed.entry(WebhookId(row.webhook_id)).or_default();
            of_webhook.last_due = Some(Timestamp::from_millis(row.due_at));
            of_webhook.jobs.extend(row.job(lease, &events));
        }
        for &ClaimRequest { webhook, room, .. } in requests {
            let of_webhook = claimed.entry(webhook).or_default();
            of_webhook.again = (of_webhook.jobs.len() >= room).then_some(lease.now);
        }
        Ok(claimed)
    }

    /// Claims deliveries that have begun and are due, beside other nodes.
    pub(in crate::store) async fn resume_several(
        &mut self,
        lease: ClaimLease,
        begun: &[(WebhookId, i64)],
    ) -> Result<Vec<Job>, Error> {
        // Skips rows that another node is claiming, and updates the locked rows in place, as the
        // claim for webhooks does.
        const RESUME: &str = "
            WITH claimed AS (
                UPDATE delivery
                SET claim = $1, held_until = $2, claims = claims + 1, claims_in_all = claims_in_all + 1
                WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM delivery
                    WHERE id = ANY($3) AND status || '' = 'pending' AND attempts > 0 AND due_at <= $4 AND held_until <= $4
                    FOR UPDATE SKIP LOCKED
                ))
                RETURNING webhook_id, id, company_id, event_id, attempts, claims, claims_in_all, due_at
            )
            SELECT webhook_id, id, company_id, event_id, attempts, claims, claims_in_all, due_at
            FROM claimed ORDER BY due_at, id";
        let ids: Vec<i64> = begun.iter().map(|(_, id)| *id).collect();
        let ClaimLease { token, now, lease_until } = lease;
        let rows: Vec<ClaimedDelivery> =
            self.0.query(RESUME, &[&token, &lease_until, &ids, &now]).fetch_all().await?;
        let events = self.events_of(lease, &rows).await?;
        Ok(rows.into_iter().filter_map(|row| row.job(lease, &events)).collect())
    }

    async fn claim_rows(
        &mut self,
        lease: ClaimLease,
        requests: &[ClaimRequest],
    ) -> Result<Vec<ClaimedDelivery>, Error> {
        // `$3` the webhooks, `$5` the number for each, `$6` the first due time of each. Rows that
        // another node is claiming are skipped. The locked rows are updated by their place in the
        // table (`ctid`), so no index is searched for them again. The statement misses a row that
        // another transaction has just moved by a change: the next poll finds it.
        const CLAIM: &str = "
            WITH claimed AS (
                UPDATE delivery
                SET claim = $1, held_until = $2, claims = claims + 1, claims_in_all = claims_in_all + 1
                WHERE ctid = ANY(ARRAY(
                    SELECT d.ctid FROM unnest($3::uuid[], $5::bigint[], $6::bigint[]) AS w(webhook, room, since)
                    CROSS JOIN LATERAL (
                        SELECT ctid FROM delivery
                        WHERE webhook_id = w.webhook AND status = 'pending' AND attempts = 0 AND due_at >= w.since
                            AND due_at <= $4 AND held_until <= $4
                        ORDER BY due_at, id LIMIT w.room FOR UPDATE SKIP LOCKED
                    ) d
                ))
                RETURNING webhook_id, id, company_id, event_id, attempts, claims, claims_in_all, due_at
            )
            SELECT webhook_id, id, company_id, event_id, attempts, claims, claims_in_all, due_at
            FROM claimed ORDER BY due_at, id";
        let webhooks: Vec<Uuid> = requests.iter().map(|request| request.webhook.0).collect();
        let rooms: Vec<i64> =
            requests.iter().map(|request| i64::try_from(request.room).unwrap_or(i64::MAX)).collect();
        let starts: Vec<i64> = requests.iter().map(|request| request.from.as_millis()).collect();
        let ClaimLease { token, now, lease_until } = lease;
        let claim = self.0.query(CLAIM, &[&token, &lease_until, &webhooks, &now, &rooms, &starts]);
        Ok(claim.fetch_all().await?)
    }

    /// The events of claimed deliveries. If they cannot be read, the deliveries are released.
    async fn events_of(
        &mut self,
        lease: ClaimLease,
        deliveries: &[ClaimedDelivery],
    ) -> Result<ClaimedEvents, Error> {
        let read = self.read_events(deliveries).await;
        if read.is_err() {
            // If the release fails too, the leases expire.
            let ids: Vec<i64> = deliveries.iter().map(|row| row.id).collect();
            let _ = self.release(&ids, lease.token, lease.now).await;
        }
        read
    }

    async fn read_events(&mut self, deliveries: &[ClaimedDelivery]) -> Result<ClaimedEvents, Error> {
        // Reads each event once, however many webhooks it goes to. The limit makes the planner look
        // them up one by one.
        const EVENTS: &str = "
            SELECT w.company AS company_id, w.event AS event_id, e.kind, e.body, e.request_id, e.trace_context
            FROM unnest($1::uuid[], $2::uuid[]) AS w(company, event)
            CROSS JOIN LATERAL (
                SELECT kind, body, request_id, trace_context FROM event
                WHERE company_id = w.company AND id = w.event LIMIT 1
            ) e";
        let keys: HashSet<(Uuid, Uuid)> =
            deliveries.iter().map(|delivery| (delivery.company_id, delivery.event_id)).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let (companies, events): (Vec<Uuid>, Vec<Uuid>) = keys.into_iter().unzip();
        let rows: Vec<EventOfDelivery> = self.0.query(EVENTS, &[&companies, &events]).fetch_all().await?;
        let event = |row: EventOfDelivery| {
            let EventOfDelivery { company_id, event_id, kind, body, request_id, trace_context } = row;
            ((company_id, event_id), EventColumns(kind, body, request_id, trace_context).into())
        };
        Ok(rows.into_iter().map(event).collect())
    }
}
