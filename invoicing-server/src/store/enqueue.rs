//! Inserts the deliveries of a new event, and decides which of them the dispatcher of this process gets at once.

use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use uuid::Uuid;

use super::deferred::Write;
use super::subscriber::Subscriber;
use super::tx::Tx;
use crate::Error;
use crate::cause::Cause;
use crate::queue::{Job, NewDelivery};

/// State in which a delivery is inserted, as [`INSERT_EVENT`] knows it.
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
    /// Row id of the first; the others follow.
    pub(super) first: i64,
    pub(super) due_at: Timestamp,
    /// Not before a webhook was disabled, by whichever clock: what was skipped since then can be replayed.
    pub(super) skipped_at: Timestamp,
    pub(super) lease_until: Timestamp,
}

/// Decides for each webhook whether its delivery is skipped, handed to the dispatcher of this process, or left in
/// the table. A rollback frees the room that is reserved here.
pub(super) async fn plan(
    tx: &mut Tx,
    token: i64,
    webhooks: &[Subscriber],
) -> Result<InitialDeliveries, Error> {
    // First, as nothing may fail between the first reservation and the moment at which a rollback knows of it.
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
/// `$1` company, `$2` event, `$3` row id of the first delivery, `$4` webhooks, `$5` their [states](InitialState),
/// `$6` now, `$7` token and `$8` end of the leases, `$9` reason of the skipped ones; `$10` kind, `$11` timestamp and
/// `$12` body of the event, `$13` stamp, `$14` when the skipped ones end, `$15` and `$16` [cause](Cause) of the event.
pub(super) static INSERT_EVENT: Write = Write {
    table: "company",
    statement: "
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
    postgres: &[
        "
        UPDATE company SET last_stamp = last.stamp
        FROM (SELECT $1 AS id, max($13) AS stamp /* FROM rows */ GROUP BY 1) AS last WHERE company.id = last.id",
        "
        INSERT INTO event (company_id, id, kind, timestamp, body, request_id, trace_context)
        SELECT $1, $2, $10, $11, $12, $15, $16 /* FROM rows */",
        "
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + place - 1, webhook, CASE state WHEN 2 THEN 'skipped' ELSE 'pending' END,
            CASE state WHEN 2 THEN $9 END, $6, CASE state WHEN 1 THEN $7 ELSE 0 END, (state = 1)::int, (state = 1)::int,
            0, 0, CASE state WHEN 2 THEN $14 END, CASE state WHEN 1 THEN $8 ELSE 0 END
        FROM /* rows, */ unnest($4::uuid[], $5::bigint[]) WITH ORDINALITY AS w(webhook, state, place)",
    ],
    replaces: false,
};

impl InitialDeliveries {
    /// `$4` and `$5` of [`INSERT_EVENT`].
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
