//! The limits on requests: what is beyond one gets the right status, and nothing is done.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::request::Builder;
use http::{Request, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use invoicing_server::{Settings, TargetPolicy};
use invoicing_tests::{Database, World, on_each_database};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::serving::connections::{PATIENCE, Server};

/// Fewest bytes that a service must be allowed to hold.
const SMALLEST: usize = 320 * 1024;

fn get(world: &World) -> Request<Full<Bytes>> {
    let request = Request::get("/api/v1/clients").header("authorization", format!("Bearer {}", world.key));
    request.body(Full::default()).unwrap()
}

/// A request that creates a client, once it has a body.
fn post(key: &str) -> Builder {
    let request = Request::post("/api/v1/clients").header("content-type", "application/json");
    request.header("authorization", format!("Bearer {key}"))
}

/// Rules: ERROR-15
#[on_each_database]
async fn work_beyond_the_limit_is_503_overloaded_and_counts_in_no_quota(db: Database) {
    let world =
        World::on(db).settings(|settings| settings.requests.in_flight = 1).without_listener().open().await;
    // A known key is found without the database.
    assert_eq!(world.get("/api/v1/clients").await.headers["ratelimit-remaining"], "29");
    let create = post(&world.key).body(Full::new(Bytes::from_static(br#"{"name": "First"}"#))).unwrap();
    let mut first = Box::pin(world.invoicing.service().answer(create));
    // The lock that a change must wait for, on either database.
    let mut other = world.behind().await;
    other.run("BEGIN", &[]).await;
    other.run("UPDATE company SET last_stamp = last_stamp", &[]).await;
    assert!(first.as_mut().now_or_never().is_none());
    let refused = world.invoicing.service().answer(get(&world)).await;
    other.run("ROLLBACK", &[]).await;
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["cache-control"], "no-store");
    assert!(
        refused.headers().contains_key("x-request-id") && !refused.headers().contains_key("ratelimit-limit")
    );
    let body = refused.into_body().collect().await.unwrap().to_bytes();
    let json: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json["error"]["code"], "overloaded");
    let first = first.await;
    assert_eq!(
        (first.status().as_u16(), first.headers()["ratelimit-remaining"].to_str().unwrap()),
        (201, "28")
    );
    let next = world.get("/api/v1/clients").await;
    let left = next.headers["ratelimit-remaining"].to_str().unwrap();
    assert_eq!((next.status.as_u16(), left), (200, "27"));
}

/// Rules: ERROR-15
#[on_each_database]
async fn an_answer_that_is_held_counts_until_it_is_gone(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.buffered_bytes = SMALLEST).open().await;
    for n in 0..100 {
        let client = serde_json::json!({ "name": format!("Client {n}"), "notes": "é".repeat(2_000) });
        world.company.clients().create(&serde_json::from_value(client).unwrap()).await.unwrap();
    }
    let page = || {
        let request = Request::get("/api/v1/clients?limit=100");
        let request = request.header("authorization", format!("Bearer {}", world.key));
        world.invoicing.service().answer(request.body(Full::<Bytes>::default()).unwrap())
    };
    let frames = page().await.into_body().into_data_stream();
    let held: Vec<Bytes> = frames.map(Result::unwrap).collect().await;
    assert!(held.iter().map(Bytes::len).sum::<usize>() > SMALLEST);
    assert_eq!(page().await.status(), 503);
    drop(held);
    assert_eq!(page().await.status(), 200);
}

/// Rules: ERROR-15
#[on_each_database]
async fn bodies_beyond_the_limit_are_503_and_the_one_that_was_first_is_served(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.buffered_bytes = SMALLEST).open().await;
    let (was_read, read) = oneshot::channel();
    let (send_rest, rest) = oneshot::channel();
    let begin = stream::once(async { Bytes::from(" ".repeat(200_000)) });
    let end = stream::once(async move {
        was_read.send(()).unwrap();
        rest.await.unwrap()
    });
    let slow = begin.chain(end).map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
    let mut first = JoinSet::new();
    first.spawn(
        world.invoicing.service().answer(post(&world.key).body(StreamBody::new(Box::pin(slow))).unwrap()),
    );
    read.await.unwrap();
    let second = Bytes::from(format!("{{\"name\":\"Second\"}}{}", " ".repeat(200_000)));
    let answer =
        || world.invoicing.service().answer(post(&world.key).body(Full::new(second.clone())).unwrap());
    let refused = answer().await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    send_rest.send(Bytes::from_static(b"{\"name\":\"First\"}")).unwrap();
    assert_eq!(first.join_next().await.unwrap().unwrap().status(), 201);
    assert_eq!(answer().await.status(), 201);
}

#[on_each_database]
async fn header_fields_and_targets_have_limits(db: Database) {
    let server = Server::with(db, |limits| {
        limits.headers = 10;
        limits.header_bytes = 128 * 1024;
    })
    .await;
    let fields = |count| (0..count).map(|n| format!("x-{n}: y")).collect::<Vec<_>>();
    // `host` and `authorization` are two more.
    for (count, status) in [(8, 200), (9, 431)] {
        let fields = fields(count);
        let fields: Vec<_> = fields.iter().map(String::as_str).collect();
        let mut peer = server.connect().await;
        peer.send(&server.request("GET", "/api/v1/clients", &fields, "")).await;
        assert_eq!(peer.answer().await.unwrap().status, status, "{count} fields");
    }
    for (length, status) in [(60_000, 400), (70_000, 414)] {
        let target = format!("/api/v1/clients?q={}", "x".repeat(length));
        let mut peer = server.connect().await;
        peer.send(&server.request("GET", &target, &[], "")).await;
        assert_eq!(peer.answer().await.unwrap().status, status, "a target of {length} bytes");
    }
}

