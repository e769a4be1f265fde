//! Claims on deliveries.
//!
//! A claim is a token, and `held_until` at the end of its lease. Whoever holds one may attempt the delivery, and what is
//! recorded about it repeats the token. A claim that is not made good runs out, and the delivery may be claimed again.
//! New deliveries may be inserted as claimed; everything else is claimed here.

use bytes::Bytes;
use invoicing_core::{CompanyId, Event, Timestamp, WebhookId};
use uuid::Uuid;

use super::connection::On;
use super::connection::{Connection, Sql, on, run, sql_with};
use super::lists::Ids;
use crate::Error;
use crate::dispatch::Job;

/// The first delivery of each webhook that nobody holds, or else the end of the lease of the first one. On PostgreSQL from
/// one webhook with something pending to the next one, by the index: whoever has nothing pending costs nothing.
const WAITING: Sql = Sql {
    sqlite: "SELECT id, at FROM (SELECT w.id, coalesce((SELECT due_at FROM delivery d WHERE d.webhook_id = w.id \
         AND d.status = 'pending' AND d.held_until <= $1 ORDER BY due_at LIMIT 1), (SELECT held_until FROM delivery d \
         WHERE d.webhook_id = w.id AND d.status = 'pending' ORDER BY due_at LIMIT 1)) AS at FROM webhook w) waiting \
         WHERE at IS NOT NULL",
    postgres: "WITH RECURSIVE waiting AS ((SELECT webhook_id, held_until FROM delivery WHERE status = 'pending' \
         ORDER BY webhook_id, due_at LIMIT 1) UNION ALL SELECT d.webhook_id, d.held_until FROM waiting w \
         CROSS JOIN LATERAL (SELECT webhook_id, held_until FROM delivery WHERE status = 'pending' \
         AND webhook_id > w.webhook_id ORDER BY webhook_id, due_at LIMIT 1) d) \
         SELECT webhook_id, coalesce((SELECT due_at FROM delivery d WHERE d.webhook_id = w.webhook_id \
         AND d.status = 'pending' AND d.held_until <= $1 ORDER BY due_at LIMIT 1), held_until) FROM waiting w",
};
/// What was due stays due, also where the clock was set back since.
const RELEASE: Sql = sql_with!(
    "UPDATE delivery SET claim = 0, held_until = 0, due_at = CASE WHEN due_at > $3 THEN $3 ELSE due_at END, \
     claims = claims - 1 WHERE id", ids "$1",
    " AND status || '' = 'pending' AND claim = $2"
);

/// What a dispatcher claims with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimant {
    pub(crate) token: i64,
    pub(crate) now: Timestamp,
    pub(crate) lease_until: Timestamp,
}

/// What was claimed for a webhook, oldest first, and when its next delivery falls due.
pub(crate) type Claimed = (Vec<Job>, Option<Timestamp>);

/// A claimed delivery as its row and that of its event tell it.
struct Row<'k> {
    delivery: i64,
    company: Uuid,
    attempts: u32,
    claims: u32,
    kind: &'k str,
    body: Bytes,
}

impl Claimant {
    fn job(self, webhook: WebhookId, row: Row<'_>) -> Job {
        let Row { delivery, company, attempts, claims, kind, body } = row;
        Job {
            delivery,
            company: CompanyId(company),
            webhook,
            body,
            is_ping: kind == Event::PING,
            attempts,
            claims,
            lease_until: self.lease_until,
            token: self.token,
        }
    }
}

/// In SQLite: one webhook per call; the calls share a commit.
pub(super) mod sqlite {
    use invoicing_core::{Timestamp, WebhookId};
    use serde::Deserialize;
    use sqlx::{Row as _, SqliteConnection};
    use uuid::Uuid;

    use super::{Claimant, Claimed, Row};
    use crate::Error;
    use crate::store::rows::from_json;

