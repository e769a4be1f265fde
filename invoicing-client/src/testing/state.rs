//! What the fake server holds, and how a request becomes what is put on the wire.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Response};
use invoicing_core::{QuotaDecision, QuotaWindow, Timestamp};
use uuid::Uuid;

use super::api;
use super::fault::{Plan, Wire};
use super::query::Position;
use super::store::Store;
use super::{FakeServer, ReceivedRequest};
use crate::call::X_REQUEST_ID;

/// The limit that is stated where none is kept.
const NO_QUOTA: u32 = 1_000_000;

/// The first id of a request that has none of its own; the others count up from it.
const FIRST_REQUEST_ID: u128 = 0x0192_35a0_0000_7000_9000_0000_0000_0000;

/// The state behind its lock.
pub(super) struct Shared(Mutex<State>);

pub(super) struct State {
    url: String,
    started: Instant,
    window: QuotaWindow,
    pub(super) quota: Option<u32>,
    pub(super) store: Store,
    pub(super) plan: Plan,
    pub(super) before: Option<Box<Before>>,
    pub(super) rewrite: Option<Box<Rewrite>>,
    pub(super) order: Option<Box<Order>>,
    pub(super) received: Vec<ReceivedRequest>,
}

type Before = dyn FnMut(&ReceivedRequest, &mut Store) + Send;
type Rewrite = dyn FnMut(&ReceivedRequest, &mut Response<Bytes>) + Send;
pub(super) type Order = dyn FnMut(&Position, &Position) -> Ordering + Send;

impl Shared {
    pub(super) fn new(url: &str) -> Self {
        Self(Mutex::new(State {
            url: url.to_owned(),
            started: Instant::now(),
            window: QuotaWindow::default(),
            quota: None,
            store: Store::default(),
            plan: Plan::default(),
            before: None,
            rewrite: None,
            order: None,
            received: Vec::new(),
        }))
    }

    /// A hook that panicked has failed its test; what it left is still shown.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Serves one request: the hook, the fault, the answer.
    pub(super) fn serve(&mut self, request: &ReceivedRequest) -> Wire {
        self.received.push(request.clone());
        if let Some(before) = &mut self.before {
            before(request, &mut self.store);
        }
        self.plan.next().apply(|| self.answer(request))
    }

    fn answer(&mut self, request: &ReceivedRequest) -> Response<Bytes> {
        let mut response = self.admitted(request);
        response.headers_mut().insert(X_REQUEST_ID, self.request_id(request));
        if let Some(rewrite) = &mut self.rewrite {
            rewrite(request, &mut response);
        }
        response
    }

    /// The request's own id where it has a valid one, else a new one.
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

    /// Key, quota, and then what was asked for. A document's URL carries its own proof.
    fn admitted(&mut self, request: &ReceivedRequest) -> Response<Bytes> {
        if let Some(document) = api::document(request, &self.store) {
            return document;
        }
        if request.headers.get("authorization").is_none_or(|given| *given != *bearer()) {
            return api::unauthorized();
        }
        let (admission, rate) = self.admit();
        let mut response = match admission {
            QuotaDecision::Accepted { .. } => {
                api::answer(request, &mut self.store, self.order.as_deref_mut(), &self.url)
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
    let mut response = api::too_many_requests();
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}
