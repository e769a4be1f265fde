//! Deliveries of a company, and the handle on those of all companies.
//!
//! Operations [enqueue](super::enqueue) them; the dispatcher [claims](super::claims) them and
//! [records](super::attempts) the attempts.

use invoicing_core::{DeliveryStatus, EventId, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::bulk_changes::ReplayRange;
use super::connection::{Argument, Connection, Sql};
use super::scope::Scope;
use super::skip_reason::SkipReason;
use crate::error::Error;
use crate::records::{AttemptRecord, DeliveryRecord};

/// The deliveries of all companies, by row id, for the dispatcher.
pub(crate) struct AllDeliveries<'c>(pub(super) &'c mut Connection);

/// A delivery as its row, with the noted replay and the state of its webhook that change how it is
/// shown.
#[derive(FromRow)]
pub(super) struct DeliveryRow {
    event_id: Uuid,
    webhook_id: Uuid,
    status: String,
    reason: Option<String>,
    next_at: i64,
    attempts_in_all: i64,
    ended_at: Option<i64>,
    /// True if a claimant holds the delivery and decides about it.
    held: bool,
    /// The instant of the call of a noted replay that has not reached its row yet.
    replayed_at: Option<i64>,
    disabled_at: Option<i64>,
    removed_at: Option<i64>,
    is_ping: bool,
}

impl DeliveryRow {
    /// The delivery as it is once the [bulk changes](super::bulk_changes) noted for its webhook are
    /// carried out.
    pub(super) fn after_bulk_changes(mut self) -> Self {
        let can_be_replayed = ["failed", "skipped"].contains(&self.status.as_str());
        if let Some(at) = self.replayed_at.filter(|_| can_be_replayed) {
            DeliveryStatus::Pending.as_str().clone_into(&mut self.status);
            (self.reason, self.next_at, self.ended_at) = (None, at, None);
        }
        let waits = self.status == DeliveryStatus::Pending.as_str() && !self.held;
        let skipping = SkipReason::of(self.disabled_at, self.removed_at);
        if let Some(skipping) = skipping.filter(|skipping| waits && skipping.concerns(self.is_ping)) {
            DeliveryStatus::Skipped.as_str().clone_into(&mut self.status);
            (self.reason, self.ended_at) = (Some(skipping.reason.into()), Some(skipping.since.as_millis()));
        }
        self
    }
}

impl DeliveryRow {
    /// True if an attempt is being made: a claim has not run out.
    pub(super) fn is_in_flight(&self) -> bool {
        self.held && self.status == DeliveryStatus::Pending.as_str()
    }
}

impl TryFrom<DeliveryRow> for DeliveryRecord {
    type Error = Error;

    fn try_from(row: DeliveryRow) -> Result<Self, Error> {
        let status = row.status.parse();
        Ok(Self {
            event: EventId(row.event_id),
            webhook: WebhookId(row.webhook_id),
            status: status.map_err(|cause| Error::bad_row("delivery", "status", row.event_id, cause))?,
            reason: row.reason,
            due_at: Timestamp::from_millis(row.next_at),
            attempts: small(row.attempts_in_all),
            ended_at: row.ended_at.map(Timestamp::from_millis),
        })
    }
}

#[derive(FromRow)]
pub(super) struct AttemptLogRow {
    at: i64,
    event_id: Uuid,
    number: i64,
    duration_ms: i64,
    status: Option<i64>,
    failure: Option<String>,
    kind: String,
    payload: String,
}

impl TryFrom<AttemptLogRow> for AttemptRecord {
    type Error = Error;

    fn try_from(row: AttemptLogRow) -> Result<Self, Error> {
        let failure = row.failure.map(|class| class.parse()).transpose();
        Ok(Self {
            at: Timestamp::from_millis(row.at),
            event: EventId(row.event_id),
            kind: row.kind,
            number: small(row.number),
            duration_ms: small(row.duration_ms),
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            failure: failure.map_err(|cause| Error::bad_row("attempt", "failure", row.event_id, cause))?,
            payload: row.payload,
        })
    }
}

#[derive(FromRow)]
struct ReplayableRow {
    count: i64,
    last_end: i64,
}

/// The deliveries of a company and their attempts.
///
/// `status || ''` in a condition keeps PostgreSQL off the index of pending deliveries when rows are
/// found by their ids: as long as its statistics show few pending rows, reading that whole index
/// looks cheapest to the planner.
pub(crate) struct DeliveryTable<'c>(pub(super) Scope<'c>);

