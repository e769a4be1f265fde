//! New deliveries of an event: which of them the dispatcher of this process gets at once.

use bytes::Bytes;
use invoicing_core::{CompanyId, DeliveryStatus, Timestamp, WebhookId};

use super::Tx;
use super::deliveries::DISABLED;
use super::lists::Uuids;
use super::webhooks::Subscriber;
use crate::Error;
use crate::dispatch::{FreshJob, Job};

/// How a new delivery enters the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Claimed until then by this process, whose dispatcher has a place reserved for it.
    Claimed(Timestamp),
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
    pub(super) due_at: Timestamp,
}

/// Decides for each webhook whether its delivery is skipped, handed to the dispatcher of this process, or left in
/// the table. The places that are reserved go back with the operation unless it hands the deliveries on.
pub(super) async fn plan(tx: &mut Tx, token: i64, webhooks: &[Subscriber]) -> Result<Vec<Group>, Error> {
    // Before the first place is taken: from then on nothing fails until the operation knows what to give back.
    let mut next = tx.delivery_ids(webhooks.len()).await?;
    let now = tx.env().now();
    let lease = tx.handoff().lease_from(now);
    let mut groups: Vec<Group> = Vec::with_capacity(1);
    for webhook in webhooks {
        let entry = match webhook.disabled {
            true => Entry::Skipped,
            false if tx.handoff().reserve(webhook.id, token) => Entry::Claimed(lease),
            false => Entry::Waiting,
        };
        if let Some(group) = groups.iter_mut().find(|group| group.entry == entry) {
            group.webhooks.push(webhook.id);
        } else {
            groups.push(Group { entry, webhooks: vec![webhook.id], first: 0, due_at: now });
        }
    }
    for group in &mut groups {
        group.first = next;
        next += i64::try_from(group.webhooks.len()).unwrap_or(0);
    }
    Ok(groups)
}

/// The statement that inserts a group: `$1` to `$11` as [`bind_group!`] binds them.
macro_rules! insert_group {
    (sqlite) => {
        insert_group!("$3 + key, unhex(value)", "json_each($4)")
    };
    (postgres) => {
        insert_group!("$3 + place - 1, webhook", "unnest($4::uuid[]) WITH ORDINALITY AS w(webhook, place)")
    };
    ($id_and_webhook:literal, $webhooks:literal) => {
        concat!(
            "INSERT INTO delivery (company_id, event_id, id, webhook_id, status, reason, due_at, claim, claims, \
             claims_in_all, attempts, attempts_in_all, ended_at, held_until) SELECT $1, $2, ",
            $id_and_webhook,
            ", $5, $6, $7, $8, $9, $9, 0, 0, $10, $11 FROM ",
            $webhooks
        )
    };
}
pub(super) use insert_group;

/// Binds a [`Group`] to a query.
macro_rules! bind_group {
    ($query:expr, $group:expr, $company:expr, $event:expr, $token:expr) => {{
        let row = $group.row($token);
        $query
            .bind($company.0)
            .bind($event.0)
            .bind($group.first)
            .bind(row.webhooks)
            .bind(row.status.as_str())
            .bind(row.reason)
            .bind($group.due_at.as_millis())
            .bind(row.claim)
            .bind(row.claims)
            .bind(row.ended_at)
            .bind(row.held_until)
    }};
}
pub(super) use bind_group;

/// What the deliveries of a group have in common, as they are stored.
pub(super) struct GroupRow {
    pub(super) webhooks: Uuids,
    pub(super) status: DeliveryStatus,
    pub(super) reason: Option<&'static str>,
    pub(super) claim: i64,
    pub(super) claims: i64,
    pub(super) ended_at: Option<i64>,
    pub(super) held_until: i64,
}

impl Group {
    /// No deliveries at all.
    pub(super) fn none(now: Timestamp) -> Self {
        Self { entry: Entry::Waiting, webhooks: Vec::new(), first: 0, due_at: now }
    }

    pub(super) fn row(&self, token: i64) -> GroupRow {
        let skipped = self.entry == Entry::Skipped;
        let held_until = match self.entry {
            Entry::Claimed(lease) => Some(lease),
            Entry::Waiting | Entry::Skipped => None,
        };
        GroupRow {
            webhooks: Uuids(self.webhooks.iter().map(|id| id.0).collect()),
            status: if skipped { DeliveryStatus::Skipped } else { DeliveryStatus::Pending },
            reason: skipped.then_some(DISABLED),
            claim: if held_until.is_some() { token } else { 0 },
            claims: i64::from(held_until.is_some()),
            ended_at: skipped.then_some(self.due_at.as_millis()),
            held_until: held_until.map_or(0, Timestamp::as_millis),
        }
    }

    /// What the dispatcher is to hear of, once the deliveries are committed.
    pub(super) fn fresh<'g>(
        &'g self,
        company: CompanyId,
        body: &'g Bytes,
        is_ping: bool,
        token: i64,
    ) -> impl Iterator<Item = FreshJob> + use<'g> {
        let Self { entry, first, .. } = *self;
        self.webhooks.iter().zip(first..).filter_map(move |(&webhook, delivery)| match entry {
            Entry::Claimed(lease_until) => Some(FreshJob::Held(Job {
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
            Entry::Waiting => Some(FreshJob::Waiting(webhook)),
            Entry::Skipped => None,
        })
    }
}