    const NEXT_ID: &str = "SELECT coalesce(max(id), 0) + 1 FROM delivery";
    /// What `$3` has due by `$4`, at most `$5`.
    macro_rules! due {
        () => {
            "(SELECT id FROM delivery WHERE webhook_id = $3 AND status = 'pending' AND due_at <= $4 \
             AND held_until <= $4 ORDER BY due_at, id LIMIT $5)"
        };
    }
    /// Three in one call: the deliveries in one row, since every row is a hop between threads; the claim; what is next.
    const CLAIM: &str = concat!(
        "SELECT json_group_array(json_array(d.id, hex(d.company_id), d.attempts, d.claims + 1, e.kind, e.body) \
         ORDER BY d.due_at, d.id) FROM delivery d JOIN event e ON e.company_id = d.company_id AND e.id = d.event_id \
         WHERE d.id IN ",
        due!(),
        "; UPDATE delivery SET claim = $1, held_until = $2, claims = claims + 1 WHERE id IN ",
        due!(),
        "; SELECT due_at FROM delivery WHERE webhook_id = $3 AND status = 'pending' AND due_at > $4 \
         ORDER BY due_at LIMIT 1"
    );
    const RELEASE_RUN: &str = "UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $2), \
         claims = claims - 1 WHERE status = 'pending' AND claim = $1";
    const RELEASE_ALL: &str = "UPDATE delivery SET claim = 0, held_until = 0, due_at = min(due_at, $1) \
         WHERE status = 'pending' AND claim <> 0";

    /// The row id behind all that were ever given out. Deliveries are never deleted.
    pub(in crate::store) async fn next_id(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar(NEXT_ID).fetch_one(connection).await
    }

    /// Row id, company, attempts, claims, kind, body.
    #[derive(Deserialize)]
    struct Found(i64, Uuid, u32, u32, String, String);

    /// Claims due deliveries of one webhook.
    pub(in crate::store) async fn claim(
        connection: &mut SqliteConnection,
        claimant: Claimant,
        webhook: WebhookId,
        room: usize,
    ) -> Result<Claimed, Error> {
        let rows = sqlx::query(CLAIM)
            .bind(claimant.token)
            .bind(claimant.lease_until.as_millis())
            .bind(webhook.0)
            .bind(claimant.now.as_millis())
            .bind(i64::try_from(room).unwrap_or(i64::MAX))
            .fetch_all(connection)
            .await?;
        let (claimed, next) = rows.split_first().ok_or_else(|| Error::internal("a claim without a row"))?;
        let claimed: Vec<Found> = from_json(claimed.try_get::<&str, _>(0)?, "delivery", webhook)?;
        let is_full = claimed.len() >= room;
        let jobs = claimed.into_iter().map(|Found(delivery, company, attempts, claims, kind, body)| {
            claimant.job(webhook, Row { delivery, company, attempts, claims, kind: &kind, body: body.into() })
        });
        let next = match next.first() {
            _ if is_full => Some(claimant.now),
            Some(row) => Some(Timestamp::from_millis(row.try_get(0)?)),
            None => None,
        };
        Ok((jobs.collect(), next))
    }

    /// Gives back what a run has claimed, also what was committed after it had ended.
    pub(super) async fn release_run(
        connection: &mut SqliteConnection,
        token: i64,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let released = sqlx::query(RELEASE_RUN).bind(token).bind(now.as_millis()).execute(connection).await?;
        Ok(released.rows_affected())
    }

    /// Makes every claimed delivery due: for a process that knows that no other one is alive.
    pub(super) async fn release_all(connection: &mut SqliteConnection, now: Timestamp) -> Result<u64, Error> {
        Ok(sqlx::query(RELEASE_ALL).bind(now.as_millis()).execute(connection).await?.rows_affected())
    }
}

/// In PostgreSQL: several webhooks per call, beside other nodes that do the same.
#[cfg(feature = "postgres")]
pub(super) mod postgres {
    use std::collections::{HashMap, HashSet};

    use bytes::Bytes;
    use invoicing_core::{Timestamp, WebhookId};
    use uuid::Uuid;

    use super::{Claimant, Claimed, Row};
    use crate::Error;
    use crate::store::connection::{Connection, on};
    use crate::store::deliveries::small;
    use crate::store::lists::{Ids, Uuids};

