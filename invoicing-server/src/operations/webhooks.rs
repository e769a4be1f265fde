//! Webhooks: registered, changed, rotated, tested and removed. [`enabling`] disables and enables
//! them, [`deliveries`] holds the operations on their deliveries.

mod deliveries;
mod enabling;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{ConflictReason, EventId, EventKind, Invalid, Rule, WebhookId};

use super::CompanyHandle;
use crate::error::Error;
use crate::log::shown_url;
use crate::records::{HistoryAction, Webhook};
use crate::secret::{self, Secret};
use crate::store::notification::Notification;
use crate::store::skip_reason::SkipReason;
use crate::store::{CompanyTx, Tables};

/// Maximum number of webhooks that a company may have.
pub(crate) const MAX_WEBHOOKS: i64 = 20;

/// Maximum number of test deliveries to a webhook within a minute.
const MAX_PINGS: usize = 10;

/// Longest overlap of a rotation, during which two secrets of a webhook sign.
const MAX_OVERLAP: Duration = Duration::from_hours(7 * 24);

/// The webhooks of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewQuote, Plan};
/// use invoicing_server::{DeliveryQuery, DeliveryStatus, EventKind, NewWebhook, WebhookChange};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// let webhooks = company.webhooks();
/// let new = NewWebhook::new("https://crm.example.com/hook", [EventKind::QuoteCreated]);
/// let registered = webhooks.register(&new).await?;
/// println!("Shown this once: {}", registered.secret.reveal());
///
/// // What happens while it is disabled is kept, and can be sent afterwards.
/// let id = registered.webhook.id;
/// webhooks.disable(id).await?;
/// company.quotes().create(&NewQuote::empty(client.id)).await?;
/// webhooks.change(id, &WebhookChange::default().url("https://crm.example.com/v2/hook")).await?;
/// assert_eq!(webhooks.enable_and_replay(id, None).await?, 1);
///
/// // A test delivery, as for any other event once a dispatcher runs.
/// webhooks.ping(id).await?;
///
/// // What waits for an attempt, newest first, and one delivery with its attempts.
/// let waiting = webhooks.deliveries(id, &DeliveryQuery::default().status(DeliveryStatus::Pending), 50).await?;
/// assert_eq!((waiting.items.len(), &*waiting.items[0].kind, waiting.next), (2, "ping", None));
/// let detail = webhooks.delivery(id, waiting.items[0].delivery.event).await?;
/// assert!(detail.attempts.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Webhooks<'a>(pub(super) &'a CompanyHandle);

/// A webhook as it is entered. `Debug` shows only scheme, host and port of the URL.
#[must_use]
#[derive(Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Target of the deliveries: `https`, no user info, a public host.
    pub url: String,
    /// The kinds of events that it subscribes to, at least one.
    pub events: Vec<EventKind>,
}

/// A change of a webhook. A field that is `None` stays. `Debug` shows only scheme, host and port of
/// the URL.
#[must_use]
#[derive(Clone, PartialEq, Eq, Default)]
pub struct WebhookChange {
    /// Another target. Deliveries that still wait go there.
    pub url: Option<String>,
    /// Other events, at least one. Deliveries that still wait are not affected.
    pub events: Option<Vec<EventKind>>,
}

impl NewWebhook {
    /// A webhook for these events.
    pub fn new(url: impl Into<String>, events: impl IntoIterator<Item = EventKind>) -> Self {
        Self { url: url.into(), events: events.into_iter().collect() }
    }

    /// A webhook for every kind of event.
    pub fn for_all_events(url: impl Into<String>) -> Self {
        Self::new(url, EventKind::ALL.iter().copied())
    }
}

impl WebhookChange {
    /// Sets [`url`](Self#structfield.url).
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Sets [`events`](Self#structfield.events).
    pub fn events(mut self, events: impl IntoIterator<Item = EventKind>) -> Self {
        self.events = Some(events.into_iter().collect());
        self
    }
}

impl fmt::Debug for NewWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, events } = self;
        f.debug_struct("NewWebhook").field("url", &shown_url(url)).field("events", events).finish()
    }
}

impl fmt::Debug for WebhookChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(shown_url);
        f.debug_struct("WebhookChange").field("url", &url).field("events", &self.events).finish()
    }
}

/// A webhook with its secret, which is shown this once: `registered.secret.reveal()`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredWebhook {
    /// The webhook.
    pub webhook: Webhook,
    /// The secret: `whsec_` and 43 characters; all its bytes are the HMAC key.
    /// [`reveal`](Secret::reveal) gives the text.
    pub secret: Secret,
}

impl CompanyHandle {
    /// The webhooks of the company.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks(self)
    }
}

