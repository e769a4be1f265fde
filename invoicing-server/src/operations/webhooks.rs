//! Webhooks: registered, changed, switched off and on, tested, and what became of their deliveries.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use invoicing_core::{CompanyId, Conflict, EventId, EventKind, Invalid, WebhookId};

use super::CompanyHandle;
use crate::Error;
use crate::queue::NewDelivery;
use crate::secret::{self, Secret, shown_url};
use crate::store::deliveries::{self, AttemptRecord};
use crate::store::notification::Notification;
use crate::store::webhooks::{self, DisabledReason, Webhook};
use crate::store::{Tx, events, reading};

/// Most webhooks that a company may have.
const MAX_WEBHOOKS: i64 = 20;

/// The webhooks of a company.
#[derive(Debug, Clone, Copy)]
pub struct Webhooks<'a>(pub(super) &'a CompanyHandle);

/// A webhook as it is entered. `Debug` shows of the URL where it leads, without path and query.
#[derive(Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Where deliveries go: `https`, no user info, a public host.
    pub url: String,
    /// What it subscribes to, at least one.
    pub events: Vec<EventKind>,
}

/// A change of a webhook. What is `None` stays. `Debug` shows of the URL where it leads, without path and query.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct WebhookChange {
    /// Another target. Deliveries that still wait go there.
    pub url: Option<String>,
    /// Other events, at least one. Deliveries that still wait are not affected.
    pub events: Option<Vec<EventKind>>,
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

/// A webhook with its secret, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWebhook {
    /// The webhook.
    pub webhook: Webhook,
    /// `whsec_` and 43 characters; all its bytes are the HMAC key.
    pub secret: Secret,
}

