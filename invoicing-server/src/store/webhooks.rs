//! Webhook registrations. Secrets are sealed and opened here and in
//! [`webhook_secrets`](super::webhook_secrets), so that no caller can skip it. `dispatch::record`
//! decides with `FailureCount` of the core when failures disable a webhook.

use std::collections::HashMap;

use invoicing_core::{DeliveryOutcome, DisabledReason, FailureCount, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::connection::{Connection, Sql};
use super::scope::Scope;
use super::skip_reason::SkipReason;
use super::subscriber::{Subscriber, from_bits, to_bits, unknown_bits};
use crate::error::Error;
use crate::records::Webhook;
use crate::sealing::{AssociatedData, NotOpened, Sealer};
use crate::secret::Secret;

#[derive(FromRow)]
struct WebhookRow {
    id: Uuid,
    url: String,
    kinds: i64,
    failures: i64,
    failing_since: Option<i64>,
    disabled_at: Option<i64>,
    disabled_reason: Option<String>,
    created_at: i64,
    previous_secret_until: Option<i64>,
    rotated_at: Option<i64>,
}

impl From<WebhookRow> for Webhook {
    fn from(row: WebhookRow) -> Self {
        let reason = row
            .disabled_reason
            .as_deref()
            .and_then(|reason| reason.parse().ok())
            .unwrap_or(DisabledReason::Manual);
        let disabled = row.disabled_at.map(|at| (Timestamp::from_millis(at), reason));
        Self {
            id: WebhookId(row.id),
            url: row.url,
            events: from_bits(row.kinds),
            unknown_events: (row.kinds & unknown_bits()).count_ones(),
            consecutive_failures: u32::try_from(row.failures).unwrap_or(u32::MAX),
            failing_since: row.failing_since.map(Timestamp::from_millis),
            disabled,
            created_at: Timestamp::from_millis(row.created_at),
            previous_secret_until: row.previous_secret_until.map(Timestamp::from_millis),
            rotated_at: row.rotated_at.map(Timestamp::from_millis),
        }
    }
}

/// The webhooks of a company, with the columns that an event needs.
pub(super) const SUBSCRIBERS: &str = "
    SELECT company_id, id, kinds, disabled_at FROM webhook WHERE company_id = $1 AND removed_at IS NULL ORDER BY id";

#[derive(FromRow)]
pub(super) struct SubscriberRow {
    id: Uuid,
    kinds: i64,
    disabled_at: Option<i64>,
}

impl From<SubscriberRow> for Subscriber {
    fn from(row: SubscriberRow) -> Self {
        Self {
            id: WebhookId(row.id),
            kinds: row.kinds,
            disabled_at: row.disabled_at.map(Timestamp::from_millis),
        }
    }
}

/// A webhook with the data that an attempt needs.
pub(crate) struct ReceiverRow {
    pub(crate) url: String,
    /// The secret, or the error of opening it.
    pub(crate) secret: Result<Zeroizing<String>, NotOpened>,
    /// The secret before the last rotation, and the end of its use.
    pub(crate) previous: Option<(Result<Zeroizing<String>, NotOpened>, Timestamp)>,
    /// The reason for which its deliveries are skipped, if they are.
    pub(crate) skipping: Option<SkipReason>,
}

#[derive(FromRow)]
struct StoredReceiver {
    url: String,
    secret: String,
    previous_secret: Option<String>,
    previous_secret_until: Option<i64>,
    disabled_at: Option<i64>,
    removed_at: Option<i64>,
}

#[derive(FromRow)]
struct SkippingRow {
    disabled_at: Option<i64>,
    removed_at: Option<i64>,
}

/// The webhooks of a company.
pub(crate) struct WebhookTable<'c>(pub(super) Scope<'c>);

