//! The cache of webhooks as attempts use them: target, headers and keyed signer, prepared once.
//!
//! A notification of a changed webhook removes it from the cache.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CONTENT_TYPE, InvalidHeaderValue, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use invoicing_core::{CompanyId, FailureClass, Timestamp, WebhookId};
use parking_lot::Mutex;
use webhook_verify::Signer;
use zeroize::Zeroizing;

use super::transport::{Target, Transport};
use crate::config::{SettingError, Settings};
use crate::error::Error;
use crate::sealing::{AssociatedData, NotOpened, Sealer};
use crate::store::skip_reason::SkipReason;
use crate::store::webhooks::ReceiverRow;
use crate::store::{Store, Tables};
use crate::target::TargetPolicy;

/// The target and the signers of a webhook.
pub(super) struct Endpoint {
    pub(super) target: Target,
    signer: Signer,
    /// The signer with the secret before the last rotation, and the instant until which it signs
    /// too.
    previous: Option<(Signer, Timestamp)>,
}

impl Endpoint {
    /// The signature header of an attempt, with the new secret's signature first.
    pub(super) fn signature(&self, at: Timestamp, body: &[u8]) -> Result<HeaderValue, InvalidHeaderValue> {
        let signature = self.signer.sign(at.as_seconds(), body);
        match &self.previous {
            Some((previous, until)) if at < *until => {
                let previous = previous.sign(at.as_seconds(), body);
                HeaderValue::from_str(&format!("{signature},v1={}", previous.v1()))
            }
            _ => HeaderValue::from_str(signature.as_str()),
        }
    }
}

/// A webhook as an attempt uses it.
#[derive(Clone)]
pub(super) struct Receiver {
    /// The reason for skipping deliveries, if there is one. The recording reads it again before it
    /// skips them.
    skipping: Option<SkipReason>,
    /// The endpoint, or the failure of all attempts if the stored URL or secret cannot be used. The
    /// reason is logged at each read.
    endpoint: Result<Arc<Endpoint>, FailureClass>,
}

impl Receiver {
    /// The endpoint for a delivery; `None` if the delivery is skipped.
    pub(super) fn resolve(&self, is_ping: bool) -> Option<Result<&Endpoint, FailureClass>> {
        let is_skipped = self.skipping.is_some_and(|skipping| skipping.concerns(is_ping));
        (!is_skipped).then(|| self.endpoint.as_deref().map_err(|class| *class))
    }
}

/// Maximum number of receivers of a generation.
const GENERATION: usize = 8_192;

/// Recently used receivers, in two generations. A full generation replaces the one before, so
/// receivers that are no longer used are dropped, such as those of removed webhooks.
struct Cache {
    /// The receivers, with the instant at which each was read.
    recent: HashMap<WebhookId, (Receiver, Instant)>,
    older: HashMap<WebhookId, (Receiver, Instant)>,
    /// Maximum number of receivers of a generation.
    max: usize,
    /// Number of changes, so that a receiver that was read before a change is not used after it.
    changes: u64,
}

impl Cache {
    fn new(max: usize) -> Self {
        Self { recent: HashMap::new(), older: HashMap::new(), max, changes: 0 }
    }

    fn get(&mut self, webhook: WebhookId) -> Option<&(Receiver, Instant)> {
        if let Some((receiver, read_at)) = self.older.remove(&webhook) {
            self.insert(webhook, receiver, read_at);
        }
        self.recent.get(&webhook)
    }

    fn insert(&mut self, webhook: WebhookId, receiver: Receiver, read_at: Instant) {
        if self.recent.len() >= self.max && !self.recent.contains_key(&webhook) {
            self.older = std::mem::take(&mut self.recent);
        }
        // Otherwise `get` would replace the new receiver by the older one.
        self.older.remove(&webhook);
        self.recent.insert(webhook, (receiver, read_at));
    }

    fn remove(&mut self, webhook: WebhookId) {
        self.changes += 1;
        self.recent.remove(&webhook);
        self.older.remove(&webhook);
    }

    fn clear(&mut self) {
        self.changes += 1;
        self.recent.clear();
        self.older.clear();
    }
}

/// Maximum number of reads of a receiver while webhooks are being changed.
const MAX_READS: u32 = 5;

/// The cache, with the HTTP client and the settings that all endpoints share.
pub(crate) struct EndpointCache {
    cache: Mutex<Cache>,
    /// Age at which a receiver is read again.
    max_age: Duration,
    pub(super) transport: Transport,
    policy: TargetPolicy,
    sealer: Arc<Sealer>,
    pub(super) signature_header: HeaderName,
    pub(super) event_header: HeaderName,
    id_header: HeaderName,
    user_agent: HeaderValue,
}

