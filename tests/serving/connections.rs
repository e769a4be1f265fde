//! The API over real connections: bytes as peers send them, peers that misbehave, and stopping.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, StatusCode};
use http_body_util::Full;
use invoicing_server::{ClientQuery, RequestLimits, ServeLimits, serve};
use invoicing_tests::description::check_error;
use invoicing_tests::{Database, World, on_each_database};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Long enough for anything that is meant to happen soon, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time of a body, if a test waits for that.
const BODY_TIME_MS: u64 = 1_500;
/// The same, with room for a busy machine.
const BODY_LIMIT: std::ops::Range<Duration> = Duration::from_millis(BODY_TIME_MS)..Duration::from_secs(25);

/// A service on loopback.
pub(crate) struct Server {
    pub(crate) world: World,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinSet<io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(db: Database) -> Self {
        Self::with(db, |_| {}).await
    }

    pub(crate) async fn with(db: Database, adjust: impl FnOnce(&mut ServeLimits)) -> Self {
        Self::adjusted(db, adjust, |_| {}).await
    }

    /// With adjusted limits on connections, and on requests.
    pub(crate) async fn adjusted(
        db: Database,
        adjust: impl FnOnce(&mut ServeLimits),
        requests: impl FnOnce(&mut RequestLimits),
    ) -> Self {
        let world = World::on(db)
            .settings(|settings| {
                settings.quota = 0;
                requests(&mut settings.requests);
            })
            .open()
            .await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut limits = ServeLimits::default();
        adjust(&mut limits);
        let (stop, stopped) = oneshot::channel::<()>();
        let mut served = JoinSet::new();
        served.spawn(serve(listener, world.invoicing.service(), limits, async { drop(stopped.await) }));
        Self { world, address, stop: Some(stop), served }
    }

    pub(crate) async fn connect(&self) -> Peer {
        Peer::new(TcpStream::connect(self.address).await.unwrap())
    }

    pub(crate) fn key(&self) -> &str {
        &self.world.key
    }

    /// A request with the key, as bytes.
    pub(crate) fn request(&self, method: &str, target: &str, headers: &[&str], body: &str) -> Vec<u8> {
        let mut text =
            format!("{method} {target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n", self.world.key);
        for header in headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        format!("{text}\r\n{body}").into_bytes()
    }

    /// `POST /clients` with its length announced.
    pub(crate) fn post(&self, body: &str) -> Vec<u8> {
        let length = format!("content-length: {}", body.len());
        self.request("POST", "/api/v1/clients", &["content-type: application/json", &length], body)
    }

    /// Checks that it still answers another peer.
    pub(crate) async fn is_well(&self) {
        let mut peer = self.connect().await;
        peer.send(&self.request("GET", "/api/v1/clients", &[], "")).await;
        assert_eq!(peer.answer().await.unwrap().status, 200);
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        let page = self.world.company.clients().list(&ClientQuery::default()).await.unwrap();
        page.data.into_iter().map(|client| client.name).collect()
    }

    async fn ended(&mut self) {
        let ended = timeout(PATIENCE, self.served.join_next()).await.expect("the server goes on");
        ended.unwrap().unwrap().unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
}

/// A client with full control over the bytes of its connection.
pub(crate) struct Peer {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends what the server still takes; whether that is all.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// The next answer; `None` if the server has closed instead.
    pub(crate) async fn answer(&mut self) -> Option<Heard> {
        timeout(PATIENCE, self.read_answer()).await.expect("neither an answer nor an end")
    }

    async fn read_answer(&mut self) -> Option<Heard> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
        let mut lines = head.trim_end().lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.parse::<HeaderName>().unwrap(), value.trim().parse().unwrap())
        };
        let headers: HeaderMap = lines.map(header).collect();
        let length: usize =
            headers.get("content-length").map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        while self.read.len() < end + length {
            self.more().await?;
        }
        let json = serde_json::from_slice(&self.read[end..end + length]).unwrap_or(Value::Null);
        self.read.drain(..end + length);
        if status >= 400 {
            check_error(StatusCode::from_u16(status).unwrap(), &json);
        }
        Some(Heard { status, headers, json })
    }

    async fn more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.read).await {
            // A reset is an end too.
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }

    /// Waits until the server closes; how many bytes came before.
    pub(crate) async fn closed(&mut self) -> usize {
        let until_the_end = async { while self.more().await.is_some() {} };
        timeout(PATIENCE, until_the_end).await.expect("the connection stays open");
        self.read.len()
    }
}

