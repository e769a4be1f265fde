//! The content of the log, and what it must not contain.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::stub_server::{Reply, StubServer, json as reply};
use super::{KEY, client, error_json, page_json};

/// Collects the log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn a_log_at_info_states_the_cause_of_each_retry() {
    let failing = [Reply::Cut, reply(200, &page_json(&[], 0, false))];
    let server = StubServer::script([failing.clone(), failing].concat()).await;
    let (client, _) = client(&server);
    // tracing registers call sites at their first use. Another test may register them without this subscriber.
    client.clients().list().send().await.unwrap();
    let log = Log::default();
    let writer = log.clone();
    let usual = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(usual);
    client.clients().list().send().await.unwrap();
    let log = log.text();
    let events: Vec<_> = log.lines().filter(|line| line.contains("invoicing_client")).collect();
    assert_eq!(events.len(), 1, "{log}");
    for expected in ["clients.list", "/clients", "the connection broke", "will retry"] {
        assert!(events[0].contains(expected), "{expected} is missing in {log}");
    }
}

#[tokio::test]
async fn a_wait_for_the_quota_is_logged_once_and_states_its_end() {
    let page = reply(200, &page_json(&[], 0, false))
        .with("ratelimit-limit", "1")
        .with("ratelimit-remaining", "0")
        .with("ratelimit-reset", "60");
    let server = StubServer::script([page.clone(), page.clone(), page]).await;
    let (client, _) = client(&server);
    // The second call registers the call site.
    client.clients().list().send().await.unwrap();
    client.clients().list().send().await.unwrap();
    let log = Log::default();
    let writer = log.clone();
    let usual = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(usual);
    client.clients().list().send().await.unwrap();
    let log = log.text();
    let waits: Vec<_> = log.lines().filter(|line| line.contains("waiting for the quota")).collect();
    assert_eq!(waits.len(), 1, "{log}");
    for expected in ["INFO", "clients.list", "until=2026-09-14T09:42:00.050Z", "wait=60.05s"] {
        assert!(waits[0].contains(expected), "{expected} is missing in {log}");
    }
}

/// Rules: RETRY-7
#[tokio::test]
async fn attempts_are_logged_without_key_query_or_body() {
    let log = Log::default();
    let writer = log.clone();
    // A global subscriber, so that the output of concurrent tests is checked too.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let busy = reply(503, &error_json("storage_unavailable", "private answer"));
    let page = reply(200, &page_json(&[], 0, false)).with("x-request-id", "r-77");
    let server = StubServer::script([busy, page, reply(400, &json!({"echo": KEY}))]).await;
    let (client, _) = client(&server);
    client.clients().list().q("Jeanne Secret").send().await.unwrap();
    client.clients().list().send().await.unwrap_err();

    let log = log.text();
    assert!(log.contains("status: 503") && log.contains("will retry"));
    let end = log.lines().find(|line| line.contains("r-77")).unwrap();
    for expected in ["clients.list", "/clients", "attempts=2", "status=200", "attempt"] {
        assert!(end.contains(expected), "{expected} is missing in {end}");
    }
    for private in [KEY, "Jeanne", "private answer"] {
        assert!(!log.contains(private), "{private} is in the log");
    }
}