    /// `$3` for which webhooks, `$5` how many of each, `$6` when leases have run out by. What somebody else is claiming is
    /// passed over. The update goes by an array, which the planner takes for a few rows and looks up one by one, and not
    /// by a join.
    const CLAIM: &str = "WITH due AS (SELECT d.id, d.due_at \
         FROM unnest($3::uuid[], $5::bigint[]) AS w(webhook, room) CROSS JOIN LATERAL (SELECT id, due_at FROM delivery \
         WHERE webhook_id = w.webhook AND status = 'pending' AND due_at <= $4 \
         AND held_until <= $6 ORDER BY due_at, id LIMIT w.room FOR UPDATE SKIP LOCKED) d), \
         claimed AS (UPDATE delivery SET claim = $1, held_until = $2, claims = claims + 1 \
         WHERE id = ANY(ARRAY(SELECT id FROM due)) RETURNING webhook_id, id, company_id, event_id, attempts, claims) \
         SELECT c.webhook_id, c.id, c.company_id, c.event_id, c.attempts, c.claims FROM claimed c \
         JOIN due ON due.id = c.id ORDER BY due.due_at, c.id";
    /// Each once, however many webhooks it goes to. What has a limit of one row is looked up one by one.
    const EVENTS: &str = "SELECT w.company, w.event, e.kind, e.body \
         FROM unnest($1::uuid[], $2::uuid[]) AS w(company, event) \
         CROSS JOIN LATERAL (SELECT kind, body FROM event WHERE company_id = w.company AND id = w.event LIMIT 1) e";
    const NEXT: &str = "SELECT w.webhook, d.due_at FROM unnest($1::uuid[]) AS w(webhook) \
         CROSS JOIN LATERAL (SELECT due_at FROM delivery WHERE webhook_id = w.webhook AND status = 'pending' \
         AND due_at > $2 ORDER BY due_at LIMIT 1) d";

    /// `held_until` of what nobody holds.
    const NOT_HELD: i64 = 0;
    /// When a webhook is looked at again of which is not known when, in milliseconds.
    const AGAIN_MS: i64 = 250;

    /// Webhook, row id, company, event, attempts, claims.
    type Found = (Uuid, i64, Uuid, Uuid, i64, i64);

    /// Claims due deliveries of several webhooks; those that others hold only where their leases may be taken for run out.
    pub(in crate::store) async fn claim(
        connection: &mut Connection,
        claimant: Claimant,
        may_take_over: bool,
        wanted: &[(WebhookId, usize)],
    ) -> Result<HashMap<WebhookId, Claimed>, Error> {
        let webhooks = || Uuids(wanted.iter().map(|(webhook, _)| webhook.0).collect());
        let rooms: Vec<i64> =
            wanted.iter().map(|(_, room)| i64::try_from(*room).unwrap_or(i64::MAX)).collect();
        let rows: Vec<Found> = on!(connection, |c| sqlx::query_as(CLAIM)
            .bind(claimant.token)
            .bind(claimant.lease_until.as_millis())
            .bind(webhooks())
            .bind(claimant.now.as_millis())
            .bind(Ids(&rooms))
            .bind(if may_take_over { claimant.now.as_millis() } else { NOT_HELD })
            .fetch_all(c))?;
        let mut claimed: HashMap<WebhookId, Claimed> =
            wanted.iter().map(|(webhook, _)| (*webhook, Claimed::default())).collect();
        let events = match events(connection, &rows).await {
            Ok(events) => events,
            Err(error) => {
                // Where that fails too, they wait for the end of the lease.
                let ids: Vec<i64> = rows.iter().map(|row| row.1).collect();
                let _ = super::release(connection, &ids, claimant.token, claimant.now).await;
                return Err(error);
            }
        };
        for (webhook, delivery, company, event, attempts, claims) in rows {
            let Some((kind, body)) = events.get(&(company, event)) else {
                tracing::error!(delivery, %event, "a delivery of an event that is not there");
                continue;
            };
            let (attempts, claims) = (small(attempts), small(claims));
            let row = Row { delivery, company, attempts, claims, kind, body: body.clone() };
            let webhook = WebhookId(webhook);
            claimed.entry(webhook).or_default().0.push(claimant.job(webhook, row));
        }
        let next: Result<Vec<(Uuid, i64)>, _> = on!(connection, |c| sqlx::query_as(NEXT)
            .bind(webhooks())
            .bind(claimant.now.as_millis())
            .fetch_all(c));
        let next = next.unwrap_or_else(|error| {
            tracing::warn!(%error, "when deliveries fall due is not known; they are looked at again");
            let soon = claimant.now.as_millis() + AGAIN_MS;
            wanted.iter().map(|(webhook, _)| (webhook.0, soon)).collect()
        });
        for (webhook, due_at) in next {
            claimed.entry(WebhookId(webhook)).or_default().1 = Some(Timestamp::from_millis(due_at));
        }
        for (webhook, room) in wanted {
            let (jobs, next) = claimed.entry(*webhook).or_default();
            if jobs.len() >= *room {
                *next = Some(claimant.now);
            }
        }
        Ok(claimed)
    }