/// Rules: ERROR-8
#[on_each_database]
async fn bodies_that_drip_in_chunks_are_408_with_any_content(db: Database) {
    let server = Server::adjusted(db, |_| {}, |requests| requests.body_time_ms = 300).await;
    let headers = ["content-type: application/json", "transfer-encoding: chunked"];
    let head = server.request("POST", "/api/v1/clients", &headers, "");
    for drip in [&["1\r\n \r\n"] as &[&str], &["1;", "x"], &["0\r\n", "x"], &["0", "0"], &[]] {
        let mut peer = server.connect().await;
        peer.send(&head).await;
        let mut pieces = drip.iter().chain(std::iter::repeat(drip.last().unwrap_or(&"")));
        for _ in 0..20 {
            // The server may close meanwhile.
            peer.try_send(pieces.next().unwrap_or(&"").as_bytes()).await;
            sleep(Duration::from_millis(20)).await;
        }
        let heard = peer.answer().await.expect("an answer");
        assert_eq!(
            (heard.status, &heard.json["error"]["code"]),
            (408, &"request_timeout".into()),
            "{drip:?}"
        );
    }
    assert!(server.names().await.is_empty());
}

#[on_each_database]
async fn a_thousand_pipelined_requests_are_answered_in_order(db: Database) {
    const COUNT: usize = 1_000;
    let server = Server::start(db).await;
    let mut all = Vec::new();
    for n in 0..COUNT {
        all.extend(server.request("GET", "/api/v1/clients", &[&format!("x-request-id: r{n}")], ""));
    }
    let mut peer = server.connect().await;
    peer.send(&all).await;
    server.is_well().await;
    for n in 0..COUNT {
        let heard = peer.answer().await.expect("an answer");
        assert_eq!((heard.status, heard.headers["x-request-id"].to_str().unwrap()), (200, &*format!("r{n}")));
    }
}

#[on_each_database]
async fn answers_without_a_body_are_not_kept_for_a_peer_that_reads_none(db: Database) {
    /// More than the buffers of the system take.
    const MANY: usize = 8 * 1024 * 1024;
    let server = Server::start(db).await;
    let request = "HEAD / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx";
    let piece = request.repeat(50);
    let mut peer = server.connect().await;
    let mut taken = 0;
    let flood = async {
        while taken < MANY && peer.try_send(piece.as_bytes()).await {
            taken += piece.len();
        }
    };
    timeout(PATIENCE, flood).await.expect("the connection stays open");
    assert!(taken < MANY, "the server reads on");
    server.is_well().await;
}

#[on_each_database]
async fn an_answer_that_comes_before_its_body_closes_the_connection_of_http_1(db: Database) {
    let world = World::new(db).await;
    for (version, expects, closes) in [
        (Version::HTTP_11, true, true),
        (Version::HTTP_10, true, true),
        (Version::HTTP_11, false, false),
        (Version::HTTP_2, true, false),
    ] {
        let mut request = Request::get("/api/v1/clients").version(version);
        if expects {
            request = request.header("expect", "100-continue");
        }
        let answer =
            world.invoicing.service().answer(request.body(Full::new(Bytes::from("x"))).unwrap()).await;
        assert_eq!(answer.headers().contains_key("connection"), closes, "{version:?}");
    }
}

#[on_each_database]
async fn an_answer_to_a_body_that_breaks_off_closes_the_connection_of_http_1(db: Database) {
    let world = World::new(db).await;
    for (key, status) in [(&*world.key, 400), ("unknown", 401)] {
        for (version, closes) in [(Version::HTTP_11, true), (Version::HTTP_2, false)] {
            let pieces = [Ok(Frame::data(Bytes::from_static(b"{"))), Err(std::io::Error::other("reset"))];
            let request = post(key).version(version).body(StreamBody::new(stream::iter(pieces))).unwrap();
            let answer = world.invoicing.service().answer(request).await;
            assert_eq!(answer.status(), status);
            assert_eq!(answer.headers().contains_key("connection"), closes, "{version:?} {status}");
        }
    }
}

#[on_each_database]
async fn a_caller_that_sends_no_body_is_answered_once(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.body_time_ms = 300).open().await;
    let begun = Instant::now();
    let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = post(&world.key).body(never).unwrap();
    assert_eq!(world.invoicing.service().answer(request).await.status(), 408);
    assert!(begun.elapsed() < Duration::from_secs(5), "it waited twice: {:?}", begun.elapsed());
}

#[on_each_database]
async fn the_smallest_limit_on_bytes_is_enough_for_the_largest_request(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.buffered_bytes = SMALLEST).open().await;
    let request = post(&world.key).header("x", "x".repeat(30_000));
    let body = format!("{{\"name\":\"A\"}}{}", " ".repeat(256 * 1024 - 12));
    let answer = world.invoicing.service().answer(request.body(Full::new(Bytes::from(body))).unwrap()).await;
    assert_eq!(answer.status(), 201);
}

#[test]
fn settings_are_written_in_one_way() {
    let read = serde_json::from_value::<Settings>;
    let policy = TargetPolicy { allow_http: true, allow_private: true };
    let settings = read(json!({ "target": { "allowHttp": true, "allowPrivate": true } })).unwrap();
    assert_eq!(settings, Settings { target: policy, ..Settings::default() });
    assert!(read(json!({ "target": { "allow_http": true } })).is_err());
}
