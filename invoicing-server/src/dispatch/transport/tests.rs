mod policy;
mod proxy;
mod server;
mod tls;

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use http::header::{CONTENT_TYPE, HeaderName, USER_AGENT};
use invoicing_core::FailureClass::{
    self, Dns, Network, Protocol, TargetRefused, Timeout, Tls, TlsBadCertificate, TlsCaCertificate,
    TlsExpired, TlsNotYetValid, TlsUnknownIssuer, TlsWrongName,
};

use super::*;
use server::{ScriptedServer, Step};

const OPEN: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };
const STRICT: TargetPolicy = TargetPolicy { allow_http: false, allow_private: false };
/// Allows `http` to public addresses, so a refusal is due to the address.
const HTTP_ONLY: TargetPolicy = TargetPolicy { allow_http: true, allow_private: false };

const NOW: Timestamp = Timestamp::from_millis(784_111_777_000);
/// Long enough never to run out in a test that passes.
const AMPLE: Duration = Duration::from_secs(30);
/// The limit in tests that let it run out.
const SHORT: Duration = Duration::from_millis(300);

fn transport() -> Transport {
    Transport::builder(OPEN).build().unwrap()
}

fn target(url: &str) -> Target {
    Target::new(&OPEN.parse(url).unwrap(), HeaderMap::new())
}

async fn post(transport: &Transport, url: &str, limit: Duration) -> AttemptOutcome {
    transport.send(target(url).post(Bytes::from_static(b"{}")), limit, NOW).await
}

fn answered(status: u16) -> AttemptOutcome {
    AttemptOutcome::Answered { status, retry_after: None }
}

fn failed(class: FailureClass) -> AttemptOutcome {
    AttemptOutcome::Failed(class)
}

/// Answers every lookup from a list, and counts them.
#[derive(Clone)]
struct Fixed {
    answers: Arc<[Vec<IpAddr>]>,
    lookups: Arc<AtomicUsize>,
}

impl Fixed {
    /// The n-th lookup gets the n-th answer; the last one repeats.
    fn new(answers: &[&[&str]]) -> Self {
        let answers =
            answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        Self { answers, lookups: Arc::default() }
    }
}

impl Resolve for Fixed {
    fn resolve(&self, _: &str) -> ResolveFuture {
        let count = self.lookups.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers[count.min(self.answers.len() - 1)].clone();
        Box::pin(async move { Ok(answer) })
    }
}

/// A resolver that is a function.
struct Lookup<F>(F);

impl<F: Fn() -> ResolveFuture + Send + Sync + 'static> Resolve for Lookup<F> {
    fn resolve(&self, _: &str) -> ResolveFuture {
        self.0()
    }
}

// --- Outcomes

#[tokio::test]
async fn the_status_is_the_outcome() {
    for status in [200, 201, 204, 299, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503, 599, 999] {
        let server =
            ScriptedServer::answering(&format!("HTTP/1.1 {status} Reason\r\ncontent-length: 0\r\n\r\n"))
                .await;
        assert_eq!(post(&transport(), &server.url(), AMPLE).await, answered(status), "{status}");
    }
}

