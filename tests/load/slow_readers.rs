//! Readers of one link or one URL who are slow, or who ask for little of much: a document at 6 KB/s, pages and forms that
//! take for ever, the first byte of a document. The people and programs of the same company do not notice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use invoicing_tests::postgres::{self, Cluster, Options};
use invoicing_tests::tell;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::http2::UnreadGets;
use crate::measured::{Load, Measured, ROUNDS, get, requests, served_beside};
use crate::process::{Broken, Server, alone, answer, document_url, kept};

/// Bytes per second, of which the server asks for 16 KiB.
const SPEED: usize = 6_000;
/// Readers of a document behind a link.
const READERS: usize = 16;
/// Connections whose pages are not read, and streams on each.
const CONNECTIONS: usize = 18;
const STREAMS: usize = 60;
/// Forms that do not end.
const FORMS: usize = 40;
/// Connections that ask for the head or a byte of a document.
const PARTS: usize = 8;
/// Lines of the long quote: the most that a quote may have.
const LINES: usize = 5_000;
/// Rules: FAIR-1, FAIR-2, FAIR-4, SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_on_sqlite_are_not_noticed() {
    let _alone = alone().await;
    nobody_notices("SQLite", &json!({})).await;
}

/// Rules: FAIR-1, FAIR-2, FAIR-4, SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_on_postgresql_are_not_noticed() {
    let _alone = alone().await;
    if !postgres::is_installed() {
        return;
    }
    let cluster = Cluster::start(&Options { durable: false, settings: Vec::new() }).unwrap();
    let url = cluster.create_database("invoicing").await;
    nobody_notices("PostgreSQL", &json!({ "postgres": url })).await;
}

async fn nobody_notices(database: &str, on: &Value) {
    let mut settings = json!({
        "documentLines": 20,
        "linkedLines": LINES,
        "pages": { "quotes": 1, "lines": LINES },
        "serve": { "headerReadMs": 600_000 },
    });
    settings.as_object_mut().unwrap().extend(on.as_object().unwrap().clone());
    let server = Arc::new(Server::start(&settings));
    let link = &server.long_page.path;
    let linked = answer(&mut server.connect().await, &server.get_document_url()).await;
    let (url, document) = (document_url(&linked), format!("{link}/document.pdf"));

    let head = answer(&mut server.connect().await, &request("HEAD", &url, "")).await;
    let size = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("its size");
    tell("the document of slow readers", &format_args!("{size} bytes"));

    let what = |readers: &str| format!("{readers}, {database}");
    let by_url = what("a document at 6 KB/s by its URL");
    kept(async || served_beside(&by_url, &server, &[200], |_| slow_downloads(&server, 1, &url)).await).await;

    let by_link = what("16 readers of a document at 6 KB/s by a link");
    let readers = |_| slow_downloads(&server, READERS, &document);
    kept(async || served_beside(&by_link, &server, &[200, 503], readers).await).await;

    let pages = what("1,080 pages of a link that nobody reads");
    kept(async || served_beside_unread_pages(&pages, &server).await).await;

    let forms = what("40 forms on a link that do not end");
    kept(async || served_beside(&forms, &server, &[], |_| endless_forms(&server)).await).await;

    let parts = what("HEAD, 416 and the first byte of a document");
    let part = |range: &str| request("GET", &url, &format!("range: bytes={range}\r\n"));
    let asked = Arc::new(vec![request("HEAD", &url, ""), part("0-0"), part("99999999-")]);
    let statuses = &[206, 200, 416, 503];
    kept(async || {
        served_beside(&parts, &server, statuses, |_| Load::connections(&server, PARTS, &asked)).await
    })
    .await;
}

fn request(method: &str, path: &str, fields: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{fields}\r\n").into()
}

/// Readers who begin again whenever their download ends.
fn slow_downloads(server: &Arc<Server>, readers: usize, path: &str) -> Load {
    let mut load = Load::new();
    for _ in 0..readers {
        let (server, path) = (Arc::clone(server), path.to_owned());
        load.spawn(async move |stop| {
            let mut statuses = BTreeMap::new();
            while !stop.load(Ordering::Relaxed) {
                let status = read_slowly(&server, &path, &stop).await;
                *statuses.entry(status).or_default() += 1;
                sleep(Duration::from_millis(100)).await;
            }
            statuses
        });
    }
    load
}

/// Reads a document over HTTP/2, with a window of 16 KiB. Returns its status.
async fn read_slowly(server: &Server, path: &str, stop: &AtomicBool) -> u16 {
    let io = TokioIo::new(server.connect().await);
    let mut http2 = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = http2.initial_stream_window_size(16 * 1024).handshake(io).await.unwrap();
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::get(format!("http://x{path}")).body(Empty::<Bytes>::new()).unwrap();
    let (head, mut body) = sender.send_request(request).await.unwrap().into_parts();
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        for _ in 0..bytes * 10 / SPEED {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    head.status.as_u16()
}

async fn served_beside_unread_pages(what: &str, server: &Arc<Server>) -> Result<(), Broken> {
    let path = &server.long_page.path;
    let mut measured = Measured::new(what, server).await;
    for _ in 0..ROUNDS {
        measured.ask_quietly().await;
        let mut unread = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = server.connect().await;
            let gets = UnreadGets { window: 1, ..UnreadGets::default() };
            stream.write_all(&gets.of((0..STREAMS).map(|_| &**path))).await.unwrap();
            while let Ok(Ok(1..)) = timeout(Duration::from_millis(20), stream.read_buf(&mut Vec::new())).await
            {
            }
            unread.push(stream);
        }
        measured.ask_as_both(requests()).await;
    }
    measured.end(&[]).await
}

/// Connections that send a form of a link, a byte now and then.
fn endless_forms(server: &Arc<Server>) -> Load {
    let mut load = Load::new();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: 100000\r\n\r\nname=",
        server.long_page.path
    );
    for _ in 0..FORMS {
        let (server, head) = (Arc::clone(server), head.clone());
        load.spawn(async move |stop| {
            while !stop.load(Ordering::Relaxed) {
                let mut stream = server.connect().await;
                let mut begun = stream.write_all(head.as_bytes()).await;
                // The server ends a body that takes too long.
                while begun.is_ok() && !stop.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(100)).await;
                    begun = stream.write_all(b"x").await;
                }
            }
            BTreeMap::new()
        });
    }
    load
}

/// The rest of the link itself is served beside its slow forms.
///
/// Rules: SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_served_beside_its_own_slow_forms() {
    let _alone = alone().await;
    let server = Arc::new(Server::start(&json!({ "pages": { "quotes": 1, "lines": 20 } })));
    let load = endless_forms(&server);
    sleep(Duration::from_millis(500)).await;
    let mut stream = server.connect().await;
    for _ in 0..50 {
        let page = answer(&mut stream, &get(&server.long_page.path)).await;
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    }
    load.end().await;
}
