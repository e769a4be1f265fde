//! HTTP/2 peers that do what no client does, frame by frame. Each is stopped, and others are served meanwhile.

use std::time::Duration;

use invoicing_core::{NewClient, Plan};
use invoicing_tests::{Database, on_each_database};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::serving::connections::{PATIENCE, Server};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;
const FRAME_SIZE_ERROR: u32 = 6;

/// `:status: 200` as an encoder writes it (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;
/// Other statuses, as an encoder writes each for the first time: a name of the static table, and a Huffman code.
const STATUS_201: &[u8] = &[0x48, 0x82, 0x10, 0x03];
const STATUS_431: &[u8] = &[0x48, 0x83, 0x69, 0x90, 0xff];
const STATUS_503: &[u8] = &[0x48, 0x83, 0x6c, 0x0c, 0xff];

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A text of HPACK, not compressed: its length in 7 bits and more (RFC 7541, section 5.1), and itself.
fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match text.len() {
        short @ ..127 => bytes.push(u8::try_from(short).unwrap()),
        long => {
            bytes.push(127);
            let mut rest = long - 127;
            while rest >= 128 {
                bytes.push(u8::try_from(rest % 128).unwrap() | 128);
                rest /= 128;
            }
            bytes.push(u8::try_from(rest).unwrap());
        }
    }
    bytes.extend(text.as_bytes());
    bytes
}

/// A field that is not indexed.
fn field(name: &str, value: &str) -> Vec<u8> {
    [vec![0], text(name), text(value)].concat()
}

/// The head of a request to `/api/v1/clients`: `:method` 2 is GET, 3 is POST.
fn head(server: &Server, method: u8) -> Vec<u8> {
    head_with(server.key(), method)
}

/// The same, with another key.
fn head_with(key: &str, method: u8) -> Vec<u8> {
    let path = [vec![0x04], text("/api/v1/clients")].concat();
    let authority = [vec![0x01], text("x")].concat();
    let key = field("authorization", &format!("Bearer {key}"));
    [vec![0x80 | method, 0x86], path, authority, key, field("content-type", "application/json")].concat()
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// The error code of a `GOAWAY` or a `RST_STREAM`.
    fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

struct Peer(TcpStream);

impl Peer {
    async fn connect(server: &Server, settings: &[u8]) -> Self {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()).await.unwrap();
        Self(stream)
    }

    /// Sends as much as the server takes; how many bytes it took before it closed or made the peer wait.
    async fn pour(&mut self, bytes: &[u8], times: usize) -> usize {
        let mut taken = 0;
        for _ in 0..times {
            match timeout(Duration::from_millis(300), self.0.write_all(bytes)).await {
                Ok(Ok(())) => taken += bytes.len(),
                Ok(Err(_)) | Err(_) => break,
            }
        }
        taken
    }

    /// The next frame; `None` if the server has closed.
    async fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        let read = async {
            self.0.read_exact(&mut head).await.ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            self.0.read_exact(&mut payload).await.ok()?;
            let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
            Some(Frame { kind: head[3], flags: head[4], stream, payload })
        };
        timeout(PATIENCE, read).await.expect("neither a frame nor an end")
    }

    /// The next frame of these kinds.
    async fn next(&mut self, kinds: &[u8]) -> Option<Frame> {
        loop {
            let frame = self.frame().await?;
            if kinds.contains(&frame.kind) {
                return Some(frame);
            }
        }
    }

    /// Reads the body of one stream; the code if the server ends the stream before.
    async fn data(&mut self, stream: u32) -> Result<(), u32> {
        loop {
            let frame = self.next(&[DATA, RST_STREAM]).await.expect("the connection goes on");
            match frame {
                Frame { kind: RST_STREAM, stream: ended, .. } if ended == stream => return Err(frame.code()),
                Frame { kind: DATA, flags, stream: of, .. } if of == stream && flags & END_STREAM != 0 => {
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// The reason for which the server ends the connection, if it sends one.
    async fn end(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.next(&[GOAWAY]).await {
            code = Some(frame.code());
        }
        code
    }
}

#[on_each_database]
async fn streams_that_are_opened_and_reset_end_the_connection(db: Database) {
    let server = Server::start(db).await;
    let mut peer = Peer::connect(&server, &[]).await;
    let cancel = 8_u32.to_be_bytes();
    let mut all = Vec::new();
    for stream in (1..4_000).step_by(2) {
        all.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(&server, 2)));
        all.extend(frame(RST_STREAM, 0, stream, &cancel));
    }
    // The server may close before it has taken everything.
    peer.pour(&all, 1).await;
    let code = peer.end().await;
    assert!(code.is_none_or(|code| code == ENHANCE_YOUR_CALM), "{code:?}");
    server.is_well().await;
}

#[on_each_database]
async fn a_head_without_an_end_ends_the_connection(db: Database) {
    let server = Server::start(db).await;
    for filler in [field("x-more", &"y".repeat(1_000)), Vec::new()] {
        let mut peer = Peer::connect(&server, &[]).await;
        peer.pour(&frame(HEADERS, END_STREAM, 1, &head(&server, 2)), 1).await;
        let taken = peer.pour(&frame(CONTINUATION, 0, 1, &filler), 100_000).await;
        assert!(taken < 8 * 1024 * 1024, "{taken} bytes of a head were taken");
        peer.end().await;
    }
    server.is_well().await;
}

#[on_each_database]
async fn questions_with_unread_answers_are_not_answered_for_ever(db: Database) {
    let server = Server::with(db, |limits| limits.header_read = Duration::from_millis(500)).await;
    for question in [frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9]), frame(PING, 0, 0, &[7; 8])] {
        let mut peer = Peer::connect(&server, &[]).await;
        let taken = peer.pour(&question.repeat(1_000), 10_000).await;
        assert!(taken < 64 * 1024 * 1024, "{taken} bytes of questions were taken");
        peer.end().await;
    }
    server.is_well().await;
}

