use std::net::SocketAddr;
use std::time::Instant;

use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use invoicing_core::{NewCompany, Plan};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::*;
use crate::{Invoicing, MemoryStore, Settings};

/// Time limit of every wait of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A limit that no test reaches.
const NEVER: Duration = Duration::from_hours(1);
const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const LAST_GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// The HTTP/2 preface, an empty `SETTINGS`, and the head of `GET /`, which ends the stream.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const HEADERS: &[u8] = &[0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'x'];

struct TestServer {
    address: SocketAddr,
    key: String,
    stop: oneshot::Sender<()>,
    served: JoinSet<io::Result<()>>,
    _folder: TempDir,
}

impl TestServer {
    async fn start(limits: ServeLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let invoicing = Invoicing::sqlite(folder.path().join("db"))
            .document_store(Arc::new(MemoryStore::default()))
            .settings(Settings { quota: 0, ..Settings::default() })
            .open()
            .await
            .unwrap();
        let company = invoicing.companies().create(&NewCompany::named("A", Plan::Team)).await.unwrap();
        let key = invoicing.company(company.id).keys().issue("test").await.unwrap().key;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let mut served = JoinSet::new();
        served.spawn(serve(listener, invoicing.service(), limits, async { drop(stopped.await) }));
        Self { address, key: key.reveal().to_owned(), stop, served, _folder: folder }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which the server waits for a body of two bytes.
    async fn in_flight(&self) -> TcpStream {
        let mut stream = self.connect().await;
        let head = format!(
            "POST /api/v1/clients HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 2\r\n\
             content-type: application/json\r\nexpect: 100-continue\r\n\r\n",
            self.key
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 21];
        stream.read_exact(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 100 Continue"));
        stream
    }

    /// Asserts that the server answers another connection.
    async fn assert_answers(&self) {
        let mut stream = self.connect().await;
        stream.write_all(LAST_GET).await.unwrap();
        assert!(read_to_end(stream).await.starts_with("HTTP/1.1 401"));
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        let served = timeout(TEST_TIMEOUT, self.served.join_all()).await.expect("the server does not stop");
        assert!(served.iter().all(Result::is_ok));
    }
}

/// All bytes until the server closes the connection.
async fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let read = timeout(TEST_TIMEOUT, stream.read_to_end(&mut text)).await.expect("the connection stays open");
    // A reset also ends the connection.
    let _ = read;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn a_connection_serves_many_requests_and_is_closed_by_a_stop() {
    let limits = ServeLimits { grace: NEVER, header_read: NEVER, ..ServeLimits::default() };
    let server = TestServer::start(limits).await;
    let mut stream = server.connect().await;
    let mut head = [0; 12];
    for _ in 0..3 {
        stream.write_all(GET).await.unwrap();
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 401");
        let mut body = Vec::new();
        while !body.ends_with(b"}}") {
            body.push(stream.read_u8().await.unwrap());
        }
    }
    server.stop().await;
    assert_eq!(read_to_end(stream).await, "");
}

#[tokio::test]
async fn http_2_is_served_on_the_same_port() {
    let server = TestServer::start(ServeLimits::default()).await;
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Empty<bytes::Bytes>>();
    let uri = format!("http://{}/api/v1/quotes", server.address);
    let request = || Request::get(&uri).header("authorization", format!("Bearer {}", server.key));
    let calls = (0..20).map(|_| client.request(request().body(Empty::new()).unwrap()));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.unwrap().status(), StatusCode::OK);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_in_time() {
    let header_read = Duration::from_millis(50);
    let server = TestServer::start(ServeLimits { header_read, ..ServeLimits::default() }).await;
    // Nothing, half of HTTP/2's preface, all of it, half a head, a request and then nothing.
    for sent in [b"".as_slice(), b"PRI * H", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HT", GET] {
        let begun = Instant::now();
        let mut stream = server.connect().await;
        stream.write_all(sent).await.unwrap();
        read_to_end(stream).await;
        assert!(begun.elapsed() >= header_read);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_requests_in_progress_and_accepts_no_connection() {
    let server = TestServer::start(ServeLimits::default()).await;
    let mut stream = server.in_flight().await;
    let address = server.address;
    server.stop.send(()).unwrap();
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(TEST_TIMEOUT, refused).await.expect("the server still accepts");
    stream.write_all(b"{}").await.unwrap();
    let answer = read_to_end(stream).await;
    assert!(answer.contains("HTTP/1.1 400") && answer.contains("name: is required"), "{answer}");
    timeout(TEST_TIMEOUT, server.served.join_all()).await.expect("the server does not stop");
}

#[tokio::test]
async fn a_stop_drops_connections_after_the_grace_time() {
    let limits = ServeLimits { grace: Duration::from_millis(50), ..ServeLimits::default() };
    let server = TestServer::start(limits).await;
    let stream = server.in_flight().await;
    server.stop().await;
    assert!(!read_to_end(stream).await.contains("HTTP/1.1 "));
}

#[tokio::test]
async fn a_connection_is_closed_at_its_maximum_age() {
    let connection_age = Duration::from_millis(50);
    let limits = ServeLimits { connection_age, header_read: NEVER, ..ServeLimits::default() };
    let server = TestServer::start(limits).await;
    let mut stream = server.connect().await;
    stream.write_all(GET).await.unwrap();
    assert!(read_to_end(stream).await.starts_with("HTTP/1.1 401"));
    server.stop().await;
}

#[tokio::test]
async fn a_connection_beyond_the_limit_replaces_an_idle_one() {
    let limits = ServeLimits { connections: 2, header_read: NEVER, ..ServeLimits::default() };
    let server = TestServer::start(limits).await;
    let sending = server.in_flight().await;
    for _ in 0..20 {
        let idle = server.connect().await;
        let mut newcomer = server.connect().await;
        newcomer.write_all(LAST_GET).await.unwrap();
        assert!(read_to_end(newcomer).await.starts_with("HTTP/1.1 401"));
        assert_eq!(
            read_to_end(idle).await,
            "",
            "a connection without a request is closed before one with a body"
        );
    }
    let also_sending = server.in_flight().await;
    let mut newcomer = server.connect().await;
    newcomer.write_all(LAST_GET).await.unwrap();
    assert!(read_to_end(newcomer).await.starts_with("HTTP/1.1 401"));
    assert_eq!(read_to_end(sending).await.trim(), "", "then the body that has arrived longest is closed");
    drop(also_sending);
    server.stop().await;
}

#[tokio::test]
async fn connections_per_address_can_be_limited() {
    let limits = ServeLimits { connections_per_address: Some(2), ..ServeLimits::default() };
    let server = TestServer::start(limits).await;
    let held = [server.in_flight().await, server.in_flight().await];
    assert_eq!(read_to_end(server.connect().await).await, "");
    drop(held);
    let answered = async {
        loop {
            let mut stream = server.connect().await;
            // The server may close the connection first.
            let _ = stream.write_all(LAST_GET).await;
            if read_to_end(stream).await.starts_with("HTTP/1.1 401") {
                return;
            }
        }
    };
    timeout(TEST_TIMEOUT, answered).await.expect("a closed connection still counts");
    server.stop().await;
}

#[tokio::test]
async fn a_partial_head_is_answered_408_and_an_empty_connection_is_only_closed() {
    let header_read = Duration::from_millis(300);
    let server = TestServer::start(ServeLimits { header_read, ..ServeLimits::default() }).await;
    for sent in [b"G".as_slice(), b"P", b"GET / HTTP/1.1\r\nhost"] {
        let mut stream = server.connect().await;
        stream.write_all(sent).await.unwrap();
        assert_408(&read_to_end(stream).await);
    }
    for sent in [b"".as_slice(), PREFACE] {
        let mut stream = server.connect().await;
        stream.write_all(sent).await.unwrap();
        assert!(!read_to_end(stream).await.contains("HTTP/1.1"));
    }
    server.stop().await;
}

fn assert_408(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("\r\nx-request-id: 0"), "{answer}");
    assert!(answer.ends_with("\"message\":\"The request did not arrive in time\"}}"), "{answer}");
}

#[tokio::test]
async fn a_partial_head_that_begins_late_is_answered_408() {
    let header_read = Duration::from_secs(1);
    let server = TestServer::start(ServeLimits { header_read, ..ServeLimits::default() }).await;
    let mut streams = [server.connect().await, server.connect().await];
    // The time limit starts at the opening of the connection, hyper's own at the first byte.
    sleep(header_read / 10).await;
    for stream in &mut streams {
        stream.write_all(b"GET / HT").await.unwrap();
    }
    for stream in streams {
        assert_408(&read_to_end(stream).await);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_missing_ping_over_http_2_gets_no_http_1_response() {
    let header_read = Duration::from_secs(1);
    let server = TestServer::start(ServeLimits { header_read, ..ServeLimits::default() }).await;
    let mut stream = server.connect().await;
    stream.write_all(&[PREFACE, SETTINGS, HEADERS].concat()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"}}") {
        heard.push(timeout(TEST_TIMEOUT, stream.read_u8()).await.expect("an answer").unwrap());
    }
    // Part of a frame, so bytes have arrived since the last head.
    stream.write_all(&SETTINGS[..4]).await.unwrap();
    server.assert_answers().await;
    // From here on time advances whenever all tasks are idle.
    tokio::time::pause();
    let after = read_to_end(stream).await;
    assert!(!after.contains("HTTP/1.1"), "{after}");
    server.stop().await;
}

#[tokio::test]
async fn a_peer_that_sends_too_much_receives_the_response() {
    let server = TestServer::start(ServeLimits::default()).await;
    let body = "x".repeat(600_000);
    for key in [&server.key, "unknown"] {
        let mut stream = server.connect().await;
        let head = format!(
            "POST /api/v1/clients HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let expected = if key == "unknown" { "HTTP/1.1 401" } else { "HTTP/1.1 413" };
        assert!(read_to_end(stream).await.starts_with(expected));
    }
    server.stop().await;
}
