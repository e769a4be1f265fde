//! The retry rules of the API contract, as a caller and a server observe them.

use std::time::{Duration, Instant};

use invoicing_core::NewClient;
use proptest::prelude::*;
use serde_json::json;
use tokio::net::TcpListener;

use super::stub_server::{Reply, StubServer, json as reply, text};
use super::{ID, KEY, builder, client, client_json, error_json, page_json};
use crate::testing::{FakeServer, Fault};
use crate::{ClientCreation, ErrorCode, ErrorKind, InvoicingClient};

const SECOND: Duration = Duration::from_secs(1);

fn quota(retry_after: &str) -> Reply {
    reply(429, &json!({"code": "TOO_MANY_REQUESTS", "message": "slow down"})).with("retry-after", retry_after)
}

fn empty_page() -> Reply {
    reply(200, &page_json(&[], 0, false))
}

fn unavailable() -> Reply {
    reply(503, &error_json("storage_unavailable", "try later"))
}

fn overloaded() -> Reply {
    reply(503, &error_json("overloaded", "try later")).with("retry-after", "1")
}

/// Rules: RETRY-4
#[tokio::test]
async fn a_wait_is_as_long_as_retry_after_states() {
    let dated = quota("Mon, 14 Sep 2026 09:41:30 GMT").with("date", "Mon, 14 Sep 2026 09:41:10 GMT");
    let server = StubServer::script([quota("7"), dated, empty_page()]).await;
    let (client, env) = client(&server);
    client.quotes().list().send().await.unwrap();
    assert_eq!(env.slept(), [7 * SECOND, 20 * SECOND]);
}

#[tokio::test]
async fn a_wait_takes_real_time() {
    let server = StubServer::script([quota("1"), empty_page()]).await;
    let client = builder(&server).build().unwrap();
    let started = Instant::now();
    client.quotes().list().send().await.unwrap();
    assert!(started.elapsed() >= SECOND);
}

/// Rules: RETRY-3, RETRY-4, RETRY-6
#[tokio::test]
async fn the_first_attempt_is_immediate_and_later_ones_back_off() {
    let server = StubServer::script(vec![unavailable(); 4]).await;
    let (client, env) = client(&server);
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!(env.slept(), [SECOND / 2, SECOND, 2 * SECOND]);
    assert_eq!((error.attempts(), error.status()), (4, Some(503)));
    assert_eq!(error.code(), Some(&ErrorCode::StorageUnavailable));
    assert_eq!(server.requests().len(), 4);
    let ids: Vec<_> = server.requests().iter().map(|seen| seen.headers["x-request-id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
}

/// Rules: RETRY-1
#[tokio::test]
async fn transient_failures_are_retried() {
    let failures =
        [unavailable(), Reply::Cut, Reply::CutBody, text(502, "text/html", "<h1>Bad gateway</h1>")];
    for failure in failures {
        let server = StubServer::script([failure.clone(), empty_page()]).await;
        let (client, env) = client(&server);
        client.invoices().list().send().await.unwrap();
        assert_eq!(env.slept().len(), 1, "{failure:?}");
    }
}

/// Rules: RETRY-1
#[tokio::test]
async fn an_attempt_has_a_time_limit() {
    let server = StubServer::script([Reply::Hang, empty_page()]).await;
    let env = super::ManualEnv::new();
    let client = builder(&server).attempt_timeout(Duration::from_millis(500)).build_in(env.clone()).unwrap();
    client.clients().list().send().await.unwrap();
    assert_eq!(env.slept().len(), 1);

    let server = StubServer::script([Reply::Hang]).await;
    let client = builder(&server).attempt_timeout(Duration::from_millis(50)).max_attempts(1);
    let error = client.build().unwrap().clients().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts(), error.status()), (ErrorKind::Timeout, 1, None));
    let sent = server.requests()[0].headers["x-request-id"].clone();
    assert_eq!(error.request_id().unwrap(), sent);
}

