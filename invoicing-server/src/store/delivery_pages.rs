//! The deliveries of one webhook, newest event first, and one of them with its attempts.
//!
//! No index holds them in this order by state and kind, as every delivery would pay for it. So a
//! page looks at a bounded number of events, or of deliveries that failed or were skipped, which
//! have an index. It may be shorter than the limit, and names the start of the next page.

use invoicing_core::{DeliveryStatus, EventId, Timestamp, WebhookId};
use sqlx::FromRow;

use super::company::Tables;
use super::connection::{Argument, Sql};
use super::deliveries::{AttemptLogRow, DeliveryRow, DeliveryTable};
use crate::error::Error;
use crate::list_query::{DeliveryQuery, RecordedKind, check_limit};
use crate::records::{
    AttemptRecord, DeliveryDetail, DeliveryItem, DeliveryPage, DeliveryRecord, EventSubject, NextAttempt,
};

/// Number of events, or of deliveries that failed or were skipped, that a page looks at.
const LOOKED_AT: u32 = 1_000;
/// Maximum number of attempts of one delivery that are shown.
const MAX_ATTEMPTS: u32 = 1_000;
/// Longest time before the last recorded instant of a delivery at which its first attempt may be
/// dated, as stamps may have run ahead of the clock.
const BEFORE_MS: i64 = 24 * 60 * 60 * 1_000;
/// Longest time after the end of its delivery at which an attempt may have begun, by the clock of
/// another node.
const AFTER_MS: i64 = 60 * 1_000;

#[derive(FromRow)]
struct ItemRow {
    #[sqlx(flatten)]
    delivery: DeliveryRow,
    kind: String,
    timestamp: i64,
}

impl TryFrom<ItemRow> for DeliveryItem {
    type Error = Error;

    fn try_from(row: ItemRow) -> Result<Self, Error> {
        let row = ItemRow { delivery: row.delivery.after_bulk_changes(), ..row };
        let is_in_flight = row.delivery.is_in_flight();
        let delivery = DeliveryRecord::try_from(row.delivery)?;
        let next = if is_in_flight { NextAttempt::InFlight } else { NextAttempt::DueAt(delivery.due_at) };
        Ok(Self {
            next_attempt: (delivery.status == DeliveryStatus::Pending).then_some(next),
            delivery,
            kind: row.kind,
            timestamp: Timestamp::from_millis(row.timestamp),
            subject: None,
        })
    }
}

#[derive(FromRow)]
struct DetailRow {
    #[sqlx(flatten)]
    item: ItemRow,
    body: String,
}

/// The rows in which a page looks for its deliveries.
#[derive(Debug, Clone, Copy)]
enum DeliverySource {
    /// The last events; the delivery of each is looked up.
    Events,
    /// The last deliveries that failed or were skipped.
    FailedOrSkipped,
}

impl DeliverySource {
    /// Chooses the rows. A page of a disabled webhook shows waiting deliveries as skipped, and
    /// their rows are not in the index of skipped ones.
    fn of(status: Option<DeliveryStatus>, is_disabled: bool) -> Self {
        match status {
            Some(DeliveryStatus::Failed) => Self::FailedOrSkipped,
            Some(DeliveryStatus::Skipped) if !is_disabled => Self::FailedOrSkipped,
            _ => Self::Events,
        }
    }

