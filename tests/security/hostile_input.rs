//! Input that is meant to break the service: it gets a clear error and is never a half-done change.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, StatusCode};
use http_body_util::StreamBody;
use hyper::body::Frame;
use invoicing_tests::{Answer, Database, World, ask, on_each_database};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::errors::ABSENT;
use crate::support::api::{CLIENTS, encode};
use crate::support::proptest_runner::{for_all, runtime};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const LIMIT: usize = 256 * 1024;

async fn without_quota(db: Database) -> World {
    World::on(db).settings(|settings| settings.quota = 0).open().await
}

async fn post(world: &World, body: impl Into<Bytes>) -> Answer {
    world.call("POST", CLIENTS, Some(&world.key), JSON, body.into()).await
}

/// A client's JSON, filled up with white space.
fn padded(length: usize) -> Bytes {
    let mut body = b"{\"name\":\"Padded\"".to_vec();
    body.resize(length - 1, b' ');
    body.push(b'}');
    body.into()
}

/// Texts that have broken programs before.
const ODD: &[&str] = &[
    "%",
    "%%",
    "_",
    "100 %_\\",
    "'",
    "\"",
    "'; DROP TABLE client; --",
    "\\",
    "\\u0000",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "😀",
    "👩‍👩‍👧‍👦",
    "\u{202e}evil\u{202c}",
    "\u{200f}עברית\u{200f}",
    "العربية",
    "\u{feff}BOM",
    "e\u{301}\u{327}\u{328}",
    "\u{fffd}",
    "\u{3fffd}",
    "ﷺ",
    "İıſß",
    "null",
    "-0",
    "*",
    "NEAR(a b)",
    "a OR 1=1",
    "[a-z]",
    "GLOB *",
];

/// Rules: ERROR-3
#[on_each_database]
async fn a_body_that_is_no_json_object_is_bad_request(db: Database) {
    let world = without_quota(db).await;
    let quote = world.draft().await.summary.id;
    let before = world.dump().await;
    let bodies: &[&[u8]] = &[
        b"",
        b" ",
        b"\0",
        b"null",
        b"true",
        b"1",
        b"\"name\"",
        b"[]",
        b"[{\"name\":\"A\"}]",
        b"{",
        b"}",
        b"{\"name\":\"A\"",
        b"{\"name\":\"A\"}}",
        b"{\"name\":\"A\"}{\"name\":\"B\"}",
        b"{\"name\":\"A\"}\0",
        b"{\"name\":\"A\",}",
        b"{name:\"A\"}",
        b"{'name':'A'}",
        b"{\"name\":NaN}",
        b"{\"name\":Infinity}",
        b"{\"name\":01}",
        b"{\"name\":\"\x01\"}",
        b"{\"name\":\"\\x41\"}",
        b"{\"name\":\"\\u12\"}",
        b"{/* */\"name\":\"A\"}",
        b"{\"name\":\"\xff\"}",
        b"{\"name\":\"\xc0\x80\"}",
        b"{\"name\":\"\xed\xa0\x80\"}",
        b"\xef\xbb\xbf{\"name\":\"A\"}",
        b"\xff\xfe{\0}\0",
        b"name=A",
        b"<name>A</name>",
    ];
    for body in bodies {
        for (method, path) in [("POST", CLIENTS.to_owned()), ("PATCH", format!("/api/v1/quotes/{quote}"))] {
            let answer = world.call(method, &path, Some(&world.key), JSON, Bytes::from_static(body)).await;
            let got = (answer.status.as_u16(), answer.code());
            assert_eq!(got, (400, "bad_request"), "{method} {:?}", String::from_utf8_lossy(body));
        }
    }
    assert_eq!(world.dump().await, before);
}

/// Rules: ERROR-3
#[on_each_database]
async fn deep_nesting_is_refused_and_breaks_no_stack(db: Database) {
    let world = without_quota(db).await;
    for depth in [200, 10_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let unclosed = open.repeat(depth);
            for body in [
                format!("{{\"name\":{value}}}"),
                format!("{{\"unknown\":{value}}}"),
                format!("{{\"name\":\"A\",\"notes\":{value}}}"),
                format!("{{\"name\":{unclosed}"),
            ] {
                if body.len() > LIMIT {
                    continue;
                }
                let answer = post(&world, body).await;
                assert_eq!((answer.status.as_u16(), answer.code()), (400, "bad_request"), "depth {depth}");
            }
        }
    }
}

