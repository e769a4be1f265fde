//! Deliveries of a company, and the handle on those of all companies.
//!
//! Operations [enqueue](super::enqueue) them; the dispatcher [claims](super::claims) them and
//! [records](super::attempts) the attempts.

use invoicing_core::{DeliveryStatus, EventId, FailureClass, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Connection;
use super::query::Sql;
use super::scope::Scope;
use crate::Error;

/// Reason of a delivery that was skipped because its webhook is disabled.
pub(crate) const DISABLED: &str = "webhook_disabled";
/// Reason of a delivery that was skipped because its webhook was removed.
pub(crate) const REMOVED: &str = "webhook_removed";

/// Most deliveries that one statement changes on PostgreSQL, where a statement has a time limit. The statements say so.
const BATCH: u64 = 10_000;

/// The deliveries of all companies, by row id, for the dispatcher.
pub(crate) struct AllDeliveries<'c>(pub(super) &'c mut Connection);

/// A delivery of an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryRecord {
    /// The event.
    pub event: EventId,
    /// The webhook.
    pub webhook: WebhookId,
    /// Its state.
    pub status: DeliveryStatus,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// When a pending delivery is attempted next, or its lease ends.
    pub due_at: Timestamp,
    /// Attempts so far, replays included.
    pub attempts: u32,
    /// When it was delivered, failed or skipped.
    pub ended_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct DeliveryRow {
    event_id: Uuid,
    webhook_id: Uuid,
    status: String,
    reason: Option<String>,
    next_at: i64,
    attempts_in_all: i64,
    ended_at: Option<i64>,
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

/// One attempt to deliver, as the debugging page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// When it began.
    pub at: Timestamp,
    /// The event.
    pub event: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// Number of the claim that the attempt was made with, replays included: 1 for the first. No two attempts of a
    /// delivery share a number. A claim that came to no attempt leaves a gap.
    pub number: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
    /// HTTP status, where the receiver answered.
    pub status: Option<u16>,
    /// Why not, where it did not.
    pub failure: Option<FailureClass>,
    /// The first 500 characters of the body.
    pub payload: String,
}

#[derive(FromRow)]
struct AttemptLogRow {
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

/// The deliveries of a company and their attempts.
///
/// `status || ''` in a condition keeps PostgreSQL off the index of pending deliveries where rows are found by their ids:
/// as long as its statistics show few pending rows, reading that whole index looks cheapest to the planner.
pub(crate) struct DeliveryTable<'c>(pub(super) Scope<'c>);

impl DeliveryTable<'_> {
    /// The deliveries of an event.
    pub(crate) async fn of_event(&mut self, event: EventId) -> Result<Vec<DeliveryRecord>, Error> {
        const OF_EVENT: &str = "
            SELECT event_id, webhook_id, status, reason,
                CASE WHEN held_until > due_at THEN held_until ELSE due_at END AS next_at, attempts_in_all, ended_at
            FROM delivery WHERE company_id = $1 AND event_id = $2 ORDER BY id";
        let rows: Vec<DeliveryRow> = self.0.query(OF_EVENT, &[&event]).fetch_all().await?;
        rows.into_iter().map(DeliveryRecord::try_from).collect()
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

    /// Skips the pending deliveries of a webhook that are not claimed. The claimant decides about the others.
    pub(crate) async fn skip_waiting(
        &mut self,
        webhook: WebhookId,
        reason: &str,
        at: Timestamp,
    ) -> Result<(), Error> {
        const SKIP_WAITING: Sql = Sql {
            sqlite: "
                UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4
                WHERE company_id = $1 AND webhook_id = $2 AND status = 'pending' AND claim = 0",
            postgres: "
                UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4
                WHERE id = ANY(ARRAY(
                    SELECT id FROM delivery
                    WHERE company_id = $1 AND webhook_id = $2 AND status = 'pending' AND claim = 0 LIMIT 10000
                )) AND status || '' = 'pending' AND claim = 0",
        };
        loop {
            let skipped = self.0.query(SKIP_WAITING, &[&webhook, &reason, &at]).execute().await?;
            if !self.0.connection.is_shared() || skipped < BATCH {
                return Ok(());
            }
        }
    }

    /// Queues the skipped or failed delivery of one event again; how many.
    pub(super) async fn replay_one(
        &mut self,
        webhook: WebhookId,
        event: EventId,
        now: Timestamp,
    ) -> Result<u64, Error> {
        const REPLAY_ONE: &str = "
            UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0,
                claims = 0, attempts = 0, ended_at = NULL
            WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped') AND event_id = $4";
        Ok(self.0.query(REPLAY_ONE, &[&webhook, &now, &event]).execute().await?)
    }

    /// Queues all skipped and failed deliveries of a webhook again; how many.
    pub(super) async fn replay_all(&mut self, webhook: WebhookId, now: Timestamp) -> Result<u64, Error> {
        const REPLAY_ALL: Sql = Sql {
            sqlite: "
                UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0,
                    claims = 0, attempts = 0, ended_at = NULL
                WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')",
            postgres: "
                UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0,
                    claims = 0, attempts = 0, ended_at = NULL
                WHERE id = ANY(ARRAY(
                    SELECT id FROM delivery
                    WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped') LIMIT 10000
                )) AND status || '' IN ('failed', 'skipped')",
        };
        let mut queued = 0;
        loop {
            let batch = self.0.query(REPLAY_ALL, &[&webhook, &now]).execute().await?;
            queued += batch;
            if !self.0.connection.is_shared() || batch < BATCH {
                return Ok(queued);
            }
        }
    }

    /// Deletes attempts that began before an instant, at most `limit`; how many.
    pub(crate) async fn prune_attempts(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error> {
        const PRUNE: &str = "
            DELETE FROM attempt WHERE (company_id, at, event_id, webhook_id, number) IN (
                SELECT company_id, at, event_id, webhook_id, number FROM attempt
                WHERE company_id = $1 AND at < $2 LIMIT $3
            )";
        Ok(self.0.query(PRUNE, &[&before, &limit]).execute().await?)
    }
}

/// A count as it was stored: never below 0, and far from too large.
pub(super) fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