/// Rules: TARGET-4
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = ScriptedServer::answering(server::OK).await;
    let response =
        format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url());
    let server = ScriptedServer::answering(&response).await;
    assert_eq!(post(&transport(), &server.url(), AMPLE).await, answered(302));
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date() {
    for (value, expected) in [
        ("7", Some(7)),
        ("99999999999999999999999", Some(86_400)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
        ("soon", None),
        ("\u{e9}", None),
    ] {
        let response = format!("HTTP/1.1 429 No\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n");
        let server = ScriptedServer::answering(&response).await;
        let expected = AttemptOutcome::Answered { status: 429, retry_after: expected };
        assert_eq!(post(&transport(), &server.url(), AMPLE).await, expected, "{value}");
    }
}

#[tokio::test]
async fn unusual_responses_count_by_their_status() {
    for response in [
        &b"HTTP/1.1 200 OK\r\nx-name: caf\xe9 \xff\xfe\r\ncontent-length: 0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nx-na\xc3\xafve: 1\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 Tr\xc3\xa8s bien\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\n\r\nup to the end of the connection",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-trailer: \xe9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 8\r\n\r\nnot gzip",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ] {
        let server = ScriptedServer::new(vec![Step::send(response), Step::Close]).await;
        let outcome = post(&transport(), &server.url(), AMPLE).await;
        assert_eq!(outcome, answered(200), "{}", response.escape_ascii());
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_a_protocol_failure() {
    for response in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"220 smtp.example.com ESMTP\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"\x15\x03\x03\x00\x02\x02\x28",
    ] {
        let server = ScriptedServer::new(vec![Step::send(response), Step::Close]).await;
        let outcome = post(&transport(), &server.url(), AMPLE).await;
        assert_eq!(outcome, failed(Protocol), "{}", response.escape_ascii());
    }
}

#[tokio::test]
async fn endless_headers_are_a_protocol_failure() {
    let line = b"x-padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    let server =
        ScriptedServer::new(vec![Step::send(b"HTTP/1.1 200 OK\r\n"), Step::Flood(line.to_vec())]).await;
    assert_eq!(post(&transport(), &server.url(), AMPLE).await, failed(Protocol));
}

#[tokio::test]
async fn a_broken_connection_is_a_network_failure() {
    for steps in [
        vec![Step::Close],
        vec![Step::send(b"HTTP/1.1 200"), Step::Close],
        vec![Step::send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n"), Step::Close],
    ] {
        let label = format!("{steps:?}");
        let server = ScriptedServer::new(steps).await;
        assert_eq!(post(&transport(), &server.url(), AMPLE).await, failed(Network), "{label}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_network_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(post(&transport(), &format!("http://{address}/"), AMPLE).await, failed(Network));
    assert_eq!(post(&transport(), &format!("https://{address}/"), AMPLE).await, failed(Network));
}

// --- The limit

async fn assert_times_out(transport: &Transport, url: &str) {
    let began = Instant::now();
    assert_eq!(post(transport, url, SHORT).await, failed(Timeout), "{url}");
    let took = began.elapsed();
    assert!((SHORT..SHORT * 10).contains(&took), "{url}: {took:?}");
}

/// Rules: ATTEMPT-5
#[tokio::test]
async fn one_time_limit_covers_the_attempt_up_to_the_end_of_the_head() {
    let drip = || Step::Drip(b"a".to_vec());
    for steps in [
        vec![Step::Hang],
        vec![Step::send(b"HTTP/1.1 200 OK\r\nx-"), Step::Hang],
        vec![Step::send(b"HTTP/1.1 200 OK\r\nx-drip: "), drip()],
        vec![Step::Drip(b"HTTP/1.1 103 Early\r\n\r\n".to_vec())],
    ] {
        let server = ScriptedServer::new(steps).await;
        assert_times_out(&transport(), &server.url()).await;
    }
}

/// The body may break off, be no HTTP, hang or trickle.
///
/// Rules: ATTEMPT-6, ATTEMPT-8, ATTEMPT-9
#[tokio::test]
async fn the_head_decides_and_a_body_that_does_not_end_costs_250_ms() {
    let drip = |bytes: &[u8]| Step::Drip(bytes.to_vec());
    for (head, rest, ends) in [
        ("content-length: 5\r\n\r\nhi", Step::Close, true),
        ("transfer-encoding: chunked\r\n\r\n5\r\nhi", Step::Close, true),
        ("transfer-encoding: chunked\r\n\r\nxyz\r\n", Step::Hang, true),
        ("content-length: 5\r\n\r\n", Step::Hang, false),
        ("content-length: 50000\r\n\r\n", drip(b"a"), false),
        ("\r\n", drip(b"a"), false),
        ("transfer-encoding: chunked\r\n\r\n", drip(b"1\r\na\r\n"), false),
        ("transfer-encoding: chunked\r\n\r\n0\r\nx-trailer: ", drip(b"a"), false),
    ] {
        for status in [200, 204, 299, 404, 500, 503] {
            // These have no body.
            let ends = ends || status == 204;
            let head = format!("HTTP/1.1 {status} Status\r\n{head}");
            let server = ScriptedServer::new(vec![Step::send(head.as_bytes()), rest.clone()]).await;
            let (transport, began) = (transport(), Instant::now());
            assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(status), "{head}");
            let took = began.elapsed();
            assert!(took < BODY_TIME * 40 && (ends || took >= BODY_TIME), "{head}: {took:?}");
        }
    }
}

/// Rules: ATTEMPT-5, ATTEMPT-6
#[tokio::test]
async fn a_head_in_time_is_an_answer_and_its_body_gets_the_time_left() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    let server = ScriptedServer::new(vec![Step::send(head), Step::Hang]).await;
    let (transport, limit) = (transport(), BODY_TIME / 2);
    // A machine that stands still delays one of the attempts. Each has a new connection.
    let mut attempts = Vec::new();
    for connections in 1..=5 {
        let began = Instant::now();
        attempts.push((post(&transport, &server.url(), limit).await, began.elapsed()));
        assert_eq!(server.connections(), connections);
    }
    let is_in_time = |(outcome, took): &(AttemptOutcome, Duration)| {
        *outcome == answered(200) && (limit..BODY_TIME).contains(took)
    };
    assert!(attempts.iter().any(is_in_time), "{attempts:?}");
}

/// Rules: ATTEMPT-5
#[tokio::test]
async fn a_tls_handshake_that_hangs_is_a_timeout() {
    let server = ScriptedServer::greeting(vec![Step::Hang]).await;
    assert_times_out(&transport(), &server.url().replace("http:", "https:")).await;
}

/// Rules: ATTEMPT-5
#[tokio::test]
async fn a_lookup_that_hangs_is_a_timeout() {
    let hangs = Lookup(|| -> ResolveFuture { Box::pin(std::future::pending()) });
    let transport = Transport::builder(OPEN).resolver(hangs).build().unwrap();
    assert_times_out(&transport, "http://hooks.example/").await;
}

#[tokio::test]
async fn the_connect_timeout_applies_without_an_attempt_limit() {
    let server = ScriptedServer::greeting(vec![Step::Hang]).await;
    let transport = Transport::builder(OPEN).connect_timeout(SHORT).build().unwrap();
    let url = server.url().replace("http:", "https:");
    assert_eq!(post(&transport, &url, AMPLE).await, failed(Timeout));
}

// --- Bounds

/// Rules: ATTEMPT-9, ISOLATION-2
#[tokio::test]
async fn an_endless_body_counts_by_its_status_and_is_not_read_further() {
    for (head, body) in [
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], &b"aaaaaaaaaaaaaaaa"[..]),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", b"aaaaaaaaaaaaaaaa"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"8\r\naaaaaaaa\r\n"),
    ] {
        let server = ScriptedServer::new(vec![Step::send(head), Step::Flood(body.repeat(64))]).await;
        let transport = transport();
        assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
        // The flood ends when the client closes the connection. It stands for what the kernel
        // buffers, too.
        let sent = server.flooded().await;
        assert!(sent > MAX_BODY && sent < 64 * 1024 * 1024, "{sent}");
        assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
        assert_eq!(server.connections(), 2, "a connection with unread bytes must not be used again");
    }
}

/// Rules: ISOLATION-4
#[tokio::test]
async fn endless_interim_responses_are_a_protocol_failure_and_stop_the_read() {
    for interim in [
        &b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"[..],
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 199 \r\n\r\n",
    ] {
        let server = ScriptedServer::new(vec![Step::Flood(interim.repeat(64))]).await;
        assert_eq!(post(&transport(), &server.url(), AMPLE).await, failed(Protocol));
        let sent = server.flooded().await;
        assert!(sent < 64 * 1024 * 1024, "{sent}");
    }
}

/// Rules: ISOLATION-4
#[tokio::test]
async fn chunk_framing_and_trailers_count_too() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (begin, flood, outcome) in [
        (&b""[..], &b"1\r\na\r\n"[..], answered(200)),
        (b"1;", b"extension=of-a-chunk;", answered(200)),
        (b"0\r\n", b"x-trailer: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", answered(200)),
    ] {
        let head = [&head[..], begin].concat();
        let server = ScriptedServer::new(vec![Step::send(&head), Step::Flood(flood.repeat(64))]).await;
        assert_eq!(post(&transport(), &server.url(), AMPLE).await, outcome, "{}", flood.escape_ascii());
        let sent = server.flooded().await;
        assert!(sent < 64 * 1024 * 1024, "{sent}");
    }
}