/// Rules: RETRY-1, RETRY-3
#[tokio::test]
async fn a_refused_connection_is_retried() {
    // A port without a listener.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let env = super::ManualEnv::new();
    let client = InvoicingClient::builder(format!("http://{address}"), KEY).build_in(env.clone()).unwrap();
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connect, 4));
    assert_eq!(env.slept().len(), 3);
}

#[tokio::test]
async fn a_connect_timeout_is_not_a_response_timeout() {
    // Accepts connections without a TLS handshake.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = InvoicingClient::builder(format!("https://{}", silent.local_addr().unwrap()), KEY)
        .connect_timeout(Duration::from_millis(50))
        .max_attempts(1);
    let client = client.build().unwrap();
    let error = client.clients().create(&NewClient::named("Dupont")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
}

/// Rules: RETRY-1
#[tokio::test]
async fn linking_is_retried() {
    let linked = reply(200, &json!({"id": ID, "externalId": "crm-1"}));
    let server = StubServer::script([Reply::Cut, linked]).await;
    let (client, _) = client(&server);
    client.quotes().link(ID.parse().unwrap(), "crm-1").await.unwrap();
    assert_eq!(server.requests().len(), 2);
}

/// Rules: RETRY-1
#[tokio::test]
async fn creation_with_an_external_id_is_retried_like_a_read() {
    for failure in [unavailable(), quota("1"), Reply::Cut] {
        let server = StubServer::script([failure, reply(200, &client_json("Dupont"))]).await;
        let (client, _) = client(&server);
        let new = NewClient::named("Dupont").external_id("crm-1");
        let existing = client.clients().create(&new).await.unwrap();
        assert!(matches!(existing, ClientCreation::Existing(_)));
        let bodies: Vec<_> = server.requests().into_iter().map(|seen| seen.body).collect();
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0], bodies[1]);
    }
}

/// Rules: RETRY-2, RETRY-4
#[tokio::test]
async fn creation_without_an_external_id_is_retried_if_nothing_was_done() {
    let html = text(429, "text/html", "<h1>Too many requests</h1>");
    for refusal in [quota("7"), html.with("retry-after", "7"), overloaded().with("retry-after", "7")] {
        let server = StubServer::script([refusal.clone(), reply(201, &client_json("Dupont"))]).await;
        let (client, env) = client(&server);
        let created = client.clients().create(&NewClient::named("Dupont")).await.unwrap();
        assert!(created.is_created());
        assert_eq!(env.slept(), [7 * SECOND], "{refusal:?}");
        let bodies: Vec<_> = server.requests().into_iter().map(|seen| seen.body).collect();
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0], bodies[1]);
    }

    let server = StubServer::script(vec![overloaded(); 5]).await;
    let (client, _) = client(&server);
    let error = client.clients().create(&NewClient::named("Dupont")).await.unwrap_err();
    assert_eq!((error.attempts(), error.code()), (4, Some(&ErrorCode::Overloaded)));
}

/// Rules: RETRY-2
#[tokio::test]
async fn creation_without_an_external_id_is_not_retried_in_doubt() {
    let html = |status| text(status, "text/html", "overloaded");
    let failures = [
        unavailable(),
        Reply::Cut,
        Reply::CutBody,
        html(408),
        html(500),
        html(502),
        html(503),
        html(504),
        reply(503, &json!({"code": "overloaded", "message": "flat"})),
        reply(503, &error_json("server_error", "overloaded")),
        reply(500, &error_json("overloaded", "another status")),
        reply(400, &error_json("overloaded", "another status")),
    ];
    for failure in failures {
        for refusals in [0, 1, 3] {
            let mut replies = vec![overloaded(); refusals];
            replies.extend([failure.clone(), reply(201, &client_json("Dupont"))]);
            let server = StubServer::script(replies).await;
            let (client, _) = client(&server);
            let error = client.clients().create(&NewClient::named("Dupont")).await.unwrap_err();
            assert_eq!(error.attempts() as usize, refusals + 1, "{failure:?}");
            assert_eq!(server.requests().len(), refusals + 1, "{failure:?}");
        }
    }
    let server = StubServer::script([overloaded(), Reply::Hang]).await;
    let env = super::ManualEnv::new();
    let client = builder(&server).attempt_timeout(Duration::from_millis(500)).build_in(env).unwrap();
    let error = client.clients().create(&NewClient::named("Dupont")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 2));

    // A port without a listener.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let env = super::ManualEnv::new();
    let client = InvoicingClient::builder(format!("http://{address}"), KEY).build_in(env).unwrap();
    let error = client.clients().create(&NewClient::named("Dupont")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connect, 1));
}