impl WebhookTable<'_> {
    pub(crate) async fn find(&mut self, id: WebhookId) -> Result<Webhook, Error> {
        const FIND: &str = "
            SELECT id, url, kinds, failures, failing_since, disabled_at, disabled_reason, created_at,
                previous_secret_until, rotated_at
            FROM webhook WHERE company_id = $1 AND id = $2 AND removed_at IS NULL";
        let row: Option<WebhookRow> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        row.map(Webhook::from).ok_or(Error::NotFound)
    }

    /// All webhooks, oldest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Webhook>, Error> {
        const LIST: &str = "
            SELECT id, url, kinds, failures, failing_since, disabled_at, disabled_reason, created_at,
                previous_secret_until, rotated_at
            FROM webhook WHERE company_id = $1 AND removed_at IS NULL ORDER BY id";
        let rows: Vec<WebhookRow> = self.0.query(LIST, &[]).fetch_all().await?;
        Ok(rows.into_iter().map(Webhook::from).collect())
    }

    /// The subscriptions of all webhooks.
    pub(super) async fn subscribers(&mut self) -> Result<Vec<Subscriber>, Error> {
        let rows: Vec<SubscriberRow> = self.0.query(SUBSCRIBERS, &[]).fetch_all().await?;
        Ok(rows.into_iter().map(Subscriber::from).collect())
    }

    pub(crate) async fn count(&mut self) -> Result<i64, Error> {
        const COUNT: &str = "SELECT count(*) FROM webhook WHERE company_id = $1 AND removed_at IS NULL";
        Ok(self.0.query(COUNT, &[]).scalar().await?)
    }

    pub(crate) async fn insert(
        &mut self,
        sealer: &Sealer,
        webhook: &Webhook,
        secret: &Secret,
    ) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO webhook (company_id, id, url, kinds, secret, failures, created_at)
            VALUES ($1, $2, $3, $4, $5, 0, $6)";
        self.0.forget();
        let secret =
            sealer.seal_text(&AssociatedData::webhook_secret(self.0.company, webhook.id), secret.reveal());
        let Webhook { id, url, events, created_at, .. } = webhook;
        self.0.query(INSERT, &[id, url, &to_bits(events), &*secret, created_at]).execute().await?;
        Ok(())
    }

    /// Stores another URL and other events. Kinds that a newer version has added stay.
    pub(crate) async fn set_target(&mut self, webhook: &Webhook) -> Result<(), Error> {
        const SET_TARGET: &str =
            "UPDATE webhook SET url = $3, kinds = (kinds & $5) | $4 WHERE company_id = $1 AND id = $2";
        self.0.forget();
        let Webhook { id, url, events, .. } = webhook;
        let (known, unknown) = (to_bits(events), unknown_bits());
        self.0.query(SET_TARGET, &[id, url, &known, &unknown]).change_one("webhook").await
    }

    pub(crate) async fn disable(
        &mut self,
        id: WebhookId,
        at: Timestamp,
        reason: DisabledReason,
    ) -> Result<(), Error> {
        const DISABLE: &str = "
            UPDATE webhook SET disabled_at = $3, disabled_reason = $4 WHERE company_id = $1 AND id = $2";
        self.0.forget();
        self.0.query(DISABLE, &[&id, &at, &reason.as_str()]).change_one("webhook").await
    }

    pub(crate) async fn enable(&mut self, id: WebhookId) -> Result<(), Error> {
        const ENABLE: &str = "
            UPDATE webhook SET disabled_at = NULL, disabled_reason = NULL, failures = 0
            WHERE company_id = $1 AND id = $2";
        self.0.forget();
        self.0.query(ENABLE, &[&id]).change_one("webhook").await
    }

    pub(crate) async fn remove(&mut self, id: WebhookId, at: Timestamp) -> Result<(), Error> {
        const REMOVE: &str = "
            UPDATE webhook SET removed_at = $3, secret = '', previous_secret = NULL, previous_secret_until = NULL
            WHERE company_id = $1 AND id = $2";
        self.0.forget();
        self.0.query(REMOVE, &[&id, &at]).change_one("webhook").await
    }

    /// The receiver of an attempt, also of a webhook that is disabled or removed.
    pub(crate) async fn receiver(
        &mut self,
        sealer: &Sealer,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<ReceiverRow>, Error> {
        const RECEIVER: &str = "
            SELECT url, secret, previous_secret, previous_secret_until, disabled_at, removed_at
            FROM webhook WHERE company_id = $1 AND id = $2";
        let row: Option<StoredReceiver> = self.0.query(RECEIVER, &[&id]).fetch_optional().await?;
        let company = self.0.company;
        let open = |data: AssociatedData, secret: String| sealer.open_text(&data, &Zeroizing::new(secret));
        Ok(row.map(|row| ReceiverRow {
            url: row.url,
            secret: open(AssociatedData::webhook_secret(company, id), row.secret),
            previous: row.previous_secret.zip(row.previous_secret_until).and_then(|(secret, until)| {
                let until = Timestamp::from_millis(until);
                let place = AssociatedData::previous_webhook_secret(company, id);
                // An ended one waits for the sweep and signs nothing.
                (now < until).then(|| (open(place, secret), until))
            }),
            skipping: SkipReason::of(row.disabled_at, row.removed_at),
        }))
    }

    /// The reason for which its deliveries are skipped, if they are. The webhook is locked until
    /// the end of the transaction.
    pub(crate) async fn lock_skipping(&mut self, id: WebhookId) -> Result<Option<SkipReason>, Error> {
        const LOCK_SKIPPING: Sql = Sql {
            sqlite: "SELECT disabled_at, removed_at FROM webhook WHERE company_id = $1 AND id = $2",
            postgres: "
                SELECT disabled_at, removed_at FROM webhook WHERE company_id = $1 AND id = $2 FOR UPDATE",
        };
        let row: Option<SkippingRow> = self.0.query(LOCK_SKIPPING, &[&id]).fetch_optional().await?;
        let row = row.ok_or(Error::NotFound)?;
        Ok(SkipReason::of(row.disabled_at, row.removed_at))
    }

    pub(crate) async fn set_failures(&mut self, id: WebhookId, failures: Failures) -> Result<(), Error> {
        const SET_FAILURES: &str =
            "UPDATE webhook SET failures = $3, failing_since = $4 WHERE company_id = $1 AND id = $2";
        let Failures { count, since } = failures;
        self.0.query(SET_FAILURES, &[&id, &count.0, &since]).change_one("webhook").await
    }
}

