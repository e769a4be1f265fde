//! Webhook registrations. Their secrets are sealed and opened here, so that no caller can forget it.

use std::collections::HashMap;
use std::fmt;

use invoicing_core::{CompanyId, EventKind, Streak, Timestamp, WebhookId};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::Tx;
use super::companies::one_row;
use super::connection::{Connection, Sql, on, run, sql_with};
use super::deliveries;
use super::lists::Uuids;
use crate::Error;
use crate::sealing::{NotOpened, Place, Sealer};
use crate::secret::{Secret, shown_url};

const FIND: &str = "SELECT id, url, kinds, failures, disabled_at, disabled_reason, created_at FROM webhook \
     WHERE company_id = $1 AND id = $2 AND removed_at IS NULL";
const LIST: &str = "SELECT id, url, kinds, failures, disabled_at, disabled_reason, created_at FROM webhook \
     WHERE company_id = $1 AND removed_at IS NULL ORDER BY id";
const SUBSCRIBERS: &str = "SELECT id, kinds, disabled_at IS NOT NULL FROM webhook \
     WHERE company_id = $1 AND removed_at IS NULL ORDER BY id";
const COUNT: &str = "SELECT count(*) FROM webhook WHERE company_id = $1 AND removed_at IS NULL";
const INSERT: &str = "INSERT INTO webhook (company_id, id, url, kinds, secret, failures, created_at) \
     VALUES ($1, $2, $3, $4, $5, 0, $6)";
const SET_TARGET: &str = "UPDATE webhook SET url = $3, kinds = $4 WHERE company_id = $1 AND id = $2";
const SET_SECRET: &str = "UPDATE webhook SET secret = $3 WHERE company_id = $1 AND id = $2";
const DISABLE: &str = "UPDATE webhook SET disabled_at = $3, disabled_reason = $4, failures = $5 \
     WHERE company_id = $1 AND id = $2";
const ENABLE: &str = "UPDATE webhook SET disabled_at = NULL, disabled_reason = NULL, failures = 0 \
     WHERE company_id = $1 AND id = $2";
const REMOVE: &str = "UPDATE webhook SET removed_at = $3, secret = '' WHERE company_id = $1 AND id = $2";
const ENDPOINT: &str = "SELECT url, secret, disabled_at IS NOT NULL, removed_at IS NOT NULL FROM webhook \
     WHERE company_id = $1 AND id = $2";
/// Ordered by id, so that concurrent batches cannot deadlock.
const LOCK_STATES: Sql = sql_with!(
    "SELECT id, failures, disabled_at IS NOT NULL, removed_at IS NOT NULL FROM webhook WHERE id", uuids "$1",
    " ORDER BY id", postgres " FOR UPDATE"
);
const RESET_STREAKS: Sql = sql_with!(
    "UPDATE webhook SET failures = 0 WHERE failures <> 0 AND disabled_at IS NULL AND id", uuids "$1", ""
);
const SET_STREAK: &str = "UPDATE webhook SET failures = $3 WHERE company_id = $1 AND id = $2";

/// Why a webhook is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledReason {
    /// By its owner.
    Manual,
    /// 10 deliveries in a row ended failed.
    Failures,
}

impl DisabledReason {
    /// The reason as it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Failures => "consecutive_failures",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Manual, Self::Failures].into_iter().find(|reason| reason.as_str() == text)
    }
}

impl fmt::Display for DisabledReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A webhook as its owner sees it. The secret was shown once, at registration or rotation.
///
/// `Debug` shows of the URL where it leads, without path and query: these may carry a token of the receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Identifier; each delivery names it in `X-Service-Webhook-Id`.
    pub id: WebhookId,
    /// Where deliveries go.
    pub url: String,
    /// What it subscribes to, in the order of the contract's table.
    pub events: Vec<EventKind>,
    /// Deliveries that ended failed since the last success.
    pub consecutive_failures: u32,
    /// Since when and why it is disabled.
    pub disabled: Option<(Timestamp, DisabledReason)>,
    /// When it was registered.
    pub created_at: Timestamp,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, url, events, consecutive_failures, disabled, created_at } = self;
        f.debug_struct("Webhook")
            .field("id", id)
            .field("url", &shown_url(url))
            .field("events", events)
            .field("consecutive_failures", consecutive_failures)
            .field("disabled", disabled)
            .field("created_at", created_at)
            .finish()
    }
}

type Row = (Uuid, String, i64, i64, Option<i64>, Option<String>, i64);