#[on_each_database]
async fn streams_beyond_the_limit_are_refused_and_the_others_served(db: Database) {
    let server = Server::with(db, |limits| limits.concurrent_streams = 4).await;
    let mut peer = Peer::connect(&server, &[]).await;
    let first = peer.next(&[SETTINGS]).await.unwrap();
    assert!(first.payload.chunks(6).any(|setting| setting == [0, 3, 0, 0, 0, 4]), "the limit is announced");
    peer.pour(&frame(SETTINGS, ACK, 0, &[]), 1).await;
    for stream in [1, 3, 5, 7, 9] {
        peer.pour(&frame(HEADERS, END_HEADERS, stream, &head(&server, 3)), 1).await;
    }
    let refused = peer.next(&[RST_STREAM, GOAWAY]).await.unwrap();
    assert_eq!((refused.kind, refused.stream, refused.code()), (RST_STREAM, 9, REFUSED_STREAM));
    peer.pour(&frame(DATA, END_STREAM, 1, b"{\"name\":\"A\"}"), 1).await;
    let answer = peer.next(&[HEADERS]).await.unwrap();
    assert_eq!(answer.stream, 1);
    assert_eq!(server.names().await, ["A"]);
}

#[on_each_database]
async fn a_head_that_is_too_large_is_refused_and_the_connection_goes_on(db: Database) {
    let server = Server::start(db).await;
    let mut peer = Peer::connect(&server, &[]).await;
    let large = field("x-large", &"y".repeat(14_000));
    peer.pour(&frame(HEADERS, END_STREAM, 1, &[head(&server, 2), large.clone()].concat()), 1).await;
    peer.pour(&frame(CONTINUATION, 0, 1, &large), 1).await;
    peer.pour(&frame(CONTINUATION, END_HEADERS, 1, &large), 1).await;
    let answer = peer.next(&[HEADERS, RST_STREAM, GOAWAY]).await.unwrap();
    assert_eq!((answer.kind, answer.stream, answer.flags & END_STREAM), (HEADERS, 1, END_STREAM));
    assert_ne!(answer.payload[0], STATUS_200);
    peer.pour(&frame(HEADERS, END_STREAM | END_HEADERS, 3, &head(&server, 2)), 1).await;
    let answer = peer.next(&[HEADERS, RST_STREAM, GOAWAY]).await.unwrap();
    assert_eq!((answer.stream, answer.payload[0]), (3, STATUS_200));
}

