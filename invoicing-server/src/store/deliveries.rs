//! Deliveries and their attempts.
//!
//! The operations write [fresh](super::fresh) ones; the dispatcher [claims](super::claims) them, records attempts and
//! ends them; the sweep prunes old attempts. What is recorded about a claimed delivery repeats the token of the claim, so
//! that one that ran out and was taken over changes nothing.

use std::collections::HashSet;

use invoicing_core::{
    AttemptOutcome, CompanyId, DeliveryStatus, EventId, FailureClass, Timestamp, WebhookId,
};
use serde::Serialize;
use uuid::Uuid;

use super::connection::{Connection, Dialect, Sql, on, run, sql_with};
use super::lists::Ids;
#[cfg(feature = "postgres")]
use super::lists::Texts;
use super::rows::to_json;
use crate::Error;

/// Reason of a delivery that was skipped because its webhook is disabled.
pub(crate) const DISABLED: &str = "webhook_disabled";
/// Reason of a delivery that was skipped because its webhook was removed.
pub(crate) const REMOVED: &str = "webhook_removed";

/// Most deliveries that one statement changes on PostgreSQL, where a statement has a limit in time.
const BATCH: u64 = 10_000;

/// A change of all deliveries of a webhook, however many; on PostgreSQL of [`BATCH`] of them, to be repeated. The update
/// itself goes by ids alone, and asks again for what may have changed meanwhile.
macro_rules! of_webhook {
    ($change:expr, $which:expr, $again:expr) => {
        Sql {
            sqlite: concat!($change, " WHERE company_id = $1 AND webhook_id = $2 AND ", $which),
            postgres: concat!(
                $change,
                " WHERE id = ANY(ARRAY(SELECT id FROM delivery WHERE company_id = $1 AND webhook_id = $2 AND ",
                $which,
                " LIMIT 10000)) AND ",
                $again
            ),
        }
    };
}

/// A row per attempt: delivery, when it began, how long it took, status or failure. It is counted already.
macro_rules! attempted {
    ($at:literal, $took:literal, $status:literal, $failure:literal, $attempts_and_deliveries:literal) => {
        concat!(
            "INSERT INTO attempt (company_id, event_id, webhook_id, number, at, duration_ms, status, failure) \
             SELECT d.company_id, d.event_id, d.webhook_id, d.attempts_in_all, ",
            concat!($at, ", ", $took, ", ", $status, ", ", $failure),
            " FROM ",
            $attempts_and_deliveries
        )
    };
}

/// On PostgreSQL from lists of columns, which it reads twenty times as fast as JSON; the limit makes it look each
/// delivery up by itself, whatever it believes of the table.
const ATTEMPTED: Sql = Sql {
    sqlite: attempted!(
        "j.value ->> 1",
        "j.value ->> 2",
        "j.value ->> 3",
        "j.value ->> 4",
        "json_each($1) j JOIN delivery d ON d.id = j.value ->> 0"
    ),
    postgres: attempted!(
        "a.at",
        "a.took",
        "nullif(a.status, 0)",
        "a.failure",
        "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) \
         AS a(id, at, took, status, failure) CROSS JOIN LATERAL (SELECT company_id, event_id, webhook_id, \
         attempts_in_all FROM delivery WHERE id = a.id LIMIT 1) d"
    ),
};
const COUNT_ATTEMPT: Sql = sql_with!(
    "UPDATE delivery SET attempts = attempts + CASE WHEN claim = $2 THEN 1 ELSE 0 END, \
     attempts_in_all = attempts_in_all + 1 WHERE id",
    ids "$1",
    ""
);
/// Says on PostgreSQL which ones it has ended. In SQLite a row is a hop between threads, and nobody else could have
/// taken any of them over.
///
/// The concatenation, here and wherever deliveries are found by their ids, keeps PostgreSQL off the index of what is
/// pending. It has the ids too, in the last place: while few rows are thought to be pending, reading all of that index
/// seems to be the shortest way.
const END: Sql = sql_with!(
    "UPDATE delivery SET status = $2, ended_at = $3, claim = 0, held_until = 0, \
     attempts = attempts + 1, attempts_in_all = attempts_in_all + 1 WHERE id", ids "$1",
    " AND status || '' = 'pending' AND claim = $4", postgres " RETURNING id"
);
const COUNT_LATE: Sql =
    sql_with!("UPDATE delivery SET attempts_in_all = attempts_in_all + 1 WHERE id", ids "$1", "");
