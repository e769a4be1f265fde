//! Settings that a host builds or deserialises, and their checks.

use serde::Deserialize;

use crate::forward_proxy::ForwardProxy;
use crate::target::TargetPolicy;

/// Largest body of a request, in bytes. Part of the contract, so not a setting.
pub(crate) const MAX_BODY_BYTES: usize = 256 * 1024;

/// Maximum size of the head of a request in bytes, of its fields, and its time limit in
/// milliseconds. Defaults of [`ServeLimits`](crate::ServeLimits), which the description of the API
/// names.
pub(crate) const HEAD_BYTES: usize = 32 * 1024;
pub(crate) const HEAD_FIELDS: usize = 100;
pub(crate) const HEAD_TIME_MS: u64 = 10_000;

/// Default time limit of one webhook attempt, in milliseconds.
pub(crate) const ATTEMPT_TIMEOUT_MS: u64 = 5_000;

/// Least time by which a lease must exceed the time limit of an attempt, which is also started and
/// recorded within the lease.
const MIN_LEASE_BEYOND_ATTEMPT_MS: u64 = 6_000;

/// Fewest bytes for [`RequestLimits::buffered_bytes`]: one request with the largest body, and 64
/// KiB for its head.
pub(crate) const MIN_BUFFERED_BYTES: usize = MAX_BODY_BYTES + 64 * 1024;

/// A setting that is not usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("setting {name}: {rule}")]
#[non_exhaustive]
pub struct SettingError {
    /// Name of the setting, as it is deserialised.
    pub name: &'static str,
    /// The rule that the value breaks.
    pub rule: &'static str,
}

impl SettingError {
    pub(crate) const fn new(name: &'static str, rule: &'static str) -> Self {
        Self { name, rule }
    }
}

/// Settings of the service. The defaults are those of the contract.
///
/// A host builds them with the fields that it changes, or reads them from its own file:
///
/// ```
/// use invoicing_server::{Invoicing, RequestLimits, Settings};
///
/// let settings = Settings {
///     base_url: "https://quotes.example.com".to_owned(),
///     requests: RequestLimits { in_flight: 512, ..RequestLimits::default() },
///     ..Settings::default()
/// };
/// let builder = Invoicing::sqlite("invoicing.db").settings(settings.clone());
///
/// let read: Settings = serde_json::from_str(
///     r#"{"baseUrl": "https://quotes.example.com", "requests": {"inFlight": 512}}"#,
/// )?;
/// assert_eq!(read, settings);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The name in `X-<brand>-Signature`, `X-<brand>-Webhook-Id`, `X-<brand>-Event-Id` and the user
    /// agent `<brand>-Webhook/1.0`. `Service` by default.
    pub brand: String,
    /// Public base URL of the service, without `/api/v1`. Document URLs begin with it.
    /// `http://127.0.0.1:8080` by default, which only callers on the same machine reach.
    /// [`InvoicingBuilder::open`](crate::InvoicingBuilder::open) refuses any URL that does not begin with `https://`
    /// or `http://`.
    pub base_url: String,
    /// Requests that one key may make in any 60 s, 30 by default; 0 for no quota.
    pub quota: u32,
    /// The addresses that webhooks may reach: by default public ones, over `https`.
    pub target: TargetPolicy,
    /// Webhook delivery.
    pub dispatch: DispatchSettings,
    /// Document links.
    pub documents: DocumentSettings,
    /// Limits on requests.
    pub requests: RequestLimits,
    /// Descriptions of the API.
    pub reference: ReferenceSettings,
}

/// Settings of document links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DocumentSettings {
    /// True if document links lead to the store itself. S3, Google Cloud Storage and Azure have
    /// such URLs; a folder has none. The service then does not check the bytes that are downloaded.
    pub presigned_urls: bool,
}