/// Rules: ERROR-4, WIRE-17, CLIENT-8
#[on_each_database]
async fn json_that_is_well_formed_but_not_acceptable_names_the_field(db: Database) {
    let world = without_quota(db).await;
    let before = world.dump().await;
    let number = "1234567890".repeat(4);
    for (body, field) in [
        (format!("{{\"name\":{number}}}"), "name"),
        (format!("{{\"name\":-{number}.{number}e{}}}", 7), "name"),
        ("{\"name\":1e400}".into(), "name"),
        ("{\"name\":-0}".into(), "name"),
        ("{\"name\":true}".into(), "name"),
        ("{\"name\":{}}".into(), "name"),
        ("{\"name\":[\"A\"]}".into(), "name"),
        ("{\"name\":\"\\ud800\"}".into(), "name"),
        ("{\"name\":\"\\udc00\\ud800\"}".into(), "name"),
        ("{\"name\":\"A\\u0000B\"}".into(), "name"),
        ("{\"name\":\"A\\u001b[31m\"}".into(), "name"),
        ("{\"name\":\"A\\u0085B\"}".into(), "name"),
        ("{\"name\":\"A\",\"notes\":\"x\\u0000\"}".into(), "notes"),
        ("{\"name\":\"A\",\"externalId\":\"x\\u0000\"}".into(), "externalId"),
        ("{\"name\":\"A\",\"name\":\"B\"}".into(), "name"),
        ("{\"name\":\"A\",\"externalId\":\"1\",\"externalId\":\"2\"}".into(), "externalId"),
        ("{\"name\":\"A\",\"n\\u0061me\":\"B\"}".into(), "name"),
        ("{\"name\":\"A\",\"externalId\":1e400}".into(), "externalId"),
        ("{\"name\":\"A\",\"__proto__\":{}}".into(), "__proto__"),
        ("{\"name\":\"A\",\"id\":\"1\"}".into(), "id"),
        ("{\"name\":\"A\",\"companyId\":\"1\"}".into(), "companyId"),
        ("{\"Name\":\"A\"}".into(), "Name"),
        (format!("{{\"name\":\"{}\"}}", "x".repeat(100_000)), "name"),
        (format!("{{\"name\":\"{}\"}}", "é".repeat(256)), "name"),
        (format!("{{\"name\":\"{}\"}}", "ﷺ".repeat(256)), "name"),
        (format!("{{\"name\":\"e{}\"}}", "\u{301}".repeat(50_000)), "name"),
    ] {
        let answer = post(&world, body.clone()).await;
        let shown = &body[..body.char_indices().nth(100).map_or(body.len(), |(end, _)| end)];
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"), "{shown}");
        assert!(answer.message().contains(field), "{shown}: {}", answer.message());
        assert!(answer.message().chars().count() < 500, "a message does not repeat long input");
    }
    assert_eq!(world.dump().await, before);
}

/// Rules: LINK-2, CLIENT-8
#[on_each_database]
async fn a_number_is_never_taken_for_a_text(db: Database) {
    let world = without_quota(db).await;
    let quote = world.draft().await.summary.id;
    for value in ["1", "1.0", "1e400", "-0", "true", "[]", "{}", "[\"x\"]"] {
        let body = Bytes::from(format!("{{\"externalId\":{value}}}"));
        let answer =
            world.call("PATCH", &format!("/api/v1/quotes/{quote}"), Some(&world.key), JSON, body).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"), "{value}");
        assert!(answer.message().contains("externalId"), "{value}: {}", answer.message());
    }
}

/// Rules: ERROR-3
#[on_each_database]
async fn a_content_type_other_than_json_in_utf_8_is_bad_request(db: Database) {
    let world = without_quota(db).await;
    let quote = world.draft().await.summary.id;
    let patch = format!("/api/v1/quotes/{quote}");
    for (content_type, accepted) in [
        (&["application/json"] as &[&str], true),
        (&["application/json; charset=utf-8"], true),
        (&["application/json;charset=\"UTF-8\""], true),
        (&["Application/Json"], true),
        (&[], false),
        (&[""], false),
        (&["text/plain"], false),
        (&["text/json"], false),
        (&["application/x-www-form-urlencoded"], false),
        (&["multipart/form-data; boundary=x"], false),
        (&["application/jsonx"], false),
        (&["application/json, text/plain"], false),
        (&["application/json; charset=iso-8859-1"], false),
        (&["application/json; charset=utf-16"], false),
        (&["application/json", "text/plain"], false),
    ] {
        let headers: Vec<_> = content_type.iter().map(|value| ("content-type", *value)).collect();
        for (method, path, body) in
            [("POST", CLIENTS, "{\"name\":\"A\"}"), ("PATCH", &*patch, "{\"externalId\":\"x\"}")]
        {
            let answer = world.call(method, path, Some(&world.key), &headers, Bytes::from(body)).await;
            if accepted {
                assert!(answer.status.is_success(), "{content_type:?}: {answer:?}");
            } else {
                let got = (answer.status.as_u16(), answer.code());
                assert_eq!(got, (400, "bad_request"), "{method} {content_type:?}");
            }
        }
    }
}

