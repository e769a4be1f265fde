//! Deliveries and their attempts.
//!
//! The operations write deliveries; the dispatcher claims them, records attempts and ends them; the sweep prunes old
//! attempts. A claim is a token and a `due_at` in the future; what is recorded about a claimed delivery repeats the
//! token, so that a claim that ran out and was taken over changes nothing.

use bytes::Bytes;
use invoicing_core::{
    AttemptOutcome, CompanyId, DeliveryStatus, Event, EventId, FailureClass, Timestamp, WebhookId,
};
use serde::{Deserialize, Serialize};
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Row as _, Sqlite, SqliteConnection};
use uuid::Uuid;

use super::Tx;
use super::rows::{from_json, hex_list, to_json};
use super::webhooks::Subscriber;
use crate::Error;
use crate::dispatch::{FreshJob, Job, lease_from};

/// Reason of a delivery that was skipped because its webhook is disabled.
pub(crate) const DISABLED: &str = "webhook_disabled";
/// Reason of a delivery that was skipped because its webhook was removed.
pub(crate) const REMOVED: &str = "webhook_removed";

const NEXT_ID: &str = "SELECT coalesce(max(id), 0) + 1 FROM delivery";
/// What `$3` has due by `$4`, at most `$5`.
macro_rules! due {
    () => {
        "(SELECT id FROM delivery WHERE webhook_id = $3 AND status = 'pending' AND due_at <= $4 \
         ORDER BY due_at, id LIMIT $5)"
    };
}
/// Three in one call: the deliveries in one row, since every row is a hop between threads; the claim; what is next.
const CLAIM: &str = concat!(
    "SELECT json_group_array(json_array(d.id, hex(d.company_id), d.attempts, d.claims + 1, e.kind, e.body) \
     ORDER BY d.due_at, d.id) FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id \
     WHERE d.id IN ",
    due!(),
    "; UPDATE delivery SET claim = $1, due_at = $2, claims = claims + 1 WHERE id IN ",
    due!(),
    "; SELECT due_at FROM delivery WHERE webhook_id = $3 AND status = 'pending' AND due_at > $4 \
     ORDER BY due_at LIMIT 1"
);
const WAITING: &str = "SELECT w.id, (SELECT min(due_at) FROM delivery d \
     WHERE d.webhook_id = w.id AND d.status = 'pending') AS due FROM webhook w WHERE due IS NOT NULL";
const RELEASE_ALL: &str =
    "UPDATE delivery SET claim = 0, due_at = min(due_at, $1) WHERE status = 'pending' AND claim <> 0";
const RELEASE: &str = "UPDATE delivery SET claim = 0, due_at = $2, claims = claims - 1 \
     WHERE id IN (SELECT value FROM json_each($1)) AND status = 'pending' AND claim = $3";
const RELEASE_HELD: &str = "UPDATE delivery SET claim = 0, due_at = $2, claims = claims - 1 \
     WHERE status = 'pending' AND claim = $1";
const ATTEMPTED: &str = "INSERT INTO attempt \
     (company_id, at, event_id, webhook_id, number, duration_ms, status, failure) \
     SELECT d.company_id, j.value ->> 1, d.event_id, d.webhook_id, d.attempts_in_all + 1, j.value ->> 2, \
     j.value ->> 3, j.value ->> 4 FROM json_each($1) j JOIN delivery d ON d.id = j.value ->> 0 WHERE true ON CONFLICT DO NOTHING";
const COUNT_ATTEMPT: &str = "UPDATE delivery SET attempts = attempts + 1, attempts_in_all = attempts_in_all + 1 \
     WHERE id IN (SELECT value FROM json_each($1))";
const END: &str = "UPDATE delivery SET status = $2, ended_at = $3, claim = 0, \
     attempts = attempts + 1, attempts_in_all = attempts_in_all + 1 \
     WHERE id IN (SELECT value FROM json_each($1)) AND status = 'pending' AND claim = $4";
const RETRY: &str =
    "UPDATE delivery SET due_at = $2, claim = 0 WHERE id = $1 AND status = 'pending' AND claim = $3";
const SKIP: &str = "UPDATE delivery SET status = 'skipped', reason = $2, ended_at = $3, claim = 0 \
     WHERE id IN (SELECT value FROM json_each($1)) AND status = 'pending' AND claim = $4";
const SKIP_WAITING: &str = "UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4 \
     WHERE company_id = $1 AND webhook_id = $2 AND status = 'pending' AND claim = 0";
const REPLAY: &str = "UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, claims = 0, \
     attempts = 0, ended_at = NULL WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped')";
