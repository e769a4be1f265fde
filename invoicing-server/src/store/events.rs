//! Recorded events, and the deliveries that each of them causes.

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, EventId, Timestamp};
use uuid::Uuid;

use super::connection::{Connection, Sql, on, run};
use super::enqueue::{self, DeliveryGroup, bind_group, insert_group};
use super::webhooks::{Subscriber, Webhook};
use super::{Tx, Unit};
use crate::Error;

/// Stamp, event, deliveries.
const RECORD: Sql = Sql {
    sqlite: concat!(
        "UPDATE company SET last_stamp = $15 WHERE id = $1; ",
        "INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $12, $13, $14); ",
        insert_group!(sqlite)
    ),
    postgres: concat!(
        "WITH stamped AS (UPDATE company SET last_stamp = $15 WHERE id = $1), recorded AS (",
        "INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $12, $13, $14)) ",
        insert_group!(postgres)
    ),
};
const INSERT_GROUP: Sql = Sql { sqlite: insert_group!(sqlite), postgres: insert_group!(postgres) };
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

/// Records events of one company, moves its stamp, and queues a delivery for each webhook that subscribes to them.
/// Deliveries to a disabled webhook are kept as skipped.
pub(super) async fn record(tx: &mut Tx, unit: &Unit, events: &[Event]) -> Result<(), Error> {
    let webhooks = tx.subscribers(unit.id()).await?;
    for event in events {
        let subscribed = |webhook: &&Subscriber| event.kind.is_some_and(|kind| webhook.wants(kind));
        let subscribers: Vec<Subscriber> = webhooks.iter().filter(subscribed).copied().collect();
        enqueue_event(tx, unit, event, &subscribers).await?;
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
    tx.stamped(&unit);
    enqueue_event(tx, &unit, &event, &[Subscriber::of(webhook)]).await
}

/// One call for the stamp, the event and its deliveries; another one only where these do not enter the table alike.
async fn enqueue_event(
    tx: &mut Tx,
    unit: &Unit,
    event: &Event,
    webhooks: &[Subscriber],
) -> Result<EventId, Error> {
    let (id, token) = (tx.event_id(event.timestamp), tx.queue().token());
    let body = serde_json::to_string(event).map_err(Error::internal)?;
    let groups = enqueue::plan(tx, token, webhooks).await?;
    let shared = Bytes::from(body.clone());
    for group in &groups {
        tx.push_new(group.new_deliveries(unit.id(), &shared, event.kind.is_none(), token));
    }
    let none = DeliveryGroup::none(unit.at);
    let (first, others) = groups.split_first().map_or((&none, &[][..]), |split| split);
    run!(tx.connection(), |c, dialect| {
        let query = sqlx::query(RECORD.of(dialect));
        bind_group!(query, first, unit.id(), id, token)
            .bind(event.name())
            .bind(event.timestamp.as_millis())
            .bind(&body)
            .bind(unit.at.as_millis())
            .execute(c)
    })?;
    for group in others {
        run!(tx.connection(), |c, dialect| {
            let query = sqlx::query(INSERT_GROUP.of(dialect));
            bind_group!(query, group, unit.id(), id, token).execute(c)
        })?;
    }
    Ok(id)
}

/// The recorded events of a company behind a given one, oldest first.
pub(crate) async fn list(
    connection: &mut Connection,
    company: CompanyId,
    after: EventId,
    limit: u32,
) -> Result<Vec<EventRecord>, Error> {
    let rows: Vec<(Uuid, String, i64, String)> = on!(connection, |c| sqlx::query_as(LIST)
        .bind(company.0)
        .bind(after.0)
        .bind(i64::from(limit))
        .fetch_all(c))?;
    let record = |(id, kind, timestamp, body)| EventRecord {
        id: EventId(id),
        kind,
        timestamp: Timestamp::from_millis(timestamp),
        body,
    };
    Ok(rows.into_iter().map(record).collect())
}