    /// Kind and body of the events of deliveries, by company and event.
    async fn events(
        connection: &mut Connection,
        deliveries: &[Found],
    ) -> Result<HashMap<(Uuid, Uuid), (String, Bytes)>, Error> {
        let which: HashSet<(Uuid, Uuid)> =
            deliveries.iter().map(|(.., company, event, _, _)| (*company, *event)).collect();
        if which.is_empty() {
            return Ok(HashMap::new());
        }
        let (companies, events): (Vec<Uuid>, Vec<Uuid>) = which.into_iter().unzip();
        let rows: Vec<(Uuid, Uuid, String, String)> = on!(connection, |c| sqlx::query_as(EVENTS)
            .bind(Uuids(companies))
            .bind(Uuids(events))
            .fetch_all(c))?;
        let event = |(company, event, kind, body)| ((company, event), (kind, Bytes::from(body)));
        Ok(rows.into_iter().map(event).collect())
    }
}

/// Every webhook with something pending, and when it is to be looked at: when its first delivery that nobody holds falls
/// due, or else when the first claim runs out.
pub(crate) async fn waiting(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<Vec<(WebhookId, Timestamp)>, Error> {
    let rows: Vec<(Uuid, i64)> =
        on!(connection, |c, dialect| sqlx::query_as(WAITING.of(dialect)).bind(now.as_millis()).fetch_all(c))?;
    Ok(rows.into_iter().map(|(id, due)| (WebhookId(id), Timestamp::from_millis(due))).collect())
}

/// Releases what was claimed by processes that are no more. In PostgreSQL nobody knows which processes are no more: their
/// claims run out.
pub(crate) async fn release_dead(connection: &mut Connection, now: Timestamp) -> Result<u64, Error> {
    if !connection.is_shared()
        && let On::Sqlite(c) = connection.on()
    {
        return sqlite::release_all(c, now).await;
    }
    let _ = (connection, now);
    Ok(0)
}

/// Gives claimed deliveries back that were never attempted; how many.
pub(crate) async fn release(
    connection: &mut Connection,
    ids: &[i64],
    token: i64,
    now: Timestamp,
) -> Result<u64, Error> {
    Ok(run!(connection, |c, dialect| sqlx::query(RELEASE.of(dialect))
        .bind(Ids(ids))
        .bind(token)
        .bind(now.as_millis())
        .execute(c))?)
}

/// Gives back what a run that ends holds: these, and in SQLite whatever else it has claimed.
pub(crate) async fn release_run(
    connection: &mut Connection,
    ids: &[i64],
    token: i64,
    now: Timestamp,
) -> Result<u64, Error> {
    if !connection.is_shared()
        && let On::Sqlite(c) = connection.on()
    {
        return sqlite::release_run(c, token, now).await;
    }
    release(connection, ids, token, now).await
}