#[on_each_database]
async fn a_head_of_too_many_fields_is_431_at_once_and_the_connection_goes_on(db: Database) {
    let server = Server::with(db, |limits| limits.headers = 10).await;
    let mut peer = Peer::connect(&server, &[]).await;
    // A field of one letter, put into the table and then named by one byte; `head` has two fields besides.
    let fields = |count: usize| [vec![0x40], text("a"), text(""), vec![0xbe; count - 1]].concat();
    let many = [head(&server, 3), fields(9)].concat();
    peer.pour(&frame(HEADERS, END_HEADERS, 1, &many), 1).await;
    let answer = peer.next(&[HEADERS, GOAWAY]).await.unwrap();
    assert_eq!((answer.kind, answer.stream, answer.flags & END_STREAM), (HEADERS, 1, END_STREAM));
    assert!(answer.payload.starts_with(STATUS_431), "{:x?}", answer.payload);
    let few = [head(&server, 2), fields(8)].concat();
    peer.pour(&frame(HEADERS, END_STREAM | END_HEADERS, 3, &few), 1).await;
    let answer = peer.next(&[HEADERS, GOAWAY]).await.unwrap();
    assert_eq!((answer.stream, answer.payload[0]), (3, STATUS_200));
}

#[on_each_database]
async fn heads_that_wait_for_their_bodies_count_among_the_bytes_that_are_held(db: Database) {
    /// How many heads fit into the share of a connection and an eighth more: over HTTP/2 each counts as a frame of 16 KiB.
    const FIT: u32 = 22;
    let server = Server::adjusted(db, |_| {}, |requests| requests.buffered_bytes = 512 * 1024).await;
    let mut peer = Peer::connect(&server, &[]).await;
    // A client that waits to be asked for its body is answered at once.
    let head = [head(&server, 3), field("expect", "100-continue")].concat();
    for n in 0..=FIT {
        peer.pour(&frame(HEADERS, END_HEADERS, 2 * n + 1, &head), 1).await;
    }
    let refused = peer.next(&[HEADERS, GOAWAY]).await.unwrap();
    assert!(refused.payload.starts_with(STATUS_503), "{:x?}", refused.payload);
    // Any of them may have been the last one. Of the others the first finds no room for its body, and leaves some.
    let others = [1, 3, 5].into_iter().filter(|stream| *stream != refused.stream);
    for (stream, (is_served, spaces)) in others.zip([(false, 10_000), (true, 0)]) {
        let body = format!("{}{{\"name\":\"A\"}}", " ".repeat(spaces));
        peer.pour(&frame(DATA, END_STREAM, stream, body.as_bytes()), 1).await;
        let answer = peer.next(&[HEADERS, GOAWAY]).await.unwrap();
        assert_eq!((answer.stream, answer.payload.starts_with(STATUS_201)), (stream, is_served));
    }
    assert_eq!(server.names().await, ["A"]);
}

#[on_each_database]
async fn a_frame_that_is_too_large_ends_the_connection(db: Database) {
    let server = Server::start(db).await;
    let mut peer = Peer::connect(&server, &[]).await;
    peer.pour(&frame(HEADERS, END_HEADERS, 1, &head(&server, 3)), 1).await;
    peer.pour(&frame(DATA, 0, 1, &vec![b' '; 16 * 1024 + 1]), 1).await;
    let code = peer.end().await;
    assert!(code.is_none_or(|code| code == FRAME_SIZE_ERROR), "{code:?}");
    server.is_well().await;
}

