//! Random requests: none is answered with a 500, and every answer keeps the rules for all answers.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use invoicing_core::ErrorCode;
use invoicing_tests::{CANARY, Database, ask, on_each_database};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use crate::api::errors::ABSENT;
use crate::support::proptest_runner::{for_all, runtime};

/// The rules for every answer, to any request.
fn holds_everywhere(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    is_head: bool,
) -> Result<(), TestCaseError> {
    if status == StatusCode::NO_CONTENT {
        prop_assert!(headers.contains_key("allow") && body.is_empty());
        return Ok(());
    }
    prop_assert_ne!(status.as_u16(), 500);
    prop_assert!(status.as_u16() < 500, "{}", status);
    let id = headers["x-request-id"].as_bytes();
    prop_assert!((1..=128).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic));
    prop_assert_eq!(&headers["cache-control"], "no-store");
    prop_assert_eq!(&headers["content-type"], "application/json; charset=utf-8");
    prop_assert_eq!(headers.contains_key("www-authenticate"), status == 401);
    prop_assert_eq!(headers.contains_key("allow"), status == 405);
    prop_assert_eq!(headers.contains_key("retry-after"), status == 429);
    if is_head {
        prop_assert!(body.is_empty());
        return Ok(());
    }
    prop_assert_eq!(&headers["content-length"], &body.len().to_string());
    let text = std::str::from_utf8(body).unwrap();
    prop_assert!(!text.contains(CANARY));
    let json: Value = serde_json::from_slice(body).unwrap();
    if !status.is_success() {
        let code = ErrorCode::from(json["error"]["code"].as_str().unwrap_or_default());
        prop_assert_eq!(code.status(), Some(status.as_u16()));
        prop_assert!(json["error"]["message"].as_str().is_some_and(|text| (1..1_000).contains(&text.len())));
    }
    Ok(())
}

#[derive(Debug, Clone)]
struct AnyRequest {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    has_key: bool,
    body: Vec<u8>,
}

fn words(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => words(&["GET", "HEAD", "POST", "PATCH"]),
        1 => words(&["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"]),
        1 => "[A-Za-z!#$%&'*+.^_`|~-]{1,12}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        6 => words(&["quotes", "invoices", "clients", "document", "documents", "ID", ABSENT]),
        1 => "[!$-;=@-~]{0,20}",
        1 => "(%[0-9A-F]{2}){1,8}",
    ];
    (prop::bool::weighted(0.9), proptest::collection::vec(segment, 0..4))
        .prop_map(|(api, segments)| format!("{}/{}", if api { "/api/v1" } else { "" }, segments.join("/")))
}

fn query() -> impl Strategy<Value = String> {
    let name = words(&[
        "limit",
        "offset",
        "since",
        "status",
        "include",
        "q",
        "externalId",
        "type",
        "name",
        "expires",
        "signature",
        "x",
    ]);
    let value = prop_oneof![
        words(&[
            "1",
            "0",
            "-1",
            "101",
            "99999999999999999999",
            "1e3",
            "DRAFT",
            "draft",
            "lines",
            "pdf",
            "2026-09-14",
            "2026-09-14T09:41:07.123Z",
            "2026-09-14T09:41:07+02:00",
            "+999999-01-01T00:00:00Z",
            "9999-12-31T23:59:60Z",
            "0000-01-01T00:00:00Z",
            "%00",
            "%FF",
            "%25",
            "%",
            "",
        ]),
        "[!$-~]{0,30}",
        "(%[0-9A-Fa-f]{2}){1,10}",
    ];
    let pair = (name, value).prop_map(|(name, value)| format!("{name}={value}"));
    prop_oneof![4 => proptest::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&")), 1 => "[!$-~]{0,60}"]
}

fn header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let name = words(&[
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "x-request-id",
        "expect",
        "range",
        "host",
        "if-none-match",
        "x-http-method-override",
        "authorization",
        "transfer-encoding",
        "cookie",
    ]);
    let value = prop_oneof![
        words(&[
            "application/json",
            "application/json; charset=utf-8",
            "text/plain",
            "0",
            "5",
            "262145",
            "18446744073709551616",
            "-1",
            "100-continue",
            "DELETE",
            "bytes=0-1",
            "Bearer x",
            "chunked",
            "*",
        ])
        .prop_map(String::into_bytes),
        proptest::collection::vec(prop_oneof![32..127_u8, 128..=255_u8, Just(9_u8)], 0..30),
    ];
    (name, value)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let likely = "\\{(\"(name|externalId|type|email|\\\\u0000)\":(\"\\PC{0,9}\"|[0-9eE.+-]{1,9}|null|\\[\\]),?){0,3}\\}";
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        likely.prop_map(String::into_bytes),
        words(&["{\"name\":\"A\"}", "{\"externalId\":\"x\"}", ""]).prop_map(String::into_bytes),
    ]
}

fn any_request() -> impl Strategy<Value = AnyRequest> {
    let headers = proptest::collection::vec(header(), 0..5);
    (method(), path(), query(), headers, prop::bool::weighted(0.9), body()).prop_map(
        |(method, path, query, headers, has_key, body)| AnyRequest {
            method,
            target: if query.is_empty() { path } else { format!("{path}?{query}") },
            headers,
            has_key,
            body,
        },
    )
}

/// Rules: ERROR-16
#[on_each_database]
fn no_request_gives_a_500(db: Database) {
    let runtime = runtime();
    let (world, id) = runtime.block_on(async {
        let world = crate::support::api::world(db).await;
        let quote = world.accepted().await;
        world.company.invoices().convert(quote.summary.id).await.unwrap();
        (world, quote.summary.id.to_string())
    });
    for_all(db, 512, &any_request(), |any| {
        let (Ok(method), Ok(uri)) =
            (Method::from_bytes(any.method.as_bytes()), Uri::try_from(any.target.replace("ID", &id)))
        else {
            return Ok(());
        };
        let is_head = method == Method::HEAD;
        let mut request = Request::new(Full::new(Bytes::from(any.body)));
        (*request.method_mut(), *request.uri_mut()) = (method, uri);
        if any.has_key {
            let value = HeaderValue::try_from(format!("Bearer {}", world.key)).unwrap();
            request.headers_mut().insert("authorization", value);
            request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        }
        for (name, value) in &any.headers {
            let value = HeaderValue::from_bytes(value).unwrap();
            request.headers_mut().append(HeaderName::try_from(name).unwrap(), value);
        }
        let answer = runtime.block_on(ask(&world.invoicing, request));
        holds_everywhere(answer.status, &answer.headers, &answer.bytes, is_head)
    });
    let answer = runtime.block_on(world.get(&format!("/api/v1/quotes/{id}")));
    assert_eq!(answer.status, 200, "the service is well");
}