impl DeliveryTable<'_> {
    /// The deliveries of an event, as they are at this instant.
    pub(crate) async fn of_event(
        &mut self,
        event: EventId,
        now: Timestamp,
    ) -> Result<Vec<DeliveryRecord>, Error> {
        const OF_EVENT: &str = "
            SELECT d.event_id, d.webhook_id, d.status, d.reason, d.attempts_in_all, d.ended_at,
                CASE WHEN d.held_until > d.due_at THEN d.held_until ELSE d.due_at END AS next_at,
                d.held_until > $3 AS held, b.at AS replayed_at, w.disabled_at, w.removed_at, e.kind = 'ping' AS is_ping
            FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id
            JOIN webhook w ON w.company_id = d.company_id AND w.id = d.webhook_id
            LEFT JOIN bulk_change b ON b.company_id = d.company_id AND b.webhook_id = d.webhook_id
                AND b.after_event < d.event_id AND d.event_id <= b.until_event
                AND b.since <= d.ended_at AND d.ended_at <= b.ended_until
            WHERE d.company_id = $1 AND d.event_id = $2 ORDER BY d.id";
        let rows: Vec<DeliveryRow> = self.0.query(OF_EVENT, &[&event, &now]).fetch_all().await?;
        rows.into_iter().map(|row| row.after_bulk_changes().try_into()).collect()
    }

    /// The last attempts to deliver to a webhook, latest first.
    pub(crate) async fn log(&mut self, webhook: WebhookId, limit: u32) -> Result<Vec<AttemptRecord>, Error> {
        const LOG: &str = "
            SELECT a.at, a.event_id, a.number, a.duration_ms, a.status, a.failure, e.kind,
                substr(e.body, 1, 500) AS payload
            FROM attempt a JOIN event e ON e.company_id = a.company_id AND e.id = a.event_id
            WHERE a.company_id = $1 AND a.webhook_id = $2
            ORDER BY a.at DESC, a.event_id DESC, a.number DESC LIMIT $3";
        let rows: Vec<AttemptLogRow> = self.0.query(LOG, &[&webhook, &limit]).fetch_all().await?;
        rows.into_iter().map(AttemptRecord::try_from).collect()
    }

    /// Skips pending deliveries of a webhook, at most `limit`, and returns their number. Pings stay
    /// pending unless the webhook is removed. Claims that end after `abandoned` are left to their
    /// claimants.
    pub(super) async fn skip_waiting(
        &mut self,
        webhook: WebhookId,
        skipping: SkipReason,
        abandoned: Timestamp,
        limit: u32,
    ) -> Result<u64, Error> {
        // A locked row is being claimed or recorded; that transaction skips it.
        const SKIP_WAITING: Sql = Sql {
            sqlite: "
                UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4, claim = 0, held_until = 0
                WHERE id IN (
                    SELECT id FROM delivery
                    WHERE company_id = $1 AND webhook_id = $2 AND status = 'pending' AND held_until <= $5
                        AND ($3 = 'webhook_removed' OR NOT EXISTS (
                            SELECT 1 FROM event e
                            WHERE e.company_id = $1 AND e.id = delivery.event_id AND e.kind = 'ping'
                        ))
                    ORDER BY due_at LIMIT $6
                )",
            postgres: "
                UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4, claim = 0, held_until = 0
                WHERE id = ANY(ARRAY(
                    SELECT id FROM delivery
                    WHERE company_id = $1 AND webhook_id = $2 AND status = 'pending' AND held_until <= $5
                        AND ($3 = 'webhook_removed' OR NOT EXISTS (
                            SELECT 1 FROM event e
                            WHERE e.company_id = $1 AND e.id = delivery.event_id AND e.kind = 'ping'
                        ))
                    ORDER BY due_at LIMIT $6 FOR UPDATE SKIP LOCKED
                )) AND status || '' = 'pending'",
        };
        let SkipReason { reason, since } = skipping;
        Ok(self.0.query(SKIP_WAITING, &[&webhook, &reason, &since, &abandoned, &limit]).execute().await?)
    }

    /// True if the delivery of an event has not ended.
    pub(crate) async fn is_pending(&mut self, webhook: WebhookId, event: EventId) -> Result<bool, Error> {
        const STATUS: &str =
            "SELECT status FROM delivery WHERE company_id = $1 AND webhook_id = $2 AND event_id = $3";
        let status: Option<String> = self.0.query(STATUS, &[&webhook, &event]).optional_scalar().await?;
        Ok(status.is_some_and(|status| status == DeliveryStatus::Pending.as_str()))
    }

    /// Queues the skipped or failed delivery of one event again, unless a noted replay does so.
    /// Returns the number of queued deliveries.
    pub(super) async fn replay_one(
        &mut self,
        webhook: WebhookId,
        event: EventId,
        now: Timestamp,
    ) -> Result<u64, Error> {
        const REPLAY_ONE: &str = "
            UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0,
                claims = 0, attempts = 0, ended_at = NULL
            WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped') AND event_id = $4
                AND NOT EXISTS (
                    SELECT 1 FROM bulk_change b
                    WHERE b.company_id = $1 AND b.webhook_id = $2 AND b.after_event < $4 AND $4 <= b.until_event
                        AND b.since <= delivery.ended_at AND delivery.ended_at <= b.ended_until
                )";
        Ok(self.0.query(REPLAY_ONE, &[&webhook, &now, &event]).execute().await?)
    }

    /// The number of deliveries that a replay would queue and that are not part of another one, and
    /// the last end of all deliveries that it would queue.
    pub(super) async fn count_replayable(
        &mut self,
        webhook: WebhookId,
        range: ReplayRange,
        outside: ReplayRange,
    ) -> Result<(u64, Timestamp), Error> {
        const COUNT: &str = "
            SELECT count(CASE WHEN NOT (
                    event_id > $7 AND event_id <= $8 AND ended_at >= $9 AND ended_at <= $10
                ) THEN 1 END) AS count, coalesce(max(ended_at), $5) AS last_end
            FROM delivery
            WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')
                AND event_id > $3 AND event_id <= $4 AND ended_at >= $5 AND ended_at <= $6";
        let ReplayRange { after, until, since, ended_until, .. } = range;
        let arguments: [&dyn Argument; 9] = [
            &webhook,
            &after,
            &until,
            &since,
            &ended_until,
            &outside.after,
            &outside.until,
            &outside.since,
            &outside.ended_until,
        ];
        let row: ReplayableRow = self.0.query(COUNT, &arguments).fetch_one().await?;
        Ok((u64::try_from(row.count).unwrap_or(0), Timestamp::from_millis(row.last_end)))
    }

    /// The last event of the next `limit` deliveries that a replay queues; `None` if there are
    /// fewer.
    pub(super) async fn end_of_batch(
        &mut self,
        webhook: WebhookId,
        range: ReplayRange,
        limit: u32,
    ) -> Result<Option<EventId>, Error> {
        const END_OF_BATCH: &str = "
            SELECT event_id FROM delivery
            WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')
                AND event_id > $3 AND event_id <= $4 AND ended_at >= $5 AND ended_at <= $6
            ORDER BY event_id LIMIT 1 OFFSET $7";
        let ReplayRange { after, until, since, ended_until, .. } = range;
        let before = limit.saturating_sub(1);
        let end: Option<Uuid> = self
            .0
            .query(END_OF_BATCH, &[&webhook, &after, &until, &since, &ended_until, &before])
            .optional_scalar()
            .await?;
        Ok(end.map(EventId))
    }

    /// Queues the skipped and failed deliveries of a range again. Returns their number.
    pub(super) async fn replay(&mut self, webhook: WebhookId, range: ReplayRange) -> Result<u64, Error> {
        const REPLAY: &str = "
            UPDATE delivery SET status = 'pending', reason = NULL, due_at = $7, ended_at = NULL, claim = 0,
                held_until = 0, claims = 0, attempts = 0
            WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')
                AND event_id > $3 AND event_id <= $4 AND ended_at >= $5 AND ended_at <= $6";
        let ReplayRange { at, after, until, since, ended_until } = range;
        Ok(self.0.query(REPLAY, &[&webhook, &after, &until, &since, &ended_until, &at]).execute().await?)
    }

    /// Deletes attempts that began before an instant, at most `limit`. Returns their number.
    pub(crate) async fn prune_attempts(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        const PRUNE: &str = "
            DELETE FROM attempt WHERE (company_id, at, event_id, webhook_id, number) IN (
                SELECT company_id, at, event_id, webhook_id, number FROM attempt
                WHERE company_id = $1 AND at < $2 LIMIT $3
            )";
        Ok(self.0.query(PRUNE, &[&before, &limit]).execute().await?)
    }
}

/// A stored count, which is never negative or too large.
pub(super) fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