const RETRY: &str = "UPDATE delivery SET due_at = $2, claim = 0, held_until = 0 \
     WHERE id = $1 AND status || '' = 'pending' AND claim = $3";
const SKIP: Sql = sql_with!(
    "UPDATE delivery SET status = 'skipped', reason = $2, ended_at = $3, claim = 0, held_until = 0 WHERE id", ids "$1",
    " AND status || '' = 'pending' AND claim = $4"
);
const SKIP_WAITING: Sql = of_webhook!(
    "UPDATE delivery SET status = 'skipped', reason = $3, ended_at = $4",
    "status = 'pending' AND claim = 0",
    "status || '' = 'pending' AND claim = 0"
);
const REPLAY: Sql = of_webhook!(
    "UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0, claims = 0, \
     attempts = 0, ended_at = NULL",
    "status IN ('failed', 'skipped')",
    "status || '' IN ('failed', 'skipped')"
);
const REPLAY_ONE: &str = "UPDATE delivery SET status = 'pending', reason = NULL, due_at = $3, claim = 0, held_until = 0, \
     claims = 0, attempts = 0, ended_at = NULL WHERE company_id = $1 AND webhook_id = $2 AND status IN ('failed', 'skipped') \
     AND event_id = $4";
const LIST: &str = "SELECT event_id, webhook_id, status, reason, \
     CASE WHEN held_until > due_at THEN held_until ELSE due_at END, attempts_in_all, ended_at FROM delivery \
     WHERE company_id = $1 AND event_id = $2 ORDER BY id";
const LOG: &str = "SELECT a.at, a.event_id, a.number, a.duration_ms, a.status, a.failure, e.kind, substr(e.body, 1, 500) \
     FROM attempt a JOIN event e ON e.company_id = a.company_id AND e.id = a.event_id \
     WHERE a.company_id = $1 AND a.webhook_id = $2 ORDER BY a.at DESC, a.event_id DESC, a.number DESC LIMIT $3";

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

/// Adds a row per attempt. After the deliveries' counts are moved: the rows are numbered by them, and from then on nobody
/// else moves them.
pub(crate) async fn insert_attempts(
    connection: &mut Connection,
    attempts: &[AttemptRow],
) -> Result<(), Error> {
    run!(connection, |c, dialect| {
        let query = sqlx::query(ATTEMPTED.of(dialect));
        let query = match dialect {
            Dialect::Sqlite => query.bind(to_json(&attempts)?),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => {
                let column = |of: fn(&AttemptRow) -> i64| attempts.iter().map(of).collect::<Vec<i64>>();
                query
                    .bind(Ids(&column(|row| row.0)))
                    .bind(Ids(&column(|row| row.1)))
                    .bind(Ids(&column(|row| row.2)))
                    .bind(Ids(&column(|row| row.3.map_or(0, i64::from))))
                    .bind(Texts(attempts.iter().map(|row| row.4.map(str::to_owned)).collect()))
            }
        };
        query.execute(c)
    })?;
    Ok(())
}

/// Counts attempts of deliveries that have not ended. Where the claim has been taken over, they count in all, but not
/// towards the limit.
pub(crate) async fn count_attempts(
    connection: &mut Connection,
    ids: &[i64],
    token: i64,
) -> Result<(), Error> {
    run!(connection, |c, dialect| sqlx::query(COUNT_ATTEMPT.of(dialect))
        .bind(Ids(ids))
        .bind(token)
        .execute(c))?;
    Ok(())
}

/// Ends deliveries with the attempt that has just been made. Those whose claim had run out and been taken over stay as
/// they are: only the attempt is counted. Which ones these were.
pub(crate) async fn end(
    connection: &mut Connection,
    ids: &[i64],
    status: DeliveryStatus,
    at: Timestamp,
    token: i64,
) -> Result<Vec<i64>, Error> {
    let done: Vec<i64> = on!(connection, |c, dialect| sqlx::query_scalar(END.of(dialect))
        .bind(Ids(ids))
        .bind(status.as_str())
        .bind(at.as_millis())
        .bind(token)
        .fetch_all(c))?;
    if !connection.is_shared() {
        return Ok(Vec::new());
    }
    let done: HashSet<i64> = done.into_iter().collect();
    let late: Vec<i64> = ids.iter().copied().filter(|id| !done.contains(id)).collect();
    if !late.is_empty() {
        run!(connection, |c, dialect| sqlx::query(COUNT_LATE.of(dialect)).bind(Ids(&late)).execute(c))?;
    }
    Ok(late)
}

