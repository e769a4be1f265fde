//! Settings that a host can deserialise from wherever it keeps its own.

use serde::Deserialize;

use crate::forward_proxy::ForwardProxy;
use crate::http::body;
use crate::store::OpenError;
use crate::target::TargetPolicy;

/// What a lease must have beyond the limit of an attempt: time to begin the attempt in, and to record it.
const LEASE_OVER_ATTEMPT_MS: u64 = 6_000;

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
    /// How documents are handed out.
    pub documents: DocumentSettings,
    /// What requests may take, whatever server they come through.
    pub requests: RequestLimits,
}

/// How documents are handed out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DocumentSettings {
    /// Whether a link to a document leads to the store itself, where the store has such URLs (S3, Google Cloud Storage
    /// and Azure have, a folder has not). The service then does not see the bytes again, and does not check them.
    pub presigned_urls: bool,
}

/// What requests may take, whatever server they come through.
///
/// | Limit | Default | Beyond it |
/// |---|---|---|
/// | [`in_flight`](Self::in_flight) | 256 | 503 `overloaded` with `Retry-After: 1`, at once |
/// | [`documents_in_flight`](Self::documents_in_flight) | 64 | 503 `overloaded` with `Retry-After: 1`, at once |
/// | [`buffered_bytes`](Self::buffered_bytes) | 64 MiB | 503 `overloaded` with `Retry-After: 1`, at once |
/// | [`body_time_ms`](Self::body_time_ms) | 10 s | 408 `request_timeout` |
/// | body of a request | 256 KiB (contract) | 413 `payload_too_large` |
/// | body that nobody wants | read for 5 s, up to 1 MiB | the answer is sent, and the rest not read |
/// | requests of one key in 60 s | [`Settings::quota`] | 429 with `Retry-After` |
///
/// The limits on connections are those of whoever accepts them: of [`ServeLimits`](crate::ServeLimits) with
/// [`serve`](crate::serve()).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RequestLimits {
    /// Requests that are worked on at once. One whose body is still coming does not count, nor one whose answer is
    /// being sent.
    pub in_flight: usize,
    /// Requests at once that may wait for the document store: downloads, and links to them. They count by themselves, so
    /// that a store which does not answer keeps nothing else from being answered.
    pub documents_in_flight: usize,
    /// Bytes of requests whose body is coming, with their heads, and of answers that have not been sent, all together:
    /// a head with 128 bytes for each field, and over HTTP/2 with 16 KiB at least. The answers of
    /// [`in_flight`](Self::in_flight) requests may come on top, and the documents of
    /// [`documents_in_flight`](Self::documents_in_flight).
    pub buffered_bytes: usize,
    /// Longest time for the body of a request in milliseconds, from the head on. At most 600,000.
    pub body_time_ms: u64,
}

/// How webhooks are delivered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DispatchSettings {
    /// Attempts per delivery, the first included.
    pub max_attempts: u32,
    /// Limit of one attempt in milliseconds, from the name lookup to the end of the answer's body. At most 30,000.
    pub attempt_timeout_ms: u64,
    /// How long a claim on a delivery holds, in milliseconds: when others may take over what a node held that is no more.
    /// At least 6,000 more than the limit of an attempt, at most 600,000.
    pub lease_ms: u64,
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
            documents: DocumentSettings::default(),
            requests: RequestLimits::default(),
        }
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            documents_in_flight: 64,
            buffered_bytes: 64 * 1024 * 1024,
            body_time_ms: 10_000,
        }
    }
}