#[on_each_database]
async fn pipelined_requests_are_answered_in_order(db: Database) {
    let server = Server::start(db).await;
    let quote = server.world.sent().await.summary.id;
    let mut all = Vec::new();
    let mut expected = Vec::new();
    for n in 0..50 {
        let id = format!("x-request-id: r{n}");
        let (method, target, body, status) = match n % 6 {
            0 => ("GET", "/api/v1/quotes?include=lines".to_owned(), String::new(), 200),
            1 => ("POST", "/api/v1/clients".to_owned(), format!("{{\"name\":\"Client {n}\"}}"), 201),
            2 => ("GET", format!("/api/v1/quotes/{quote}/document"), String::new(), 200),
            3 => ("PATCH", format!("/api/v1/quotes/{quote}"), format!("{{\"externalId\":\"{n}\"}}"), 200),
            4 => ("POST", "/api/v1/clients".to_owned(), "{".to_owned(), 400),
            _ => ("DELETE", "/api/v1/quotes".to_owned(), "ignored".to_owned(), 405),
        };
        let length = format!("content-length: {}", body.len());
        let headers = ["content-type: application/json", &length, &id];
        all.extend(server.request(method, &target, &headers, &body));
        expected.push((status, format!("r{n}")));
    }
    let mut peer = server.connect().await;
    peer.send(&all).await;
    for (status, id) in expected {
        let heard = peer.answer().await.expect("an answer");
        assert_eq!((heard.status, heard.headers["x-request-id"].to_str().unwrap()), (status, &*id));
    }
}

#[on_each_database]
async fn a_head_request_on_a_connection_leaves_it_usable(db: Database) {
    let server = Server::start(db).await;
    let mut peer = server.connect().await;
    peer.send(&server.request("HEAD", "/api/v1/quotes", &[], "")).await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, peer.stream.read_u8()).await.unwrap().unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200"));
    peer.send(&server.request("GET", "/api/v1/quotes", &[], "")).await;
    assert_eq!(peer.answer().await.unwrap().json["data"], json!([]));
}

