//! The state of the fake server, and how it serves a request.

use std::time::Instant;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Response};
use invoicing_core::{QuotaDecision, QuotaWindow, Timestamp};
use parking_lot::Mutex;
use uuid::Uuid;

use super::api;
use super::fault::{FaultPlan, WireResponse};
use super::query::ListOrder;
use super::respond::{too_many_requests, unauthorized};
use super::store::Store;
use super::{FakeServer, ReceivedRequest};
use crate::request_factory::X_REQUEST_ID;

/// The stated limit if no quota is enforced.
const NO_QUOTA: u32 = 1_000_000;

/// Request ids that the server generates count up from this one.
const FIRST_REQUEST_ID: u128 = 0x0192_35a0_0000_7000_9000_0000_0000_0000;

pub(super) struct SharedState(Mutex<ServerState>);

pub(super) struct ServerState {
    url: String,
    started: Instant,
    window: QuotaWindow,
    pub(super) quota: Option<u32>,
    pub(super) store: Store,
    pub(super) fault_plan: FaultPlan,
    pub(super) before_each: Option<Box<BeforeEach>>,
    pub(super) rewrite: Option<Box<Rewrite>>,
    pub(super) order: Option<Box<ListOrder>>,
    pub(super) received: Vec<ReceivedRequest>,
}

type BeforeEach = dyn FnMut(&ReceivedRequest, &mut Store) + Send;
type Rewrite = dyn FnMut(&ReceivedRequest, &mut Response<Bytes>) + Send;

impl SharedState {
    pub(super) fn new(url: &str) -> Self {
        Self(Mutex::new(ServerState {
            url: url.to_owned(),
            started: Instant::now(),
            window: QuotaWindow::default(),
            quota: None,
            store: Store::default(),
            fault_plan: FaultPlan::default(),
            before_each: None,
            rewrite: None,
            order: None,
            received: Vec::new(),
        }))
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut ServerState) -> T) -> T {
        work(&mut self.0.lock())
    }
}

impl ServerState {
    /// Serves one request: hook, fault, response.
    pub(super) fn serve(&mut self, request: &ReceivedRequest) -> WireResponse {
        self.received.push(request.clone());
        if let Some(hook) = &mut self.before_each {
            hook(request, &mut self.store);
        }
        self.fault_plan.next().apply(|| self.respond(request))
    }

    fn respond(&mut self, request: &ReceivedRequest) -> Response<Bytes> {
        let mut response = self.authorised(request);
        response.headers_mut().insert(X_REQUEST_ID, self.request_id(request));
        if let Some(hook) = &mut self.rewrite {
            hook(request, &mut response);
        }
        response
    }

    /// The id of the request if it is valid, else a generated one.
    fn request_id(&self, request: &ReceivedRequest) -> HeaderValue {
        let is_valid = |id: &&HeaderValue| {
            (1..=128).contains(&id.len())
                && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        };
        request.headers.get(X_REQUEST_ID).filter(is_valid).cloned().unwrap_or_else(|| {
            let id = Uuid::from_u128(FIRST_REQUEST_ID + self.received.len() as u128);
            HeaderValue::from_str(&id.to_string()).unwrap_or(HeaderValue::from_static("-"))
        })
    }

    /// Checks key and quota, then serves the request. The URL of a document needs no key.
    fn authorised(&mut self, request: &ReceivedRequest) -> Response<Bytes> {
        if let Some(document) = api::document(request, &self.store) {
            return document;
        }
        if request.headers.get("authorization").is_none_or(|given| *given != *bearer()) {
            return unauthorized();
        }
        let (admission, rate) = self.admit();
        let mut response = match admission {
            QuotaDecision::Accepted { .. } => {
                api::respond(request, &mut self.store, self.order.as_deref_mut(), &self.url)
            }
            QuotaDecision::Refused { .. } => too_many(rate["ratelimit-reset"].clone()),
        };
        response.headers_mut().extend(rate);
        response
    }

    fn admit(&mut self) -> (QuotaDecision, HeaderMap) {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let limit = self.quota.unwrap_or(NO_QUOTA);
        let admission = self.window.try_acquire(limit, Timestamp::from_millis(elapsed));
        let (remaining, reset_ms) = match admission {
            QuotaDecision::Accepted { remaining, reset_ms } => (remaining, reset_ms),
            QuotaDecision::Refused { wait_ms } => (0, wait_ms),
        };
        let mut rate = HeaderMap::new();
        rate.insert("ratelimit-limit", limit.into());
        rate.insert("ratelimit-remaining", remaining.into());
        rate.insert("ratelimit-reset", reset_ms.unsigned_abs().div_ceil(1_000).max(1).into());
        (admission, rate)
    }
}

fn bearer() -> String {
    format!("Bearer {}", FakeServer::KEY)
}

fn too_many(seconds: HeaderValue) -> Response<Bytes> {
    let mut response = too_many_requests();
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}
