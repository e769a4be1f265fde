//! Inserts the deliveries of a new event, and decides which of them the dispatcher of this process
//! gets at once.

use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use uuid::Uuid;

use super::connection::Write;
use super::subscriber::Subscriber;
use super::tx::Tx;
use crate::cause::Cause;
use crate::error::Error;
use crate::queue::{Job, NewDelivery};

/// State in which a delivery is inserted, as its number in [`INSERT_EVENT`].
#[derive(Debug, Clone, Copy)]
enum InitialState {
    /// Due and not claimed.
    Pending = 0,
    /// Claimed by this process, with room reserved in its queue.
    Leased = 1,
    /// Ended, as its webhook is disabled.
    Skipped = 2,
}

/// The deliveries of one event.
pub(super) struct InitialDeliveries {
    deliveries: Vec<(WebhookId, InitialState)>,
    /// Row id of the first delivery; the others follow.
    pub(super) first: i64,
    pub(super) due_at: Timestamp,
    /// No earlier than a webhook was disabled, even if clocks differ: deliveries skipped since then
    /// can be replayed.
    pub(super) skipped_at: Timestamp,
    pub(super) lease_until: Timestamp,
}

/// Decides for each webhook whether its delivery is skipped, handed to the dispatcher of this
/// process, or left in the table. A rollback frees the room that is reserved here.
pub(super) async fn plan(
    tx: &mut Tx,
    token: i64,
    webhooks: &[Subscriber],
) -> Result<InitialDeliveries, Error> {
    // Allocated first, as nothing may fail between the first reservation and the point from which a
    // rollback frees it.
    let first = tx.delivery_ids(webhooks.len()).await?;
    let due_at = tx.env().now();
    let state = |webhook: &Subscriber| match webhook.disabled_at {
        Some(_) => InitialState::Skipped,
        None if tx.queue().reserve(webhook.id, token) => InitialState::Leased,
        None => InitialState::Pending,
    };
    let deliveries = webhooks.iter().map(|webhook| (webhook.id, state(webhook))).collect();
    let skipped_at = webhooks.iter().filter_map(|webhook| webhook.disabled_at).fold(due_at, Timestamp::max);
    let lease_until = tx.queue().lease_from(due_at);
    Ok(InitialDeliveries { deliveries, first, due_at, skipped_at, lease_until })
}

/// Inserts an event with its deliveries, and moves the company's stamp.
///
/// `$1` company, `$2` event, `$3` row id of the first delivery, `$4` webhooks, `$5` their
/// [states](InitialState), `$6` now, `$7` token and `$8` end of the leases, `$9` reason of the
/// skipped ones; `$10` kind, `$11` timestamp and `$12` body of the event, `$13` stamp, `$14` when
/// the skipped ones end, `$15` and `$16` [cause](Cause) of the event.
pub(super) static INSERT_EVENT: Write = Write {
    table: "event",
    sqlite: "
        UPDATE company SET last_stamp = $13 WHERE id = $1;
        INSERT INTO event (company_id, id, kind, timestamp, body, request_id, trace_context)
        VALUES ($1, $2, $10, $11, $12, $15, $16);
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + key, unhex(value), CASE state WHEN 2 THEN 'skipped' ELSE 'pending' END,
            CASE state WHEN 2 THEN $9 END, $6, CASE state WHEN 1 THEN $7 ELSE 0 END, state = 1, state = 1, 0, 0,
            CASE state WHEN 2 THEN $14 END, CASE state WHEN 1 THEN $8 ELSE 0 END
        FROM (SELECT key, value, $5 ->> key AS state FROM json_each($4))",
    postgres: AFTER_RECORDS,
    first: 0,
    refuses_newer_format: false,
};