const REPLAY_ONE: &str = "UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, claims = 0, \
     attempts = 0, ended_at = NULL WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped') \
     AND event_id = $4";
const LIST: &str = "SELECT event_id, webhook_id, status, reason, due_at, attempts_in_all, ended_at FROM delivery \
     WHERE company_id = $1 AND event_id = $2 ORDER BY id";
const LOG: &str = "SELECT a.at, a.event_id, a.number, a.duration_ms, a.status, a.failure, e.kind, substr(e.body, 1, 500) \
     FROM attempt a JOIN event e ON e.company_id = a.company_id AND e.id = a.event_id \
     WHERE a.company_id = $1 AND a.webhook_id = $2 ORDER BY a.at DESC, a.event_id DESC, a.number DESC LIMIT $3";

/// How a new delivery enters the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Claimed by this process, whose dispatcher has a place reserved for it.
    Claimed,
    /// Due.
    Waiting,
    /// Ended, as its webhook is disabled.
    Skipped,
}

/// New deliveries of one event that enter the table alike.
pub(super) struct Group {
    pub(super) entry: Entry,
    pub(super) webhooks: Vec<WebhookId>,
    /// Row id of the first; the others follow.
    pub(super) first: i64,
    /// When they may be claimed; the end of the lease where they are claimed already.
    pub(super) due_at: Timestamp,
}

/// Decides for each webhook whether its delivery is skipped, handed to the dispatcher of this process, or left in
/// the table. The places that are reserved go back with the operation unless it hands the deliveries on.
pub(super) fn plan(tx: &mut Tx, token: i64, webhooks: impl Iterator<Item = Subscriber>) -> Vec<Group> {
    let now = tx.env().now();
    let mut groups: Vec<Group> = Vec::with_capacity(1);
    for webhook in webhooks {
        let entry = match webhook.disabled {
            true => Entry::Skipped,
            false if tx.handoff().reserve(webhook.id, token) => Entry::Claimed,
            false => Entry::Waiting,
        };
        if let Some(group) = groups.iter_mut().find(|group| group.entry == entry) {
            group.webhooks.push(webhook.id);
        } else {
            let due_at = if entry == Entry::Claimed { lease_from(now) } else { now };
            groups.push(Group { entry, webhooks: vec![webhook.id], first: 0, due_at });
        }
    }
    for group in &mut groups {
        group.first = tx.delivery_ids(group.webhooks.len());
    }
    groups
}

/// The statement that inserts a group: `$1` to `$10` as [`Group::bind`] binds them.
macro_rules! insert_group {
    () => {
        "INSERT INTO delivery (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, attempts, \
         attempts_in_all, ended_at) \
         SELECT $1, $2, $3 + key, unhex(value), $5, $6, $7, $8, $9, 0, 0, $10 FROM json_each($4)"
    };
}
pub(super) use insert_group;

pub(super) type Statement = Query<'static, Sqlite, SqliteArguments>;

impl Group {
    /// No deliveries at all.
    pub(super) fn none(now: Timestamp) -> Self {
        Self { entry: Entry::Waiting, webhooks: Vec::new(), first: 0, due_at: now }
    }

    pub(super) fn bind(
        &self,
        statement: &'static str,
        company: CompanyId,
        event: EventId,
        token: i64,
    ) -> Statement {
        let skipped = self.entry == Entry::Skipped;
        let claimed = self.entry == Entry::Claimed;
        let status = if skipped { DeliveryStatus::Skipped } else { DeliveryStatus::Pending };
        sqlx::query(statement)
            .bind(company.0)
            .bind(event.0)
            .bind(self.first)
            .bind(hex_list(self.webhooks.iter().map(|id| id.0)))
            .bind(status.as_str())
            .bind(skipped.then_some(DISABLED))
            .bind(self.due_at.as_millis())
            .bind(if claimed { token } else { 0 })
            .bind(claimed)
            .bind(skipped.then_some(self.due_at.as_millis()))
    }

    /// What the dispatcher is to hear of, once the deliveries are committed.
    pub(super) fn fresh<'g>(
        &'g self,
        company: CompanyId,
        body: &'g Bytes,
        is_ping: bool,
        token: i64,
    ) -> impl Iterator<Item = FreshJob> + use<'g> {
        let Self { entry, first, due_at, .. } = *self;
        self.webhooks.iter().zip(first..).filter_map(move |(&webhook, delivery)| match entry {
            Entry::Claimed => Some(FreshJob::Held(Job {
                delivery,
                company,
                webhook,
                body: body.clone(),
                is_ping,
                attempts: 0,
                claims: 1,
                lease_until: due_at,
                token,
            })),
            Entry::Waiting => Some(FreshJob::Waiting(webhook)),
            Entry::Skipped => None,
        })
    }
}

