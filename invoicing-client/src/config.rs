//! The settings of a client. Every one has a default that suits the contract's limits.

use std::sync::Arc;
use std::time::Duration;

use crate::call::Endpoint;
use crate::client::Shared;
use crate::env::{Env, SystemEnv};
use crate::transport::{HttpTransport, Transport};
use crate::{ApiKey, ConfigError, InvoicingClient};

/// Most attempts per call (contract, section 11).
const MAX_ATTEMPTS: u32 = 4;
/// A connection takes at most this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An attempt takes at most this long, its body included.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// A call takes at most this long: room for the longest `Retry-After` that is waited for (90 s) and an attempt.
const DEADLINE: Duration = Duration::from_mins(2);
/// A page of 100 quotes of a few hundred lines each stays below.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Builds an [`InvoicingClient`].
#[derive(Debug, Clone)]
#[must_use = "call `build` to get a client"]
pub struct ClientBuilder {
    base_url: String,
    key: ApiKey,
    user_agent: String,
    connect_timeout: Duration,
    limits: Limits,
    http: Option<reqwest::Client>,
}

/// What a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_attempts: u32,
    pub(crate) attempt_timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) max_response_bytes: usize,
}

impl ClientBuilder {
    pub(crate) fn new(base_url: impl Into<String>, key: impl Into<ApiKey>) -> Self {
        Self {
            base_url: base_url.into(),
            key: key.into(),
            user_agent: concat!("invoicing-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: CONNECT_TIMEOUT,
            limits: Limits {
                max_attempts: MAX_ATTEMPTS,
                attempt_timeout: ATTEMPT_TIMEOUT,
                deadline: DEADLINE,
                max_response_bytes: MAX_RESPONSE_BYTES,
            },
            http: None,
        }
    }

    /// `User-Agent` of every request. Default: `invoicing-client/` and the version.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Longest time for one connection. Default: 10 s. Without effect on an [`http_client`](Self::http_client) of
    /// one's own.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Longest time for one attempt, from connecting to the last byte of the answer. Default: 30 s.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// Longest time for a call with all its attempts and waits. Default: 120 s.
    ///
    /// A wait that would pass it is not begun: the call ends at once with the error that it would have waited for.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Most attempts per call, 1 to 4. Default: 4.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.limits.max_attempts = attempts;
        self
    }

    /// Largest body that is read, in bytes, documents included. Default: 64 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_response_bytes = bytes;
        self
    }

    /// Uses an HTTP client of one's own: for a proxy, private roots, or a shared pool of connections.
    ///
    /// Give it `redirect(Policy::none())`. An answer that it reached by a redirect is reported as
    /// [`ErrorKind::Redirected`](crate::ErrorKind::Redirected), but only after the redirect was followed.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http = Some(client);
        self
    }

    /// Checks the settings and builds the client. Nothing is sent.
    pub fn build(self) -> Result<InvoicingClient, ConfigError> {
        self.build_in(Arc::new(SystemEnv))
    }

    /// Builds the client on another clock.
    pub(crate) fn build_in(self, env: Arc<dyn Env>) -> Result<InvoicingClient, ConfigError> {
        let http = match &self.http {
            Some(client) => client.clone(),
            None => self.default_http()?,
        };
        self.build_on(Arc::new(HttpTransport(http)), env)
    }

    /// Builds the client on another network and another clock.
    pub(crate) fn build_on(
        self,
        transport: Arc<dyn Transport>,
        env: Arc<dyn Env>,
    ) -> Result<InvoicingClient, ConfigError> {
        self.limits.check()?;
        let endpoint = Endpoint::new(&self.base_url, self.key.header()?, &self.user_agent)?;
        Ok(InvoicingClient::new(Shared { endpoint, key: self.key, limits: self.limits, transport, env }))
    }

    fn default_http(&self) -> Result<reqwest::Client, ConfigError> {
        reqwest::Client::builder()
            .connect_timeout(self.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .build()
            .map_err(ConfigError::Http)
    }
}

impl Limits {
    fn check(&self) -> Result<(), ConfigError> {
        let refuse = |setting, rule| Err(ConfigError::OutOfRange { setting, rule });
        if !(1..=MAX_ATTEMPTS).contains(&self.max_attempts) {
            return refuse("max_attempts", "between 1 and 4");
        }
        if self.attempt_timeout.is_zero() {
            return refuse("attempt_timeout", "more than 0");
        }
        if self.deadline.is_zero() {
            return refuse("deadline", "more than 0");
        }
        Ok(())
    }
}
