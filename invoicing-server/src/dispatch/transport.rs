//! The dispatcher's HTTP client: one POST, one deadline, one outcome.
//!
//! **One limit.** The time given to [`Transport::send`] covers the lookup, connecting, TLS, the
//! request, and the response with its body.
//!
//! **The head decides.** Once it has arrived, its status is the outcome, whatever becomes of the
//! body: it may break off, trickle or never end. The body is read so that the connection can be
//! used again, for [`BODY_TIME`] at most.
//!
//! **Bounded.** At most [`MAX_BODY`] of a response's body and [`MAX_HEAD`] of its headers are read,
//! and at most [`MAX_EXCHANGE`](metered::MAX_EXCHANGE) bytes of an exchange: interim responses,
//! framing and trailers count, too. A bound that is reached closes the connection. If it is reached
//! before the head has ended, the outcome is a protocol failure. The body is discarded, never
//! decompressed.
//!
//! **Policy when connecting.** Every address is checked at its use, so a name that changes its
//! answer between two lookups gains nothing. One forbidden address among several refuses them all.
//! A pooled connection was checked when it was made, and still leads to the address that passed.
//! The same holds with a forward proxy, which is sent addresses and not names.
//!
//! **Not here.** Redirects are not followed: a 3xx is an outcome like any other. There are no
//! cookies. Retries are decided from the outcome, by `invoicing_core::RetryPolicy`.
//!
//! hyper-util moves a request to another connection in one case: the pooled one was closed *before
//! a byte of the request was written to it*. That cannot deliver twice. A connection that closes
//! later is a network failure, and the next attempt may repeat what the receiver has handled, as
//! "at least once" allows. The pool drops connections after [`IDLE_TIMEOUT`], before common servers
//! do, to make that rare.

mod connector;
mod failure_class;
mod metered;
mod resolver;
mod retry_after;
mod root_certificates;
mod tunnel;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use invoicing_core::{AttemptOutcome, FailureClass, Timestamp};
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, timeout_at};

use crate::config::ATTEMPT_TIMEOUT_MS;
use crate::forward_proxy::ForwardProxy;
use crate::log::ErrorChain;
use crate::target::{TargetPolicy, TargetUrl};
use connector::{Connector, ProxyOptions};
use metered::ReadBudget;
use resolver::SystemResolver;
pub use resolver::{Resolve, ResolveFuture};

/// Maximum number of bytes that are read of a response's body.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// Maximum size of the status line and the headers of a response, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Longest time for which a body is read.
const BODY_TIME: Duration = Duration::from_millis(250);

/// Time for which an idle connection is kept for the next delivery. Node.js closes idle connections
/// after 5 s, others later.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Idle connections kept per scheme, host and port. As many as there can be attempts: many webhooks
/// may share a host, and a connection that is not kept must be opened again for the next attempt.
const MAX_IDLE_PER_HOST: usize = 256;

/// A request that is ready to be sent: a [`Target::post`], to which headers may be added.
pub(crate) type Post = http::Request<Full<Bytes>>;

/// The part of a request that all deliveries of a webhook share, prepared once.
#[derive(Clone)]
pub(crate) struct Target {
    uri: Uri,
    headers: HeaderMap,
}

impl Target {
    /// A target with the headers that each delivery carries. `Host` and `Content-Length` are added
    /// to them.
    pub(crate) fn new(url: &TargetUrl, headers: HeaderMap) -> Self {
        let uri = url.uri().clone();
        let host = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        let mut all = HeaderMap::with_capacity(headers.len() + 2);
        all.extend(host.map(|host| (HOST, host)));
        all.extend(headers);
        Self { uri, headers: all }
    }

    /// A POST of exactly these bytes. Headers that differ from attempt to attempt are added to the
    /// result.
    pub(crate) fn post(&self, body: Bytes) -> Post {
        let mut request = Post::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().clone_from(&self.headers);
        request
    }
}

/// The HTTP client, with its pool of connections. Build one and share it: a clone uses the same
/// pool.
///
/// It has to be used within a Tokio runtime, on which it runs its connections. HTTP/1.1 over TCP,
/// TLS 1.2 or 1.3.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: Client<Connector, Full<Bytes>>,
}

impl Transport {
    /// A transport that connects only to what the policy permits.
    pub(crate) fn builder(policy: TargetPolicy) -> TransportBuilder {
        TransportBuilder {
            policy,
            resolver: Arc::new(SystemResolver::default()),
            proxy: None,
            #[cfg(feature = "platform-roots")]
            platform_roots: false,
            roots: Vec::new(),
            idle_timeout: IDLE_TIMEOUT,
            max_idle_per_host: MAX_IDLE_PER_HOST,
            connect_timeout: Duration::from_millis(ATTEMPT_TIMEOUT_MS),
        }
    }