impl Webhooks<'_> {
    /// Registers a webhook. Its receiver verifies with
    /// [`registered.secret.reveal()`](Secret::reveal).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a URL that webhooks may not reach, as far as that shows without a
    /// lookup; each attempt checks the addresses that it connects to. [`Error::Conflict`] beyond 20
    /// webhooks.
    pub async fn register(&self, new: &NewWebhook) -> Result<RegisteredWebhook, Error> {
        let url = self.check_url(&new.url)?;
        let events = in_order(&new.events);
        check_events(&events)?;
        let secret = Secret::generate(secret::WEBHOOK, self.0.env());
        let (key, sealer) = (secret.clone(), Arc::clone(&self.0.services.sealer));
        let changed = self.0.write([], async move |mut tx| {
            if tx.webhooks().count().await? >= MAX_WEBHOOKS {
                return Err(ConflictReason::TooManyWebhooks { max: MAX_WEBHOOKS }.into());
            }
            let webhook = Webhook {
                id: WebhookId(tx.env().uuid()),
                url,
                events,
                unknown_events: 0,
                consecutive_failures: 0,
                failing_since: None,
                disabled: None,
                created_at: tx.change.now,
                previous_secret_until: None,
                rotated_at: None,
            };
            tx.webhooks().insert(&sealer, &webhook, &key).await?;
            note(&mut tx, HistoryAction::WebhookRegistered, &webhook).await?;
            Ok(webhook)
        });
        let webhook = self.0.operation("webhooks.register", changed).await?;
        Ok(RegisteredWebhook { webhook, secret })
    }

    /// Changes the target or the events. Kinds that a newer version has added stay as they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a URL that webhooks may not reach, and if no event would be left.
    pub async fn change(&self, id: WebhookId, change: &WebhookChange) -> Result<Webhook, Error> {
        let url = change.url.as_deref().map(|url| self.check_url(url)).transpose()?;
        let events = change.events.as_deref().map(in_order);
        let changed = self.0.write([], async move |mut tx| {
            let before = tx.webhook_to_change(id).await?;
            if before.unknown_events == 0
                && let Some(events) = &events
            {
                check_events(events)?;
            }
            let mut webhook = before.clone();
            webhook.url = url.unwrap_or(webhook.url);
            webhook.events = events.unwrap_or(webhook.events);
            tx.webhooks().set_target(&webhook).await?;
            if webhook != before {
                note(&mut tx, HistoryAction::WebhookChanged, &webhook).await?;
            }
            changed(&mut tx, id).await
        });
        self.0.operation("webhooks.change", changed).await
    }

    /// Removes a webhook. Its deliveries and their log stay; waiting deliveries are kept as
    /// skipped.
    pub async fn remove(&self, id: WebhookId) -> Result<(), Error> {
        let changed = self.0.write([], async move |mut tx| {
            let webhook = tx.webhook_to_change(id).await?;
            remove(&mut tx, &webhook).await
        });
        self.0.operation("webhooks.remove", changed).await
    }

    /// Gives a webhook a new secret, shown this once. From now on every attempt is signed with it
    /// and with no other secret, including attempts of deliveries that wait already: this is the
    /// call for a secret that has leaked. Another node that misses the notification may use the old
    /// one for up to 5 s.
    pub async fn rotate(&self, id: WebhookId) -> Result<RegisteredWebhook, Error> {
        self.rotate_with_overlap(id, Duration::ZERO).await
    }

    /// Like [`rotate`](Self::rotate), but for a time of at most 7 days every attempt is signed with
    /// both secrets: `t=…,v1=<new>,v1=<old>`. A receiver that accepts any matching `v1` can change
    /// over within it without a refused delivery. Others cannot:
    ///
    /// | The receiver looks at | with the old secret | with the new secret |
    /// |---|---|---|
    /// | any `v1` | accepts until the overlap ends | accepts |
    /// | the first `v1` | refuses | accepts |
    /// | the last `v1` | accepts until the overlap ends | refuses until the overlap ends |
    /// | one `v1`, and refuses more | refuses | refuses until the overlap ends |
    ///
    /// [`end_overlap`](Self::end_overlap) ends the time early; a sweep wipes the old secret after
    /// the end.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than 7 days. [`Error::Conflict`] while an earlier overlap lasts:
    /// another rotation would end the secret that the receiver may still use. End that overlap
    /// first, or rotate without an overlap. [`Error::Internal`] if the present secret cannot be
    /// read: rotate without an overlap.
    pub async fn rotate_with_overlap(
        &self,
        id: WebhookId,
        overlap: Duration,
    ) -> Result<RegisteredWebhook, Error> {
        if overlap > MAX_OVERLAP {
            return Err(Invalid::new("overlap", Rule::AtMostDays { max: 7 }).into());
        }
        let secret = Secret::generate(secret::WEBHOOK, self.0.env());
        let (key, sealer) = (secret.clone(), Arc::clone(&self.0.services.sealer));
        let millis = i64::try_from(overlap.as_millis()).unwrap_or(i64::MAX);
        let changed = self.0.write([], async move |mut tx| {
            let (now, before) = (tx.change.now, tx.webhook_to_change(id).await?);
            if millis > 0 && before.previous_secret_until.is_some_and(|until| until > now) {
                return Err(ConflictReason::OverlapUnderWay.into());
            }
            let keep_until = (millis > 0).then(|| now.plus_millis(millis));
            tx.webhooks().rotate(&sealer, id, &key, keep_until, now).await?;
            tx.note(HistoryAction::WebhookRotated, id.0, &(millis / 1_000)).await?;
            changed(&mut tx, id).await
        });
        let webhook = self.0.operation("webhooks.rotate_with_overlap", changed).await?;
        Ok(RegisteredWebhook { webhook, secret })
    }

    /// Ends the overlap of a rotation, if there is one: attempts are signed with the new secret
    /// alone.
    pub async fn end_overlap(&self, id: WebhookId) -> Result<Webhook, Error> {
        let changed = self.0.write([], async move |mut tx| {
            let webhook = tx.webhook_to_change(id).await?;
            tx.webhooks().wipe_previous_secret(id).await?;
            if webhook.previous_secret_until.is_some() {
                note(&mut tx, HistoryAction::WebhookOverlapEnded, &webhook).await?;
            }
            changed(&mut tx, id).await
        });
        self.0.operation("webhooks.end_overlap", changed).await
    }

    /// Queues a test delivery, also while the webhook is disabled. It is signed, retried and logged
    /// like any other, but never counts, neither as a failure nor as a success. While one is under
    /// way, no other is queued: the call returns the event of that one.
    ///
    /// # Errors
    /// [`Error::Conflict`] beyond 10 test deliveries within a minute.
    pub async fn ping(&self, id: WebhookId) -> Result<EventId, Error> {
        let changed = self.0.write([], async move |mut tx| {
            let webhook = tx.webhook_to_change(id).await?;
            let (now, log) = (tx.change.now, tx.webhooks().pings(id).await?);
            if let Some(last) = log.last()
                && tx.deliveries().is_pending(id, last).await?
            {
                return Ok(last);
            }
            if log.count(now) >= MAX_PINGS {
                return Err(ConflictReason::TooManyTests { max: MAX_PINGS }.into());
            }
            note(&mut tx, HistoryAction::WebhookPinged, &webhook).await?;
            let event = tx.record_ping(id).await?;
            tx.webhooks().set_pings(id, &log.with(event, now)).await?;
            Ok(event)
        });
        self.0.operation("webhooks.ping", changed).await
    }

    /// One webhook.
    pub async fn get(&self, id: WebhookId) -> Result<Webhook, Error> {
        self.0.operation("webhooks.get", self.0.read(async move |mut tx| tx.webhooks().find(id).await)).await
    }

    /// All webhooks, oldest first.
    pub async fn list(&self) -> Result<Vec<Webhook>, Error> {
        self.0.operation("webhooks.list", self.0.read(async |mut tx| tx.webhooks().list().await)).await
    }

    fn check_url(self, url: &str) -> Result<String, Error> {
        let target = self.0.services.target.parse(url);
        Ok(target.map_err(|error| Invalid::new("url", error))?.as_str().to_owned())
    }
}

