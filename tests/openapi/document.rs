//! How the description is served, and `OPTIONS`.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::Request;
use http_body_util::Full;
use invoicing_core::{ErrorCode, EventKind};
use invoicing_server::ROUTES;
use invoicing_tests::{Answer, Database, World, on_each_database};
use serde_json::{Map, Value};

use super::{compare, workspace};
use crate::api::errors::{ABSENT, path_of};

const PATH: &str = "/api/v1/openapi.json";

async fn call(world: &World, method: &str, headers: &[(&str, &str)]) -> Answer {
    world.call(method, PATH, None, headers, Bytes::new()).await
}

#[tokio::test]
async fn the_document_that_is_served_is_the_one_that_is_checked_in() {
    let served = call(&World::new(Database::Sqlite).await, "GET", &[]).await;
    assert_eq!(served.status, 200);
    compare("openapi.json", std::str::from_utf8(&served.bytes).unwrap());
}

/// Each object of the description, with the way to it.
fn objects(at: &str, value: &Value, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(at, members);
            members.iter().for_each(|(name, member)| objects(&format!("{at}/{name}"), member, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(at, item, visit)),
        _ => {}
    }
}

fn is_said(text: Option<&Value>) -> bool {
    text.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

#[test]
fn every_part_is_described_and_every_answer_has_an_example() {
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace("openapi.json")).unwrap()).unwrap();
    let mut silent = Vec::new();
    objects("", &document, &mut |at, members| {
        // Values, and the names of members.
        if at.contains("/example") || at.ends_with("/properties") {
            return;
        }
        let words = members.get("x-enumDescriptions").and_then(Value::as_object);
        let words = words.into_iter().flatten().filter(|(_, text)| !is_said(Some(text)));
        silent.extend(words.map(|(word, _)| format!("{at}: {word}")));
        for (name, property) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            silent.extend((!is_said(property.get("description"))).then(|| format!("{at}.{name}")));
        }
        let is_operation_or_parameter =
            members.contains_key("operationId") && members.contains_key("tags") || members.contains_key("in");
        silent.extend(
            (is_operation_or_parameter && !is_said(members.get("description"))).then(|| at.to_owned()),
        );
        silent.extend(
            members.get("description").filter(|text| !is_said(Some(text))).map(|_| format!("{at} is empty")),
        );
        silent.extend(
            members
                .get("example")
                .filter(|example| example.is_null())
                .map(|_| format!("{at} has no example")),
        );
    });
    assert!(silent.is_empty(), "{silent:#?}");
    let codes = document["components"]["schemas"]["ErrorCode"]["anyOf"][0]["enum"].as_array().unwrap();
    assert_eq!(codes.len() + 1, ErrorCode::KNOWN.len(), "that of the quota has a body of its own");
    let events = document["webhooks"].as_object().unwrap();
    assert_eq!(events.len(), EventKind::ALL.len() + 1, "one for each kind, and the ping");
}

#[test]
fn only_answers_to_a_key_tell_of_its_quota() {
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace("openapi.json")).unwrap()).unwrap();
    for route in ROUTES {
        let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
        let responses = operation["responses"].as_object().unwrap();
        let tells = responses.values().any(|response| {
            let reference = response["$ref"].as_str().map(|reference| reference.trim_start_matches('#'));
            let response = reference.map_or(response, |reference| document.pointer(reference).unwrap());
            response["headers"].get("RateLimit-Limit").is_some()
        });
        assert_eq!(tells, route.endpoint.needs_key(), "{route:?}");
    }
}

/// Rules: REFERENCE-1
#[on_each_database]
async fn the_document_needs_no_key_and_counts_in_no_quota(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 1).open().await;
    for key in [None, Some("isk_unknown"), Some(&*world.key)] {
        for _ in 0..3 {
            let answer = world.call("GET", PATH, key, &[], Bytes::new()).await;
            assert_eq!(answer.status, 200);
            assert!(!answer.headers.contains_key("ratelimit-limit"));
            assert_eq!(answer.json["openapi"], "3.1.0");
        }
    }
    assert_eq!(world.get("/api/v1/quotes").await.status, 200, "the quota is not used");
}

/// Rules: REFERENCE-1
#[on_each_database]
async fn the_document_has_an_etag_and_is_sent_again_only_where_it_has_changed(db: Database) {
    let world = World::new(db).await;
    let whole = call(&world, "GET", &[]).await;
    let etag = whole.headers["etag"].to_str().unwrap();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");
    let head = call(&world, "HEAD", &[]).await;
    assert_eq!(head.headers["content-length"], whole.bytes.len().to_string());
    for known in [etag, &format!("W/{etag}"), &format!("\"other\", {etag}"), "*"] {
        let answer = call(&world, "GET", &[("if-none-match", known)]).await;
        assert_eq!((answer.status.as_u16(), answer.bytes.len()), (304, 0), "{known}");
        assert_eq!(answer.headers["etag"], etag);
        assert_eq!(answer.headers["cache-control"], "no-cache");
    }
    let answer = call(&world, "GET", &[("if-none-match", "\"other\"")]).await;
    assert_eq!((answer.status.as_u16(), answer.bytes), (200, whole.bytes.clone()));
}

