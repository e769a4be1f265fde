//! Settings that a host can deserialise from wherever it keeps its own.

use serde::Deserialize;

use crate::dispatch::target::TargetPolicy;
use crate::dispatch::transport::ForwardProxy;
use crate::store::OpenError;

/// How the service behaves. The defaults are the contract's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// Feeds `X-<brand>-Signature`, `X-<brand>-Webhook-Id` and the user agent `<brand>-Webhook/1.0`.
    pub brand: String,
    /// Where the service can be reached from outside, without `/api/v1`: document URLs begin with it.
    pub base_url: String,
    /// Requests that one key may make in any 60 s; 0 is no quota.
    pub quota: u32,
    /// What webhooks may reach.
    pub target: TargetPolicy,
    /// How webhooks are delivered.
    pub dispatch: DispatchSettings,
}

/// How webhooks are delivered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DispatchSettings {
    /// Attempts per delivery, the first included.
    pub max_attempts: u32,
    /// Limit of one attempt in milliseconds, from the name lookup to the end of the answer's body. At most 30,000.
    pub attempt_timeout_ms: u64,
    /// Attempts at once in all.
    pub in_flight: usize,
    /// Attempts at once per webhook.
    pub in_flight_per_webhook: usize,
    /// The forward proxy that webhooks go through, as `http://user:password@proxy.example:3128`; none otherwise. Names
    /// are looked up by this machine all the same, and checked; the proxy is asked for an address that passed.
    pub proxy: Option<ForwardProxy>,
    /// Whether names are left to the proxy instead, for machines that cannot look up public names. The proxy alone then
    /// keeps webhooks out of private networks; only address literals and local names are still refused here.
    pub proxy_resolves_names: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            brand: "Service".to_owned(),
            base_url: "http://127.0.0.1:8080".to_owned(),
            quota: 30,
            target: TargetPolicy::default(),
            dispatch: DispatchSettings::default(),
        }
    }
}

impl Default for DispatchSettings {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            attempt_timeout_ms: 5_000,
            in_flight: 256,
            in_flight_per_webhook: 8,
            proxy: None,
            proxy_resolves_names: false,
        }
    }
}

impl Settings {
    /// Checks what would otherwise fail later and elsewhere.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let refuse = |name, rule| Err(OpenError::Setting { name, rule });
        let token = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !token(&self.brand) {
            return refuse("brand", "must be letters, digits and hyphens: it becomes part of header names");
        }
        if !(self.base_url.starts_with("https://") || self.base_url.starts_with("http://")) {
            return refuse("baseUrl", "must begin with https:// or http://");
        }
        let dispatch = &self.dispatch;
        if dispatch.max_attempts == 0 {
            return refuse("dispatch.maxAttempts", "must be at least 1");
        }
        if !(1..=30_000).contains(&dispatch.attempt_timeout_ms) {
            return refuse("dispatch.attemptTimeoutMs", "must be between 1 and 30000");
        }
        if dispatch.in_flight == 0 || dispatch.in_flight_per_webhook == 0 {
            return refuse("dispatch.inFlight", "must be at least 1, also per webhook");
        }
        Ok(())
    }
}
