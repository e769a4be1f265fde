//! Settings of a single call; custom transports and proxies.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response};

use super::stub_server::{Reply, StubServer, json as reply, text};
use super::{ID, KEY, client, error_json, page_json};
use crate::testing::{FakeServer, Fault};
use crate::{ConfigError, ErrorKind, InvoicingClient, NewClient, QuoteStatus, Transport, TransportError};

#[tokio::test]
async fn a_call_has_attempts_of_its_own() {
    let server = FakeServer::start();
    server.chaos(0, [(1.0, Fault::CutBeforeRequest)]);
    let client = server.client().max_attempts(2).build().unwrap();
    for (call, expected) in [
        (client.clients().find("x"), 2),
        (client.clients().find("x").no_retries(), 1),
        (client.clients().find("x").max_attempts(0), 1),
        (client.clients().find("x").max_attempts(3), 3),
    ] {
        let before = server.requests().len();
        let error = call.await.unwrap_err();
        assert_eq!((error.attempts() as usize, server.requests().len() - before), (expected, expected));
    }
    let error = client.quotes().list().no_retries().stream();
    let error = futures_util::TryStreamExt::try_collect::<Vec<_>>(error).await.unwrap_err();
    assert_eq!(error.attempts(), 1);
}

#[tokio::test]
async fn a_call_has_a_deadline_of_its_own() {
    let server = FakeServer::start();
    let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
    let client = server.client().build().unwrap();
    for _ in 0..2 {
        server.script([Fault::Hang]);
    }
    let error = client.quotes().get(id).deadline(Duration::from_millis(30)).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    // One deadline for the link and the download.
    server.script([]);
    let error = client.quotes().download_document(id).deadline(Duration::from_millis(30)).await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (ErrorKind::Timeout, "quotes.document"));
    assert!(client.quotes().get(id).deadline(Duration::MAX).await.is_ok());
}

#[tokio::test]
async fn a_request_shows_neither_key_nor_body() {
    let server = StubServer::script([]).await;
    let (client, _) = client(&server);
    let new = NewClient::named("Jeanne Secret").external_id("private");
    let request = client.clients().create(&new);
    let shown = format!(
        "{request:?} {:?} {:?}",
        client.quotes().download_document(ID.parse().unwrap()),
        client.quotes().link(ID.parse().unwrap(), "private")
    );
    assert!(shown.contains("clients.create") && shown.contains("quotes.link"), "{shown}");
    for private in [KEY, "Jeanne", "private"] {
        assert!(!shown.contains(private), "{shown}");
    }
    let builder =
        InvoicingClient::builder("https://example.com", KEY).proxy("http://me:password@127.0.0.1:1");
    assert!(!format!("{builder:?}").contains("password"));
}

#[tokio::test]
async fn a_dropped_request_is_not_sent() {
    let server = FakeServer::start();
    let client = server.client().build().unwrap();
    drop(client.clients().create(&NewClient::named("Dupont")));
    drop(client.quotes().list().stream());
    assert!(server.requests().is_empty());
}

/// Records the requests.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Request<Bytes>>>>);

impl Transport for Recorder {
    fn send(
        &self,
        request: Request<Bytes>,
        _: usize,
    ) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.0.lock().unwrap().push(request);
        Box::pin(async { Ok(Response::new(page_json(&[], 0, false).to_string().into())) })
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

#[tokio::test]
async fn a_transport_receives_the_complete_request() {
    let recorder = Recorder::default();
    let client = InvoicingClient::builder("https://quotes.example.com", KEY);
    let client = client.transport(Arc::new(recorder.clone())).build().unwrap();
    client.quotes().list().limit(7).await.unwrap();
    let sent = recorder.0.lock().unwrap();
    assert_eq!(sent[0].uri(), "https://quotes.example.com/api/v1/quotes?limit=7");
    assert!(sent[0].headers()["authorization"].is_sensitive());
    // The `Debug` output of the request does not show the key.
    assert!(!format!("{:?}", sent[0]).contains(KEY));
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    let proxy = StubServer::start(|_, seen| {
        assert_eq!(seen.uri.host(), Some("quotes.example.com"));
        reply(200, &page_json(&[], 0, false))
    })
    .await;
    let builder = || InvoicingClient::builder("http://quotes.example.com", KEY);
    let address = proxy.url().replace("http://", "http://me:password@");
    builder().proxy(address).build().unwrap().quotes().list().await.unwrap();
    assert_eq!(proxy.requests()[0].headers["proxy-authorization"], "Basic bWU6cGFzc3dvcmQ=");
    let bad = builder().proxy("http://me:password@").build().unwrap_err();
    assert!(matches!(bad, ConfigError::Proxy));
    assert!(!format!("{bad} {bad:?}").contains("password"));
}

#[tokio::test]
async fn the_error_of_an_invalid_response_names_the_field() {
    let mut page = page_json(&[super::client_json("a"), super::client_json("b")], 0, false);
    page["data"][1]["updatedAt"] = "soon".into();
    let trailing = format!("{} x", page_json(&[], 0, false));
    let server = StubServer::script([reply(200, &page), text(200, "application/json", &trailing)]).await;
    let (client, _) = client(&server);
    let error = client.clients().list().await.unwrap_err();
    assert!(error.message().unwrap().starts_with("data[1].updatedAt: "), "{error}");
    let error = client.clients().list().await.unwrap_err();
    assert!(error.message().unwrap().contains("trailing characters"), "{error}");
}

#[tokio::test]
async fn a_retry_without_capacity_before_the_deadline_returns_the_last_failure() {
    let unavailable = reply(503, &error_json("storage_unavailable", "later")).with("ratelimit-limit", "1");
    let server = StubServer::script([unavailable, Reply::Cut]).await;
    let (client, _) = client(&server);
    let error = client.quotes().list().deadline(Duration::from_secs(20)).await.unwrap_err();
    assert_eq!((error.status(), error.attempts(), server.requests().len()), (Some(503), 1, 1));
}

#[tokio::test]
async fn unknown_members_can_be_decoded() {
    let known = FakeServer::start();
    let id = known.store(|store| store.add_quote(QuoteStatus::Sent));
    known.rewrite(|_, answer| {
        let body = String::from_utf8(answer.body().to_vec()).unwrap();
        *answer.body_mut() = body.replacen('{', r#"{"aNewMember":[1.5],"#, 1).into();
    });
    let client = known.client().build().unwrap();
    assert_eq!(client.quotes().get(id).await.unwrap().lines.len(), 2);
    let quote: serde_json::Value = client.quotes().get(id).no_retries().decode().await.unwrap();
    assert_eq!(quote["aNewMember"][0], 1.5);
    known.rewrite(|_, answer| {
        let body = String::from_utf8(answer.body().to_vec()).unwrap();
        *answer.body_mut() = body.replacen(r#""id""#, r#""aNewMember":[1.5],"id""#, 1).into();
    });
    let page = client.quotes().list().limit(1).decode::<serde_json::Value>().await.unwrap();
    assert_eq!((&page.data[0]["aNewMember"][0], page.pagination.limit), (&1.5.into(), 1));
}