/// Ends a change of a registration, and lets the dispatchers read the webhook again.
async fn changed(tx: &mut CompanyTx<'_>, id: WebhookId) -> Result<Webhook, Error> {
    tx.notify(Notification::Webhook(id));
    tx.webhooks().find(id).await
}

/// Removes a webhook: see [`Webhooks::remove`].
pub(super) async fn remove(tx: &mut CompanyTx<'_>, webhook: &Webhook) -> Result<(), Error> {
    let now = tx.change.now;
    tx.webhooks().remove(webhook.id, now).await?;
    tx.skip_waiting(webhook.id).await?;
    note(tx, HistoryAction::WebhookRemoved, webhook).await?;
    tx.notify(Notification::Webhook(webhook.id));
    Ok(())
}

/// Notes a change of a webhook in the history. Path and query of its URL may carry a token of the
/// receiver, so the note leaves them out.
async fn note(tx: &mut CompanyTx<'_>, action: HistoryAction, webhook: &Webhook) -> Result<(), Error> {
    tx.note(action, webhook.id.0, &shown_url(&webhook.url)).await
}

/// Notes a replay, unless it queued nothing.
async fn note_replay(tx: &mut CompanyTx<'_>, id: WebhookId, queued: u64) -> Result<(), Error> {
    if queued > 0 {
        tx.note(HistoryAction::DeliveriesReplayed, id.0, &queued).await?;
    }
    Ok(())
}

/// Locks a webhook, and returns why its deliveries are skipped, if they are. A dispatcher that
/// records failures cannot disable it before the end of the transaction.
async fn lock(tx: &mut CompanyTx<'_>, id: WebhookId) -> Result<(Webhook, Option<SkipReason>), Error> {
    let skipping = tx.webhooks().lock_skipping(id).await?;
    // Read after the lock, as a dispatcher may have disabled it before.
    Ok((tx.webhook_to_change(id).await?, skipping))
}

fn check_events(events: &[EventKind]) -> Result<(), Error> {
    if events.is_empty() {
        return Err(Invalid::new("events", Rule::AtLeastOneEvent).into());
    }
    Ok(())
}

/// The kinds in the order of the contract, each once.
fn in_order(events: &[EventKind]) -> Vec<EventKind> {
    EventKind::ALL.iter().copied().filter(|kind| events.contains(kind)).collect()
}