/// A request whose body comes in pieces, without its length being announced.
async fn chunked(world: &World, body: &Bytes, piece: usize) -> StatusCode {
    let pieces: Vec<Result<_, Infallible>> =
        body.chunks(piece).map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))).collect();
    let request = Request::post(CLIENTS)
        .header("authorization", format!("Bearer {}", world.key))
        .header("content-type", "application/json")
        .body(StreamBody::new(stream::iter(pieces)))
        .unwrap();
    ask(&world.invoicing, request).await.status
}

/// Rules: WIRE-25, ERROR-10
#[on_each_database]
async fn a_body_has_at_most_256_kib(db: Database) {
    let world = without_quota(db).await;
    for (length, status) in [(LIMIT - 1, 201), (LIMIT, 201), (LIMIT + 1, 413), (4 * LIMIT, 413)] {
        let body = padded(length);
        assert_eq!(body.len(), length);
        let before = world.dump().await;
        let answer = post(&world, body.clone()).await;
        assert_eq!(answer.status, status, "{length} bytes, announced");
        if status == 413 {
            assert_eq!(answer.code(), "payload_too_large");
            assert_eq!(world.dump().await, before);
        }
        for piece in [1_000, LIMIT / 2, LIMIT] {
            assert_eq!(chunked(&world, &body, piece).await, status, "{length} bytes in pieces of {piece}");
        }
        let quote = format!("/api/v1/quotes/{ABSENT}");
        let answer = world.call("PATCH", &quote, Some(&world.key), JSON, body).await;
        assert_eq!(answer.status, if status == 413 { 413 } else { 400 }, "PATCH, {length} bytes");
    }
}

/// Rules: ENDPOINT-5
#[on_each_database]
async fn a_body_where_none_belongs_is_ignored(db: Database) {
    let world = without_quota(db).await;
    for body in [Bytes::from_static(b"{"), Bytes::from_static(b"\xff"), padded(LIMIT + 1)] {
        let answer = world.call("GET", "/api/v1/quotes", Some(&world.key), JSON, body).await;
        assert_eq!(answer.status, 200);
    }
}

/// Rules: WIRE-20
#[on_each_database]
async fn a_valid_request_id_is_echoed_and_any_other_replaced(db: Database) {
    let world = without_quota(db).await;
    let uuid = |text: &str| {
        let id = uuid::Uuid::try_parse(text).ok();
        id.is_some_and(|id| id.get_version_num() == 7)
    };
    let longest = "x".repeat(128);
    for (path, key) in
        [("/api/v1/quotes", Some(&*world.key)), ("/api/v1/nothing", Some(&*world.key)), ("/", None)]
    {
        for id in ["1", "a.b_c-D9", ABSENT, &longest] {
            let answer = world.call("GET", path, key, &[("x-request-id", id)], Bytes::new()).await;
            assert_eq!(answer.headers["x-request-id"], id);
            assert_eq!(answer.headers.get_all("x-request-id").iter().count(), 1);
        }
        let too_long = "x".repeat(129);
        let mut seen = std::collections::BTreeSet::new();
        for id in ["", " ", "a b", "a\tb", "<script>", "a,b", "a;b", "\"a\"", &too_long, &"x".repeat(10_000)]
        {
            let answer = world.call("GET", path, key, &[("x-request-id", id)], Bytes::new()).await;
            let given = answer.headers["x-request-id"].to_str().unwrap();
            assert!(uuid(given), "{id:?} became {given}");
            assert!(seen.insert(given.to_owned()), "an id twice");
        }
        let answer = world.call("GET", path, key, &[], Bytes::new()).await;
        assert!(uuid(answer.headers["x-request-id"].to_str().unwrap()));
    }
}