/// The row id behind all that were ever given out. Deliveries are never deleted.
pub(super) async fn next_id(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(NEXT_ID).fetch_one(connection).await
}

/// Claims due deliveries of one webhook, oldest first, and says when the next one falls due.
pub(crate) async fn claim(
    tx: &mut Tx,
    webhook: WebhookId,
    room: usize,
) -> Result<(Vec<Job>, Option<Timestamp>), Error> {
    let now = tx.env().now();
    let (token, lease_until) = (tx.handoff().token(), lease_from(now));
    let rows = sqlx::query(CLAIM)
        .bind(token)
        .bind(lease_until.as_millis())
        .bind(webhook.0)
        .bind(now.as_millis())
        .bind(i64::try_from(room).unwrap_or(i64::MAX))
        .fetch_all(tx.connection())
        .await?;
    let (claimed, next) = rows.split_first().ok_or_else(|| Error::internal("a claim without a row"))?;
    let claimed: Vec<Claimed> = from_json(claimed.try_get::<&str, _>(0)?, "delivery", webhook)?;
    let jobs: Vec<Job> = claimed
        .into_iter()
        .map(|Claimed(delivery, company, attempts, claims, kind, body)| Job {
            delivery,
            company: CompanyId(company),
            webhook,
            body: Bytes::from(body),
            is_ping: kind == Event::PING,
            attempts,
            claims,
            lease_until,
            token,
        })
        .collect();
    let next = if jobs.len() >= room {
        Some(now)
    } else {
        next.first().map(|row| row.try_get(0)).transpose()?.map(Timestamp::from_millis)
    };
    Ok((jobs, next))
}

/// Row id, company, attempts, claims, kind, body.
#[derive(Deserialize)]
struct Claimed(i64, Uuid, u32, u32, String, String);

/// Every webhook with something pending, and when its first delivery falls due or its first claim runs out.
pub(crate) async fn waiting(connection: &mut SqliteConnection) -> Result<Vec<(WebhookId, Timestamp)>, Error> {
    let rows: Vec<(Uuid, i64)> = sqlx::query_as(WAITING).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, due)| (WebhookId(id), Timestamp::from_millis(due))).collect())
}

/// Makes every claimed delivery due: only for a process that knows that no other one is alive.
pub(crate) async fn release_all(connection: &mut SqliteConnection, now: Timestamp) -> Result<u64, Error> {
    Ok(sqlx::query(RELEASE_ALL).bind(now.as_millis()).execute(connection).await?.rows_affected())
}

/// Gives claimed deliveries back that were never attempted.
pub(crate) async fn release(
    connection: &mut SqliteConnection,
    ids: &[i64],
    token: i64,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(RELEASE).bind(to_json(&ids)?).bind(now.as_millis()).bind(token).execute(connection).await?;
    Ok(())
}

/// Gives back every delivery that a process holds and has not attempted.
pub(crate) async fn release_held(
    connection: &mut SqliteConnection,
    token: i64,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(RELEASE_HELD).bind(token).bind(now.as_millis()).execute(connection).await?;
    Ok(())
}

/// An attempt as its row: delivery, when it began, how long it took in milliseconds, and status or failure class.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct AttemptRow(i64, i64, i64, Option<u16>, Option<&'static str>);

impl AttemptRow {
    pub(crate) fn new(delivery: i64, at: Timestamp, duration_ms: i64, outcome: AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Answered { status, .. } => {
                Self(delivery, at.as_millis(), duration_ms, Some(status), None)
            }
            AttemptOutcome::Failed(class) => {
                Self(delivery, at.as_millis(), duration_ms, None, Some(class.as_str()))
            }
        }
    }
}

/// Adds a row per attempt. Before the deliveries' counts are moved, as the rows are numbered by them.
pub(crate) async fn insert_attempts(
    connection: &mut SqliteConnection,
    attempts: &[AttemptRow],
) -> Result<(), Error> {
    sqlx::query(ATTEMPTED).bind(to_json(&attempts)?).execute(connection).await?;
    Ok(())
}

/// Counts attempts of deliveries that have not ended.
pub(crate) async fn count_attempts(connection: &mut SqliteConnection, ids: &[i64]) -> Result<(), Error> {
    sqlx::query(COUNT_ATTEMPT).bind(to_json(&ids)?).execute(connection).await?;
    Ok(())
}

/// Ends deliveries with the attempt that has just been made.
pub(crate) async fn end(
    connection: &mut SqliteConnection,
    ids: &[i64],
    status: DeliveryStatus,
    at: Timestamp,
    token: i64,
) -> Result<(), Error> {
    sqlx::query(END)
        .bind(to_json(&ids)?)
        .bind(status.as_str())
        .bind(at.as_millis())
        .bind(token)
        .execute(connection)
        .await?;
    Ok(())
}

