//! Enables webhooks again that failures have disabled, once their receivers answer. Only with `--enable-again`.
//!
//! In production the owner of a webhook does that, on its page of the console, as here without the flag. With it the sandbox
//! pings the receiver of such a webhook every few seconds: for a receiver under development that comes and goes. When a
//! ping is taken, the webhook is enabled, and what it missed is replayed. One that was disabled by hand stays so.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use invoicing_core::{DeliveryStatus, EventId, Timestamp, WebhookId};
use invoicing_examples::explain;
use invoicing_server::{CompanyHandle, DisabledReason, Env, Error, Webhook};
use tokio::time::{MissedTickBehavior, interval};

use crate::stop::Stop;

/// Time from one look at the webhooks to the next.
const LOOK: Duration = Duration::from_secs(2);
/// Time from one ping to the next: a webhook gets at most 10 a minute.
const PING: Duration = Duration::from_secs(7);

/// Looks after the webhooks of a company.
pub(crate) struct Recovery {
    company: CompanyHandle,
    env: Env,
    /// The disabled webhooks.
    pinged: HashMap<WebhookId, Pinged>,
    /// When webhooks were enabled here.
    enabled: HashMap<WebhookId, Timestamp>,
}

/// A disabled webhook.
struct Pinged {
    /// The last ping.
    event: EventId,
    /// When it was sent.
    at: Instant,
    /// How the last but one failed. Logged only when it changes.
    answer: Option<String>,
}

impl Recovery {
    pub(crate) fn new(company: CompanyHandle, env: Env) -> Self {
        Self { company, env, pinged: HashMap::new(), enabled: HashMap::new() }
    }

    /// Goes on until it is to stop.
    pub(crate) async fn go_on(mut self, stop: &Stop) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.wait() => return,
                _ = ticks.tick() => {}
            }
            if let Err(error) = self.look().await {
                tracing::warn!(error = explain(&error), "the webhooks cannot be looked after");
            }
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        for webhook in self.company.webhooks().list().await? {
            if matches!(webhook.disabled, Some((_, DisabledReason::Failures))) {
                self.try_again(&webhook).await?;
            } else {
                self.pinged.remove(&webhook.id);
            }
        }
        Ok(())
    }

    /// Enables the webhook if it took the last ping, and sends another if that failed.
    async fn try_again(&mut self, webhook: &Webhook) -> Result<(), Error> {
        let Some(last) = self.pinged.get(&webhook.id) else {
            tracing::info!(
                webhook = %webhook.id, url = webhook.shown_url(),
                "the webhook is enabled again when its receiver answers a ping with a 2xx"
            );
            return self.ping(webhook, None).await;
        };
        let deliveries = self.company.events().deliveries(last.event).await?;
        match deliveries.first().map(|delivery| delivery.status) {
            Some(DeliveryStatus::Pending) => Ok(()),
            Some(DeliveryStatus::Delivered) => self.enable(webhook).await,
            _ => {
                let is_time = last.at.elapsed() >= PING;
                let answer = self.answer(webhook.id).await?;
                if is_time && answer != last.answer {
                    tracing::info!(
                        webhook = %webhook.id, url = webhook.shown_url(), answer,
                        "the webhook is still disabled: its receiver did not take the last ping; there is one every {} s",
                        PING.as_secs(),
                    );
                }
                if is_time { self.ping(webhook, answer).await } else { Ok(()) }
            }
        }
    }

    async fn ping(&mut self, webhook: &Webhook, answer: Option<String>) -> Result<(), Error> {
        let event = match self.company.webhooks().ping(webhook.id).await {
            // Other sandboxes on the database ping it too.
            Err(Error::Conflict(_)) => return Ok(()),
            event => event?,
        };
        self.pinged.insert(webhook.id, Pinged { event, at: Instant::now(), answer });
        Ok(())
    }

    async fn enable(&mut self, webhook: &Webhook) -> Result<(), Error> {
        // By default all since its last success. Replayed deliveries are not replayed once more, so a receiver that
        // refuses some events does not get them for ever.
        let since = self.enabled.get(&webhook.id).copied();
        let replayed = self.company.webhooks().enable_and_replay(webhook.id, since).await?;
        self.pinged.remove(&webhook.id);
        self.enabled.insert(webhook.id, self.env.now());
        tracing::info!(
            webhook = %webhook.id, url = webhook.shown_url(),
            "the webhook is enabled again, as its receiver answers; {replayed} missed deliveries are replayed"
        );
        Ok(())
    }

    /// The outcome of the last attempt: a status, or why there was none. While a webhook is disabled, that was a ping.
    async fn answer(&self, webhook: WebhookId) -> Result<Option<String>, Error> {
        let attempts = self.company.webhooks().log(webhook, 1).await?;
        Ok(attempts.first().and_then(|attempt| {
            let status = attempt.status.map(|status| status.to_string());
            status.or(attempt.failure.map(|failure| failure.to_string()))
        }))
    }
}