/// Settings of the descriptions of the API, which callers read without a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ReferenceSettings {
    /// True if `/api/v1/openapi.json` is served, which it is by default. Otherwise it is answered
    /// with 404.
    pub openapi: bool,
    /// True if the reference page is served at `/api/v1/docs`, which it is by default if the
    /// feature `reference` is on. Otherwise it is answered with 404.
    pub page: bool,
}

/// Limits on requests. They hold for every server that the service is mounted in.
///
/// | Limit | Default | Beyond it |
/// |---|---|---|
/// | [`in_flight`](Self::in_flight); of one company half | 256 | 503 `overloaded` with `Retry-After: 1`, at once |
/// | [`documents_in_flight`](Self::documents_in_flight); of one company half | 64 | 503 `overloaded` with `Retry-After: 1`, at once |
/// | downloads behind document URLs and signing links, likewise | 64 | the same |
/// | pages behind signing links that are made at once; of one company half | one for each processor, at least 2 | they wait for 4 s, then 503 |
/// | requests with one signing link, served and waiting | 32 | 503 with `Retry-After: 1`, at once |
/// | signatures under way, likewise; of one quote 1 | 64 | they wait for 15 s, then 503 |
/// | unknown signing tokens that are looked up | 4,096 | 503 with `Retry-After: 1`, at once |
/// | [`buffered_bytes`](Self::buffered_bytes) | 64 MiB | an answer whose peer is 3 s behind 16 KiB a second is ended; else 503 `overloaded` with `Retry-After: 1` |
/// | of these for the keys and people of one company | a quarter, at least 320 KiB; a single answer may be larger | the same |
/// | of these for documents and callers without a key on one connection of [`serve`](crate::serve()) | a quarter, at least 320 KiB | the same |
/// | of these for one company's documents by their URLs, by its signing links; for the pages of its links | 3/16 each, or two readers; 1/8 | the same |
/// | of these for one document by its URL, by its links; for the pages of one link | 1/16 each, or two readers; 1/32 | the same |
/// | of these for all callers without a key | 1/16 | the same |
/// | of these for callers without a key on one connection | 1/512, or one answer | the same |
/// | downloads of one document at once, by its URL, by its links | 8 each | one whose peer is 3 s behind 16 KiB a second is ended; else 503 `overloaded` |
/// | parts of one document that are read at once, by its URL, by its links | 1 each | they wait for 4 s, then 503 |
/// | [`body_time_ms`](Self::body_time_ms) | 10 s | 408 `request_timeout` |
/// | body of a request | 256 KiB (contract) | 413 `payload_too_large` |
/// | unread body of a request that is refused | read for 5 s, up to 1 MiB | the answer is sent, and the rest not read |
/// | requests of one key in 60 s | [`Settings::quota`] | 429 with `Retry-After` |
///
/// Limits on connections belong to the server that accepts them: with [`serve`](crate::serve())
/// they are [`ServeLimits`](crate::ServeLimits).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RequestLimits {
    /// Requests that are processed at once. A request counts neither while its key is looked up (at
    /// most 1,024 wait for that), nor while its body arrives, nor while its answer is sent.
    pub in_flight: usize,
    /// Requests at once that may wait for the document store: links to documents of keys and
    /// people. The same limit holds for downloads of callers without a key, and for signatures.
    /// They are counted apart, so that a document store which hangs does not block other requests.
    pub documents_in_flight: usize,
    /// Bytes buffered for all peers together: requests whose body arrives, with their heads, and
    /// unsent answers. A head counts 128 bytes more for each field, and over HTTP/2 at least 16
    /// KiB. The last eighth is for requests and answers of at most 32 KiB; a company's keys and
    /// people and a connection have an eighth of their share more for these. Documents, and lines
    /// of more than 8 KiB, count before they are read, and other lists with 2 KiB for each item.
    /// The answers of [`in_flight`](Self::in_flight) requests may exceed the limit while they are
    /// made, by their bytes beyond these counts. Pages behind signing links count once they are
    /// made: one for each processor is made at a time.
    pub buffered_bytes: usize,
    /// Time limit for the body of a request in milliseconds, counted from its head. At most
    /// 600,000.
    pub body_time_ms: u64,
}