/// Puts a delivery back with a time before which it is not attempted.
pub(crate) async fn retry(
    connection: &mut SqliteConnection,
    id: i64,
    at: Timestamp,
    token: i64,
) -> Result<(), Error> {
    sqlx::query(RETRY).bind(id).bind(at.as_millis()).bind(token).execute(connection).await?;
    Ok(())
}

/// Ends claimed deliveries as skipped.
pub(crate) async fn skip(
    connection: &mut SqliteConnection,
    ids: &[i64],
    reason: &str,
    at: Timestamp,
    token: i64,
) -> Result<(), Error> {
    sqlx::query(SKIP)
        .bind(to_json(&ids)?)
        .bind(reason)
        .bind(at.as_millis())
        .bind(token)
        .execute(connection)
        .await?;
    Ok(())
}

/// Ends everything of a webhook that waits in the table as skipped. What is claimed is decided by the claimant.
pub(crate) async fn skip_waiting(
    connection: &mut SqliteConnection,
    company: CompanyId,
    webhook: WebhookId,
    reason: &str,
    at: Timestamp,
) -> Result<u64, Error> {
    let done = sqlx::query(SKIP_WAITING)
        .bind(company.0)
        .bind(webhook.0)
        .bind(reason)
        .bind(at.as_millis())
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

/// Queues skipped and failed deliveries again, all of a webhook or that of one event.
pub(crate) async fn replay(
    connection: &mut SqliteConnection,
    company: CompanyId,
    webhook: WebhookId,
    event: Option<EventId>,
    now: Timestamp,
) -> Result<u64, Error> {
    let statement = if event.is_some() { REPLAY_ONE } else { REPLAY };
    let replay = sqlx::query(statement).bind(company.0).bind(webhook.0).bind(now.as_millis());
    let replay = match event {
        Some(event) => replay.bind(event.0),
        None => replay,
    };
    Ok(replay.execute(connection).await?.rows_affected())
}

/// A delivery of an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// The event.
    pub event: EventId,
    /// The webhook.
    pub webhook: WebhookId,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// When a pending delivery is attempted next, or its claim runs out.
    pub due_at: Timestamp,
    /// Attempts so far, replays included.
    pub attempts: u32,
    /// When it was delivered, failed or skipped.
    pub ended_at: Option<Timestamp>,
}

pub(crate) async fn of_event(
    connection: &mut SqliteConnection,
    company: CompanyId,
    event: EventId,
) -> Result<Vec<DeliveryRecord>, Error> {
    type Row = (Uuid, Uuid, String, Option<String>, i64, u32, Option<i64>);
    let rows: Vec<Row> = sqlx::query_as(LIST).bind(company.0).bind(event.0).fetch_all(connection).await?;
    let record = |(event, webhook, status, reason, due_at, attempts, ended_at): Row| {
        Ok(DeliveryRecord {
            event: EventId(event),
            webhook: WebhookId(webhook),
            status: status.parse().map_err(|cause| Error::bad_row("delivery", "status", event, cause))?,
            reason,
            due_at: Timestamp::from_millis(due_at),
            attempts,
            ended_at: ended_at.map(Timestamp::from_millis),
        })
    };
    rows.into_iter().map(record).collect()
}

/// One attempt to deliver, as the debugging page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// When it began.
    pub at: Timestamp,
    /// The event.
    pub event: EventId,
    /// `quote.created`, …, or `ping`.
    pub kind: String,
    /// 1 for the first attempt of the delivery, replays included.
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

pub(crate) async fn log(
    connection: &mut SqliteConnection,
    company: CompanyId,
    webhook: WebhookId,
    limit: u32,
) -> Result<Vec<AttemptRecord>, Error> {
    type Row = (i64, Uuid, u32, u32, Option<u16>, Option<String>, String, String);
    let rows: Vec<Row> =
        sqlx::query_as(LOG).bind(company.0).bind(webhook.0).bind(limit).fetch_all(connection).await?;
    let record = |(at, event, number, duration_ms, status, failure, kind, payload): Row| {
        let failure = failure.map(|class| class.parse()).transpose();
        Ok(AttemptRecord {
            at: Timestamp::from_millis(at),
            event: EventId(event),
            kind,
            number,
            duration_ms,
            status,
            failure: failure.map_err(|cause| Error::bad_row("attempt", "failure", event, cause))?,
            payload,
        })
    };
    rows.into_iter().map(record).collect()
}