/// Rules: FAIR-5
#[on_each_database]
async fn a_stalled_stream_stops_no_other_and_ends_when_its_window_opens(db: Database) {
    const LIMIT: Duration = Duration::from_secs(1);
    /// More than an answer.
    const OPEN: u32 = 8 * 1024 * 1024;
    let server = Server::with(db, |limits| limits.response_read = LIMIT).await;
    for n in 0..8 {
        let client = json!({ "name": format!("Client {n}"), "notes": "é".repeat(2_000) });
        assert_eq!(server.world.send("POST", "/api/v1/clients", &client).await.status, 201);
    }
    // INITIAL_WINDOW_SIZE 0: the server may send no body.
    let mut peer = Peer::connect(&server, &[0, 4, 0, 0, 0, 0]).await;
    peer.pour(&frame(SETTINGS, ACK, 0, &[]), 1).await;
    let window = |stream| frame(WINDOW_UPDATE, 0, stream, &OPEN.to_be_bytes());
    peer.pour(&window(0), 1).await;
    for (stream, opens) in [(1, false), (3, true)] {
        peer.pour(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(&server, 2)), 1).await;
        let answer = peer.next(&[HEADERS, RST_STREAM, GOAWAY]).await.unwrap();
        assert_eq!((answer.kind, answer.stream, answer.payload[0]), (HEADERS, stream, STATUS_200));
        if opens {
            peer.pour(&window(stream), 1).await;
            peer.data(stream).await.expect("a whole answer");
        }
    }
    // Its time is 2 s longer for its size, and it is looked at every second.
    sleep(LIMIT + Duration::from_secs(4)).await;
    peer.pour(&frame(HEADERS, END_STREAM | END_HEADERS, 5, &head(&server, 2)), 1).await;
    assert_eq!(peer.next(&[HEADERS, GOAWAY]).await.unwrap().stream, 5, "the connection goes on");
    peer.pour(&window(1), 1).await;
    assert_eq!(peer.data(1).await, Err(INTERNAL_ERROR));
    peer.pour(&window(5), 1).await;
    peer.data(5).await.expect("a whole answer");
}

/// Rules: FAIR-1, FAIR-5
#[on_each_database]
async fn a_company_that_reads_nothing_leaves_a_proxy_connection_to_others(db: Database) {
    /// A company may have a quarter of it: four of its pages, which are 200 KiB each.
    const BUDGET: usize = 4 * 1024 * 1024;
    const PAGES: usize = 4;
    const OPEN: u32 = 8 * 1024 * 1024;
    let server = Server::adjusted(db, |_| {}, |requests| requests.buffered_bytes = BUDGET).await;
    let (other, other_key) = server.world.another("Other", Plan::Team).await;
    let client = NewClient { notes: Some("é".repeat(2_000)), ..NewClient::named("Lefèvre") };
    for company in [&server.world.company, &other] {
        for _ in 0..50 {
            company.clients().create(&client).await.unwrap();
        }
    }
    // INITIAL_WINDOW_SIZE 0: the server may send no body.
    let mut peer = Peer::connect(&server, &[0, 4, 0, 0, 0, 0]).await;
    peer.pour(&frame(SETTINGS, ACK, 0, &[]), 1).await;
    let window = |stream| frame(WINDOW_UPDATE, 0, stream, &OPEN.to_be_bytes());
    peer.pour(&window(0), 1).await;
    let mut streams = (1_u32..).step_by(2);
    // The first company sends requests until it is refused.
    for (key, max) in [(server.key(), 2 * PAGES), (&*other_key, PAGES)] {
        for count in 0..max {
            let stream = streams.next().unwrap();
            peer.pour(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &head_with(key, 2)), 1).await;
            let answer = peer.next(&[HEADERS, RST_STREAM, GOAWAY]).await.unwrap();
            assert_eq!((answer.kind, answer.stream), (HEADERS, stream));
            if answer.payload[0] != STATUS_200 {
                assert!(key == server.key() && count >= PAGES - 1, "page {count} of {key} was refused");
                break;
            }
            if key == other_key {
                peer.pour(&window(stream), 1).await;
                peer.data(stream).await.expect("a whole answer");
            }
        }
    }
}