/// The webhooks of all companies, for the recording of attempts.
pub(crate) struct AllWebhooks<'c>(pub(super) &'c mut Connection);

/// The failures of a webhook in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failures {
    /// Failures since the last success, or since the webhook was enabled.
    pub(crate) count: FailureCount,
    /// The end of the first failed delivery since the last success.
    pub(crate) since: Option<Timestamp>,
}

impl Failures {
    /// The failures after a delivery that ended at `at`: one more if it failed, none if it was
    /// delivered.
    pub(crate) fn after(self, end: DeliveryOutcome, at: Timestamp) -> Self {
        let since = match end {
            DeliveryOutcome::Delivered => None,
            DeliveryOutcome::Failed => self.since.or(Some(at)),
        };
        Self { count: self.count.after(end), since }
    }
}

/// The state of a webhook that the recording of an attempt reads and changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WebhookState {
    /// Deliveries that failed in a row.
    pub(crate) failures: Failures,
    /// The reason for which its deliveries are skipped, if they are.
    pub(crate) skipping: Option<SkipReason>,
}

#[derive(FromRow)]
struct StateRow {
    id: Uuid,
    failures: i64,
    failing_since: Option<i64>,
    disabled_at: Option<i64>,
    removed_at: Option<i64>,
}

impl AllWebhooks<'_> {
    /// The states of the existing webhooks, or only of those with a failure since their last
    /// success. No other transaction changes them before the end of this one.
    pub(crate) async fn lock_states(
        &mut self,
        webhooks: impl Iterator<Item = WebhookId>,
        failing_only: bool,
    ) -> Result<HashMap<WebhookId, WebhookState>, Error> {
        // Ordered by id, so that concurrent batches cannot deadlock.
        const LOCK_STATES: Sql = Sql {
            sqlite: "
                SELECT id, failures, failing_since, disabled_at, removed_at
                FROM webhook WHERE id IN (SELECT unhex(value) FROM json_each($1))
                    AND (failures <> 0 OR failing_since IS NOT NULL OR NOT $2)
                ORDER BY id",
            postgres: "
                SELECT id, failures, failing_since, disabled_at, removed_at
                FROM webhook WHERE id = ANY($1)
                    AND (failures <> 0 OR failing_since IS NOT NULL OR NOT $2)
                ORDER BY id FOR UPDATE",
        };
        let ids: Vec<Uuid> = webhooks.map(|id| id.0).collect();
        let rows: Vec<StateRow> = self.0.query(LOCK_STATES, &[&ids, &failing_only]).fetch_all().await?;
        let state = |row: StateRow| {
            let skipping = SkipReason::of(row.disabled_at, row.removed_at);
            let count = FailureCount(u32::try_from(row.failures).unwrap_or(u32::MAX));
            let since = row.failing_since.map(Timestamp::from_millis);
            (WebhookId(row.id), WebhookState { failures: Failures { count, since }, skipping })
        };
        Ok(rows.into_iter().map(state).collect())
    }
}
