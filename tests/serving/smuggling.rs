//! Requests of which a proxy in front may see another end than the server: each gets one answer of the right status,
//! and what is hidden in it is never served.

use invoicing_tests::{Database, on_each_database};

use crate::serving::connections::{PATIENCE, Peer, Server};

/// The request that must never be served: it would create this client.
const HIDDEN: &str = "Hidden";

fn hidden(server: &Server) -> Vec<u8> {
    server.post(&format!("{{\"name\":\"{HIDDEN}\"}}"))
}

/// One shape, as it is sent: what comes before the hidden request, and the status of the one answer.
struct Shape {
    name: &'static str,
    /// Lines of the head after `Host` and `Authorization`.
    headers: &'static [&'static str],
    body: &'static str,
    status: u16,
}

const fn shape(
    name: &'static str,
    headers: &'static [&'static str],
    body: &'static str,
    status: u16,
) -> Shape {
    Shape { name, headers, body, status }
}

const JSON: &str = "content-type: application/json";
/// A body of 12 bytes, as it is and in one chunk.
const BODY: &str = "{\"name\":\"A\"}";
const CHUNKED: &str = "c\r\n{\"name\":\"A\"}\r\n0\r\n\r\n";

/// After each of these the connection is closed.
const SHAPES: &[Shape] = &[
    shape("length, then chunked", &[JSON, "content-length: 12", "transfer-encoding: chunked"], CHUNKED, 201),
    shape("chunked, then length", &[JSON, "transfer-encoding: chunked", "content-length: 12"], CHUNKED, 201),
    shape("length 0 and chunked", &[JSON, "content-length: 0", "transfer-encoding: chunked"], CHUNKED, 201),
    shape("two lengths", &[JSON, "content-length: 12", "content-length: 13"], BODY, 400),
    shape("two lengths in one", &[JSON, "content-length: 12, 13"], BODY, 400),
    shape("one length twice in one", &[JSON, "content-length: 12, 12"], BODY, 400),
    shape("a length with a sign", &[JSON, "content-length: +12"], BODY, 400),
    shape("a negative length", &[JSON, "content-length: -12"], BODY, 400),
    shape("a length in hexadecimal", &[JSON, "content-length: 0xc"], BODY, 400),
    shape("an empty length", &[JSON, "content-length: "], BODY, 400),
    shape("a length beyond 64 bits", &[JSON, "content-length: 18446744073709551628"], BODY, 400),
    shape("chunked, identity", &[JSON, "transfer-encoding: chunked, identity"], CHUNKED, 400),
    shape("identity, chunked", &[JSON, "transfer-encoding: identity, chunked"], CHUNKED, 400),
    shape("gzip, chunked", &[JSON, "transfer-encoding: gzip, chunked"], CHUNKED, 400),
    shape("chunked twice in one", &[JSON, "transfer-encoding: chunked, chunked"], CHUNKED, 400),
    shape("chunked twice", &[JSON, "transfer-encoding: chunked", "transfer-encoding: chunked"], CHUNKED, 400),
    shape(
        "identity and chunked",
        &[JSON, "transfer-encoding: identity", "transfer-encoding: chunked"],
        CHUNKED,
        400,
    ),
    shape(
        "chunked and identity",
        &[JSON, "transfer-encoding: chunked", "transfer-encoding: identity"],
        CHUNKED,
        400,
    ),
    shape("xchunked", &[JSON, "transfer-encoding: xchunked"], CHUNKED, 400),
    shape("chunked in quotes", &[JSON, "transfer-encoding: \"chunked\""], CHUNKED, 400),
    shape("chunked after a vertical tab", &[JSON, "transfer-encoding: \x0bchunked"], CHUNKED, 400),
    shape("chunked with a parameter", &[JSON, "transfer-encoding: chunked;q=1"], CHUNKED, 400),
    shape(
        "a space before the colon",
        &[JSON, "transfer-encoding : chunked", "content-length: 12"],
        BODY,
        400,
    ),
    shape("a space before the length's colon", &[JSON, "content-length : 12"], BODY, 400),
    shape("a tab before the name", &[JSON, "content-length: 12", "\ttransfer-encoding: chunked"], BODY, 400),
    shape("a folded line", &[JSON, "x: a", " b: c", "content-length: 12"], BODY, 400),
    shape("a NUL in a name", &[JSON, "transfer-encoding\0: chunked", "content-length: 12"], BODY, 400),
    shape("a NUL in a value", &[JSON, "content-length: 12\0"], BODY, 400),
    shape(
        "a bare CR in a value",
        &[JSON, "x: a\rtransfer-encoding: chunked", "content-length: 12"],
        BODY,
        400,
    ),
    shape("a line without a colon", &[JSON, "content-length 12"], BODY, 400),
    shape("a second host", &[JSON, "host: y", "content-length: 12"], BODY, 400),
    shape("an expectation", &[JSON, "expect: 200-ok", "content-length: 12"], BODY, 417),
    shape(
        "a chunk's size beyond 64 bits",
        &[JSON, "transfer-encoding: chunked"],
        "1000000000000000c\r\n{}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "a chunk's size with a sign",
        &[JSON, "transfer-encoding: chunked"],
        "+c\r\n{\"name\":\"A\"}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "a chunk's size with 0x",
        &[JSON, "transfer-encoding: chunked"],
        "0xc\r\n{\"name\":\"A\"}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "a chunk's line ended by LF",
        &[JSON, "transfer-encoding: chunked"],
        "c\n{\"name\":\"A\"}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "a chunk ended by LF",
        &[JSON, "transfer-encoding: chunked"],
        "c\r\n{\"name\":\"A\"}\n0\r\n\r\n",
        400,
    ),
    shape(
        "a chunk that is too long",
        &[JSON, "transfer-encoding: chunked"],
        "b\r\n{\"name\":\"A\"}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "an extension with a LF",
        &[JSON, "transfer-encoding: chunked"],
        "c;a\nb\r\n{\"name\":\"A\"}\r\n0\r\n\r\n",
        400,
    ),
    shape(
        "a trailer that is no header",
        &[JSON, "transfer-encoding: chunked"],
        "c\r\n{\"name\":\"A\"}\r\n0\r\nx y\r\n\r\n",
        400,
    ),
];