/// Rules: LIST-21, LIST-23
#[on_each_database]
async fn odd_texts_are_stored_as_they_are_and_found_as_themselves_only(db: Database) {
    let world = without_quota(db).await;
    let mut made: Vec<Value> = Vec::new();
    for (index, text) in ODD.iter().enumerate() {
        let body = json!({"name": text, "city": format!("ville {index}"), "notes": text, "externalId": text});
        let answer = world.send("POST", CLIENTS, &body).await;
        assert_eq!(answer.status, 201, "{text:?}: {answer:?}");
        let again = world.send("POST", CLIENTS, &body).await;
        assert_eq!((again.status.as_u16(), &again.json), (200, &answer.json), "{text:?}");
        made.push(answer.json);
    }
    for (text, client) in ODD.iter().zip(&made) {
        let text = client["name"].as_str().unwrap_or(text);
        let page = world.get(&format!("{CLIENTS}?externalId={}", encode(text))).await;
        assert_eq!(page.json["data"], json!([client]), "externalId={text:?}");
        let page = world.get(&format!("{CLIENTS}?limit=100&q={}", encode(text))).await;
        assert_eq!(page.status, 200, "q={text:?}");
        let found = page.json["data"].as_array().unwrap();
        assert!(found.contains(client), "q={text:?} does not find it");
    }
    for (literal, found) in [("%", 3), ("%%", 1), ("_", 2), ("[a-z]", 1), ("*", 3), ("a%e", 0), ("_cript", 0)]
    {
        let page = world.get(&format!("{CLIENTS}?limit=100&q={}", encode(literal))).await;
        assert_eq!(page.json["data"].as_array().unwrap().len(), found, "q={literal}: {:?}", page.json);
    }
}

/// Rules: LIST-22
#[on_each_database]
async fn a_search_that_cannot_be_made_is_a_validation_error(db: Database) {
    let world = without_quota(db).await;
    for q in [
        "",
        "%20",
        "%00",
        "%00%00",
        "%FF",
        "%C0%80",
        "%ED%A0%80",
        "%CC%81",
        &"x".repeat(256),
        &"x".repeat(60_000),
        &"%F0%9F%98%80".repeat(5_000),
    ] {
        let answer = world.get(&format!("{CLIENTS}?q={q}")).await;
        let shown = &q[..q.len().min(20)];
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"), "q={shown}");
        assert!(answer.message().contains('q'), "{}", answer.message());
        assert!(answer.message().len() < 500, "a message does not repeat long input");
    }
    for q in ["%", "%2", "%zz", "+", "a%00b", &"x".repeat(255), &"%F0%9F%98%80".repeat(255)] {
        let status = world.get(&format!("{CLIENTS}?q={q}")).await.status;
        assert!(status == 200 || status == 400, "q={q}: {status}");
    }
}

/// Rules: LINK-1, LINK-2
#[on_each_database]
async fn odd_external_ids_of_quotes_come_back_as_they_went(db: Database) {
    let world = without_quota(db).await;
    let path = format!("/api/v1/quotes/{}", world.draft().await.summary.id);
    for text in ODD {
        let answer = world.send("PATCH", &path, &json!({"externalId": text})).await;
        assert_eq!(answer.status, 200, "{text:?}: {answer:?}");
        assert_eq!(world.get(&path).await.json["externalId"], answer.json["externalId"]);
    }
    for text in ["", " ", "a\0b", "a\nb", &"x".repeat(256), &"x".repeat(100_000)] {
        let before = world.dump().await;
        let answer = world.send("PATCH", &path, &json!({"externalId": text})).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"));
        assert!(answer.message().contains("externalId"));
        assert_eq!(world.dump().await, before);
    }
}

/// Rules: WIRE-13, ERROR-16
#[on_each_database]
fn any_name_is_stored_in_nfc_or_refused_and_never_a_500(db: Database) {
    let runtime = runtime();
    let world = runtime.block_on(without_quota(db));
    let name = prop_oneof![
        any::<String>(),
        "\\PC{1,300}",
        "[%_'\"\\\\\u{202e}\u{0}😀é\u{301} ]{0,20}",
        proptest::collection::vec(prop::sample::select(ODD), 1..4).prop_map(|parts| parts.concat()),
    ];
    for_all(db, 32, &name, |name| {
        runtime.block_on(async {
            let answer = world.send("POST", CLIENTS, &json!({"name": name})).await;
            if answer.status == 201 {
                let stored = answer.json["name"].as_str().unwrap().to_owned();
                prop_assert!((1..=255).contains(&stored.chars().count()));
                prop_assert_eq!(stored.trim(), &stored);
                prop_assert!(!stored.chars().any(char::is_control));
                let page = world.get(&format!("{CLIENTS}?limit=1&q={}", encode(&stored))).await;
                let has_nothing_to_search_for = page.status == 400;
                prop_assert!(
                    has_nothing_to_search_for || !page.json["data"].as_array().unwrap().is_empty(),
                    "{:?}",
                    stored
                );
            } else {
                prop_assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"));
            }
            Ok(())
        })
    });
}