/// Settings of webhook delivery.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DispatchSettings {
    /// Attempts per delivery, the first included.
    pub max_attempts: u32,
    /// Time limit of one attempt in milliseconds, from the name lookup to the end of the response.
    /// At most 30,000.
    pub attempt_timeout_ms: u64,
    /// Duration of the lease on a delivery, in milliseconds. When it ends, another node may take
    /// the delivery over. At least 6,000 more than the time limit of an attempt, at most 600,000.
    pub lease_ms: u64,
    /// Attempts at once for all webhooks.
    pub in_flight: usize,
    /// Deliveries under way at once per webhook, from the first attempt to the end.
    pub in_flight_per_webhook: usize,
    /// Forward proxy for webhooks, as `http://user:password@proxy.example:3128`. This machine still
    /// resolves and checks the names, and requests a permitted address from the proxy.
    pub proxy: Option<ForwardProxy>,
    /// True if the proxy resolves the names, for machines that cannot resolve public ones. The
    /// proxy alone then keeps webhooks out of private networks; the service still refuses address
    /// literals and local names.
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
            reference: ReferenceSettings::default(),
        }
    }
}

impl Default for ReferenceSettings {
    fn default() -> Self {
        Self { openapi: true, page: true }
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
            attempt_timeout_ms: ATTEMPT_TIMEOUT_MS,
            lease_ms: 60_000,
            in_flight: 256,
            in_flight_per_webhook: 8,
            proxy: None,
            proxy_resolves_names: false,
        }
    }
}

impl Settings {
    /// Refuses values that would fail later, in a place that could not name the setting.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        ensure(
            is_header_token(&self.brand),
            "brand",
            "must be letters, digits and hyphens: it becomes part of header names",
        )?;
        let is_http = self.base_url.starts_with("https://") || self.base_url.starts_with("http://");
        ensure(is_http, "baseUrl", "must begin with https:// or http://")?;
        self.dispatch.check()?;
        self.requests.check()
    }
}

impl DispatchSettings {
    fn check(&self) -> Result<(), SettingError> {
        ensure(self.max_attempts > 0, "dispatch.maxAttempts", "must be at least 1")?;
        ensure(
            (1..=30_000).contains(&self.attempt_timeout_ms),
            "dispatch.attemptTimeoutMs",
            "must be between 1 and 30000",
        )?;
        ensure(
            (self.attempt_timeout_ms + MIN_LEASE_BEYOND_ATTEMPT_MS..=600_000).contains(&self.lease_ms),
            "dispatch.leaseMs",
            "must be at least dispatch.attemptTimeoutMs + 6000, and at most 600000",
        )?;
        ensure(
            self.in_flight > 0 && self.in_flight_per_webhook > 0,
            "dispatch.inFlight",
            "must be at least 1, also per webhook",
        )
    }
}

impl RequestLimits {
    fn check(&self) -> Result<(), SettingError> {
        ensure(self.in_flight > 0, "requests.inFlight", "must be at least 1")?;
        ensure(self.documents_in_flight > 0, "requests.documentsInFlight", "must be at least 1")?;
        ensure(
            self.buffered_bytes >= MIN_BUFFERED_BYTES,
            "requests.bufferedBytes",
            "must be enough for one request, 327680",
        )?;
        ensure(
            (1..=600_000).contains(&self.body_time_ms),
            "requests.bodyTimeMs",
            "must be between 1 and 600000",
        )
    }
}

fn ensure(is_met: bool, name: &'static str, rule: &'static str) -> Result<(), SettingError> {
    if is_met { Ok(()) } else { Err(SettingError::new(name, rule)) }
}

