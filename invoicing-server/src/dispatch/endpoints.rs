//! What attempts need of a webhook, prepared once and cached: target, headers, keyed signer.
//!
//! The cache follows the notifications of changed webhooks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use invoicing_core::{CompanyId, FailureClass, WebhookId};
use parking_lot::{Mutex, MutexGuard};
use webhook_verify::Signer;

use super::transport::{Target, Transport};
use crate::Error;
use crate::config::{SettingError, Settings};
use crate::sealing::{AssociatedData, NotOpened, Sealer};
use crate::store::webhooks::EndpointRow;
use crate::store::{Store, Tables};
use crate::target::TargetPolicy;

/// For how long a disabled webhook is taken for disabled: for a batch. The state is read again before deliveries are
/// skipped.
const MAX_DISABLED_AGE: Duration = Duration::from_millis(100);

/// Target and signer of a webhook.
pub(super) struct Ready {
    pub(super) target: Target,
    pub(super) signer: Signer,
}

/// A webhook as an attempt needs it.
pub(super) enum Endpoint {
    /// Ready to be sent to.
    Ready(Box<Ready>),
    /// Disabled or removed: its deliveries are skipped.
    Disabled,
    /// The stored URL or secret cannot be used; the failure of its attempts. The reason is logged when it is read.
    Unusable(FailureClass),
}

#[derive(Default)]
struct Cache {
    /// With the instant at which each was read.
    endpoints: HashMap<WebhookId, (Arc<Endpoint>, Instant)>,
    /// Counts changes, so that an endpoint that was read before a change is not cached after it.
    generation: u64,
}

/// See the module's text.
pub(crate) struct Endpoints {
    cache: Mutex<Cache>,
    /// For how long an endpoint is used before it is read again.
    max_age: Duration,
    pub(super) transport: Transport,
    policy: TargetPolicy,
    sealer: Arc<Sealer>,
    pub(super) signature_header: HeaderName,
    id_header: HeaderName,
    user_agent: HeaderValue,
}

impl Endpoints {
    pub(crate) fn new(
        settings: &Settings,
        transport: Transport,
        sealer: Arc<Sealer>,
        max_age: Duration,
    ) -> Result<Self, SettingError> {
        let brand = settings.brand.to_ascii_lowercase();
        let refused = |_| SettingError::new("brand", "must be usable in header names");
        let header = |text: String| HeaderName::from_bytes(text.as_bytes()).map_err(refused);
        let user_agent = HeaderValue::from_str(&format!("{}-Webhook/1.0", settings.brand));
        Ok(Self {
            cache: Mutex::default(),
            max_age,
            transport,
            policy: settings.target,
            sealer,
            signature_header: header(format!("x-{brand}-signature"))?,
            id_header: header(format!("x-{brand}-webhook-id"))?,
            user_agent: user_agent.map_err(|_| SettingError::new("brand", "must be usable in a header"))?,
        })
    }

    /// Forgets a webhook that has changed.
    pub(crate) fn forget(&self, webhook: WebhookId) {
        let mut cache = self.cache();
        cache.generation += 1;
        cache.endpoints.remove(&webhook);
    }

    /// Forgets all webhooks: other keys open other secrets.
    pub(crate) fn forget_all(&self) {
        let mut cache = self.cache();
        cache.generation += 1;
        cache.endpoints.clear();
    }

    pub(super) async fn find(
        &self,
        store: &Store,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<Arc<Endpoint>, Error> {
        loop {
            let generation = {
                let cache = self.cache();
                if let Some((endpoint, read_at)) = cache.endpoints.get(&webhook)
                    && self.is_current(endpoint, read_at.elapsed())
                {
                    return Ok(Arc::clone(endpoint));
                }
                cache.generation
            };
            let read_at = Instant::now();
            let sealer = Arc::clone(&self.sealer);
            let row = store
                .read(company, async move |mut tx| tx.webhooks().endpoint(&sealer, webhook).await)
                .await?;
            let endpoint = Arc::new(self.prepare(company, webhook, row)?);
            let mut cache = self.cache();
            if cache.generation == generation {
                cache.endpoints.insert(webhook, (Arc::clone(&endpoint), read_at));
                return Ok(endpoint);
            }
        }
    }

    /// Whether a cached endpoint is used. Where other nodes change webhooks, one that cannot be used is always read again:
    /// otherwise deliveries would fail for a reason that is gone.
    fn is_current(&self, endpoint: &Endpoint, age: Duration) -> bool {
        if self.max_age == Duration::MAX {
            return true;
        }
        match endpoint {
            Endpoint::Ready(_) => age <= self.max_age,
            Endpoint::Disabled => age <= MAX_DISABLED_AGE,
            Endpoint::Unusable(_) => false,
        }
    }

    /// Fails where the secret was read under keys that have been changed since; it can be read again.
    fn prepare(
        &self,
        company: CompanyId,
        webhook: WebhookId,
        row: Option<EndpointRow>,
    ) -> Result<Endpoint, Error> {
        let Some(row) = row else { return Ok(Endpoint::Unusable(FailureClass::Unsendable)) };
        if row.is_off {
            return Ok(Endpoint::Disabled);
        }
        let url = match self.policy.parse(&row.url) {
            Ok(url) => url,
            Err(error) => {
                tracing::warn!(%webhook, %error, "the webhook's URL cannot be used");
                return Ok(Endpoint::Unusable(error.failure_class()));
            }
        };
        let secret = match row.secret {
            Ok(secret) => secret,
            Err(cause @ NotOpened::NoKey(_)) => {
                return Err(AssociatedData::webhook_secret(company, webhook).bad_row(cause));
            }
            Err(cause) => {
                let error = AssociatedData::webhook_secret(company, webhook).bad_row(cause);
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the webhook's secret cannot be read; its deliveries fail until it is rotated"
                );
                return Ok(Endpoint::Unusable(FailureClass::Unsendable));
            }
        };
        let Ok(signer) = Signer::new(secret.as_bytes()) else {
            tracing::warn!(%webhook, "the webhook's secret is empty");
            return Ok(Endpoint::Unusable(FailureClass::Unsendable));
        };
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        if let Ok(id) = HeaderValue::from_str(&webhook.to_string()) {
            headers.insert(self.id_header.clone(), id);
        }
        Ok(Endpoint::Ready(Box::new(Ready { target: Target::new(&url, headers), signer })))
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock()
    }
}