/// Rules: RETRY-2
#[test]
fn creation_without_an_external_id_never_creates_two() {
    let faults = [
        Fault::None,
        Fault::too_many_requests(1),
        Fault::overloaded(),
        Fault::status(503),
        Fault::status(500),
        Fault::status(408),
        Fault::CutBeforeRequest,
        Fault::CutBeforeHeaders,
        Fault::CutInBody,
        Fault::TruncatedJson,
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scripts = proptest::collection::vec(0..faults.len(), 0..=5);
    proptest!(ProptestConfig::with_cases(128), |(script in scripts)| {
        let server = FakeServer::start();
        server.script(script.iter().map(|fault| faults[*fault].clone()));
        let client = server.client().build_in(super::ManualEnv::new()).unwrap();
        let result = runtime.block_on(client.clients().create(&NewClient::named("Dupont")).send());
        let created = server.store(|store| store.clients.len());
        let refusals = script.iter().take_while(|fault| matches!(**fault, 1 | 2)).count();
        prop_assert_eq!(server.requests().len(), 4.min(refusals + 1));
        prop_assert!(created <= 1 && (created == 1 || result.is_err()));
    });
}

/// Rules: RETRY-5
#[tokio::test]
async fn a_retry_after_above_90_s_is_returned_at_once() {
    let server = StubServer::script([quota("91")]).await;
    let (client, env) = client(&server);
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!(error.retry_after(), Some(91 * SECOND));
    assert_eq!((error.attempts(), error.is_rate_limited()), (1, true));
    assert_eq!(error.code(), Some(&ErrorCode::TooManyRequests));
    assert_eq!(error.message(), Some("slow down"));
    assert!(env.slept().is_empty());
}

/// Rules: RETRY-3
#[tokio::test]
async fn a_wait_past_the_deadline_is_not_begun() {
    let server = StubServer::script([quota("6"), quota("6")]).await;
    let env = super::ManualEnv::new();
    let client = builder(&server).deadline(10 * SECOND).build_in(env.clone()).unwrap();
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.attempts(), error.retry_after()), (2, Some(6 * SECOND)));
    assert_eq!(env.slept(), [6 * SECOND]);
}

/// Rules: RETRY-3
#[tokio::test]
async fn the_deadline_ends_an_attempt() {
    let server = StubServer::script([Reply::Hang]).await;
    let client = builder(&server).deadline(Duration::from_millis(100)).build().unwrap();
    let started = Instant::now();
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert!(started.elapsed() < 5 * SECOND);
}

/// Rules: RETRY-1, RETRY-6
#[tokio::test]
async fn refusals_are_final() {
    for (status, code) in
        [(400, "validation_error"), (401, "unauthorized"), (403, "plan_required"), (409, "new")]
    {
        let server = StubServer::script([reply(status, &error_json(code, "no"))]).await;
        let (client, env) = client(&server);
        let error = client.quotes().list().send().await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(status), 1));
        assert_eq!(error.code().map(ErrorCode::as_str), Some(code));
        assert!(env.slept().is_empty());
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = StubServer::script([empty_page()]).await;
    let redirect = text(307, "text/plain", "").with("location", elsewhere.url());
    let server = StubServer::script([redirect.clone()]).await;
    let (client, _) = client(&server);
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Status, Some(307)));
    assert!(elsewhere.requests().is_empty());

    // A redirect that the caller's own client follows is detected.
    let server = StubServer::script([redirect]).await;
    let client = builder(&server).reqwest_client(reqwest::Client::new()).build().unwrap();
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Redirected, 1));
    assert!(elsewhere.requests().iter().all(|seen| !seen.headers.contains_key("authorization")));
}