impl Default for DispatchSettings {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            attempt_timeout_ms: 5_000,
            lease_ms: 60_000,
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
        if !(dispatch.attempt_timeout_ms + LEASE_OVER_ATTEMPT_MS..=600_000).contains(&dispatch.lease_ms) {
            return refuse(
                "dispatch.leaseMs",
                "must be at least dispatch.attemptTimeoutMs + 6000, and at most 600000",
            );
        }
        if dispatch.in_flight == 0 || dispatch.in_flight_per_webhook == 0 {
            return refuse("dispatch.inFlight", "must be at least 1, also per webhook");
        }
        let requests = &self.requests;
        if requests.in_flight == 0 {
            return refuse("requests.inFlight", "must be at least 1");
        }
        if requests.documents_in_flight == 0 {
            return refuse("requests.documentsInFlight", "must be at least 1");
        }
        // A body, and 64 KiB for its head.
        if requests.buffered_bytes < body::MOST_BYTES + 64 * 1024 {
            return refuse("requests.bufferedBytes", "must be enough for one request, 327680");
        }
        if !(1..=600_000).contains(&requests.body_time_ms) {
            return refuse("requests.bodyTimeMs", "must be between 1 and 600000");
        }
        Ok(())
    }
}

/// A PostgreSQL database, and how it is used. See [`Invoicing::on_postgres`](crate::Invoicing::on_postgres).
///
/// `Debug` does not show the URLs, as they hold a password.
#[cfg(feature = "postgres")]
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PostgresSettings {
    /// `postgres://user:password@host:5432/database`. `?sslmode=verify-full&sslrootcert=…` asks for TLS (where the host's
    /// program has one of sqlx's `tls-rustls-*` features on), `?options=-c%20search_path%3Dinvoicing` for a schema.
    pub url: String,
    /// Connections of this node at most; besides them one that listens.
    #[serde(default = "PostgresSettings::max_connections")]
    pub max_connections: u32,
    /// Longest wait for one of them, in milliseconds.
    #[serde(default = "PostgresSettings::acquire_timeout_ms")]
    pub acquire_timeout_ms: u64,
    /// Longest time for one statement, in milliseconds.
    #[serde(default = "PostgresSettings::statement_timeout_ms")]
    pub statement_timeout_ms: u64,
    /// Longest wait of a statement for a lock, in milliseconds.
    #[serde(default = "PostgresSettings::lock_timeout_ms")]
    pub lock_timeout_ms: u64,
    /// Whether the URL leads to a `PgBouncer` in transaction mode (1.21 or later, with `max_prepared_statements` of at
    /// least 256 and `ignore_startup_parameters = extra_float_digits`).
    #[serde(default)]
    pub transaction_pooling: bool,
    /// Where to listen for what other nodes say, if not at the URL: behind a pooler nothing can be heard. Without it a
    /// node behind a pooler finds out by itself, within 5 s.
    #[serde(default)]
    pub listen_url: Option<String>,
}

#[cfg(feature = "postgres")]
impl PostgresSettings {
    /// The defaults: 10 connections, 3 s to get one, 5 s for a statement, 2 s for a lock.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_connections: Self::max_connections(),
            acquire_timeout_ms: Self::acquire_timeout_ms(),
            statement_timeout_ms: Self::statement_timeout_ms(),
            lock_timeout_ms: Self::lock_timeout_ms(),
            transaction_pooling: false,
            listen_url: None,
        }
    }

    const fn max_connections() -> u32 {
        10
    }

    const fn acquire_timeout_ms() -> u64 {
        3_000
    }

    const fn statement_timeout_ms() -> u64 {
        5_000
    }

    const fn lock_timeout_ms() -> u64 {
        2_000
    }

    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let refuse = |name, rule| Err(OpenError::Setting { name, rule });
        // One that sweeps holds one for its lock, and another one works.
        if self.max_connections < 3 {
            return refuse("maxConnections", "must be at least 3");
        }
        for (name, limit) in [
            ("acquireTimeoutMs", self.acquire_timeout_ms),
            ("statementTimeoutMs", self.statement_timeout_ms),
            ("lockTimeoutMs", self.lock_timeout_ms),
        ] {
            if !(1..=600_000).contains(&limit) {
                return refuse(name, "must be between 1 and 600000");
            }
        }
        Ok(())
    }
}

#[cfg(feature = "postgres")]
impl std::fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSettings")
            .field("max_connections", &self.max_connections)
            .field("transaction_pooling", &self.transaction_pooling)
            .finish_non_exhaustive()
    }
}