impl Webhooks<'_> {
    /// Registers a webhook.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a URL that webhooks may not reach, as far as that shows without a lookup; each attempt
    /// checks the addresses that it connects to. [`Error::Conflict`] beyond 20 webhooks.
    pub async fn register(&self, new: &NewWebhook) -> Result<RegisteredWebhook, Error> {
        let url = self.check_url(&new.url)?;
        let events = check_events(&new.events)?;
        let secret = Secret::generate(secret::WEBHOOK, &self.0.inner.env);
        let key = secret.clone();
        let (company, sealer) = (self.0.id, Arc::clone(&self.0.inner.sealer));
        let webhook = self
            .0
            .write(move |tx| {
                Box::pin(async move {
                    tx.unit(company).await?;
                    if webhooks::count(tx.connection(), company).await? >= MAX_WEBHOOKS {
                        return Err(
                            Conflict::new(format!("a company has at most {MAX_WEBHOOKS} webhooks")).into()
                        );
                    }
                    let webhook = Webhook {
                        id: WebhookId(tx.env().uuid()),
                        url,
                        events,
                        consecutive_failures: 0,
                        disabled: None,
                        created_at: tx.env().now(),
                    };
                    webhooks::insert(tx, company, &sealer, &webhook, &key).await?;
                    Ok(webhook)
                })
            })
            .await?;
        Ok(RegisteredWebhook { webhook, secret })
    }

    /// Changes the target or the events.
    pub async fn change(&self, id: WebhookId, change: &WebhookChange) -> Result<Webhook, Error> {
        let url = change.url.as_deref().map(|url| self.check_url(url)).transpose()?;
        let events = change.events.as_deref().map(check_events).transpose()?;
        self.update(id, move |tx, company, mut webhook| {
            Box::pin(async move {
                webhook.url = url.unwrap_or(webhook.url);
                webhook.events = events.unwrap_or(webhook.events);
                webhooks::set_target(tx, company, &webhook).await
            })
        })
        .await
    }

    /// Switches a webhook off. What waits for it, and what happens meanwhile, is kept as skipped and can be replayed.
    /// Doing it again changes nothing.
    pub async fn disable(&self, id: WebhookId) -> Result<Webhook, Error> {
        self.update(id, |tx, company, webhook| {
            Box::pin(async move {
                if webhook.disabled.is_some() {
                    return Ok(());
                }
                let (at, failures) = (tx.env().now(), webhook.consecutive_failures);
                let reason = DisabledReason::Manual;
                webhooks::disable(tx, company, webhook.id, at, reason, failures).await?;
                let skipped = deliveries::DISABLED;
                deliveries::skip_waiting(tx.connection(), company, webhook.id, skipped, at).await?;
                Ok(())
            })
        })
        .await
    }

    /// Switches a webhook on again, with its count of failures at 0. What was skipped stays so until it is replayed.
    pub async fn enable(&self, id: WebhookId) -> Result<Webhook, Error> {
        self.update(id, |tx, company, webhook| {
            Box::pin(async move { webhooks::enable(tx, company, webhook.id).await })
        })
        .await
    }

    /// Removes a webhook. Its deliveries and their log stay; what waits for it is kept as skipped.
    pub async fn remove(&self, id: WebhookId) -> Result<(), Error> {
        let company = self.0.id;
        let inner = Arc::clone(&self.0.inner);
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    tx.lock(company).await?;
                    webhooks::find(tx.connection(), company, id).await?;
                    let at = tx.env().now();
                    webhooks::remove(tx, company, id, at).await?;
                    deliveries::skip_waiting(tx.connection(), company, id, deliveries::REMOVED, at).await?;
                    tx.on_commit(move || inner.endpoints.forget(id));
                    tx.notify(Notification::Webhook(id));
                    Ok(())
                })
            })
            .await
    }

    /// Gives a webhook a new secret, shown this once. From now on every attempt is signed with it, also those of
    /// deliveries that wait already. Another node that does not hear of it may go on for up to 5 s.
    pub async fn rotate(&self, id: WebhookId) -> Result<RegisteredWebhook, Error> {
        let secret = Secret::generate(secret::WEBHOOK, &self.0.inner.env);
        let (key, sealer) = (secret.clone(), Arc::clone(&self.0.inner.sealer));
        let webhook = self
            .update(id, move |tx, company, webhook| {
                Box::pin(async move {
                    webhooks::set_secret(tx.connection(), company, &sealer, webhook.id, &key).await
                })
            })
            .await?;
        Ok(RegisteredWebhook { webhook, secret })
    }

    /// Queues a test delivery. It is signed, retried and logged like any other, but never counts as a failure.
    ///
    /// # Errors
    /// [`Error::Conflict`] while the webhook is disabled.
    pub async fn ping(&self, id: WebhookId) -> Result<EventId, Error> {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let webhook = enabled(tx, company, id).await?;
                    events::record_ping(tx, company, &webhook).await
                })
            })
            .await
    }

    /// Queues skipped and failed deliveries again, with the same bytes: that of one event, or all. How many it queued.
    ///
    /// # Errors
    /// [`Error::Conflict`] while the webhook is disabled.
    pub async fn replay(&self, id: WebhookId, event: Option<EventId>) -> Result<u64, Error> {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    enabled(tx, company, id).await?;
                    let now = tx.env().now();
                    let queued = deliveries::replay(tx.connection(), company, id, event, now).await?;
                    tx.push_new([NewDelivery::Pending(id)]);
                    Ok(queued)
                })
            })
            .await
    }

    /// One webhook.
    pub async fn get(&self, id: WebhookId) -> Result<Webhook, Error> {
        reading!(self.0.inner.store, |c| webhooks::find(c, self.0.id, id))
    }

    /// All webhooks, oldest first.
    pub async fn list(&self) -> Result<Vec<Webhook>, Error> {
        reading!(self.0.inner.store, |c| webhooks::list(c, self.0.id))
    }

    /// The last attempts to deliver to a webhook, latest first. Kept for 30 days.
    pub async fn log(&self, id: WebhookId, limit: u32) -> Result<Vec<AttemptRecord>, Error> {
        reading!(self.0.inner.store, |c| async {
            webhooks::find(c, self.0.id, id).await?;
            deliveries::log(c, self.0.id, id, limit).await
        })
    }

    /// A change of a registration; the dispatcher forgets what it knew of it once that is committed.
    async fn update<F>(&self, id: WebhookId, change: F) -> Result<Webhook, Error>
    where
        F: for<'t> FnOnce(&'t mut Tx, CompanyId, Webhook) -> BoxFuture<'t, Result<(), Error>>
            + Clone
            + Send
            + 'static,
    {
        let company = self.0.id;
        let inner = Arc::clone(&self.0.inner);
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    // No event of the company is recorded meanwhile.
                    tx.lock(company).await?;
                    let webhook = webhooks::find(tx.connection(), company, id).await?;
                    change(tx, company, webhook).await?;
                    tx.on_commit(move || inner.endpoints.forget(id));
                    tx.notify(Notification::Webhook(id));
                    webhooks::find(tx.connection(), company, id).await
                })
            })
            .await
    }

    fn check_url(self, url: &str) -> Result<String, Error> {
        let target = self.0.inner.settings.target.parse(url);
        Ok(target.map_err(|error| Invalid::new("url", error.to_string()))?.as_str().to_owned())
    }
}

async fn enabled(tx: &mut Tx, company: CompanyId, id: WebhookId) -> Result<Webhook, Error> {
    tx.lock(company).await?;
    let webhook = webhooks::find(tx.connection(), company, id).await?;
    if webhook.disabled.is_some() {
        return Err(Conflict::new("the webhook is disabled; enable it first").into());
    }
    Ok(webhook)
}

fn check_events(events: &[EventKind]) -> Result<Vec<EventKind>, Error> {
    if events.is_empty() {
        return Err(Invalid::new("events", "must name at least one event").into());
    }
    // In the order of the contract, each once.
    Ok(EventKind::ALL.iter().copied().filter(|kind| events.contains(kind)).collect())
}