/// Also of the page.
///
/// Rules: REFERENCE-1
#[on_each_database]
async fn the_description_is_compressed_on_request_and_open_to_any_site(db: Database) {
    let world = World::new(db).await;
    for path in [PATH, "/api/v1/docs"] {
        // Not by `World::call`, which reads each body as JSON.
        let ask = async |headers: &[(&str, &str)]| {
            let mut request = Request::get(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(Full::new(Bytes::new())).unwrap();
            Answer::of(world.invoicing.service().answer(request).await).await
        };
        let plain = ask(&[]).await;
        let gzip = ask(&[("accept-encoding", "br, gzip"), ("origin", "https://example.com")]).await;
        let mut text = Vec::new();
        GzDecoder::new(&*gzip.bytes).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain.bytes, "{path}");
        assert!(gzip.bytes.len() * 4 < plain.bytes.len(), "{path}: {}", gzip.bytes.len());
        assert_eq!(gzip.headers["content-encoding"], "gzip");
        assert_eq!(gzip.headers["content-length"], gzip.bytes.len().to_string());
        assert!(!plain.headers.contains_key("content-encoding"));
        assert_ne!(gzip.headers["etag"], plain.headers["etag"], "other bytes");
        let etag = gzip.headers["etag"].to_str().unwrap();
        let known = ask(&[("accept-encoding", "gzip"), ("if-none-match", etag)]).await;
        assert_eq!((known.status.as_u16(), known.bytes.len()), (304, 0));
        assert!(!known.headers.contains_key("content-encoding"));
        let other = ask(&[("if-none-match", etag)]).await;
        assert_eq!((other.status.as_u16(), &other.bytes), (200, &plain.bytes), "it has the compressed ones");
        for answer in [plain, gzip, known] {
            assert_eq!(answer.headers["vary"], "accept-encoding");
            assert_eq!(answer.headers["access-control-allow-origin"], "*");
        }
    }
    assert!(!world.get("/api/v1/quotes").await.headers.contains_key("access-control-allow-origin"));
}

/// Rules: REFERENCE-2
#[on_each_database]
async fn a_document_that_is_switched_off_is_404(db: Database) {
    let world = World::on(db).settings(|settings| settings.reference.openapi = false).open().await;
    let answer = call(&world, "GET", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"));
}

/// Rules: REFERENCE-3
#[on_each_database]
async fn the_document_names_the_brand_the_address_and_the_quota_of_its_service(db: Database) {
    let world = World::on(db)
        .settings(|settings| {
            "Toiture".clone_into(&mut settings.brand);
            "https://api.toiture.example/".clone_into(&mut settings.base_url);
            settings.quota = 77;
        })
        .open()
        .await;
    let served = call(&world, "GET", &[]).await;
    let text = String::from_utf8_lossy(&served.bytes);
    assert_eq!(served.json["servers"][0]["url"], "https://api.toiture.example");
    assert!(text.contains("X-Toiture-Signature") && !text.contains("X-Service-"));
    assert!(text.contains("more than 77 requests"));
    assert!(!text.contains("{{"), "a name was not filled in");
    let unlimited =
        call(&World::on(db).settings(|settings| settings.quota = 0).open().await, "GET", &[]).await;
    assert!(String::from_utf8_lossy(&unlimited.bytes).contains("| Requests of one key | any number |"));
}

/// Rules: ENDPOINT-7
#[on_each_database]
async fn options_of_a_known_path_is_204_with_allow_and_needs_no_key(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 1).open().await;
    for route in ROUTES {
        let path = path_of(route.path, ABSENT);
        for key in [None, Some("isk_unknown"), Some(&*world.key)] {
            let answer = world.call("OPTIONS", &path, key, &[], Bytes::new()).await;
            assert_eq!((answer.status.as_u16(), answer.bytes.len()), (204, 0), "{path}");
            let allow = answer.headers["allow"].to_str().unwrap();
            assert!(allow.split(", ").any(|method| method == route.method), "{path}: {allow}");
            assert!(allow.ends_with(", OPTIONS"), "{path}: {allow}");
            assert!(!answer.headers.contains_key("content-length"), "RFC 9110, section 8.6");
        }
    }
    let unknown = world.call("OPTIONS", "/api/v1/nothing", None, &[], Bytes::new()).await;
    assert_eq!(unknown.status, 401, "an unknown path is refused as with any method");
}