/// Rules: ATTEMPT-9
#[tokio::test]
async fn a_body_up_to_the_bound_leaves_the_connection_in_the_pool() {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {MAX_BODY}\r\n\r\n");
    let server = ScriptedServer::answering(&(head + &"a".repeat(MAX_BODY))).await;
    let transport = transport();
    // More in all than one exchange may have.
    for _ in 0..10 {
        assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
    }
    assert_eq!(server.connections(), 1);
}

// --- What is sent

/// Rules: WEBHOOK-8
#[tokio::test]
async fn the_request_is_a_post_of_exactly_these_bytes_and_headers() {
    let server = ScriptedServer::answering(server::OK).await;
    let url = OPEN.parse(&format!("{}hooks/%C3%A9?a=1|2&b='", server.url())).unwrap();
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (USER_AGENT, HeaderValue::from_static("Service-Webhook/1.0")),
    ]);
    let target = Target::new(&url, headers);
    for body in [&b"{\"a\":1.50, \"b\":\"\xc3\xa9\"}\n"[..], b"\xff\xfe\x00 not text"] {
        let mut request = target.post(Bytes::from_static(body));
        let name = HeaderName::from_static("x-service-signature");
        request.headers_mut().insert(name, HeaderValue::from_static("t=1,v1=00"));
        assert_eq!(transport().send(request, AMPLE, NOW).await, answered(200));
        let received = server.received().await;
        let head = format!(
            "POST /hooks/%C3%A9?a=1|2&b=%27 HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             User-Agent: Service-Webhook/1.0\r\nX-Service-Signature: t=1,v1=00\r\nContent-Length: {}\r\n\r\n",
            server.address(),
            body.len()
        );
        let expected = [head.as_bytes(), body].concat();
        assert_eq!(received.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
}

#[tokio::test]
async fn a_long_request_body_arrives_completely() {
    let server = ScriptedServer::answering(server::OK).await;
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    let request = target(&server.url()).post(Bytes::from(body.clone()));
    assert_eq!(transport().send(request, AMPLE, NOW).await, answered(200));
    assert!(server.received().await.ends_with(&body));
}

#[test]
fn the_host_header_has_the_port_unless_it_is_the_default() {
    for (url, host) in [
        ("https://example.com/", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:8443/", "example.com:8443"),
        ("http://example.com:80/", "example.com"),
        ("http://[2001:4860::1]:81/", "[2001:4860::1]:81"),
        ("https://b\u{fc}cher.example/", "xn--bcher-kva.example"),
    ] {
        assert_eq!(target(url).post(Bytes::new()).headers()[HOST], host, "{url}");
    }
}

// --- The pool

#[tokio::test]
async fn connections_are_reused() {
    let server = ScriptedServer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let transport = transport();
    let target = target(&server.url());
    for _ in 0..20 {
        let request = target.post(Bytes::from_static(b"{}"));
        assert_eq!(transport.clone().send(request, AMPLE, NOW).await, answered(200));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_the_peer_closed_while_idle_costs_no_failure() {
    let server = ScriptedServer::new(vec![Step::send(server::OK.as_bytes()), Step::Close]).await;
    let transport = transport();
    for sent in 1..=10 {
        assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
        server.closed(sent).await;
        // This runtime looks at its sockets after 61 polls at the latest, and so sees that the peer
        // has closed.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.requests(), 10, "each delivery arrives once");
}

#[tokio::test]
async fn a_request_that_has_been_written_is_not_sent_again() {
    let server = ScriptedServer::new(vec![Step::send(server::OK.as_bytes()), Step::Read, Step::Close]).await;
    let transport = transport();
    for connections in 1..=5 {
        assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
        assert_eq!(post(&transport, &server.url(), AMPLE).await, failed(Network));
        assert_eq!((server.connections(), server.requests()), (connections, 2 * connections));
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_the_idle_timeout() {
    let server = ScriptedServer::answering(server::OK).await;
    let transport = Transport::builder(OPEN).idle_timeout(Duration::from_millis(50)).build().unwrap();
    assert_eq!(post(&transport, &server.url(), AMPLE).await, answered(200));
    // Waits for the client to close; hangs for good if it does not.
    server.closed(1).await;
}
