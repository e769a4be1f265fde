//! What is logged, and what never is.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::server::{Server, json as answer};
use super::{KEY, client, error_json, page_json};

/// Collects everything that is logged.
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

#[tokio::test]
async fn attempts_are_logged_without_key_query_or_body() {
    let log = Log::default();
    let writer = log.clone();
    // The process-wide subscriber: what the other tests log meanwhile is checked too.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let busy = answer(503, &error_json("storage_unavailable", "private answer"));
    let page = answer(200, &page_json(&[], 0, false)).with("x-request-id", "r-77");
    let server = Server::script([busy, page, answer(400, &json!({"echo": KEY}))]).await;
    let (client, _) = client(&server);
    client.clients().list().q("Jeanne Secret").send().await.unwrap();
    client.clients().list().send().await.unwrap_err();

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("status: 503") && log.contains("will try again"));
    let end = log.lines().find(|line| line.contains("r-77")).unwrap();
    for expected in ["clients.list", "/clients", "attempts=2", "status=200", "attempt"] {
        assert!(end.contains(expected), "{expected} is missing in {end}");
    }
    for private in [KEY, "Jeanne", "private answer"] {
        assert!(!log.contains(private), "{private} is in the log");
    }
}
