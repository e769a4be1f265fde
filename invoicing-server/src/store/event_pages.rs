//! The events of a company, newest first, with the states of their deliveries.

use std::collections::HashMap;

use invoicing_core::{EventId, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::company::Tables;
use super::connection::{Argument, Sql};
use super::deliveries::{DeliveryRow, DeliveryTable};
use super::events::{EventRow, EventTable};
use super::scope::Scope;
use crate::error::Error;
use crate::list_query::{AFTER_ALL, EventQuery, RecordedKind, check_limit};
use crate::records::{DeliveryCounts, DeliveryRecord, EventItem, EventPage, EventRecord};

/// Number of events that a page looks at, as no index holds them by kind.
const LOOKED_AT: u32 = 2_000;
/// Maximum number of events of a page, as the deliveries of all of them are read.
const MAX_PAGE: u32 = 100;

#[derive(FromRow)]
struct ItemRow {
    id: Uuid,
    kind: String,
    timestamp: i64,
}

impl Scope<'_> {
    /// A page of events, and their deliveries as they are at this instant.
    pub(crate) async fn event_page(
        &mut self,
        query: &EventQuery,
        limit: u32,
        now: Timestamp,
    ) -> Result<EventPage, Error> {
        check_limit(limit, MAX_PAGE)?;
        let (mut items, next) = self.events().page(query, limit).await?;
        let ids = items.iter().map(|item| item.id.0).collect();
        let counts = self.deliveries().counts(&ids, now).await?;
        let mut subjects = self.events().subjects(&ids).await?;
        for item in &mut items {
            item.deliveries = counts.get(&item.id).copied().unwrap_or_default();
            item.subject = subjects.remove(&item.id);
        }
        Ok(EventPage { items, next })
    }
}

impl EventTable<'_> {
    async fn page(
        &mut self,
        query: &EventQuery,
        limit: u32,
    ) -> Result<(Vec<EventItem>, Option<EventId>), Error> {
        const PAGE: &str = "
            SELECT id, kind, timestamp FROM (
                SELECT id, kind, timestamp FROM event WHERE company_id = $1 AND id < $2 ORDER BY id DESC LIMIT $4
            ) e
            WHERE $3 IS NULL OR kind = $3 ORDER BY id DESC LIMIT $5";
        const LAST: &str = "
            SELECT id FROM event WHERE company_id = $1 AND id < $2 ORDER BY id DESC LIMIT 1 OFFSET $3";
        let before = query.before.unwrap_or(AFTER_ALL);
        let kind = query.kind.map(RecordedKind::as_str);
        let (looked_at, taken) = if kind.is_none() { (limit + 1, limit + 1) } else { (LOOKED_AT, limit + 1) };
        let arguments: [&dyn Argument; 4] = [&before, &kind, &looked_at, &taken];
        let rows: Vec<ItemRow> = self.0.query(PAGE, &arguments).fetch_all().await?;
        let item = |row: ItemRow| EventItem {
            id: EventId(row.id),
            kind: row.kind,
            timestamp: Timestamp::from_millis(row.timestamp),
            subject: None,
            deliveries: DeliveryCounts::default(),
        };
        let mut items: Vec<EventItem> = rows.into_iter().map(item).collect();
        if items.len() > limit as usize {
            items.truncate(limit as usize);
            let next = items.last().map(|item| item.id);
            return Ok((items, next));
        }
        let last = self.0.query(LAST, &[&before, &(looked_at - 1)]);
        Ok((items, last.optional_scalar().await?.map(EventId)))
    }

    pub(crate) async fn find(&mut self, id: EventId) -> Result<EventRecord, Error> {
        const FIND: &str =
            "SELECT id, kind, timestamp, body, request_id FROM event WHERE company_id = $1 AND id = $2";
        let row: Option<EventRow> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        row.map(EventRecord::from).ok_or(Error::NotFound)
    }
}

impl DeliveryTable<'_> {
    /// Numbers of the deliveries of some events, by state.
    async fn counts(
        &mut self,
        events: &Vec<Uuid>,
        now: Timestamp,
    ) -> Result<HashMap<EventId, DeliveryCounts>, Error> {
        const OF_EVENTS: Sql = Sql {
            sqlite: "
                SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                    CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                    d.held_until > $3 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at, e.kind = 'ping' AS is_ping
                FROM json_each($2) j
                CROSS JOIN event e ON e.company_id = $1 AND e.id = unhex(j.value)
                CROSS JOIN delivery d ON d.company_id = $1 AND d.event_id = e.id
                CROSS JOIN webhook w ON w.company_id = $1 AND w.id = d.webhook_id
                LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = d.webhook_id
                    AND b.after_event < d.event_id AND d.event_id <= b.until_event
                    AND b.since <= d.ended_at AND d.ended_at <= b.ended_until",
            // The limits make the planner look the events and their deliveries up one by one: an
            // event has at most one delivery for each webhook.
            postgres: "
                SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                    CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                    d.held_until > $3 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at, e.kind = 'ping' AS is_ping
                FROM unnest($2::uuid[]) AS j(id)
                CROSS JOIN LATERAL (SELECT id, kind FROM event WHERE company_id = $1 AND id = j.id LIMIT 1) e
                CROSS JOIN LATERAL (SELECT * FROM delivery WHERE company_id = $1 AND event_id = e.id LIMIT 1000) d
                JOIN webhook w ON w.company_id = $1 AND w.id = d.webhook_id
                LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = d.webhook_id
                    AND b.after_event < d.event_id AND d.event_id <= b.until_event
                    AND b.since <= d.ended_at AND d.ended_at <= b.ended_until",
        };
        let rows: Vec<DeliveryRow> = self.0.query(OF_EVENTS, &[events, &now]).fetch_all().await?;
        let mut counts: HashMap<EventId, DeliveryCounts> = HashMap::new();
        for row in rows {
            let delivery = DeliveryRecord::try_from(row.after_bulk_changes())?;
            counts.entry(delivery.event).or_default().add(delivery.status);
        }
        Ok(counts)
    }
}
