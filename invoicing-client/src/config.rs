//! The settings of a client. Every one has a default that suits the contract's limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::call::Endpoint;
use crate::client::Shared;
use crate::env::{Env, SystemEnv};
use crate::pace::Pace;
use crate::transport::HttpTransport;
use crate::{ApiKey, ConfigError, InvoicingClient, Transport};

/// Most attempts per call (RETRY-3).
pub(crate) const MAX_ATTEMPTS: u32 = 4;
/// A connection takes at most this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An attempt takes at most this long, its body included.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// A call takes at most this long: room for the longest `Retry-After` that is waited for (90 s) and an attempt.
const DEADLINE: Duration = Duration::from_mins(2);
/// A page of 100 quotes of a few hundred lines each stays below.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Builds an [`InvoicingClient`].
#[derive(Clone)]
#[must_use = "call `build` to get a client"]
pub struct ClientBuilder {
    base_url: String,
    key: ApiKey,
    user_agent: String,
    limits: Limits,
    pacing: bool,
    network: Network,
}

/// What carries the requests.
#[derive(Clone)]
enum Network {
    /// A client of this crate's own.
    Own { connect_timeout: Duration, proxy: Option<String> },
    /// One that the caller set up.
    Reqwest(reqwest::Client),
    /// Something else.
    Other(Arc<dyn Transport>),
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
            limits: Limits {
                max_attempts: MAX_ATTEMPTS,
                attempt_timeout: ATTEMPT_TIMEOUT,
                deadline: DEADLINE,
                max_response_bytes: MAX_RESPONSE_BYTES,
            },
            pacing: true,
            network: Network::Own { connect_timeout: CONNECT_TIMEOUT, proxy: None },
        }
    }

    /// `User-Agent` of every request. Default: `invoicing-client/` and the version.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Longest time for one connection. Default: 10 s. Without effect on a [`reqwest_client`](Self::reqwest_client) or a
    /// [`transport`](Self::transport) of one's own.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        if let Network::Own { connect_timeout, .. } = &mut self.network {
            *connect_timeout = timeout;
        }
        self
    }

    /// Goes through this HTTP proxy (`http://user:password@proxy.example.com:3128`), to the service and to documents.
    /// Default: none, whatever the environment says. Without effect on a [`reqwest_client`](Self::reqwest_client) or a
    /// [`transport`](Self::transport) of one's own.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        if let Network::Own { proxy, .. } = &mut self.network {
            *proxy = Some(url.into());
        }
        self
    }

    /// Longest time for one attempt, from connecting to the last byte of the answer. Default: 30 s.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// Longest time for a call with all its attempts and waits, those for the pace included. Default: 120 s.
    ///
    /// A wait that would pass it is not begun: the call ends at once with the error that it would have waited for. A
    /// single call can have [another one](crate::Request::deadline).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Most attempts per call, 1 to 4. Default: 4. A single call can have [another number](crate::Request::attempts).
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.limits.max_attempts = attempts;
        self
    }

    /// Largest body that is read, in bytes, documents included. Default: 64 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_response_bytes = bytes;
        self
    }

    /// Whether calls keep to the key's quota by themselves. Default: yes.
    ///
    /// All clones of the client share one pace. Once the first is answered, requests go out at once, as many as the quota
    /// allows (30 in 60 s, or what `RateLimit-Limit` says); then each waits for the moment at which the service lets it
    /// pass. While the key has no other user, no call ever meets a 429, but for the very first of a process that begins
    /// when an earlier one has just used up the quota. Off, a call that is too early is refused, and tried again as the
    /// rules for 429 say.
    pub fn pacing(mut self, on: bool) -> Self {
        self.pacing = on;
        self
    }

    /// Uses a reqwest client of one's own: for private roots, a client certificate, or a shared pool of connections.
    ///
    /// Give it `redirect(Policy::none())`. An answer that it reached by a redirect is reported as
    /// [`ErrorKind::Redirected`](crate::ErrorKind::Redirected), but only after the redirect was followed.
    pub fn reqwest_client(mut self, client: reqwest::Client) -> Self {
        self.network = Network::Reqwest(client);
        self
    }

    /// Uses something else than the network. See [`Transport`].
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.network = Network::Other(transport);
        self
    }

    /// Checks the settings and builds the client. Nothing is sent.
    pub fn build(self) -> Result<InvoicingClient, ConfigError> {
        self.build_in(Arc::new(SystemEnv))
    }

    /// Builds the client on another clock.
    pub(crate) fn build_in(self, env: Arc<dyn Env>) -> Result<InvoicingClient, ConfigError> {
        self.limits.check()?;
        let endpoint = Endpoint::new(&self.base_url, self.key.header()?, &self.user_agent)?;
        let transport = self.network.transport()?;
        let pace = self.pacing.then(|| Pace::new(env.now()));
        Ok(InvoicingClient::new(Shared {
            endpoint,
            key: self.key,
            limits: self.limits,
            transport,
            env,
            pace,
        }))
    }

    /// Builds the client on another network and another clock.
    #[cfg(test)]
    pub(crate) fn build_on(
        self,
        transport: Arc<dyn Transport>,
        env: Arc<dyn Env>,
    ) -> Result<InvoicingClient, ConfigError> {
        self.transport(transport).build_in(env)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The network is left out: a proxy's address may hold a password.
        f.debug_struct("ClientBuilder")
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("user_agent", &self.user_agent)
            .field("limits", &self.limits)
            .field("pacing", &self.pacing)
            .finish_non_exhaustive()
    }
}

impl Network {
    fn transport(self) -> Result<Arc<dyn Transport>, ConfigError> {
        let client = match self {
            Self::Other(transport) => return Ok(transport),
            Self::Reqwest(client) => client,
            Self::Own { connect_timeout, proxy } => own_client(connect_timeout, proxy.as_deref())?,
        };
        Ok(Arc::new(HttpTransport(client)))
    }
}

fn own_client(connect_timeout: Duration, proxy: Option<&str>) -> Result<reqwest::Client, ConfigError> {
    let builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false);
    let builder = match proxy {
        None => builder.no_proxy(),
        // The error is not kept: it may repeat the address, and with it a password.
        Some(url) => builder.proxy(reqwest::Proxy::all(url).map_err(|_| ConfigError::Proxy)?),
    };
    builder.build().map_err(ConfigError::Http)
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
