//! [`ServiceModel`] as a transport.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response, StatusCode};

use super::{ModelState, ServiceModel};
use crate::transport::{Transport, TransportError};
use crate::{RecordVersion, Timestamp};

impl Transport for ServiceModel {
    fn send(
        &self,
        request: Request<Bytes>,
        _: usize,
    ) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        // The future can be dropped before and after the request is served.
        Box::pin(async move {
            pause().await;
            let response = self.state().respond(&request);
            pause().await;
            Ok(response)
        })
    }
}

/// An await point at which a future can be dropped.
pub(crate) async fn pause() {
    let mut has_paused = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl ModelState {
    fn respond(&mut self, request: &Request<Bytes>) -> Response<Bytes> {
        let before = self.script.pop_front().unwrap_or_default();
        for change in &before.changes {
            self.apply(change);
        }
        self.requests += 1;
        let is_down = self.down > 0;
        self.down = self.down.saturating_sub(1);
        let (status, body) = match before.refuse {
            _ if is_down => (StatusCode::SERVICE_UNAVAILABLE, error("storage_unavailable")),
            true => (StatusCode::BAD_REQUEST, error("bad_request")),
            false => self.route(request),
        };
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert("content-type", "application/json".parse().unwrap());
        response
    }

    fn route(&mut self, request: &Request<Bytes>) -> (StatusCode, String) {
        let path = request.uri().path().strip_prefix("/api/v1/").unwrap();
        let Some((list, id)) = path.split_once('/') else {
            return (StatusCode::OK, self.page(request, path));
        };
        self.details += 1;
        match self.records.iter().find(|record| record.id.to_string() == id) {
            Some(version) => (StatusCode::OK, record(list, version)),
            None => (StatusCode::NOT_FOUND, error("not_found")),
        }
    }

    fn page(&self, request: &Request<Bytes>, list: &str) -> String {
        let (mut since, mut offset, mut limit) = (None, 0, 0);
        for (name, value) in url::form_urlencoded::parse(request.uri().query().unwrap().as_bytes()) {
            match &*name {
                "since" => since = Some(value.parse::<Timestamp>().unwrap()),
                "offset" => offset = value.parse().unwrap(),
                "limit" => limit = value.parse().unwrap(),
                "include" if list == "quotes" => assert_eq!(value, "lines"),
                // Such as `status`, or `include` for a resource without lines.
                other => panic!("unexpected parameter {other}"),
            }
        }
        assert_eq!(limit, 100, "guarantee 4 of `CatchUp`");
        let found = self.listed(since.expect("a catch-up states `since`"));
        let page = self.behavior.page;
        let data: Vec<_> =
            found.iter().skip(offset).take(page).map(|version| record(list, version)).collect();
        let as_of = self.as_of().map(|at| format!(r#","asOf":"{at}""#)).unwrap_or_default();
        format!(
            r#"{{"data":[{}],"pagination":{{"limit":{page},"offset":{offset},"hasMore":{}}}{as_of}}}"#,
            data.join(","),
            found.len() > offset + page
        )
    }
}

// Formatted without serde, as the tests read millions of records.

fn error(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"injected"}}}}"#)
}

fn record(list: &str, RecordVersion { updated_at, id }: &RecordVersion) -> String {
    let rest = if list == "quotes" { QUOTE } else { CLIENT };
    format!(r#"{{"id":"{id}","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"{updated_at}",{rest}}}"#)
}

const CLIENT: &str = r#""name":"n","email":null,"phone":null,"address":null,"city":null,"zipCode":null,
    "type":null,"notes":null,"externalId":null"#;

const QUOTE: &str = r#""number":"DEV-2026-0001","status":"DRAFT","externalId":null,
    "clientId":"019235a0-0000-7000-8000-000000000001","clientName":"n","clientEmail":null,"totalHT":0,"totalTTC":0,
    "tvaRate":0,"currency":"EUR","validUntil":null,"sentAt":null,"signedAt":null,"acceptedAt":null,
    "signedByName":null,"signedByEmail":null,"lines":[]"#;
