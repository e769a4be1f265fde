//! What attempts need of a webhook, prepared once: target, headers, keyed signer.
//!
//! Operations that change a webhook make this forget it, once they are committed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use invoicing_core::{CompanyId, FailureClass, WebhookId};
use parking_lot::{Mutex, MutexGuard};
use webhook_verify::Signer;

use super::target::TargetPolicy;
use super::transport::{Target, Transport};
use crate::Error;
use crate::config::Settings;
use crate::sealing::{NotOpened, Place, Sealer};
use crate::store::webhooks::{self, EndpointRow};
use crate::store::{OpenError, Store, reading};

/// How long is believed what another node may have changed: as long as its news may be missed.
const BELIEVED_FOR: Duration = Duration::from_secs(5);
/// How long is believed that a webhook is off: for a batch. It is asked again before anything is skipped.
const OFF_BELIEVED_FOR: Duration = Duration::from_millis(100);

/// What a delivery to a webhook is made with.
pub(super) struct Ready {
    pub(super) target: Target,
    pub(super) signer: Signer,
}

/// How a webhook can be reached.
pub(super) enum Endpoint {
    /// Ready to be sent to.
    Ready(Box<Ready>),
    /// Disabled or removed: its deliveries are skipped.
    Off,
    /// The stored URL or secret cannot be used; how its attempts end. Why was logged when it was read.
    Unusable(FailureClass),
}

impl Endpoint {
    /// Whether it is still believed although another node may have changed it. That it cannot be used is not: a delivery
    /// would end for a reason that is gone.
    fn is_believed(&self, read_before: Duration) -> bool {
        match self {
            Self::Ready(_) => read_before <= BELIEVED_FOR,
            Self::Off => read_before <= OFF_BELIEVED_FOR,
            Self::Unusable(_) => false,
        }
    }
}

#[derive(Default)]
struct Known {
    /// Each with the instant at which it was read.
    endpoints: HashMap<WebhookId, (Arc<Endpoint>, Instant)>,
    /// Counts changes, so that what was read before one is not kept after it.
    generation: u64,
}

/// See the module's text.
pub(crate) struct Endpoints {
    known: Mutex<Known>,
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
    ) -> Result<Self, OpenError> {
        let brand = settings.brand.to_ascii_lowercase();
        let refused = |_| OpenError::Setting { name: "brand", rule: "must be usable in header names" };
        let header = |text: String| HeaderName::from_bytes(text.as_bytes()).map_err(refused);
        let user_agent = HeaderValue::from_str(&format!("{}-Webhook/1.0", settings.brand));
        Ok(Self {
            known: Mutex::default(),
            transport,
            policy: settings.target,
            sealer,
            signature_header: header(format!("x-{brand}-signature"))?,
            id_header: header(format!("x-{brand}-webhook-id"))?,
            user_agent: user_agent
                .map_err(|_| OpenError::Setting { name: "brand", rule: "must be usable in a header" })?,
        })
    }

    /// Forgets a webhook that has changed.
    pub(crate) fn forget(&self, webhook: WebhookId) {
        let mut known = self.known();
        known.generation += 1;
        known.endpoints.remove(&webhook);
    }

    /// Forgets all webhooks: other keys open other secrets.
    pub(crate) fn forget_all(&self) {
        let mut known = self.known();
        known.generation += 1;
        known.endpoints.clear();
    }

    pub(super) async fn find(
        &self,
        store: &Store,
        company: CompanyId,
        webhook: WebhookId,
    ) -> Result<Arc<Endpoint>, Error> {
        loop {
            let generation = {
                let known = self.known();
                if let Some((endpoint, read_at)) = known.endpoints.get(&webhook)
                    && (!store.is_shared() || endpoint.is_believed(read_at.elapsed()))
                {
                    return Ok(Arc::clone(endpoint));
                }
                known.generation
            };
            let read_at = Instant::now();
            let row = reading!(store, |c| webhooks::endpoint(c, &self.sealer, company, webhook))?;
            let endpoint = Arc::new(self.prepare(company, webhook, row)?);
            let mut known = self.known();
            if known.generation == generation {
                known.endpoints.insert(webhook, (Arc::clone(&endpoint), read_at));
                return Ok(endpoint);
            }
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
            return Ok(Endpoint::Off);
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
                return Err(Place::webhook_secret(company, webhook).bad_row(cause));
            }
            Err(cause) => {
                let error = Place::webhook_secret(company, webhook).bad_row(cause);
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

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}