/// The statuses of all answers until the server closes.
async fn statuses(peer: &mut Peer) -> Vec<u16> {
    let mut statuses = Vec::new();
    while let Some(heard) = peer.answer().await {
        statuses.push(heard.status);
    }
    statuses
}

#[on_each_database]
async fn a_doubtful_request_has_one_answer_and_nothing_after_it_is_served(db: Database) {
    let server = Server::start(db).await;
    let mut created = 0;
    for Shape { name, headers, body, status } in SHAPES {
        let mut request = server.request("POST", "/api/v1/clients", headers, body);
        request.extend(hidden(&server));
        let mut peer = server.connect().await;
        peer.send(&request).await;
        assert_eq!(statuses(&mut peer).await, [*status], "{name}");
        created += usize::from(*status == 201);
        let names = server.names().await;
        assert!(names.len() == created && names.iter().all(|stored| stored == "A"), "{name}: {names:?}");
    }
    server.is_well().await;
}

#[on_each_database]
async fn a_length_and_chunks_that_hide_a_request_do_not_serve_it(db: Database) {
    let server = Server::start(db).await;
    let hidden = String::from_utf8(hidden(&server)).unwrap();
    let length = format!("content-length: {}", 5 + hidden.len());
    // A proxy that believes the length sends all of it as one request; one that believes the chunks sends two.
    for headers in
        [[JSON, &*length, "transfer-encoding: chunked"], [JSON, "transfer-encoding: chunked", &length]]
    {
        let mut peer = server.connect().await;
        peer.send(&server.request("POST", "/api/v1/clients", &headers, &format!("0\r\n\r\n{hidden}"))).await;
        assert_eq!(statuses(&mut peer).await, [400], "an empty body is no JSON");
    }
    assert!(server.names().await.is_empty());
}

#[on_each_database]
async fn one_length_twice_is_one_length(db: Database) {
    let server = Server::start(db).await;
    let headers = [JSON, "content-length: 12", "content-length: 12"];
    let mut request = server.request("POST", "/api/v1/clients", &headers, BODY);
    request.extend(server.request("GET", "/api/v1/clients", &["connection: close"], ""));
    let mut peer = server.connect().await;
    peer.send(&request).await;
    assert_eq!(statuses(&mut peer).await, [201, 200]);
}

