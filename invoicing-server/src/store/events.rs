//! Recorded events, and the deliveries that each of them causes. No event is ever deleted.

use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, EventId, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::change::ChangeContext;
use super::connection::Cell;
use super::enqueue::{self, INSERT_EVENT, InitialDeliveries};
use super::scope::Scope;
use super::skip_reason::DISABLED;
use super::subscriber::Subscriber;
use super::tx::Tx;
use super::webhooks::WebhookTable;
use crate::cause::Cause;
use crate::error::Error;
use crate::records::EventRecord;

/// Records events of one company, moves its stamp, and queues a delivery for each webhook that
/// subscribes to them. Deliveries to a disabled webhook are kept as skipped.
pub(super) async fn record(
    tx: &mut Tx,
    change: &ChangeContext,
    cause: Option<&Arc<Cause>>,
    events: &[Event],
) -> Result<(), Error> {
    let webhooks = subscribers(tx, change.company.id).await?;
    for event in events {
        let subscribed = |webhook: &&Subscriber| event.kind.is_some_and(|kind| webhook.wants(kind));
        let subscribers: Vec<Subscriber> = webhooks.iter().filter(subscribed).copied().collect();
        enqueue_event(tx, change, cause, event, &subscribers).await?;
    }
    Ok(())
}

/// The webhooks of a company, with the kinds that each subscribes to.
async fn subscribers(tx: &mut Tx, company: CompanyId) -> Result<Arc<[Subscriber]>, Error> {
    if let Some(known) = tx.connection().write_cache().and_then(|cache| cache.subscribers(company)) {
        return Ok(known);
    }
    let mut webhooks = WebhookTable(Scope { connection: tx.connection(), company });
    let subscribers = webhooks.subscribers().await?.into();
    if let Some(cache) = tx.connection().write_cache() {
        cache.remember_subscribers(company, &subscribers);
    }
    Ok(subscribers)
}

/// Records a test delivery for one webhook, also while it is disabled.
pub(super) async fn record_ping(
    tx: &mut Tx,
    change: &ChangeContext,
    cause: Option<&Arc<Cause>>,
    webhook: WebhookId,
) -> Result<EventId, Error> {
    let event = Event::ping(webhook, change.stamp);
    tx.remember_stamp(change);
    enqueue_event(tx, change, cause, &event, &[Subscriber::to_ping(webhook)]).await
}

/// Records an event. One call moves the stamp and inserts the event and its deliveries.
async fn enqueue_event(
    tx: &mut Tx,
    change: &ChangeContext,
    cause: Option<&Arc<Cause>>,
    event: &Event,
    webhooks: &[Subscriber],
) -> Result<EventId, Error> {
    let (id, token) = (tx.event_id(event.timestamp), tx.queue().token());
    let body = serde_json::to_string(event).map_err(Error::internal)?;
    let initial = enqueue::plan(tx, token, webhooks).await?;
    let shared = Bytes::from(body.clone());
    tx.push_new(initial.new_deliveries(change.company.id, id, &shared, event.kind.is_none(), token, cause));
    tx.count_event(event.name());
    let (webhooks, states) = initial.columns();
    let InitialDeliveries { first, due_at, skipped_at, lease_until, .. } = &initial;
    let deliveries: [&dyn Cell; 8] = [&id, first, &webhooks, &states, due_at, &token, lease_until, &DISABLED];
    let request_id = cause.and_then(|cause| cause.request_id.as_deref());
    let trace_context = cause.and_then(|cause| cause.trace_context.as_deref());
    let event: [&dyn Cell; 7] =
        [&event.name(), &event.timestamp, &body, &change.stamp, skipped_at, &request_id, &trace_context];
    let mut scope = Scope { connection: tx.connection(), company: change.company.id };
    scope.write(&INSERT_EVENT, &[&deliveries[..], &event].concat()).await?;
    Ok(id)
}

/// The recorded events of a company.
pub(crate) struct EventTable<'c>(pub(super) Scope<'c>);

#[derive(FromRow)]
pub(super) struct EventRow {
    id: Uuid,
    kind: String,
    timestamp: i64,
    body: String,
    request_id: Option<String>,
}

impl From<EventRow> for EventRecord {
    fn from(row: EventRow) -> Self {
        Self {
            id: EventId(row.id),
            kind: row.kind,
            timestamp: Timestamp::from_millis(row.timestamp),
            body: row.body,
            request_id: row.request_id,
        }
    }
}

impl EventTable<'_> {
    /// The last event; an id before all events if there is none.
    pub(super) async fn last(&mut self) -> Result<EventId, Error> {
        const LAST: &str = "SELECT id FROM event WHERE company_id = $1 ORDER BY id DESC LIMIT 1";
        let last: Option<Uuid> = self.0.query(LAST, &[]).optional_scalar().await?;
        Ok(EventId(last.unwrap_or(Uuid::nil())))
    }

    /// The events after a given one, oldest first.
    pub(crate) async fn list(&mut self, after: EventId, limit: u32) -> Result<Vec<EventRecord>, Error> {
        const LIST: &str = "
            SELECT id, kind, timestamp, body, request_id FROM event
            WHERE company_id = $1 AND id > $2 ORDER BY id LIMIT $3";
        let rows: Vec<EventRow> = self.0.query(LIST, &[&after, &limit]).fetch_all().await?;
        Ok(rows.into_iter().map(EventRecord::from).collect())
    }
}
