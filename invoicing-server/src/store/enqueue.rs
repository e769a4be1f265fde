//! Inserts the deliveries of a new event, and decides which of them the dispatcher of this process gets at once.

use bytes::Bytes;
use invoicing_core::{CompanyId, DeliveryStatus, EventId, Timestamp, WebhookId};
use uuid::Uuid;

use super::arguments::Argument;
use super::deliveries::DISABLED;
use super::query::Sql;
use super::subscriber::Subscriber;
use super::tx::Tx;
use crate::Error;
use crate::queue::{Job, NewDelivery};

/// State in which a delivery is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitialState {
    /// Claimed by this process until then, with room reserved in its queue.
    Leased(Timestamp),
    /// Due and not claimed.
    Pending,
    /// Ended, as its webhook is disabled.
    Skipped,
}

/// Deliveries of one event that are inserted in the same state.
pub(super) struct DeliveryGroup {
    pub(super) state: InitialState,
    pub(super) webhooks: Vec<WebhookId>,
    /// Row id of the first; the others follow.
    pub(super) first: i64,
    pub(super) due_at: Timestamp,
}

/// Decides for each webhook whether its delivery is skipped, handed to the dispatcher of this process, or left in
/// the table. A rollback frees the room that is reserved here.
pub(super) async fn plan(
    tx: &mut Tx,
    token: i64,
    webhooks: &[Subscriber],
) -> Result<Vec<DeliveryGroup>, Error> {
    // First, as nothing may fail between the first reservation and the moment at which a rollback knows of it.
    let mut next = tx.delivery_ids(webhooks.len()).await?;
    let now = tx.env().now();
    let lease = tx.queue().lease_from(now);
    let mut groups: Vec<DeliveryGroup> = Vec::with_capacity(1);
    for webhook in webhooks {
        let state = match webhook.disabled {
            true => InitialState::Skipped,
            false if tx.queue().reserve(webhook.id, token) => InitialState::Leased(lease),
            false => InitialState::Pending,
        };
        if let Some(group) = groups.iter_mut().find(|group| group.state == state) {
            group.webhooks.push(webhook.id);
        } else {
            groups.push(DeliveryGroup { state, webhooks: vec![webhook.id], first: 0, due_at: now });
        }
    }
    for group in &mut groups {
        group.first = next;
        next += i64::try_from(group.webhooks.len()).unwrap_or(0);
    }
    Ok(groups)
}

/// Inserts a group: `$1` to `$11` are the company and [`GroupRow::arguments`].
pub(super) const INSERT_GROUP: Sql = Sql {
    sqlite: "
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + key, unhex(value), $5, $6, $7, $8, $9, $9, 0, 0, $10, $11 FROM json_each($4)",
    postgres: "
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + place - 1, webhook, $5, $6, $7, $8, $9, $9, 0, 0, $10, $11
        FROM unnest($4::uuid[]) WITH ORDINALITY AS w(webhook, place)",
};

/// Inserts an event with one group, and moves the company's stamp: `$12` to `$15` after those of [`INSERT_GROUP`].
pub(super) const INSERT_EVENT: Sql = Sql {
    sqlite: "
        UPDATE company SET last_stamp = $15 WHERE id = $1;
        INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $12, $13, $14);
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + key, unhex(value), $5, $6, $7, $8, $9, $9, 0, 0, $10, $11 FROM json_each($4)",
    postgres: "
        WITH stamped AS (
            UPDATE company SET last_stamp = $15 WHERE id = $1
        ), recorded AS (
            INSERT INTO event (company_id, id, kind, timestamp, body) VALUES ($1, $2, $12, $13, $14)
        )
        INSERT INTO delivery
            (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, claims_in_all, attempts,
            attempts_in_all, ended_at, held_until)
        SELECT $1, $2, $3 + place - 1, webhook, $5, $6, $7, $8, $9, $9, 0, 0, $10, $11
        FROM unnest($4::uuid[]) WITH ORDINALITY AS w(webhook, place)",
};

/// A group as arguments of its statement.
pub(super) struct GroupRow {
    event: EventId,
    first: i64,
    webhooks: Vec<Uuid>,
    status: DeliveryStatus,
    reason: Option<&'static str>,
    due_at: Timestamp,
    claim: i64,
    claims: i64,
    ended_at: Option<Timestamp>,
    held_until: i64,
}

impl GroupRow {
    /// `$2` to `$11` of [`INSERT_GROUP`].
    pub(super) fn arguments(&self) -> [&dyn Argument; 10] {
        [
            &self.event,
            &self.first,
            &self.webhooks,
            &self.status,
            &self.reason,
            &self.due_at,
            &self.claim,
            &self.claims,
            &self.ended_at,
            &self.held_until,
        ]
    }
}

impl DeliveryGroup {
    /// No deliveries at all.
    pub(super) fn none(now: Timestamp) -> Self {
        Self { state: InitialState::Pending, webhooks: Vec::new(), first: 0, due_at: now }
    }

    pub(super) fn row(&self, event: EventId, token: i64) -> GroupRow {
        let (status, reason) = match self.state {
            InitialState::Leased(_) | InitialState::Pending => (DeliveryStatus::Pending, None),
            InitialState::Skipped => (DeliveryStatus::Skipped, Some(DISABLED)),
        };
        let (claim, claims, held_until) = match self.state {
            InitialState::Leased(until) => (token, 1, until.as_millis()),
            InitialState::Pending | InitialState::Skipped => (0, 0, 0),
        };
        GroupRow {
            event,
            first: self.first,
            webhooks: self.webhooks.iter().map(|id| id.0).collect(),
            status,
            reason,
            due_at: self.due_at,
            claim,
            claims,
            ended_at: reason.map(|_| self.due_at),
            held_until,
        }
    }

    /// Deliveries for the dispatcher, after the commit.
    pub(super) fn new_deliveries<'g>(
        &'g self,
        company: CompanyId,
        body: &'g Bytes,
        is_ping: bool,
        token: i64,
    ) -> impl Iterator<Item = NewDelivery> + use<'g> {
        let Self { state, first, .. } = *self;
        self.webhooks.iter().zip(first..).filter_map(move |(&webhook, delivery)| match state {
            InitialState::Leased(lease_until) => Some(NewDelivery::Leased(Job {
                delivery,
                company,
                webhook,
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
        })
    }
}