fn is_header_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Connection settings of a PostgreSQL database. See
/// [`Invoicing::postgres`](crate::Invoicing::postgres).
///
/// ```no_run
/// use invoicing_server::{Invoicing, ObjectStorage, PostgresSettings};
///
/// # async fn host() -> Result<(), Box<dyn std::error::Error>> {
/// let mut place = PostgresSettings::new("postgres://invoicing@db.example.com/invoicing?sslmode=verify-full");
/// place.max_connections = 20;
/// let documents = ObjectStorage::folder("/mnt/shared/documents")?;
/// let invoicing = Invoicing::postgres(place).document_store(std::sync::Arc::new(documents)).open().await?;
/// # Ok(()) }
/// ```
///
/// `Debug` does not show the URLs, as they hold a password.
#[cfg(feature = "postgres")]
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PostgresSettings {
    /// `postgres://user:password@host:5432/database`, with one host.
    /// `?sslmode=verify-full&sslrootcert=…` requires TLS, which needs the feature `postgres-tls`;
    /// `?options=-c%20search_path%3Dinvoicing` chooses a schema.
    pub url: String,
    /// Maximum number of connections of this node in the pool; the listener uses another one.
    #[serde(default = "PostgresSettings::max_connections")]
    pub max_connections: u32,
    /// Longest wait for a connection from the pool, in milliseconds.
    #[serde(default = "PostgresSettings::acquire_timeout_ms")]
    pub acquire_timeout_ms: u64,
    /// Longest time for one statement, in milliseconds.
    #[serde(default = "PostgresSettings::statement_timeout_ms")]
    pub statement_timeout_ms: u64,
    /// Longest wait of a statement for a lock, in milliseconds.
    #[serde(default = "PostgresSettings::lock_timeout_ms")]
    pub lock_timeout_ms: u64,
    /// True if the URL leads to a `PgBouncer` in transaction mode (1.21 or later, with
    /// `max_prepared_statements` of at least 256 and `ignore_startup_parameters =
    /// extra_float_digits`).
    #[serde(default)]
    pub transaction_pooling: bool,
    /// URL of a streaming standby. Pages of quotes, invoices and clients come from it if it is up
    /// to date. Otherwise they come from `url`, as do all other records. Callers see no difference.
    #[serde(default)]
    pub replica_url: Option<String>,
    /// URL for `LISTEN`, which does not work behind a pooler. Without it a node behind a pooler
    /// misses notifications of other nodes until its next poll, as a rule within 5 s.
    #[serde(default)]
    pub listen_url: Option<String>,
}

#[cfg(feature = "postgres")]
impl PostgresSettings {
    /// The defaults: 10 connections, 3 s to acquire one, 5 s for a statement, 2 s for a lock.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_connections: Self::max_connections(),
            acquire_timeout_ms: Self::acquire_timeout_ms(),
            statement_timeout_ms: Self::statement_timeout_ms(),
            lock_timeout_ms: Self::lock_timeout_ms(),
            transaction_pooling: false,
            replica_url: None,
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

