//! [`InvoicingClient`]: a handle that is cheap to clone, the state that its clones share, and the
//! [`ClientBuilder`] that makes it of the settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::env::{Env, SystemEnv};
use crate::http_transport::{HttpTransport, default_client};
use crate::limits::Limits;
use crate::rate_limiter::RateLimiter;
use crate::request_factory::RequestFactory;
use crate::{ApiKey, ConfigError, Transport};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the API for one company's key.
///
/// Cloning is cheap, and clones share connections, settings and the rate limiter: create one client per key and clone
/// it. Calls need a tokio runtime with time and I/O. For programs without one there is the feature `blocking`.
#[derive(Clone)]
pub struct InvoicingClient(Arc<ClientInner>);

/// State shared by all clones.
pub(crate) struct ClientInner {
    pub(crate) request_factory: RequestFactory,
    pub(crate) key: ApiKey,
    pub(crate) limits: Limits,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) env: Arc<dyn Env>,
    /// `None` if rate limiting is off.
    pub(crate) rate_limiter: Option<RateLimiter>,
}

impl InvoicingClient {
    /// Starts building a client.
    ///
    /// `base_url` is the service's address without `/api/v1`. Use `https`: plain `http` exposes the key to the network.
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<ApiKey>) -> ClientBuilder {
        ClientBuilder::new(base_url, api_key)
    }

    pub(crate) fn inner(&self) -> &ClientInner {
        &self.0
    }
}

impl fmt::Debug for InvoicingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvoicingClient")
            .field("base_url", &self.0.request_factory.base_url().as_str())
            .field("limits", &self.0.limits)
            .field("rate_limiting", &self.0.rate_limiter.is_some())
            .finish_non_exhaustive()
    }
}

/// Builds an [`InvoicingClient`].
///
/// ```
/// use std::time::Duration;
///
/// use invoicing_client::InvoicingClient;
///
/// let client = InvoicingClient::builder("https://quotes.example.com", "isk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG")
///     .user_agent("crm-sync/2.1")
///     .deadline(Duration::from_secs(30))
///     .build()?;
/// # Ok::<(), invoicing_client::ConfigError>(())
/// ```
#[derive(Clone)]
#[must_use = "call `build` to get a client"]
pub struct ClientBuilder {
    base_url: String,
    key: ApiKey,
    user_agent: String,
    limits: Limits,
    rate_limiting: bool,
    transport: TransportChoice,
}

#[derive(Clone)]
enum TransportChoice {
    /// A reqwest client that `build` creates.
    Default { connect_timeout: Duration, proxy: Option<String>, platform_roots: bool },
    /// A reqwest client of the caller.
    Reqwest(reqwest::Client),
    /// A transport of the caller.
    Custom(Arc<dyn Transport>),
}