#[on_each_database]
async fn chunks_with_extensions_end_where_they_end(db: Database) {
    let server = Server::start(db).await;
    let chunked = [JSON, "transfer-encoding: chunked"];
    for (body, status) in [
        ("c;name=value\r\n{\"name\":\"A\"}\r\n0;last\r\n\r\n".to_owned(), 201),
        ("00000000000000c\r\n{\"name\":\"A\"}\r\n000\r\n\r\n".to_owned(), 201),
        (format!("c;{}\r\n{{\"name\":\"A\"}}\r\n0\r\n\r\n", "x".repeat(20_000)), 400),
    ] {
        let mut request = server.request("POST", "/api/v1/clients", &chunked, &body);
        request.extend(server.request("GET", "/api/v1/clients", &["connection: close"], ""));
        let mut peer = server.connect().await;
        peer.send(&request).await;
        let expected: &[u16] = if status == 201 { &[201, 200] } else { &[400] };
        assert_eq!(statuses(&mut peer).await, expected, "{}", &body[..body.len().min(60)]);
    }
}

/// A body in one chunk that ends in these lines instead of an empty one.
fn ended_by(trailers: &str) -> String {
    format!("c\r\n{BODY}\r\n0\r\n{trailers}\r\n")
}

/// hyper ends trailers at the first empty line that CR and LF end, and takes the head of the next request for trailers
/// before. A proxy that lets LF end a line sees two requests, of which the second has a request for its body.
///
/// Rules: ENDPOINT-9
#[on_each_database]
async fn a_connection_ends_with_the_answer_to_a_body_with_trailers(db: Database) {
    let server = Server::start(db).await;
    let hidden = String::from_utf8(hidden(&server)).unwrap();
    let length = format!("content-length: {}", hidden.len());
    let outer =
        String::from_utf8(server.request("POST", "/api/v1/clients", &[JSON, &length], &hidden)).unwrap();
    let many = "x: y\r\n".repeat(200);
    let long = format!("x: {}\r\n", "x".repeat(20_000));
    let mut created = 0;
    for (trailers, status) in [
        ("x: a\n", 201),
        ("x: a\n\n", 201),
        ("\n", 201),
        ("x: a\r\n", 201),
        ("x-a: b\r\ncontent-length: 3\r\n", 201),
        (&*many, 400),
        (&*long, 400),
    ] {
        for behind in [&outer, &hidden] {
            let chunked = [JSON, "transfer-encoding: chunked"];
            let mut request = server.request("POST", "/api/v1/clients", &chunked, &ended_by(trailers));
            request.extend(behind.as_bytes());
            let mut peer = server.connect().await;
            peer.send(&request).await;
            let answer = peer.answer().await.unwrap();
            assert_eq!((answer.status, &answer.headers["connection"]), (status, &"close".parse().unwrap()));
            assert_eq!(statuses(&mut peer).await, [0; 0], "{trailers:?}");
            created += usize::from(status == 201);
            let names = server.names().await;
            assert!(names.len() == created && names.iter().all(|stored| stored == "A"), "{names:?}");
        }
    }
    server.is_well().await;
}

