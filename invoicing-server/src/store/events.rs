//! Recorded events, and the deliveries that each of them causes.

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, EventId, Timestamp};
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::webhooks::{self, Webhook};
use super::{Tx, deliveries};
use crate::Error;
use crate::dispatch::{FreshJob, Job};

const INSERT: &str = "INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $3, $4, $5)";
const LIST: &str = "SELECT id, kind, timestamp, body FROM event WHERE company_id = $1 AND id > $2 \
     ORDER BY id LIMIT $3";

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Identifier of the record. The events of a company are ordered by it as they were committed, so the last one
    /// read is a cursor that misses nothing.
    pub id: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The very text that each delivery of it carries.
    pub body: String,
}

/// Records events of one company and queues a delivery for each webhook that subscribes to them. Deliveries to a
/// disabled webhook are kept as skipped.
pub(super) async fn record(tx: &mut Tx, company: CompanyId, events: &[Event]) -> Result<(), Error> {
    let webhooks = webhooks::list(tx.connection(), company).await?;
    for event in events {
        let subscribed = |webhook: &&Webhook| event.kind.is_some_and(|kind| webhook.events.contains(&kind));
        let webhooks: Vec<&Webhook> = webhooks.iter().filter(subscribed).collect();
        queue(tx, company, event, &webhooks).await?;
    }
    Ok(())
}

/// Records a test delivery for one webhook.
pub(crate) async fn record_ping(
    tx: &mut Tx,
    company: CompanyId,
    webhook: &Webhook,
) -> Result<EventId, Error> {
    let unit = tx.unit(company).await?;
    let event = Event::ping(webhook.id, unit.at);
    tx.finish(&unit, &[]).await?;
    queue(tx, company, &event, &[webhook]).await
}

async fn queue(
    tx: &mut Tx,
    company: CompanyId,
    event: &Event,
    webhooks: &[&Webhook],
) -> Result<EventId, Error> {
    let id = tx.event_id(event.timestamp);
    let body = serde_json::to_string(event).map_err(Error::internal)?;
    sqlx::query(INSERT)
        .bind(company.0)
        .bind(id.0)
        .bind(event.name())
        .bind(event.timestamp.as_millis())
        .bind(&body)
        .execute(tx.connection())
        .await?;
    if webhooks.is_empty() {
        return Ok(id);
    }
    let planned = deliveries::plan(tx, webhooks);
    let inserted = deliveries::insert(tx.connection(), company, id, &planned).await;
    let inserted = inserted.inspect_err(|_| deliveries::abandon(tx.handoff(), &planned))?;
    let body = Bytes::from(body);
    for (plan, delivery) in planned.iter().zip(inserted).filter(|(plan, _)| !plan.skipped) {
        tx.push_fresh(if plan.claimed {
            FreshJob::Held(Job {
                delivery,
                company,
                webhook: plan.webhook,
                body: body.clone(),
                is_ping: event.kind.is_none(),
                attempts: 0,
                claims: 1,
                lease_until: plan.due_at,
            })
        } else {
            FreshJob::Waiting(plan.webhook)
        });
    }
    Ok(id)
}

/// The recorded events of a company behind a given one, oldest first.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    company: CompanyId,
    after: EventId,
    limit: u32,
) -> Result<Vec<EventRecord>, Error> {
    let rows: Vec<(Uuid, String, i64, String)> =
        sqlx::query_as(LIST).bind(company.0).bind(after.0).bind(limit).fetch_all(connection).await?;
    let record = |(id, kind, timestamp, body)| EventRecord {
        id: EventId(id),
        kind,
        timestamp: Timestamp::from_millis(timestamp),
        body,
    };
    Ok(rows.into_iter().map(record).collect())
}
