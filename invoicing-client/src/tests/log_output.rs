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

/// Times that a call is made until it is logged.
const CALLS: usize = 8;

/// The log of a call, at level `INFO`.
///
/// tracing asks at the first use of a call site whether anyone listens. If another test is in the middle of that, without a
/// subscriber, the site is silent until it is asked again. So it is asked, and the call made, until the log has a line.
async fn logged(call: impl AsyncFn()) -> String {
    let log = Log::default();
    let writer = log.clone();
    let usual = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(usual);
    for _ in 0..CALLS {
        tracing::callsite::rebuild_interest_cache();
        call().await;
        if log.text().contains("invoicing_client") {
            break;
        }
    }
    log.text()
}

#[tokio::test]
async fn a_log_at_info_states_the_cause_of_each_retry() {
    let failing = [Reply::Cut, reply(200, &page_json(&[], 0, false))];
    let server = StubServer::script(vec![failing; CALLS].concat()).await;
    let (client, _) = client(&server);
    let log = logged(async || drop(client.clients().list().send().await.unwrap())).await;
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
    let server = StubServer::script(vec![page; 1 + CALLS]).await;
    let (client, _) = client(&server);
    // The first call uses up the quota.
    client.clients().list().send().await.unwrap();
    let log = logged(async || drop(client.clients().list().send().await.unwrap())).await;
    let waits: Vec<_> = log.lines().filter(|line| line.contains("waiting for the quota")).collect();
    assert_eq!(waits.len(), 1, "{log}");
    for expected in ["INFO", "clients.list", "wait=60.05s"] {
        assert!(waits[0].contains(expected), "{expected} is missing in {log}");
    }
    // The clock of the client stands a minute and 50 ms further with each wait.
    let until = waits[0].split_once("until=").expect("its end").1;
    assert!(until.starts_with("2026-09-14T09:4"), "{log}");
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