fn webhook((id, url, kinds, failures, disabled_at, reason, created_at): Row) -> Webhook {
    let disabled = disabled_at.map(|at| {
        let reason = reason.as_deref().and_then(DisabledReason::parse).unwrap_or(DisabledReason::Manual);
        (Timestamp::from_millis(at), reason)
    });
    Webhook {
        id: WebhookId(id),
        url,
        events: from_bits(kinds),
        consecutive_failures: u32::try_from(failures).unwrap_or(u32::MAX),
        disabled,
        created_at: Timestamp::from_millis(created_at),
    }
}

/// One bit per kind, by its place in [`EventKind::ALL`], to which new kinds are only ever appended.
pub(crate) fn bit(kind: EventKind) -> i64 {
    EventKind::ALL.iter().position(|known| *known == kind).map_or(0, |place| 1 << place)
}

fn to_bits(kinds: &[EventKind]) -> i64 {
    kinds.iter().fold(0, |bits, kind| bits | bit(*kind))
}

fn from_bits(bits: i64) -> Vec<EventKind> {
    EventKind::ALL.iter().copied().filter(|kind| bits & bit(*kind) != 0).collect()
}

pub(crate) async fn find(
    connection: &mut Connection,
    company: CompanyId,
    id: WebhookId,
) -> Result<Webhook, Error> {
    let row: Option<Row> =
        on!(connection, |c| sqlx::query_as(FIND).bind(company.0).bind(id.0).fetch_optional(c))?;
    row.map(webhook).ok_or(Error::NotFound)
}

pub(crate) async fn list(connection: &mut Connection, company: CompanyId) -> Result<Vec<Webhook>, Error> {
    let rows: Vec<Row> = on!(connection, |c| sqlx::query_as(LIST).bind(company.0).fetch_all(c))?;
    Ok(rows.into_iter().map(webhook).collect())
}

/// A webhook as an event sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subscriber {
    pub(crate) id: WebhookId,
    kinds: i64,
    /// Its deliveries are kept as skipped.
    pub(crate) disabled: bool,
}

impl Subscriber {
    pub(crate) fn of(webhook: &Webhook) -> Self {
        Self { id: webhook.id, kinds: to_bits(&webhook.events), disabled: webhook.disabled.is_some() }
    }

    pub(crate) fn wants(self, kind: EventKind) -> bool {
        self.kinds & bit(kind) != 0
    }
}

/// Every webhook of a company as an event sees it.
pub(super) async fn subscribers(
    connection: &mut Connection,
    company: CompanyId,
) -> Result<Vec<Subscriber>, Error> {
    let rows: Vec<(Uuid, i64, bool)> =
        on!(connection, |c| sqlx::query_as(SUBSCRIBERS).bind(company.0).fetch_all(c))?;
    let subscriber = |(id, kinds, disabled)| Subscriber { id: WebhookId(id), kinds, disabled };
    Ok(rows.into_iter().map(subscriber).collect())
}

pub(crate) async fn count(connection: &mut Connection, company: CompanyId) -> Result<i64, Error> {
    Ok(on!(connection, |c| sqlx::query_scalar(COUNT).bind(company.0).fetch_one(c))?)
}

pub(crate) async fn insert(
    tx: &mut Tx,
    company: CompanyId,
    sealer: &Sealer,
    webhook: &Webhook,
    secret: &Secret,
) -> Result<(), Error> {
    tx.forget(company);
    let secret = sealer.seal_text(&Place::webhook_secret(company, webhook.id), secret.reveal());
    run!(tx.connection(), |c| sqlx::query(INSERT)
        .bind(company.0)
        .bind(webhook.id.0)
        .bind(&webhook.url)
        .bind(to_bits(&webhook.events))
        .bind(&*secret)
        .bind(webhook.created_at.as_millis())
        .execute(c))?;
    Ok(())
}

pub(crate) async fn set_target(tx: &mut Tx, company: CompanyId, webhook: &Webhook) -> Result<(), Error> {
    tx.forget(company);
    let done = run!(tx.connection(), |c| sqlx::query(SET_TARGET)
        .bind(company.0)
        .bind(webhook.id.0)
        .bind(&webhook.url)
        .bind(to_bits(&webhook.events))
        .execute(c))?;
    one_row(done, "webhook")
}

