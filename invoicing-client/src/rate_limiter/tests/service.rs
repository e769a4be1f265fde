//! The service in virtual time: the exact quota window, latencies, failures.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response};
use invoicing_core::{QuotaDecision, QuotaWindow, Timestamp};

use super::SECOND;
use crate::env::Env;
use crate::{InvoicingClient, Transport, TransportError, TransportErrorKind};

/// tokio's paused clock, which jumps to the next timer when all tasks are idle.
#[derive(Debug)]
pub(super) struct VirtualClock;

impl Env for VirtualClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&self) -> u64 {
        u64::MAX / 2
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The service, with the exact quota window. It accepts a request between its sending and its response.
#[derive(Clone)]
pub(super) struct Service(Arc<Mutex<ServiceState>>);

pub(super) struct ServiceState {
    started: tokio::time::Instant,
    limit: u32,
    window: QuotaWindow,
    pub(super) has_headers: bool,
    /// Milliseconds to the service and back, used cyclically.
    latencies: Vec<(u64, u64)>,
    next: usize,
    /// Acceptance times and paths of the client's requests.
    pub(super) accepted: Vec<(Duration, String)>,
    pub(super) refused: usize,
    pub(super) failures: HashMap<usize, Failure>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Failure {
    /// The request does not reach the service.
    Connect,
    /// The request is accepted and the response lost.
    Lost,
    /// The request is accepted and the response is 503.
    Unavailable,
}

impl Service {
    pub(super) fn new(limit: u32, latencies: Vec<(u64, u64)>) -> Self {
        Self(Arc::new(Mutex::new(ServiceState {
            started: tokio::time::Instant::now(),
            limit,
            window: QuotaWindow::default(),
            has_headers: true,
            latencies,
            next: 0,
            accepted: vec![],
            refused: 0,
            failures: HashMap::new(),
        })))
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut ServiceState) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    pub(super) fn client(&self) -> InvoicingClient {
        self.build(|builder| builder)
    }

    pub(super) fn build(
        &self,
        set: impl FnOnce(crate::ClientBuilder) -> crate::ClientBuilder,
    ) -> InvoicingClient {
        let builder = InvoicingClient::builder("http://in.memory", "isk_x").attempt_timeout(40 * SECOND);
        set(builder).build_on(Arc::new(self.clone()), Arc::new(VirtualClock)).unwrap()
    }

    /// Another process sends requests with the key. Returns how many are accepted.
    pub(super) fn used_by_another(&self, times: usize) -> usize {
        (0..times).filter(|_| self.with(ServiceState::admit).0).count()
    }
}

impl ServiceState {
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn admit(&mut self) -> (bool, http::response::Builder) {
        let now = Timestamp::from_millis(i64::try_from(self.elapsed().as_millis()).unwrap());
        let admission = self.window.try_acquire(self.limit, now);
        let seconds = |ms: i64| ms.unsigned_abs().div_ceil(1_000);
        let (remaining, reset) = match admission {
            QuotaDecision::Accepted { remaining, reset_ms } => (remaining, seconds(reset_ms)),
            QuotaDecision::Refused { wait_ms } => (0, seconds(wait_ms)),
        };
        let mut builder = Response::builder();
        if self.has_headers {
            builder = builder
                .header("ratelimit-limit", self.limit)
                .header("ratelimit-remaining", remaining)
                .header("ratelimit-reset", reset);
        }
        let accepted = matches!(admission, QuotaDecision::Accepted { .. });
        if !accepted {
            builder = builder.status(429).header("retry-after", reset.max(1));
        }
        (accepted, builder)
    }

    fn arrive(&mut self, path: &str, failure: Option<Failure>) -> Result<Response<Bytes>, TransportError> {
        let (accepted, builder) = self.admit();
        if !accepted {
            self.refused += 1;
            return Ok(builder.body(Bytes::new()).unwrap());
        }
        let at = self.elapsed();
        self.accepted.push((at, path.to_owned()));
        match failure {
            Some(Failure::Lost) => Err(TransportError::new(TransportErrorKind::Interrupted)),
            Some(Failure::Unavailable) => Ok(builder.status(503).body(Bytes::new()).unwrap()),
            _ => Ok(builder
                .body(Bytes::from(r#"{"id":"019235a0-0000-7000-8000-000000000001","externalId":null}"#))
                .unwrap()),
        }
    }
}

impl Transport for Service {
    fn send(
        &self,
        request: Request<Bytes>,
        _: usize,
    ) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let (there, back, failure) = self.with(|state| {
            state.next += 1;
            let (there, back) = state.latencies[state.next % state.latencies.len()];
            (there, back, state.failures.get(&state.next).copied())
        });
        Box::pin(async move {
            if let Some(Failure::Connect) = failure {
                return Err(TransportError::new(TransportErrorKind::Connect));
            }
            tokio::time::sleep(Duration::from_millis(there)).await;
            let answer = self.with(|state| state.arrive(request.uri().path(), failure));
            tokio::time::sleep(Duration::from_millis(back)).await;
            answer
        })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}