impl ClientBuilder {
    pub(crate) fn new(base_url: impl Into<String>, key: impl Into<ApiKey>) -> Self {
        Self {
            base_url: base_url.into(),
            key: key.into(),
            user_agent: concat!("invoicing-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
            rate_limiting: true,
            transport: TransportChoice::Default {
                connect_timeout: CONNECT_TIMEOUT,
                proxy: None,
                platform_roots: false,
            },
        }
    }

    /// `User-Agent` of every request. Default: `invoicing-client/` and the version.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Longest time for establishing a connection. Default: 10 s.
    ///
    /// Has no effect with [`reqwest_client`](Self::reqwest_client) or [`transport`](Self::transport).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        if let TransportChoice::Default { connect_timeout, .. } = &mut self.transport {
            *connect_timeout = timeout;
        }
        self
    }

    /// HTTP proxy for the service and for documents, such as `http://user:password@proxy.example.com:3128`.
    ///
    /// The error of a failed connection names the service, also if it is the proxy that cannot be reached.
    ///
    /// Default: none; the environment, such as `HTTPS_PROXY`, is not consulted. Has no effect with
    /// [`reqwest_client`](Self::reqwest_client) or [`transport`](Self::transport).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        if let TransportChoice::Default { proxy, .. } = &mut self.transport {
            *proxy = Some(url.into());
        }
        self
    }

    /// Trusts the CAs of the machine too, such as that of a company's own proxy.
    ///
    /// Default: the bundled CAs of Mozilla alone. Has no effect with [`reqwest_client`](Self::reqwest_client) or
    /// [`transport`](Self::transport).
    #[cfg(feature = "platform-roots")]
    pub fn platform_roots(mut self) -> Self {
        if let TransportChoice::Default { platform_roots, .. } = &mut self.transport {
            *platform_roots = true;
        }
        self
    }

    /// Longest time for one attempt, from connecting to the last byte of the response. Default: 30 s.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// Longest time for a call with all its attempts and waits, including those for the quota. Default: 120 s.
    ///
    /// A wait that would end after the deadline is not begun: the call fails at once with the error of its last attempt.
    /// A single call can have [another deadline](crate::Request::deadline).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Maximum number of attempts per call, 1 to 4. Default: 4. A single call can have [another number](crate::Request::max_attempts).
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.limits.max_attempts = attempts;
        self
    }

    /// Largest body that is read, in bytes, for documents too. Default: 64 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_response_bytes = bytes;
        self
    }

    /// True if the client limits its own rate to the key's quota, which is the default.
    ///
    /// All clones share one rate limiter; [the crate documentation](crate#rate-limiting) describes it. Without it, the
    /// service refuses calls beyond the quota with 429, and they are retried by the rules for 429.
    pub fn rate_limiting(mut self, enabled: bool) -> Self {
        self.rate_limiting = enabled;
        self
    }

    /// Uses this reqwest client, for root certificates of your own, a client certificate or a shared connection pool.
    ///
    /// Build it with `redirect(Policy::none())`. A response that it reached by a redirect is reported as
    /// [`ErrorKind::Redirected`](crate::ErrorKind::Redirected), but only after the redirect was followed.
    pub fn reqwest_client(mut self, client: reqwest::Client) -> Self {
        self.transport = TransportChoice::Reqwest(client);
        self
    }

    /// Sends requests through this transport instead of reqwest. See [`Transport`].
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = TransportChoice::Custom(transport);
        self
    }

    /// Checks the settings and builds the client. No request is sent.
    pub fn build(self) -> Result<InvoicingClient, ConfigError> {
        self.build_in(Arc::new(SystemEnv))
    }

    /// Builds the client with this clock and source of randomness.
    pub(crate) fn build_in(self, env: Arc<dyn Env>) -> Result<InvoicingClient, ConfigError> {
        self.limits.check()?;
        let request_factory = RequestFactory::new(&self.base_url, self.key.header()?, &self.user_agent)?;
        let transport = self.transport.build()?;
        let rate_limiter = self.rate_limiting.then(|| RateLimiter::new(env.now()));
        Ok(InvoicingClient(Arc::new(ClientInner {
            request_factory,
            key: self.key,
            limits: self.limits,
            transport,
            env,
            rate_limiter,
        })))
    }

    /// Builds the client with this transport and clock.
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
        // The transport is left out: the address of a proxy may hold a password.
        f.debug_struct("ClientBuilder")
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("user_agent", &self.user_agent)
            .field("limits", &self.limits)
            .field("rate_limiting", &self.rate_limiting)
            .finish_non_exhaustive()
    }
}

impl TransportChoice {
    fn build(self) -> Result<Arc<dyn Transport>, ConfigError> {
        let client = match self {
            Self::Custom(transport) => return Ok(transport),
            Self::Reqwest(client) => client,
            Self::Default { connect_timeout, proxy, platform_roots } => {
                default_client(connect_timeout, proxy.as_deref(), platform_roots)?
            }
        };
        Ok(Arc::new(HttpTransport(client)))
    }
}
