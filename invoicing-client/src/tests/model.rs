//! The service as the contract describes its lists, in memory: stamps, order, `since`, `asOf`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::transport::{Transport, TransportError};
use crate::{Timestamp, Version};

/// Items per page. Far fewer than the client asks for, so that few records make many pages.
const PAGE: usize = 3;

/// A change in the service, made by one transaction.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// New records, all with one stamp.
    Create(u8),
    /// Existing records, chosen by number, all with one stamp.
    Update(Vec<u8>),
    /// A record of another resource: only the company's stamp moves.
    Elsewhere,
}

/// What the service holds.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The company's last stamp, in milliseconds.
    stamp: i64,
    /// The current versions.
    pub(crate) records: Vec<Version>,
    /// What happens before each of the next requests.
    pub(crate) script: VecDeque<Before>,
}

/// What happens before a request is answered.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    /// Changes that become visible.
    pub(crate) changes: Vec<Change>,
    /// Whether the request is refused for good.
    pub(crate) refuse: bool,
}

/// The service, shared with the test that looks into it.
#[derive(Clone, Default)]
pub(crate) struct Model(Arc<Mutex<State>>);

impl Model {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    pub(crate) fn apply(&mut self, change: &Change) {
        self.stamp += 1;
        let updated_at = Timestamp::from_millis(self.stamp);
        match change {
            Change::Create(count) => {
                for _ in 0..*count {
                    let id = Uuid::from_u128(self.records.len() as u128);
                    self.records.push(Version { updated_at, id });
                }
            }
            Change::Update(chosen) if !self.records.is_empty() => {
                for number in chosen {
                    let index = usize::from(*number) % self.records.len();
                    self.records[index].updated_at = updated_at;
                }
            }
            Change::Update(_) | Change::Elsewhere => {}
        }
    }

    fn answer(&mut self, request: &Request<Bytes>) -> Response<Bytes> {
        let before = self.script.pop_front().unwrap_or(Before { changes: vec![], refuse: false });
        for change in &before.changes {
            self.apply(change);
        }
        let mut response = if before.refuse {
            let refusal = json!({"error": {"code": "bad_request", "message": "refused by the script"}});
            let mut response = Response::new(Bytes::from(refusal.to_string()));
            *response.status_mut() = http::StatusCode::BAD_REQUEST;
            response
        } else {
            Response::new(Bytes::from(self.page(request).to_string()))
        };
        response.headers_mut().insert("content-type", "application/json".parse().unwrap());
        response
    }

    fn page(&self, request: &Request<Bytes>) -> Value {
        let url = url::Url::parse(&request.uri().to_string()).unwrap();
        let (mut since, mut offset, mut limit) = (None, 0, 0);
        for (name, value) in url.query_pairs() {
            match &*name {
                "since" => since = Some(value.parse::<Timestamp>().unwrap()),
                "offset" => offset = value.parse().unwrap(),
                "limit" => limit = value.parse().unwrap(),
                // In particular no status, and no lines for a resource that has none.
                other => panic!("unexpected parameter {other}"),
            }
        }
        assert_eq!((url.path(), limit), ("/api/v1/clients", 100));
        let since = since.expect("a catch-up states `since`");
        let mut found: Vec<_> = self.records.iter().filter(|record| record.updated_at >= since).collect();
        found.sort_by(|a, b| b.cmp(a));
        let data: Vec<_> = found.iter().skip(offset).take(PAGE).map(|record| client(record)).collect();
        json!({
            "data": data,
            "pagination": {"limit": PAGE, "offset": offset, "hasMore": found.len() > offset + PAGE},
            "asOf": Timestamp::from_millis(self.stamp),
        })
    }
}

fn client(version: &Version) -> Value {
    json!({
        "id": version.id, "name": "n", "email": null, "phone": null, "address": null, "city": null,
        "zipCode": null, "type": null, "notes": null, "externalId": null,
        "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": version.updated_at,
    })
}

impl Transport for Model {
    fn send(
        &self,
        request: Request<Bytes>,
        _: usize,
    ) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move { Ok(self.state().answer(&request)) })
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}