    /// Makes one attempt, which takes `limit` at most. A `Retry-After` that is a date counts from
    /// `now`. Dropping the future abandons the attempt and its connection.
    pub(crate) async fn send(&self, request: Post, limit: Duration, now: Timestamp) -> AttemptOutcome {
        let host = request.uri().authority().cloned();
        let deadline = Instant::now() + limit;
        let (head, body) = match timeout_at(deadline, self.client.request(request)).await {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) => {
                let class = failure_class::classify(&error);
                tracing::debug!(?host, %class, error = %ErrorChain(&error), "attempt failed");
                return AttemptOutcome::Failed(class);
            }
            Err(_) => return AttemptOutcome::Failed(FailureClass::Timeout),
        };
        let until = deadline.min(Instant::now() + BODY_TIME);
        // A body that does not end in time ends with its connection.
        let _ = timeout_at(until, read_to_bound(body, head.extensions.get())).await;
        let retry_after = retry_after::retry_after(&head.headers, now);
        AttemptOutcome::Answered { status: head.status.as_u16(), retry_after }
    }
}

/// Reads the body to its end, after which the connection can be used again, or to a bound.
async fn read_to_bound(mut body: Incoming, budget: Option<&ReadBudget>) {
    let mut read = 0;
    while read <= MAX_BODY {
        match body.frame().await {
            Some(Ok(frame)) => read += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) => break,
            None => {
                // The next exchange may have begun by now. The renewal gives it back only the bytes
                // that it has read already.
                if let Some(budget) = budget {
                    budget.renew();
                }
                break;
            }
        }
    }
}

/// Settings of the HTTP client that delivers webhooks.
#[must_use = "call `build`"]
pub struct TransportBuilder {
    policy: TargetPolicy,
    resolver: Arc<dyn Resolve>,
    proxy: Option<ProxyOptions>,
    #[cfg(feature = "platform-roots")]
    platform_roots: bool,
    roots: Vec<CertificateDer<'static>>,
    idle_timeout: Duration,
    max_idle_per_host: usize,
    connect_timeout: Duration,
}

impl fmt::Debug for TransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportBuilder")
            .field("policy", &self.policy)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_idle_per_host", &self.max_idle_per_host)
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

impl TransportBuilder {
    /// Resolves names with this instead of the system's resolver. The policy applies to its
    /// answers.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Uses a forward proxy, if there is one. `resolves_names` leaves names to the proxy.
    pub(crate) fn proxy(mut self, proxy: Option<ForwardProxy>, resolves_names: bool) -> Self {
        self.proxy = proxy.map(|proxy| ProxyOptions { proxy, resolves_names });
        self
    }

    /// Trusts the operating system's certificate authorities instead of Mozilla's list, which is
    /// compiled in. They are read once, from the system's folders or those in `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR`.
    #[cfg(feature = "platform-roots")]
    pub fn platform_roots(mut self) -> Self {
        self.platform_roots = true;
        self
    }

    /// Trusts another certificate authority, given as a DER certificate, beside those of the list.
    pub fn root_certificate(mut self, der: Vec<u8>) -> Self {
        self.roots.push(der.into());
        self
    }

    /// Time for which an idle connection is kept. Default 4 s.
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// Idle connections kept per scheme, host and port. Default 256.
    pub fn max_idle_per_host(mut self, connections: usize) -> Self {
        self.max_idle_per_host = connections;
        self
    }

    /// Longest time for lookup, connection and TLS handshake, by default the limit of an attempt.
    /// The attempt's own limit applies as well. This one also ends a connection in progress that no
    /// attempt waits for any more.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Builds the client. It connects to nothing yet and starts no task.
    ///
    /// # Errors
    /// A root certificate is invalid, the system has none, or TLS cannot be set up.
    pub(crate) fn build(self) -> Result<Transport, TransportSetupError> {
        #[cfg(feature = "platform-roots")]
        let mut roots =
            if self.platform_roots { root_certificates::platform()? } else { root_certificates::mozilla() };
        #[cfg(not(feature = "platform-roots"))]
        let mut roots = root_certificates::mozilla();
        for root in self.roots {
            roots.add(root).map_err(TransportSetupError::RootCertificate)?;
        }
        let connector =
            Connector::new(self.policy, self.resolver, self.proxy.as_ref(), roots, self.connect_timeout)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_timeout)
            .pool_max_idle_per_host(self.max_idle_per_host)
            .http1_max_buf_size(MAX_HEAD)
            // Title case, as in the documentation for receivers: some look headers up by their
            // exact case.
            .http1_title_case_headers(true)
            // An invalid header must not turn an answer into a failure. If it is the one that
            // delimits the body, it is lost, and the connection is not reused.
            .http1_ignore_invalid_headers_in_responses(true)
            .build(connector);
        Ok(Transport { client })
    }
}

/// The reason why the HTTP client that delivers webhooks cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportSetupError {
    /// A root certificate is not a certificate that can be trusted.
    #[error("a root certificate cannot be used")]
    RootCertificate(#[source] rustls::Error),
    /// No certificate authority of the operating system can be read. The log has the reasons. (Only
    /// with the feature `platform-roots`.)
    #[error("the operating system has no certificate authorities")]
    PlatformRoots,
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

#[cfg(test)]
mod tests;