    /// The statement of a page: `$1` company, `$2` webhook, `$3` the lowest event id and `$4` the
    /// id above the highest one, `$5` kind, `$6` the state of the row, `$7` now, `$8` number of
    /// rows that are looked at, `$9` number of rows that are taken.
    const fn items(self) -> Sql {
        match self {
            Self::Events => Sql {
                sqlite: "
                    SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                        CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                        d.held_until > $7 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at,
                        e.kind = 'ping' AS is_ping, e.kind, e.timestamp
                    FROM (
                        SELECT id, kind, timestamp FROM event WHERE company_id = $1 AND id >= $3 AND id < $4
                        ORDER BY id DESC LIMIT $8
                    ) e
                    CROSS JOIN delivery d ON d.event_id = e.id AND d.webhook_id = $2 AND d.company_id = $1
                    CROSS JOIN webhook w ON w.company_id = $1 AND w.id = $2
                    LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = $2
                        AND b.after_event < d.event_id AND d.event_id <= b.until_event
                        AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
                    WHERE ($5 IS NULL OR e.kind = $5) AND ($6 IS NULL OR d.status || '' = $6)
                    ORDER BY e.id DESC LIMIT $9",
                // The limit of the second subquery makes the planner look the deliveries up one by
                // one.
                postgres: "
                    SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                        CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                        d.held_until > $7 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at,
                        e.kind = 'ping' AS is_ping, e.kind, e.timestamp
                    FROM (
                        SELECT id, kind, timestamp FROM event WHERE company_id = $1 AND id >= $3 AND id < $4
                        ORDER BY id DESC LIMIT $8
                    ) e
                    CROSS JOIN LATERAL (
                        SELECT * FROM delivery WHERE company_id = $1 AND event_id = e.id AND webhook_id = $2 LIMIT 1
                    ) d
                    JOIN webhook w ON w.company_id = $1 AND w.id = $2
                    LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = $2
                        AND b.after_event < d.event_id AND d.event_id <= b.until_event
                        AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
                    WHERE ($5 IS NULL OR e.kind = $5) AND ($6 IS NULL OR d.status = $6)
                    ORDER BY e.id DESC LIMIT $9",
            },
            Self::FailedOrSkipped => Sql {
                sqlite: "
                    SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                        CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                        d.held_until > $7 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at,
                        e.kind = 'ping' AS is_ping, e.kind, e.timestamp
                    FROM (
                        SELECT event_id, webhook_id, status, reason, attempts_in_all, ended_at, held_until, due_at
                        FROM delivery
                        WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')
                            AND event_id >= $3 AND event_id < $4
                        ORDER BY event_id DESC LIMIT $8
                    ) d
                    CROSS JOIN event e ON e.company_id = $1 AND e.id = d.event_id
                    CROSS JOIN webhook w ON w.company_id = $1 AND w.id = $2
                    LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = $2
                        AND b.after_event < d.event_id AND d.event_id <= b.until_event
                        AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
                    WHERE ($5 IS NULL OR e.kind = $5) AND ($6 IS NULL OR d.status = $6)
                    ORDER BY d.event_id DESC LIMIT $9",
                postgres: "
                    SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                        CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                        d.held_until > $7 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at,
                        e.kind = 'ping' AS is_ping, e.kind, e.timestamp
                    FROM (
                        SELECT event_id, webhook_id, status, reason, attempts_in_all, ended_at, held_until, due_at
                        FROM delivery
                        WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')
                            AND event_id >= $3 AND event_id < $4
                        ORDER BY event_id DESC LIMIT $8
                    ) d
                    CROSS JOIN LATERAL (
                        SELECT kind, timestamp FROM event WHERE company_id = $1 AND id = d.event_id LIMIT 1
                    ) e
                    JOIN webhook w ON w.company_id = $1 AND w.id = $2
                    LEFT JOIN bulk_change b ON b.company_id = $1 AND b.webhook_id = $2
                        AND b.after_event < d.event_id AND d.event_id <= b.until_event
                        AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
                    WHERE ($5 IS NULL OR e.kind = $5) AND ($6 IS NULL OR d.status = $6)
                    ORDER BY d.event_id DESC LIMIT $9",
            },
        }
    }
}