/// Puts a delivery back with a time before which it is not attempted.
pub(crate) async fn retry(
    connection: &mut Connection,
    id: i64,
    at: Timestamp,
    token: i64,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(RETRY).bind(id).bind(at.as_millis()).bind(token).execute(c))?;
    Ok(())
}

/// Ends claimed deliveries as skipped.
pub(crate) async fn skip(
    connection: &mut Connection,
    ids: &[i64],
    reason: &str,
    at: Timestamp,
    token: i64,
) -> Result<(), Error> {
    run!(connection, |c, dialect| sqlx::query(SKIP.of(dialect))
        .bind(Ids(ids))
        .bind(reason)
        .bind(at.as_millis())
        .bind(token)
        .execute(c))?;
    Ok(())
}

/// Ends everything of a webhook that waits in the table as skipped. What is claimed is decided by the claimant.
pub(crate) async fn skip_waiting(
    connection: &mut Connection,
    company: CompanyId,
    webhook: WebhookId,
    reason: &str,
    at: Timestamp,
) -> Result<u64, Error> {
    let mut done = 0;
    loop {
        let batch = run!(connection, |c, dialect| sqlx::query(SKIP_WAITING.of(dialect))
            .bind(company.0)
            .bind(webhook.0)
            .bind(reason)
            .bind(at.as_millis())
            .execute(c))?;
        done += batch;
        if !connection.is_shared() || batch < BATCH {
            break;
        }
    }
    Ok(done)
}

/// Queues skipped and failed deliveries again, all of a webhook or that of one event.
pub(crate) async fn replay(
    connection: &mut Connection,
    company: CompanyId,
    webhook: WebhookId,
    event: Option<EventId>,
    now: Timestamp,
) -> Result<u64, Error> {
    if let Some(event) = event {
        return Ok(run!(connection, |c| sqlx::query(REPLAY_ONE)
            .bind(company.0)
            .bind(webhook.0)
            .bind(now.as_millis())
            .bind(event.0)
            .execute(c))?);
    }
    let mut done = 0;
    loop {
        let batch = run!(connection, |c, dialect| sqlx::query(REPLAY.of(dialect))
            .bind(company.0)
            .bind(webhook.0)
            .bind(now.as_millis())
            .execute(c))?;
        done += batch;
        if !connection.is_shared() || batch < BATCH {
            return Ok(done);
        }
    }
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
    connection: &mut Connection,
    company: CompanyId,
    event: EventId,
) -> Result<Vec<DeliveryRecord>, Error> {
    type Row = (Uuid, Uuid, String, Option<String>, i64, i64, Option<i64>);
    let rows: Vec<Row> =
        on!(connection, |c| sqlx::query_as(LIST).bind(company.0).bind(event.0).fetch_all(c))?;
    let record = |(event, webhook, status, reason, due_at, attempts, ended_at): Row| {
        Ok(DeliveryRecord {
            event: EventId(event),
            webhook: WebhookId(webhook),
            status: status.parse().map_err(|cause| Error::bad_row("delivery", "status", event, cause))?,
            reason,
            due_at: Timestamp::from_millis(due_at),
            attempts: small(attempts),
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
    connection: &mut Connection,
    company: CompanyId,
    webhook: WebhookId,
    limit: u32,
) -> Result<Vec<AttemptRecord>, Error> {
    type Row = (i64, Uuid, i64, i64, Option<i64>, Option<String>, String, String);
    let rows: Vec<Row> = on!(connection, |c| sqlx::query_as(LOG)
        .bind(company.0)
        .bind(webhook.0)
        .bind(i64::from(limit))
        .fetch_all(c))?;
    let record = |(at, event, number, duration_ms, status, failure, kind, payload): Row| {
        let failure = failure.map(|class| class.parse()).transpose();
        Ok(AttemptRecord {
            at: Timestamp::from_millis(at),
            event: EventId(event),
            kind,
            number: small(number),
            duration_ms: small(duration_ms),
            status: status.and_then(|status| u16::try_from(status).ok()),
            failure: failure.map_err(|cause| Error::bad_row("attempt", "failure", event, cause))?,
            payload,
        })
    };
    rows.into_iter().map(record).collect()
}

/// A count as it was stored: never below 0, and far from too large.
pub(super) fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
