//! Recorded events, and the deliveries that each of them causes.

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, EventId, Timestamp};
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::deliveries::{self, Group, insert_group};
use super::webhooks::{Subscriber, Webhook};
use super::{Tx, Unit};
use crate::Error;

/// Stamp, event, deliveries.
const RECORD: &str = concat!(
    "UPDATE company SET last_stamp = $14 WHERE id = $1; ",
    "INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $11, $12, $13); ",
    insert_group!()
);
const INSERT_GROUP: &str = insert_group!();
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
        queue(tx, unit, event, webhooks.iter().filter(subscribed).copied()).await?;
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
    queue(tx, &unit, &event, std::iter::once(Subscriber::of(webhook))).await
}

/// One call for the stamp, the event and its deliveries; another one only where these do not enter the table alike.
async fn queue(
    tx: &mut Tx,
    unit: &Unit,
    event: &Event,
    webhooks: impl Iterator<Item = Subscriber>,
) -> Result<EventId, Error> {
    let (id, token) = (tx.event_id(event.timestamp), tx.handoff().token());
    let body = serde_json::to_string(event).map_err(Error::internal)?;
    let groups = deliveries::plan(tx, token, webhooks);
    let shared = Bytes::from(body.clone());
    for group in &groups {
        tx.push_fresh(group.fresh(unit.id(), &shared, event.kind.is_none(), token));
    }
    let none = Group::none(unit.at);
    let (first, others) = groups.split_first().map_or((&none, &[][..]), |split| split);
    first
        .bind(RECORD, unit.id(), id, token)
        .bind(event.name())
        .bind(event.timestamp.as_millis())
        .bind(body)
        .bind(unit.at.as_millis())
        .execute(tx.connection())
        .await?;
    for group in others {
        group.bind(INSERT_GROUP, unit.id(), id, token).execute(tx.connection()).await?;
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