impl DeliveryTable<'_> {
    /// A page of the deliveries to a webhook, as they are at this instant.
    pub(crate) async fn page(
        &mut self,
        webhook: WebhookId,
        is_disabled: bool,
        query: &DeliveryQuery,
        limit: u32,
        now: Timestamp,
    ) -> Result<DeliveryPage, Error> {
        check_limit(limit, LOOKED_AT)?;
        let source = DeliverySource::of(query.status, is_disabled);
        let (from, before) = query.ids();
        let kind = query.kind.map(RecordedKind::as_str);
        // Rows in these states are shown as they are, or not at all. Any other row may be shown in
        // any state.
        let stored = query
            .status
            .filter(|status| [DeliveryStatus::Delivered, DeliveryStatus::Failed].contains(status));
        let taken = if query.status == stored && stored != Some(DeliveryStatus::Failed) {
            limit + 1
        } else {
            LOOKED_AT
        };
        let stored = stored.map(DeliveryStatus::as_str);
        let arguments: [&dyn Argument; 8] =
            [&webhook, &from, &before, &kind, &stored, &now, &LOOKED_AT, &taken];
        let rows: Vec<ItemRow> = self.0.query(source.items(), &arguments).fetch_all().await?;
        let items: Result<Vec<DeliveryItem>, Error> = rows.into_iter().map(DeliveryItem::try_from).collect();
        let mut items = items?;
        items.retain(|item| query.status.is_none_or(|status| item.delivery.status == status));
        let next = if items.len() > limit as usize {
            items.truncate(limit as usize);
            items.last().map(|item| item.delivery.event)
        } else {
            self.last_looked_at(source, webhook, from, before).await?
        };
        let events = items.iter().map(|item| item.delivery.event.0).collect();
        let mut subjects = self.0.events().subjects(&events).await?;
        for item in &mut items {
            item.subject = subjects.remove(&item.delivery.event);
        }
        Ok(DeliveryPage { items, next })
    }

    /// The last event that a page has looked at; `None` if it has looked at all.
    async fn last_looked_at(
        &mut self,
        source: DeliverySource,
        webhook: WebhookId,
        from: EventId,
        before: EventId,
    ) -> Result<Option<EventId>, Error> {
        const LAST_EVENT: &str = "
            SELECT id FROM event WHERE company_id = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT 1 OFFSET $4";
        const LAST_DELIVERY: &str = "
            SELECT event_id FROM delivery
            WHERE company_id = $1 AND webhook_id = $5 AND status IN ('failed', 'skipped')
                AND event_id >= $2 AND event_id < $3
            ORDER BY event_id DESC LIMIT 1 OFFSET $4";
        let earlier = LOOKED_AT - 1;
        let last = match source {
            DeliverySource::Events => self.0.query(LAST_EVENT, &[&from, &before, &earlier]),
            DeliverySource::FailedOrSkipped => {
                self.0.query(LAST_DELIVERY, &[&from, &before, &earlier, &webhook])
            }
        };
        Ok(last.optional_scalar().await?.map(EventId))
    }

    /// A delivery with its attempts.
    pub(crate) async fn detail(
        &mut self,
        webhook: WebhookId,
        event: EventId,
        now: Timestamp,
    ) -> Result<DeliveryDetail, Error> {
        const FIND: &str = "
            SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                d.held_until > $4 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at,
                e.kind = 'ping' AS is_ping, e.kind, e.timestamp, e.body
            FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id
            JOIN webhook w ON w.company_id = d.company_id AND w.id = d.webhook_id
            LEFT JOIN bulk_change b ON b.company_id = d.company_id AND b.webhook_id = d.webhook_id
                AND b.after_event < d.event_id AND d.event_id <= b.until_event
                AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
            WHERE d.company_id = $1 AND d.webhook_id = $2 AND d.event_id = $3";
        let row: Option<DetailRow> = self.0.query(FIND, &[&webhook, &event, &now]).fetch_optional().await?;
        let DetailRow { item, body } = row.ok_or(Error::NotFound)?;
        let item = DeliveryItem { subject: EventSubject::read(&body), ..DeliveryItem::try_from(item)? };
        let attempts = self.attempts(&item).await?;
        Ok(DeliveryDetail { item, body, attempts })
    }

    /// The attempts of a delivery. Their only index is by time, so the instants of the delivery
    /// bound the search, and `LIMIT` ends it with the last attempt.
    async fn attempts(&mut self, item: &DeliveryItem) -> Result<Vec<AttemptRecord>, Error> {
        const ATTEMPTS: &str = "
            SELECT a.at, a.event_id, a.number, a.duration_ms, a.status, a.failure, e.kind,
                substr(e.body, 1, 500) AS payload
            FROM (
                SELECT company_id, at, event_id, number, duration_ms, status, failure FROM attempt
                WHERE company_id = $1 AND webhook_id = $2 AND event_id = $3 AND at >= $4 AND at <= $5
                ORDER BY company_id, at, event_id, webhook_id, number LIMIT $6
            ) a JOIN event e ON e.company_id = a.company_id AND e.id = a.event_id
            ORDER BY a.at, a.number";
        let DeliveryRecord { event, webhook, due_at, attempts, ended_at, .. } = item.delivery;
        let first = item.timestamp.min(ended_at.unwrap_or(due_at)).plus_millis(-BEFORE_MS);
        let last = ended_at.map_or(Timestamp::from_millis(i64::MAX), |at| at.plus_millis(AFTER_MS));
        let arguments: [&dyn Argument; 5] = [&webhook, &event, &first, &last, &attempts.min(MAX_ATTEMPTS)];
        let rows: Vec<AttemptLogRow> = self.0.query(ATTEMPTS, &arguments).fetch_all().await?;
        rows.into_iter().map(AttemptRecord::try_from).collect()
    }
}