    pub(crate) fn check(&self) -> Result<(), SettingError> {
        // A sweep holds one connection for its lock and works with another one; operations need a
        // third.
        ensure(self.max_connections >= 3, "maxConnections", "must be at least 3")?;
        for (name, limit) in [
            ("acquireTimeoutMs", self.acquire_timeout_ms),
            ("statementTimeoutMs", self.statement_timeout_ms),
            ("lockTimeoutMs", self.lock_timeout_ms),
        ] {
            ensure((1..=600_000).contains(&limit), name, "must be between 1 and 600000")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the defaults with one change. Returns the name of the setting that is refused.
    fn refused(change: impl FnOnce(&mut Settings)) -> Option<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.check().err().map(|error| error.to_string())
    }

    #[track_caller]
    fn is_refused(name: &str, change: impl FnOnce(&mut Settings)) {
        let error = refused(change).unwrap_or_else(|| panic!("{name} is accepted"));
        assert!(error.contains(name), "{name}: {error}");
    }

    #[test]
    fn settings_that_would_fail_later_are_refused_by_name() {
        for brand in ["", "a b", "a:b", "a\r\nb", "\u{e9}"] {
            is_refused("brand", |settings| settings.brand = brand.to_owned());
        }
        for url in ["", "example.com", "ftp://example.com", "https:/example.com"] {
            is_refused("baseUrl", |settings| settings.base_url = url.to_owned());
        }
        is_refused("dispatch.maxAttempts", |settings| settings.dispatch.max_attempts = 0);
        for limit in [0, 30_001, u64::MAX] {
            is_refused("dispatch.attemptTimeoutMs", |settings| settings.dispatch.attempt_timeout_ms = limit);
        }
        for lease in [0, ATTEMPT_TIMEOUT_MS + 5_999, 600_001, u64::MAX] {
            is_refused("dispatch.leaseMs", |settings| settings.dispatch.lease_ms = lease);
        }
        is_refused("dispatch.inFlight", |settings| settings.dispatch.in_flight = 0);
        is_refused("dispatch.inFlight", |settings| settings.dispatch.in_flight_per_webhook = 0);
        is_refused("requests.inFlight", |settings| settings.requests.in_flight = 0);
        is_refused("requests.documentsInFlight", |settings| settings.requests.documents_in_flight = 0);
        is_refused("requests.bufferedBytes", |settings| settings.requests.buffered_bytes = 327_679);
        for limit in [0, 600_001] {
            is_refused("requests.bodyTimeMs", |settings| settings.requests.body_time_ms = limit);
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn settings_of_postgresql_have_limits() {
        type Field = fn(&mut PostgresSettings) -> &mut u64;

        let checked = |change: &dyn Fn(&mut PostgresSettings)| {
            let mut settings = PostgresSettings::new("postgres://localhost");
            change(&mut settings);
            settings.check().map_err(|error| error.to_string())
        };
        assert!(checked(&|settings| settings.max_connections = 3).is_ok());
        let error = checked(&|settings| settings.max_connections = 2).unwrap_err();
        assert!(error.contains("maxConnections"), "{error}");
        let fields: [(&str, Field); 3] = [
            ("acquireTimeoutMs", |settings| &mut settings.acquire_timeout_ms),
            ("statementTimeoutMs", |settings| &mut settings.statement_timeout_ms),
            ("lockTimeoutMs", |settings| &mut settings.lock_timeout_ms),
        ];
        for (name, field) in fields {
            for limit in [1, 600_000] {
                assert!(checked(&|settings| *field(settings) = limit).is_ok(), "{name} {limit}");
            }
            for limit in [0, 600_001] {
                let error = checked(&|settings| *field(settings) = limit).unwrap_err();
                assert!(error.contains(name), "{name} {limit}: {error}");
            }
        }
    }

    #[test]
    fn settings_at_their_limits_are_accepted() {
        let smallest = |settings: &mut Settings| {
            settings.brand = "A-1".to_owned();
            settings.base_url = "http://localhost".to_owned();
            settings.dispatch.max_attempts = 1;
            settings.dispatch.attempt_timeout_ms = 1;
            settings.dispatch.lease_ms = 6_001;
            (settings.dispatch.in_flight, settings.dispatch.in_flight_per_webhook) = (1, 1);
            (settings.requests.in_flight, settings.requests.documents_in_flight) = (1, 1);
            settings.requests.buffered_bytes = 327_680;
            settings.requests.body_time_ms = 1;
        };
        let largest = |settings: &mut Settings| {
            settings.dispatch.attempt_timeout_ms = 30_000;
            settings.dispatch.lease_ms = 600_000;
            settings.requests.body_time_ms = 600_000;
        };
        assert_eq!(refused(|_| {}), None);
        assert_eq!(refused(smallest), None);
        assert_eq!(refused(largest), None);
    }
}