/// The statement on PostgreSQL that follows those of the records: `$1` to `$16` events as above,
/// with lists of webhooks and states as texts; from `$17` on the last numbers of
/// [series](super::series), from `$22` on notes of the [history](super::history), from `$28` on the
/// ends of [signing links](super::signatures), from `$32` on stamps of changes without an event.
///
/// Several operations of a transaction may move the same stamp or series. Both are grouped, since
/// one statement changes a row only once.
pub(super) const AFTER_RECORDS: &str = "
        WITH new AS (
            SELECT * FROM unnest(
                $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::text[], $10::text[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::text[],
                $16::text[]
            ) AS new (
                company_id, id, first, webhooks, states, due_at, token, lease_until, reason, kind, timestamp, body, stamp,
                skipped_at, request_id, trace_context
            )
        ), stamps AS (
            UPDATE company SET last_stamp = greatest(company.last_stamp, last.stamp)
            FROM (
                SELECT company_id, max(stamp) AS stamp
                FROM (
                    SELECT company_id, stamp FROM new
                    UNION ALL SELECT company_id, stamp FROM unnest($32::uuid[], $33::bigint[]) AS alone (company_id, stamp)
                ) AS stamp
                GROUP BY company_id
            ) AS last
            WHERE company.id = last.company_id
        ), events AS (
            INSERT INTO event (company_id, id, kind, timestamp, body, request_id, trace_context)
            SELECT company_id, id, kind, timestamp, body, request_id, trace_context FROM new
        ), numbers AS (
            INSERT INTO series (company_id, kind, year, last, last_date)
            SELECT company_id, kind, year, max(last), max(last_date)
            FROM unnest($17::uuid[], $18::text[], $19::bigint[], $20::bigint[], $21::date[])
                AS number (company_id, kind, year, last, last_date)
            GROUP BY company_id, kind, year
            ON CONFLICT (company_id, kind, year) DO UPDATE SET last = excluded.last, last_date = excluded.last_date
        ), notes AS (
            INSERT INTO history (company_id, number, at, actor, action, subject, detail)
            SELECT company_id,
                coalesce((SELECT max(number) FROM history WHERE history.company_id = note.company_id), 0)
                    + row_number() OVER (PARTITION BY company_id ORDER BY place),
                at, actor, action, subject, detail
            FROM unnest($22::uuid[], $23::bigint[], $24::text[], $25::text[], $26::uuid[], $27::text[])
                WITH ORDINALITY AS note (company_id, at, actor, action, subject, detail, place)
        ), links AS (
            UPDATE signing_link SET ends_at = link.ends_at
            FROM unnest($28::uuid[], $29::uuid[], $30::bigint[], $31::bigint[]) AS link (company_id, quote_id, ends_at, now)
            WHERE signing_link.company_id = link.company_id AND signing_link.quote_id = link.quote_id
                AND signing_link.ends_at > link.now
        )
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT company_id, id, first + place - 1, webhook, CASE state WHEN 2 THEN 'skipped' ELSE 'pending' END,
            CASE state WHEN 2 THEN reason END, due_at, CASE state WHEN 1 THEN token ELSE 0 END, (state = 1)::int,
            (state = 1)::int, 0, 0, CASE state WHEN 2 THEN skipped_at END,
            CASE state WHEN 1 THEN lease_until ELSE 0 END
        FROM new, unnest(new.webhooks::uuid[], new.states::bigint[]) WITH ORDINALITY AS target (webhook, state, place)";

/// Numbers of arguments before those of the series, of the history, of the links, and of the
/// stamps.
pub(super) const BEFORE_NUMBERS: usize = 16;
pub(super) const BEFORE_NOTES: usize = 21;
pub(super) const BEFORE_LINKS: usize = 27;
pub(super) const BEFORE_STAMPS: usize = 31;

impl InitialDeliveries {
    /// The arguments `$4` and `$5` of [`INSERT_EVENT`].
    pub(super) fn columns(&self) -> (Vec<Uuid>, Vec<i64>) {
        self.deliveries.iter().map(|(webhook, state)| (webhook.0, *state as i64)).unzip()
    }

    /// Deliveries for the dispatcher, after the commit.
    pub(super) fn new_deliveries(
        &self,
        company: CompanyId,
        event: EventId,
        body: &Bytes,
        is_ping: bool,
        token: i64,
        cause: Option<&Arc<Cause>>,
    ) -> impl Iterator<Item = NewDelivery> {
        let lease_until = self.lease_until;
        self.deliveries.iter().zip(self.first..).filter_map(
            move |(&(webhook, state), delivery)| match state {
                InitialState::Leased => Some(NewDelivery::Leased(Job {
                    delivery,
                    company,
                    webhook,
                    event,
                    cause: cause.cloned(),
                    body: body.clone(),
                    is_ping,
                    attempts: 0,
                    claims: 1,
                    number: 1,
                    lease_until,
                    token,
                })),
                InitialState::Pending => Some(NewDelivery::Pending(webhook)),
                InitialState::Skipped => None,
            },
        )
    }
}
