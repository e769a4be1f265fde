//! The dispatcher's HTTP client: one POST, one deadline, one outcome.
//!
//! **One limit.** The time given to [`Transport::send`] covers looking up the name, connecting, TLS, sending, the
//! response's headers and its body. Headers that say 200 and a body that does not end in time make a timeout: the
//! receiver has not finished answering. A body that breaks off is a network failure for the same reason.
//!
//! **Bounded.** At most [`MAX_BODY`] of a response's body and [`MAX_HEAD`] of its headers are read. A longer body does
//! not matter: the status counts and the connection is closed. The body is thrown away, never unpacked.
//!
//! **Policy when connecting.** Every address is checked where it is used, so a name that changes between two lookups
//! gains nothing; one forbidden address among several refuses them all. A connection that is used again was checked
//! when it was made, and still leads to the address that passed. A forward proxy changes nothing in this: it is asked
//! for addresses, not for names. See the files below `transport/`.
//!
//! **Not here.** Redirects are not followed (a 3xx is an outcome like any other), cookies do not exist, and nothing is
//! retried: that is decided from the outcome, by `invoicing_core::RetryPolicy`. One exception lies in hyper-util: where
//! a pooled connection turns out to be closed *before a byte of the request was written to it*, the request moves to
//! another connection. That cannot deliver twice. A connection that closes while the request is on its way is a network
//! failure instead, and the next attempt may then repeat what the receiver already handled; the contract's "at least
//! once" allows that. The pool drops connections after [`IDLE_TIMEOUT`], before common servers do, to make it rare.

mod connector;
mod failure;
mod policed;
mod proxy;
mod resolver;
mod retry_after;
mod roots;
mod tunnel;

use std::error::Error;
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

use super::target::{TargetPolicy, TargetUrl};
use connector::{Connector, Proxied};
pub use proxy::{ForwardProxy, ProxyError};
use resolver::SystemResolver;
pub use resolver::{Resolve, Resolving};

/// Time for one attempt, unless a host says otherwise (ATTEMPT-5).
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most of a response's body that is read, in bytes.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// Most that a response's status line and headers may take, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// How long a connection is kept for the next delivery. Node.js closes idle connections after 5 s, others later.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Idle connections kept per scheme, host and port. As many as there can be attempts: many webhooks may lead to the
/// same host, and a connection that finds no place would be opened again for the next attempt.
const MAX_IDLE_PER_HOST: usize = 256;

/// A request that is ready to be sent: a [`Target::post`], to which headers may be added.
pub(crate) type Post = http::Request<Full<Bytes>>;

/// What all deliveries of a webhook have in common, prepared once.
#[derive(Clone)]
pub(crate) struct Target {
    uri: Uri,
    headers: HeaderMap,
}

impl Target {
    /// A target with the headers that each delivery carries. `Host` and `Content-Length` are added to them.
    pub(crate) fn new(url: &TargetUrl, headers: HeaderMap) -> Self {
        let uri = url.uri().clone();
        let host = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        let mut all = HeaderMap::with_capacity(headers.len() + 2);
        all.extend(host.map(|host| (HOST, host)));
        all.extend(headers);
        Self { uri, headers: all }
    }

    /// A POST of exactly these bytes. Headers that differ from attempt to attempt are added to the result.
    pub(crate) fn post(&self, body: Bytes) -> Post {
        let mut request = Post::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().clone_from(&self.headers);
        request
    }
}

/// The HTTP client, with its pool of connections. Build one and share it: a clone uses the same pool.
///
/// It has to be used within a Tokio runtime, on which it runs its connections. HTTP/1.1 over TCP, TLS 1.2 or 1.3.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: Client<Connector, Full<Bytes>>,
}

impl Transport {
    /// A transport that may connect to what the policy permits.
    pub(crate) fn builder(policy: TargetPolicy) -> TransportBuilder {
        TransportBuilder {
            policy,
            resolver: None,
            proxy: None,
            #[cfg(feature = "platform-roots")]
            platform_roots: false,
            roots: Vec::new(),
            idle_timeout: IDLE_TIMEOUT,
            max_idle_per_host: MAX_IDLE_PER_HOST,
            connect_timeout: ATTEMPT_TIMEOUT,
        }
    }