pub(crate) async fn set_secret(
    connection: &mut Connection,
    company: CompanyId,
    sealer: &Sealer,
    id: WebhookId,
    secret: &Secret,
) -> Result<(), Error> {
    let secret = sealer.seal_text(&Place::webhook_secret(company, id), secret.reveal());
    let done =
        run!(connection, |c| sqlx::query(SET_SECRET).bind(company.0).bind(id.0).bind(&*secret).execute(c))?;
    one_row(done, "webhook")
}

pub(crate) async fn disable(
    tx: &mut Tx,
    company: CompanyId,
    id: WebhookId,
    at: Timestamp,
    reason: DisabledReason,
    failures: u32,
) -> Result<(), Error> {
    tx.forget(company);
    let done = run!(tx.connection(), |c| sqlx::query(DISABLE)
        .bind(company.0)
        .bind(id.0)
        .bind(at.as_millis())
        .bind(reason.as_str())
        .bind(i64::from(failures))
        .execute(c))?;
    one_row(done, "webhook")
}

pub(crate) async fn enable(tx: &mut Tx, company: CompanyId, id: WebhookId) -> Result<(), Error> {
    tx.forget(company);
    let done = run!(tx.connection(), |c| sqlx::query(ENABLE).bind(company.0).bind(id.0).execute(c))?;
    one_row(done, "webhook")
}

pub(crate) async fn remove(
    tx: &mut Tx,
    company: CompanyId,
    id: WebhookId,
    at: Timestamp,
) -> Result<(), Error> {
    tx.forget(company);
    let done = run!(tx.connection(), |c| sqlx::query(REMOVE)
        .bind(company.0)
        .bind(id.0)
        .bind(at.as_millis())
        .execute(c))?;
    one_row(done, "webhook")
}

/// What an attempt needs of a webhook.
pub(crate) struct EndpointRow {
    pub(crate) url: String,
    /// Or why it cannot be had.
    pub(crate) secret: Result<Zeroizing<String>, NotOpened>,
    /// Disabled or removed: deliveries are skipped.
    pub(crate) is_off: bool,
}

pub(crate) async fn endpoint(
    connection: &mut Connection,
    sealer: &Sealer,
    company: CompanyId,
    id: WebhookId,
) -> Result<Option<EndpointRow>, Error> {
    let row: Option<(String, String, bool, bool)> =
        on!(connection, |c| sqlx::query_as(ENDPOINT).bind(company.0).bind(id.0).fetch_optional(c))?;
    Ok(row.map(|(url, secret, disabled, removed)| EndpointRow {
        url,
        secret: sealer.open_text(&Place::webhook_secret(company, id), &Zeroizing::new(secret)),
        is_off: disabled || removed,
    }))
}

/// What the recording of attempts needs of a webhook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WebhookState {
    /// Deliveries that failed in a row.
    pub(crate) streak: Streak,
    /// Why its deliveries are skipped, if they are.
    pub(crate) skips: Option<&'static str>,
}

/// The states of those that exist, locked until the end of the transaction.
pub(crate) async fn lock_states(
    connection: &mut Connection,
    webhooks: impl Iterator<Item = WebhookId>,
) -> Result<HashMap<WebhookId, WebhookState>, Error> {
    let ids = Uuids(webhooks.map(|id| id.0).collect());
    let rows: Vec<(Uuid, i64, bool, bool)> =
        on!(connection, |c, dialect| sqlx::query_as(LOCK_STATES.of(dialect)).bind(ids).fetch_all(c))?;
    let state = |(id, failures, disabled, removed)| {
        let skips = match (disabled, removed) {
            (_, true) => Some(deliveries::REMOVED),
            (true, false) => Some(deliveries::DISABLED),
            (false, false) => None,
        };
        (WebhookId(id), WebhookState { streak: Streak(u32::try_from(failures).unwrap_or(u32::MAX)), skips })
    };
    Ok(rows.into_iter().map(state).collect())
}

pub(crate) async fn set_streak(
    connection: &mut Connection,
    company: CompanyId,
    id: WebhookId,
    failures: u32,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(SET_STREAK)
        .bind(company.0)
        .bind(id.0)
        .bind(i64::from(failures))
        .execute(c))?;
    one_row(done, "webhook")
}

/// Sets the streaks of webhooks that are on to 0, where they are not.
pub(crate) async fn reset_streaks(connection: &mut Connection, webhooks: &[WebhookId]) -> Result<(), Error> {
    run!(connection, |c, dialect| sqlx::query(RESET_STREAKS.of(dialect))
        .bind(Uuids(webhooks.iter().map(|id| id.0).collect()))
        .execute(c))?;
    Ok(())
}
