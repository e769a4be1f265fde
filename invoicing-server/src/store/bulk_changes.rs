//! What changes of webhooks have left to be done to their deliveries, as [batches](super::bulk_batches) carry it out.

use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Connection;
use super::scope::Scope;
use crate::Error;

/// Deliveries that a replay still has to queue: those that ended from an instant to another, of the events after one up
/// to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayRange {
    /// When it was asked for.
    pub(super) at: Timestamp,
    pub(super) after: EventId,
    pub(super) until: EventId,
    pub(super) since: Timestamp,
    pub(super) ended_until: Timestamp,
}

impl ReplayRange {
    pub(super) const NONE: Self = Self {
        at: Timestamp::from_millis(0),
        after: EventId(Uuid::nil()),
        until: EventId(Uuid::nil()),
        since: ALWAYS,
        ended_until: ALWAYS,
    };

    pub(super) fn is_empty(self) -> bool {
        self.after >= self.until
    }
}

/// Before any delivery has ended.
pub(super) const ALWAYS: Timestamp = Timestamp::from_millis(i64::MIN);
/// After all deliveries have ended.
pub(super) const NEVER: Timestamp = Timestamp::from_millis(i64::MAX);

/// What a replay queues, as it was counted before the replay is noted: counting reads all of it, and no writer has to wait
/// for that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replayable {
    pub(crate) since: Timestamp,
    pub(super) ended_until: Timestamp,
    pub(crate) count: u64,
    /// The last event when it was counted.
    pub(super) last_event: EventId,
    /// What an earlier replay had left, which was not counted.
    pub(super) earlier: Option<ReplayRange>,
}

impl Replayable {
    /// Whether what is noted now is what was noted, or what its batches have left of it.
    pub(super) fn is_current(&self, noted: Option<ReplayRange>) -> bool {
        let start = |range: ReplayRange| ReplayRange { after: range.until, ..range };
        noted.is_none_or(|noted| self.earlier.is_some_and(|earlier| start(earlier) == start(noted)))
    }
}

/// What is noted for the webhooks of a company.
pub(crate) struct BulkChangeTable<'c>(pub(super) Scope<'c>);

#[derive(FromRow)]
struct RangeRow {
    at: i64,
    after_event: Uuid,
    until_event: Uuid,
    since: i64,
    ended_until: i64,
}

impl BulkChangeTable<'_> {
    pub(super) async fn find(&mut self, webhook: WebhookId) -> Result<Option<ReplayRange>, Error> {
        const FIND: &str = "
            SELECT at, after_event, until_event, since, ended_until FROM bulk_change
            WHERE company_id = $1 AND webhook_id = $2";
        let row: Option<RangeRow> = self.0.query(FIND, &[&webhook]).fetch_optional().await?;
        Ok(row.map(|row| ReplayRange {
            at: Timestamp::from_millis(row.at),
            after: EventId(row.after_event),
            until: EventId(row.until_event),
            since: Timestamp::from_millis(row.since),
            ended_until: Timestamp::from_millis(row.ended_until),
        }))
    }

    /// Notes that what waits has to be skipped. A replay that is under way stays noted: its deliveries wait as well.
    pub(super) async fn note(&mut self, webhook: WebhookId, at: Timestamp) -> Result<(), Error> {
        const NOTE: &str = "
            INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
            VALUES ($1, $2, $3, $4, $4, $3, $3) ON CONFLICT (company_id, webhook_id) DO NOTHING";
        self.0.query(NOTE, &[&webhook, &at, &Uuid::nil()]).execute().await?;
        Ok(())
    }

    /// Notes a replay. One of all that has ended includes what an earlier one has left.
    pub(super) async fn note_replay(&mut self, webhook: WebhookId, range: ReplayRange) -> Result<(), Error> {
        const NOTE_REPLAY: &str = "
            INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (company_id, webhook_id) DO UPDATE
            SET at = excluded.at, after_event = excluded.after_event, until_event = excluded.until_event,
                since = excluded.since, ended_until = excluded.ended_until";
        let ReplayRange { at, after, until, since, ended_until } = range;
        self.0
            .query(NOTE_REPLAY, &[&webhook, &at, &after, &until, &since, &ended_until])
            .change_one("bulk_change")
            .await
    }

    pub(super) async fn set_start(&mut self, webhook: WebhookId, after: EventId) -> Result<(), Error> {
        const SET_START: &str =
            "UPDATE bulk_change SET after_event = $3 WHERE company_id = $1 AND webhook_id = $2";
        self.0.query(SET_START, &[&webhook, &after]).change_one("bulk_change").await
    }

    pub(super) async fn delete(&mut self, webhook: WebhookId) -> Result<(), Error> {
        const DELETE: &str = "DELETE FROM bulk_change WHERE company_id = $1 AND webhook_id = $2";
        self.0.query(DELETE, &[&webhook]).change_one("bulk_change").await
    }
}

/// What is noted for the webhooks of all companies, for the dispatchers.
pub(crate) struct AllBulkChanges<'c>(pub(super) &'c mut Connection);

/// A webhook with deliveries that are still to follow a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotedWebhook {
    pub(crate) company: CompanyId,
    pub(crate) webhook: WebhookId,
    /// Its deliveries are skipped.
    pub(crate) skips: bool,
}

#[derive(FromRow)]
struct NotedRow {
    company_id: Uuid,
    webhook_id: Uuid,
    skips: bool,
}

impl AllBulkChanges<'_> {
    /// Ordered by webhook.
    pub(crate) async fn list(&mut self) -> Result<Vec<NotedWebhook>, Error> {
        const LIST: &str = "
            SELECT b.company_id, b.webhook_id, w.disabled_at IS NOT NULL OR w.removed_at IS NOT NULL AS skips
            FROM bulk_change b JOIN webhook w ON w.company_id = b.company_id AND w.id = b.webhook_id
            ORDER BY b.webhook_id";
        let rows: Vec<NotedRow> = self.0.query(LIST, &[]).fetch_all().await?;
        let noted = |row: NotedRow| NotedWebhook {
            company: CompanyId(row.company_id),
            webhook: WebhookId(row.webhook_id),
            skips: row.skips,
        };
        Ok(rows.into_iter().map(noted).collect())
    }
}