impl EndpointCache {
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
            cache: Mutex::new(Cache::new(GENERATION)),
            max_age,
            transport,
            policy: settings.target,
            sealer,
            signature_header: header(format!("x-{brand}-signature"))?,
            event_header: header(format!("x-{brand}-event-id"))?,
            id_header: header(format!("x-{brand}-webhook-id"))?,
            user_agent: user_agent.map_err(|_| SettingError::new("brand", "must be usable in a header"))?,
        })
    }

    /// Removes a webhook that has changed.
    pub(crate) fn remove(&self, webhook: WebhookId) {
        self.cache.lock().remove(webhook);
    }

    /// Removes all webhooks, because new sealing keys may open other secrets.
    pub(crate) fn clear(&self) {
        self.cache.lock().clear();
    }

    /// The receiver of a webhook, from the cache or the database. An unusable one is not cached:
    /// otherwise deliveries would fail for a reason that is gone.
    pub(super) async fn find(
        &self,
        store: &Store,
        company: CompanyId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Receiver, Error> {
        for _ in 0..MAX_READS {
            let changes = {
                let mut cache = self.cache.lock();
                if let Some((receiver, read_at)) = cache.get(webhook)
                    && read_at.elapsed() <= self.max_age
                {
                    return Ok(receiver.clone());
                }
                cache.changes
            };
            let (read_at, sealer) = (Instant::now(), Arc::clone(&self.sealer));
            let row =
                store.read(company, async move |mut tx| tx.webhooks().receiver(&sealer, webhook, now).await);
            let receiver = self.receiver(company, webhook, row.await?)?;
            let mut cache = self.cache.lock();
            if cache.changes == changes {
                if receiver.endpoint.is_ok() {
                    cache.insert(webhook, receiver.clone(), read_at);
                }
                return Ok(receiver);
            }
            // A webhook was changed meanwhile, perhaps this one: an attempt after the change must
            // not use the old state.
        }
        Err(Error::unavailable("webhook not read: webhooks changed during each read"))
    }

    fn receiver(
        &self,
        company: CompanyId,
        webhook: WebhookId,
        row: Option<ReceiverRow>,
    ) -> Result<Receiver, Error> {
        let unusable = |skipping| Receiver { skipping, endpoint: Err(FailureClass::Unsendable) };
        let Some(row) = row else { return Ok(unusable(None)) };
        // A removed webhook has no secret, so its endpoint is not prepared.
        let skipping = row.skipping;
        if skipping.is_some_and(|skipping| skipping.concerns(true)) {
            return Ok(unusable(skipping));
        }
        Ok(Receiver { skipping, endpoint: self.prepare(company, webhook, row)? })
    }

    /// Fails if the secret was read under keys that have been changed since. A new read succeeds.
    fn prepare(
        &self,
        company: CompanyId,
        webhook: WebhookId,
        row: ReceiverRow,
    ) -> Result<Result<Arc<Endpoint>, FailureClass>, Error> {
        let url = match self.policy.parse(&row.url) {
            Ok(url) => url,
            Err(error) => {
                tracing::warn!(%webhook, %error, "webhook URL not usable; its attempts fail");
                return Ok(Err(error.failure_class()));
            }
        };
        let place = AssociatedData::webhook_secret(company, webhook);
        let Some(signer) = signer_of(row.secret, &place)? else { return Ok(Err(FailureClass::Unsendable)) };
        let previous = match row.previous {
            Some((secret, until)) => {
                let place = AssociatedData::previous_webhook_secret(company, webhook);
                signer_of(secret, &place)?.map(|signer| (signer, until))
            }
            None => None,
        };
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        if let Ok(id) = HeaderValue::from_str(&webhook.to_string()) {
            headers.insert(self.id_header.clone(), id);
        }
        Ok(Ok(Arc::new(Endpoint { target: Target::new(&url, headers), signer, previous })))
    }
}

/// `None` for a secret that cannot be used. Fails if the secret was read under keys that have been
/// changed since.
fn signer_of(
    secret: Result<Zeroizing<String>, NotOpened>,
    place: &AssociatedData,
) -> Result<Option<Signer>, Error> {
    let cause = match secret {
        Ok(secret) => match Signer::new(secret.as_bytes()) {
            Ok(signer) => return Ok(Some(signer)),
            Err(empty) => place.bad_row(empty),
        },
        Err(cause @ NotOpened::NoKey(_)) => return Err(place.bad_row(cause)),
        Err(cause) => place.bad_row(cause),
    };
    tracing::error!(
        error = &cause as &dyn std::error::Error,
        "webhook secret cannot be read, so nothing is signed with it; rotate the secret"
    );
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(cache: &mut Cache, number: u128) {
        let receiver = Receiver { skipping: None, endpoint: Err(FailureClass::Unsendable) };
        cache.insert(webhook(number), receiver, Instant::now());
    }

    fn webhook(number: u128) -> WebhookId {
        WebhookId(uuid::Uuid::from_u128(number))
    }

    /// Rules: ISOLATION-5
    #[test]
    fn the_cache_is_bounded_however_many_webhooks_come_and_go() {
        let mut cache = Cache::new(10);
        for number in 0..100 {
            insert(&mut cache, number);
            assert!(cache.recent.len() + cache.older.len() <= 20);
            assert!(cache.get(webhook(number)).is_some());
        }
        cache.remove(webhook(99));
        assert!(cache.get(webhook(99)).is_none() && cache.get(webhook(98)).is_some());
        cache.clear();
        assert!((0..100).all(|number| cache.get(webhook(number)).is_none()));
    }

    #[test]
    fn a_receiver_that_is_read_again_replaces_the_one_before() {
        let mut cache = Cache::new(2);
        for number in [1, 2, 3, 1] {
            insert(&mut cache, number);
        }
        let read_at = cache.recent[&webhook(1)].1;
        assert_eq!(cache.get(webhook(1)).map(|(_, at)| *at), Some(read_at));
        assert_eq!(cache.older.keys().collect::<Vec<_>>(), [&webhook(2)]);
    }

    #[test]
    fn a_used_receiver_stays_in_the_cache_while_others_come() {
        let mut cache = Cache::new(10);
        for number in 0..1_000 {
            insert(&mut cache, number);
            assert!(number < 8 || (0..8).all(|used| cache.get(webhook(used)).is_some()), "{number}");
        }
    }
}