/// Bytes in the place of a request line, and the statuses of all answers. Each is followed by a hidden request.
const LINES: &[(&str, &[u16])] = &[
    ("GET /api/v1/clients\r\n\r\n", &[400]),
    ("GET\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/0.9\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/1.2\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/2.0\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/11\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients http/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET\t/api/v1/clients\tHTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET  /api/v1/clients HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients  HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/\0clients HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/1.1 x\r\nhost: x\r\n\r\n", &[400]),
    ("GET api/v1/clients HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("G@T /api/v1/clients HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    (" GET /api/v1/clients HTTP/1.1\r\nhost: x\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/1.1\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/1.1\r\nhost: a b\r\n\r\n", &[400]),
    ("GET /api/v1/clients HTTP/1.1\r\n host: x\r\n\r\n", &[400]),
    ("POST /api/v1/clients HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", &[400]),
    ("\0\0\0\0\r\n\r\n", &[400]),
    ("\x16\x03\x01\x02\0\x01\0\x01\u{7f}\x03\x03\r\n\r\n", &[400]),
    ("PRI * HTTP/1.1\r\n\r\n", &[400]),
];

#[on_each_database]
async fn what_is_no_request_line_is_refused_and_nothing_after_it_is_served(db: Database) {
    let server = Server::start(db).await;
    for (text, expected) in LINES {
        let mut peer = server.connect().await;
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend(hidden(&server));
        peer.send(&bytes).await;
        assert_eq!(statuses(&mut peer).await, *expected, "{text:?}");
    }
    assert!(server.names().await.is_empty());
    server.is_well().await;
}

#[on_each_database]
async fn unusual_requests_that_are_in_order_are_answered_as_such(db: Database) {
    let server = Server::start(db).await;
    let key = format!("authorization: Bearer {}\r\n", server.key());
    let close = "connection: close\r\n\r\n";
    for (head, status) in [
        ("GET http://other.example/api/v1/clients HTTP/1.1\r\nhost: x\r\n", 200),
        ("GET /api/v1/clients HTTP/1.0\r\n", 200),
        ("GET /api/v1/clients HTTP/1.1\r\nhost:\r\n", 200),
        ("GET /api/v1/clients HTTP/1.1\r\nHOST:x:80\r\n", 200),
        ("\r\n\r\nGET /api/v1/clients HTTP/1.1\r\nhost: x\r\n", 200),
        ("GET /api/v1/clients HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n", 200),
        ("GET /api/v1/clients HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n", 200),
        ("GET /api/v1/clients HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n", 200),
        // Lines ended by LF alone: allowed to be read (RFC 9112, section 2.2).
        ("GET /api/v1/clients HTTP/1.1\nhost: x\n", 200),
        ("OPTIONS * HTTP/1.1\r\nhost: x\r\n", 404),
        ("OPTIONS /api/v1/clients HTTP/1.1\r\nhost: x\r\n", 204),
        ("TRACE /api/v1/clients HTTP/1.1\r\nhost: x\r\nx-secret: c4n4ry\r\n", 405),
        ("CONNECT other.example:443 HTTP/1.1\r\nhost: other.example:443\r\n", 404),
        ("BREW /api/v1/clients HTTP/1.1\r\nhost: x\r\n", 405),
    ] {
        let mut peer = server.connect().await;
        peer.send(format!("{head}{key}{close}").as_bytes()).await;
        let heard = peer.answer().await.expect(head);
        assert_eq!(heard.status, status, "{head:?}");
        assert!(!heard.json.to_string().contains("c4n4ry"), "it sends back what it was sent");
        assert!(peer.answer().await.is_none(), "{head:?}");
    }
}

/// Rules: ERROR-11
#[on_each_database]
async fn an_expectation_that_is_not_known_is_417_with_the_body_of_the_contract(db: Database) {
    let server = Server::start(db).await;
    let mut peer = server.connect().await;
    peer.send(&server.request("GET", "/api/v1/clients", &["expect: something"], "")).await;
    let heard = peer.answer().await.unwrap();
    assert_eq!((heard.status, heard.json["error"]["code"].as_str()), (417, Some("expectation_failed")));
    assert_eq!(heard.headers["connection"], "close");
    assert_eq!(heard.headers["cache-control"], "no-store");
    assert!(heard.headers.contains_key("x-request-id"));
}

#[on_each_database]
async fn a_caller_that_waits_for_100_continue_is_not_asked_for_an_unwanted_body(db: Database) {
    let server = Server::start(db).await;
    let headers = [JSON, "content-length: 1000000", "expect: 100-continue"];
    let mut peer = server.connect().await;
    peer.send(&server.request("POST", "/api/v1/clients", &headers, "")).await;
    let heard = peer.answer().await.unwrap();
    assert_eq!((heard.status, &heard.headers["connection"]), (413, &"close".parse().unwrap()));
    tokio::time::timeout(PATIENCE, peer.closed()).await.unwrap();
}

#[on_each_database]
async fn nothing_is_served_after_a_body_that_was_not_waited_for(db: Database) {
    let server = Server::start(db).await;
    let mut request =
        server.request("GET", "/api/v1/clients", &["content-length: 1", "expect: 100-continue"], "x");
    request.extend(hidden(&server));
    let mut peer = server.connect().await;
    peer.send(&request).await;
    assert_eq!(statuses(&mut peer).await, [200]);
    assert!(server.names().await.is_empty());
}