#[on_each_database]
async fn a_slow_sender_of_headers_is_cut_and_delays_no_other(db: Database) {
    let server = Server::with(db, |limits| limits.header_read = Duration::from_secs(1)).await;
    let mut slow = server.connect().await;
    let request = server.request("GET", "/api/v1/clients", &[&format!("x-slow: {}", "x".repeat(5_000))], "");
    let begun = Instant::now();
    let cut = async {
        for byte in &request {
            if slow.stream.write_all(&[*byte]).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the whole request was taken, after {:?}", begun.elapsed());
    };
    let ((), ()) =
        tokio::join!(server.is_well(), async { timeout(PATIENCE, cut).await.expect("still reading") });
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let heard = slow.answer().await.expect("an answer");
    assert_eq!((heard.status, &heard.json["error"]["code"]), (408, &json!("request_timeout")));
    assert!(heard.headers.contains_key("x-request-id") && heard.headers["connection"] == "close");
    server.is_well().await;
}

#[on_each_database]
async fn hundreds_of_idle_connections_delay_no_other_and_are_closed(db: Database) {
    let server = Server::with(db, |limits| limits.header_read = Duration::from_millis(500)).await;
    let mut idle = Vec::new();
    for n in 0..400 {
        let mut peer = server.connect().await;
        peer.send(&b"GET /api/v1/quotes HTTP/1.1\r\nhost"[..n % 32]).await;
        idle.push(peer);
    }
    server.is_well().await;
    for mut peer in idle {
        peer.closed().await;
    }
    server.is_well().await;
}

/// Rules: ERROR-8
#[on_each_database]
async fn a_slow_sender_of_a_body_is_answered_408(db: Database) {
    let server = Server::adjusted(db, |_| {}, |requests| requests.body_time_ms = BODY_TIME_MS).await;
    let mut peer = server.connect().await;
    let body = format!("{{\"name\":\"{}\"}}", "x".repeat(200));
    let request = server.post(&body);
    let head = request.len() - body.len();
    let begun = Instant::now();
    peer.send(&request[..head]).await;
    let (mut reading, mut writing) = peer.stream.into_split();
    let drip = async {
        for byte in body.bytes() {
            // The server may have closed by now.
            if writing.write_all(&[byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut text = Vec::new();
    let heard = async {
        while !text.ends_with(b"}}") && reading.read_buf(&mut text).await.is_ok_and(|read| read > 0) {}
    };
    tokio::select! {
        () = drip => {}
        () = heard => {}
        () = sleep(BODY_LIMIT.end) => panic!("no answer after {:?}", begun.elapsed()),
    }
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert!(text.contains("\"request_timeout\""), "{text}");
    assert!(BODY_LIMIT.contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert!(server.names().await.is_empty());
    server.is_well().await;
}

#[on_each_database]
async fn a_body_shorter_than_its_content_length_does_not_hang(db: Database) {
    let server = Server::start(db).await;
    let request = server.request(
        "POST",
        "/api/v1/clients",
        &["content-type: application/json", "content-length: 100"],
        "{\"name\":\"Too short\"}",
    );
    let begun = Instant::now();
    for _ in 0..3 {
        let mut peer = server.connect().await;
        peer.send(&request).await;
        peer.stream.shutdown().await.unwrap();
        if let Some(heard) = peer.answer().await {
            assert_eq!(heard.status, 400, "{heard:?}");
        }
        peer.closed().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(9), "it waited for the rest: {:?}", begun.elapsed());
    assert!(server.names().await.is_empty());
}

#[on_each_database]
async fn what_follows_a_body_is_no_part_of_it(db: Database) {
    let server = Server::start(db).await;
    let mut peer = server.connect().await;
    let mut request = server.post("{\"name\":\"First\"}");
    request.extend(b"{\"name\":\"Second\"}\r\n\r\n");
    peer.send(&request).await;
    assert_eq!(peer.answer().await.unwrap().status, 201);
    assert_eq!(peer.answer().await.map_or(400, |heard| heard.status), 400);
    peer.closed().await;
    assert_eq!(server.names().await, ["First"]);
}

/// Rules: WIRE-25
#[on_each_database]
async fn a_body_in_chunks_is_read_within_the_limit(db: Database) {
    let server = Server::start(db).await;
    let headers = ["content-type: application/json", "transfer-encoding: chunked"];
    let chunks = |body: &str| {
        let mut text = String::new();
        for piece in body.as_bytes().chunks(10_007) {
            write!(text, "{:x}\r\n{}\r\n", piece.len(), std::str::from_utf8(piece).unwrap()).unwrap();
        }
        text + "0\r\n\r\n"
    };
    for (length, status) in [(30, 201), (256 * 1024, 201), (256 * 1024 + 1, 413), (900_000, 413)] {
        let body = format!("{{\"name\":\"Chunks\"{}}}", " ".repeat(length - 17));
        assert_eq!(body.len(), length);
        let mut peer = server.connect().await;
        peer.send(&server.request("POST", "/api/v1/clients", &headers, &chunks(&body))).await;
        assert_eq!(peer.answer().await.unwrap().status, status, "{length} bytes");
    }
    assert_eq!(server.names().await.len(), 2);
}

#[on_each_database]
async fn an_endless_body_is_answered_and_not_read_for_ever(db: Database) {
    let server = Server::start(db).await;
    for key in [&*server.world.key, "unknown"] {
        let mut peer = server.connect().await;
        let head = format!(
            "POST /api/v1/clients HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: 100000000000\r\n\r\n"
        );
        peer.send(head.as_bytes()).await;
        let piece = vec![b' '; 64 * 1024];
        let mut sent = 0_u64;
        let pour = async {
            while peer.stream.write_all(&piece).await.is_ok() {
                sent += piece.len() as u64;
            }
        };
        timeout(PATIENCE, pour).await.expect("it is read for ever");
        assert!(sent < 64 * 1024 * 1024, "{sent} bytes were taken");
    }
    server.is_well().await;
}

#[on_each_database]
async fn a_head_that_is_too_large_is_431_or_414(db: Database) {
    let server = Server::start(db).await;
    let many: Vec<String> = (0..2_000).map(|n| format!("x-{n}: y")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let long = format!("x-long: {}", "x".repeat(100_000));
    let target = format!("/api/v1/clients?q={}", "x".repeat(100_000));
    for (request, statuses) in [
        (server.request("GET", "/api/v1/quotes", &[&long], ""), &[431_u16] as &[u16]),
        (server.request("GET", "/api/v1/quotes", &many, ""), &[431]),
        (server.request("GET", &target, &[], ""), &[414, 431]),
    ] {
        let mut peer = server.connect().await;
        let (mut reading, mut writing) = peer.stream.into_split();
        let write = async {
            // The server may close before it has read everything.
            let _ = writing.write_all(&request).await;
        };
        let mut start = [0; 12];
        let read = async { timeout(PATIENCE, reading.read_exact(&mut start)).await.expect("no answer") };
        let ((), read) = tokio::join!(write, read);
        read.unwrap();
        let status: u16 = std::str::from_utf8(&start[9..]).unwrap().parse().unwrap();
        assert!(statuses.contains(&status), "{status}");
        peer = server.connect().await;
        peer.send(&server.request("GET", "/api/v1/quotes", &[&format!("x-ok: {}", "x".repeat(4_000))], ""))
            .await;
        assert_eq!(peer.answer().await.unwrap().status, 200);
    }
}

#[on_each_database]
async fn bytes_that_are_no_http_are_refused_and_the_connection_closed(db: Database) {
    let server = Server::start(db).await;
    let twice = server.request(
        "POST",
        "/api/v1/clients",
        &["content-type: application/json", "content-length: 12", "content-length: 13"],
        "{\"name\":\"A\"}",
    );
    let negative = server.request("POST", "/api/v1/clients", &["content-length: -1"], "");
    let folded = server.request("GET", "/api/v1/quotes", &["x-a: b", " c: d"], "");
    let bad_chunk = server.request(
        "POST",
        "/api/v1/clients",
        &["content-type: application/json", "transfer-encoding: chunked"],
        "zz\r\n{}\r\n0\r\n\r\n",
    );
    for bytes in [
        &twice[..],
        &negative,
        &folded,
        &bad_chunk,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: a\0b\r\n\r\n",
        b"\0\0\0\0\0\0\r\n\r\n",
    ] {
        let mut peer = server.connect().await;
        peer.send(bytes).await;
        if let Some(heard) = peer.answer().await {
            assert_eq!(heard.status, 400, "{}", String::from_utf8_lossy(bytes));
        }
        peer.closed().await;
    }
    assert!(server.names().await.is_empty());
    server.is_well().await;
}

#[on_each_database]
async fn a_stop_finishes_what_is_in_flight_and_refuses_new_connections(db: Database) {
    let mut server = Server::start(db).await;
    let body = "{\"name\":\"In flight\"}";
    let length = format!("content-length: {}", body.len());
    let headers = ["content-type: application/json", &length, "expect: 100-continue"];
    let mut in_flight = server.connect().await;
    in_flight.send(&server.request("POST", "/api/v1/clients", &headers, "")).await;
    assert_eq!(in_flight.answer().await.unwrap().status, 100, "the server waits for the body");
    in_flight.send(&body.as_bytes()[..5]).await;
    let mut idle = server.connect().await;
    idle.send(&server.request("GET", "/api/v1/quotes", &[], "")).await;
    assert_eq!(idle.answer().await.unwrap().status, 200);
    server.stop.take();
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    timeout(PATIENCE, refused).await.expect("new connections are accepted");
    assert_eq!(idle.closed().await, 0, "an idle connection is closed without a word");
    in_flight.send(&body.as_bytes()[5..]).await;
    let heard = in_flight.answer().await.expect("the request in flight is answered");
    assert_eq!((heard.status, &heard.json["name"]), (201, &json!("In flight")));
    assert_eq!(in_flight.closed().await, 0);
    server.ended().await;
    assert_eq!(server.names().await, ["In flight"]);
    let world = server.world.reopen().await;
    let clients = world.company.clients().list(&ClientQuery::default()).await.unwrap();
    assert_eq!(clients.data.len(), 1, "what was answered is on disk");
}

/// Rules: ENDPOINT-6
#[on_each_database]
async fn a_client_that_goes_away_leaves_nothing_half_done(db: Database) {
    let server = Server::start(db).await;
    for n in 0..40 {
        let external_id = format!("crm-{n}");
        let body = json!({"name": format!("Client {n}"), "externalId": external_id}).to_string();
        let request = server.post(&body);
        let mut peer = server.connect().await;
        // Sometimes before the end of the request, sometimes after it; with a reset instead of a farewell.
        let sent = if n % 4 == 0 { request.len() - 1 } else { request.len() };
        peer.send(&request[..sent]).await;
        sleep(Duration::from_micros(n * 50)).await;
        peer.stream.set_zero_linger().unwrap();
        drop(peer);
        let path = format!("/api/v1/clients?externalId={external_id}");
        let found = server.world.get(&path).await.json["data"].as_array().unwrap().clone();
        let again = server.world.send("POST", "/api/v1/clients", &serde_json::from_str(&body).unwrap()).await;
        if let [client] = &found[..] {
            assert_eq!((again.status.as_u16(), &again.json), (200, client));
        }
        if n % 4 == 0 {
            assert_eq!(again.status, 201, "half a request created a client");
        }
        let page = server.world.get(&path).await;
        assert_eq!(page.json["data"], json!([again.json]));
    }
    assert_eq!(server.names().await.len(), 40);
    server.is_well().await;
}

/// Rules: ENDPOINT-6
#[on_each_database]
async fn an_answer_that_is_dropped_halfway_is_done_as_a_whole_or_not_at_all(db: Database) {
    let world = World::new(db).await;
    let mut unfinished = 0;
    for polls in 0..25 {
        let (key, bearer) = {
            let issued = world.company.keys().issue("one of many").await.unwrap();
            (issued.key.clone(), format!("Bearer {}", issued.key.reveal()))
        };
        let body =
            json!({"name": format!("Client {polls}"), "externalId": format!("crm-{polls}")}).to_string();
        let request = Request::post("/api/v1/clients")
            .header("authorization", &bearer)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.clone())))
            .unwrap();
        {
            let mut answer = pin!(world.invoicing.service().answer(request));
            let mut polled = 0;
            let step = std::future::poll_fn(|context| match answer.as_mut().poll(context) {
                Poll::Ready(_) => Poll::Ready(true),
                Poll::Pending if polled >= polls => Poll::Ready(false),
                Poll::Pending => {
                    polled += 1;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            });
            unfinished += usize::from(!step.await);
        }
        let headers = [("content-type", "application/json")];
        let again = world.call("POST", "/api/v1/clients", Some(key.reveal()), &headers, body.into()).await;
        assert!(matches!(again.status.as_u16(), 200 | 201), "{again:?}");
        let remaining: i64 = again.headers["ratelimit-remaining"].to_str().unwrap().parse().unwrap();
        assert!((28..=29).contains(&remaining), "the quota counts whole requests: {remaining}");
        let page = world.company.clients().list(&ClientQuery::default()).await.unwrap();
        let same = page.data.iter().filter(|client| client.external_id == Some(format!("crm-{polls}")));
        assert_eq!(same.count(), 1);
    }
    assert!(unfinished > 0, "nothing was dropped before its end");
    let mut stamps: Vec<_> = world.company.clients().list(&ClientQuery::default()).await.unwrap().data;
    assert_eq!(stamps.len(), 25);
    stamps.sort_by_key(|client| client.updated_at);
    assert!(stamps.windows(2).all(|two| two[0].updated_at < two[1].updated_at));
}

#[on_each_database(worker_threads = 4)]
async fn many_connections_at_once_are_all_served(db: Database) {
    let server = Server::start(db).await;
    let mut tasks = JoinSet::new();
    for n in 0..64 {
        let (mut peer, request) =
            (server.connect().await, server.post(&format!("{{\"name\":\"Client {n}\"}}")));
        tasks.spawn(async move {
            for _ in 0..3 {
                peer.send(&request).await;
                assert_eq!(peer.answer().await.unwrap().status, StatusCode::CREATED);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(server.world.count("SELECT count(*) FROM client").await, 192);
}
