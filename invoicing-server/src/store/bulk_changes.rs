//! Changes of webhooks whose deliveries are still to follow; [batches](super::bulk_batches) carry
//! them out.

use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Connection;
use super::scope::Scope;
use crate::error::Error;

/// Deliveries that a replay still has to queue: of the events with `after < id <= until`, and ended
/// from `since` to `ended_until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayRange {
    /// Instant of the call.
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

/// An instant before the end of any delivery.
pub(super) const ALWAYS: Timestamp = Timestamp::from_millis(i64::MIN);
/// An instant after the end of all deliveries.
pub(super) const NEVER: Timestamp = Timestamp::from_millis(i64::MAX);

/// The deliveries that a replay queues, counted before the replay is noted: the count reads all of
/// them, and no writer has to wait for that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replayable {
    pub(crate) since: Timestamp,
    pub(super) ended_until: Timestamp,
    pub(crate) count: u64,
    /// The last event at the time of the count.
    pub(super) last_event: EventId,
    /// The rest of an earlier replay, which was not counted.
    pub(super) earlier: Option<ReplayRange>,
}

impl Replayable {
    /// True if the noted range is the one of the count, or its rest after batches.
    pub(super) fn is_current(&self, noted: Option<ReplayRange>) -> bool {
        let start = |range: ReplayRange| ReplayRange { after: range.until, ..range };
        noted.is_none_or(|noted| self.earlier.is_some_and(|earlier| start(earlier) == start(noted)))
    }
}

/// The changes that are noted for the webhooks of a company.
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

    /// Notes that waiting deliveries have to be skipped. A replay that is under way stays noted:
    /// its deliveries wait as well.
    pub(super) async fn note(&mut self, webhook: WebhookId, at: Timestamp) -> Result<(), Error> {
        const NOTE: &str = "
            INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
            VALUES ($1, $2, $3, $4, $4, $3, $3) ON CONFLICT (company_id, webhook_id) DO NOTHING";
        self.0.query(NOTE, &[&webhook, &at, &Uuid::nil()]).execute().await?;
        Ok(())
    }

    /// Notes a replay. A replay of all ended deliveries includes the rest of an earlier one.
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

/// The changes that are noted for the webhooks of all companies, for the dispatchers.
pub(crate) struct AllBulkChanges<'c>(pub(super) &'c mut Connection);

/// A webhook with a noted change whose deliveries are still to follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotedWebhook {
    pub(crate) company: CompanyId,
    pub(crate) webhook: WebhookId,
    /// True if its deliveries are to be skipped.
    pub(crate) skips: bool,
}

#[derive(FromRow)]
struct NotedRow {
    company_id: Uuid,
    webhook_id: Uuid,
    skips: bool,
}

impl AllBulkChanges<'_> {
    /// The noted webhooks, ordered by id.
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
