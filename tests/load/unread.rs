//! Peers that request large answers and read nothing, beside a caller of another company.

use std::time::{Duration, Instant};

use invoicing_tests::tell;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::http2::UnreadGets;
use crate::process::{Server, answer, ask, beside_others};

/// HTTP/2 connections, and streams on each.
const CONNECTIONS: usize = 30;
const STREAMS: usize = 60;
/// HTTP/2 connections that request parts of documents, on the most streams that a connection may have. The parts of 16
/// KiB are more than the budget of 64 MiB.
const PART_CONNECTIONS: usize = 100;
/// HTTP/1 connections: their answers are far more than the budget of 64 MiB.
const HTTP_1_CONNECTIONS: usize = 150;
/// Duration of the other company's calls, and the pause between two requests.
const BESIDE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);
/// Slowest answer to the other company, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(2);
/// Memory for the unread answers of a company and for those that the server makes for it at once, in KiB.
const MAX_KIB: usize = 128 * 1024;

const PAGE: &str = "/api/v1/clients?limit=100";

/// A server on which a page of the first company has 900 KiB.
async fn server() -> Server {
    let server = Server::start(&json!({ "documentLines": 20, "documentCompanies": 4 }));
    let mut client = server.connect().await;
    for n in 0..100 {
        let body = json!({ "name": format!("Client {n}"), "notes": "\u{1f600}".repeat(2_000) }).to_string();
        ask(&mut client, &server.post(&body), 201).await;
    }
    server
}

/// HTTP/2 connections that request these paths in turn, on `streams` streams each, and read no answer.
async fn unread_over_http_2(
    server: &Server,
    connections: usize,
    streams: usize,
    gets: UnreadGets<'_>,
    paths: &[String],
) -> Vec<TcpStream> {
    let mut paths = paths.iter().map(String::as_str).cycle();
    let mut opened = Vec::new();
    for _ in 0..connections {
        let mut stream = server.connect().await;
        let bytes = gets.of(paths.by_ref().take(streams));
        stream.write_all(&bytes).await.unwrap();
        // All possible answers are made before the next connection sends the same requests.
        while let Ok(Ok(1..)) = timeout(PAUSE, stream.read_buf(&mut Vec::new())).await {}
        opened.push(stream);
    }
    opened
}

/// HTTP/1 connections whose answers are not read.
async fn unread_over_http_1(server: &Server) -> Vec<TcpStream> {
    let request = server.head(&format!("GET {PAGE}")) + "\r\n";
    let mut streams = Vec::new();
    for _ in 0..HTTP_1_CONNECTIONS {
        let mut stream = server.connect().await;
        // The buffers of the system take some answers.
        stream.write_all(request.repeat(10).as_bytes()).await.unwrap();
        streams.push(stream);
    }
    streams
}

/// Sends requests as the other company for some seconds: each request is answered, and in time.
async fn served_beside(what: &str, server: &Server, memory: Option<usize>) {
    // By then every possible answer is made and unread.
    server.is_quiet().await;
    let request =
        format!("GET {PAGE} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", server.other_key);
    let (begun, mut times, mut refused) = (Instant::now(), Vec::new(), 0);
    let mut stream = server.connect().await;
    while begun.elapsed() < BESIDE {
        let asked = Instant::now();
        let answer = answer(&mut stream, request.as_bytes()).await;
        refused += usize::from(!answer.starts_with("HTTP/1.1 200"));
        times.push(asked.elapsed());
        sleep(PAUSE).await;
    }
    times.sort_unstable();
    let (count, median, slowest) = (times.len(), times[times.len() / 2], times[times.len() - 1]);
    let figures = format_args!(
        "{refused} of {count} requests of another company refused, median {median:?}, slowest {slowest:?}"
    );
    tell(what, &figures);
    if let Some((before, after)) = memory.zip(server.memory()) {
        tell(what, &format_args!("memory {before} KiB before, {after} KiB with unread answers"));
        assert!(after < before + MAX_KIB, "{} KiB more", after - before);
    }
    assert_eq!(refused, 0, "of {count} requests");
    assert!(slowest < SLOWEST, "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_of_a_key_over_http_1_delay_no_other_company() {
    let _beside = beside_others().await;
    let server = server().await;
    let memory = server.memory();
    let streams = unread_over_http_1(&server).await;
    served_beside("unread answers of a key, HTTP/1", &server, memory).await;
    drop(streams);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_of_a_key_over_http_2_delay_no_other_company() {
    let _beside = beside_others().await;
    let server = server().await;
    let memory = server.memory();
    let gets = UnreadGets { key: Some(&server.key), ..UnreadGets::default() };
    let streams = unread_over_http_2(&server, CONNECTIONS, STREAMS, gets, &[PAGE.to_owned()]).await;
    served_beside("unread answers of a key, HTTP/2", &server, memory).await;
    drop(streams);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_downloads_of_a_document_delay_no_other_company() {
    let _beside = beside_others().await;
    let server = server().await;
    let memory = server.memory();
    let gets = UnreadGets::default();
    let streams = unread_over_http_2(&server, CONNECTIONS, STREAMS, gets, &server.documents[..1]).await;
    served_beside("unread downloads of a document", &server, memory).await;
    drop(streams);
}

/// The first bytes of documents of four companies: HTTP/2 cannot drop the part of an answer that it has taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_parts_of_many_documents_delay_no_other_company() {
    let _beside = beside_others().await;
    let server = server().await;
    for (range, window) in [(Some("bytes=0-16383"), 0), (None, 1)] {
        let what = format!("unread parts of many documents, range {range:?}, window {window}");
        let memory = server.memory();
        let gets = UnreadGets { range, window, ..UnreadGets::default() };
        let streams = unread_over_http_2(&server, PART_CONNECTIONS, 64, gets, &server.documents).await;
        served_beside(&what, &server, memory).await;
        drop(streams);
    }
}