    /// Makes one attempt, which takes no longer than `limit`. `now` is the time that a `Retry-After` given as a date
    /// is counted from. Dropping the future abandons the attempt and its connection.
    pub(crate) async fn send(&self, request: Post, limit: Duration, now: Timestamp) -> AttemptOutcome {
        let host = request.uri().authority().cloned();
        match tokio::time::timeout(limit, self.exchange(request, now)).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(error)) => {
                let class = failure::classify(&*error);
                tracing::debug!(?host, %class, error = &*error as &dyn Error, "attempt failed");
                AttemptOutcome::Failed(class)
            }
            Err(_) => AttemptOutcome::Failed(FailureClass::Timeout),
        }
    }

    async fn exchange(
        &self,
        request: Post,
        now: Timestamp,
    ) -> Result<AttemptOutcome, Box<dyn Error + Send + Sync>> {
        let (head, body) = self.client.request(request).await?.into_parts();
        read_to_bound(body).await?;
        let retry_after = retry_after::retry_after(&head.headers, now);
        Ok(AttemptOutcome::Answered { status: head.status.as_u16(), retry_after })
    }
}

/// Reads the body to its end, after which the connection can be used again, or to [`MAX_BODY`].
async fn read_to_bound(mut body: Incoming) -> Result<(), hyper::Error> {
    let mut read = 0;
    while read <= MAX_BODY {
        let Some(frame) = body.frame().await else { break };
        read += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(())
}

/// Settings of the HTTP client that delivers webhooks.
#[must_use = "call `build`"]
pub struct TransportBuilder {
    policy: TargetPolicy,
    resolver: Option<Arc<dyn Resolve>>,
    proxy: Option<Proxied>,
    #[cfg(feature = "platform-roots")]
    platform_roots: bool,
    roots: Vec<CertificateDer<'static>>,
    idle_timeout: Duration,
    max_idle_per_host: usize,
    connect_timeout: Duration,
}

impl TransportBuilder {
    /// Looks up names with this instead of the system's resolver. The policy is applied to what it answers.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Goes through a forward proxy, if there is one. `resolves_names`: names are left to it.
    pub(crate) fn proxy(mut self, proxy: Option<ForwardProxy>, resolves_names: bool) -> Self {
        self.proxy = proxy.map(|proxy| Proxied { proxy, resolves_names });
        self
    }

    /// Trusts the operating system's certificate authorities instead of Mozilla's list, which is compiled in. They are
    /// read once, from where the system or `SSL_CERT_FILE` and `SSL_CERT_DIR` say.
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

    /// How long an idle connection is kept. Default 4 s.
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// Idle connections kept per scheme, host and port. Default 256.
    pub fn max_idle_per_host(mut self, connections: usize) -> Self {
        self.max_idle_per_host = connections;
        self
    }

    /// Longest time to look up, connect and agree on TLS, the limit of an attempt by default. An attempt's own limit
    /// holds as well; this one ends connecting that goes on when no attempt waits for it any more.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Builds the client. It connects to nothing yet and starts no task.
    ///
    /// # Errors
    /// A root certificate is none, the system has none, or TLS cannot be set up.
    pub(crate) fn build(self) -> Result<Transport, TransportError> {
        #[cfg(feature = "platform-roots")]
        let mut roots = if self.platform_roots { roots::platform()? } else { roots::mozilla() };
        #[cfg(not(feature = "platform-roots"))]
        let mut roots = roots::mozilla();
        for root in self.roots {
            roots.add(root).map_err(TransportError::RootCertificate)?;
        }
        let resolver = self.resolver.unwrap_or_else(|| Arc::new(SystemResolver::default()));
        let (policy, proxy, limit) = (self.policy, self.proxy.as_ref(), self.connect_timeout);
        let connector = Connector::new(policy, resolver, proxy, roots, limit)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_timeout)
            .pool_max_idle_per_host(self.max_idle_per_host)
            .http1_max_buf_size(MAX_HEAD)
            // A receiver's odd header is no reason to call its answer a failure. One that decides where the body
            // ends is lost with it, and then the connection is not used again.
            .http1_ignore_invalid_headers_in_responses(true)
            .build(connector);
        Ok(Transport { client })
    }
}

/// Why the HTTP client that delivers webhooks cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A root certificate is not a certificate that can be trusted.
    #[error("a root certificate cannot be used")]
    RootCertificate(#[source] rustls::Error),
    /// The operating system has no certificate authorities that can be read. The log says which could not. (Only with
    /// the feature `platform-roots`.)
    #[error("the operating system has no certificate authorities")]
    PlatformRoots,
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

#[cfg(test)]
mod tests;
