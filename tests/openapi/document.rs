//! How the description is served, and `OPTIONS`.

use bytes::Bytes;
use invoicing_server::ROUTES;
use invoicing_tests::{Answer, World, on_each_database};

use super::compare;
use crate::api::errors::{ABSENT, path_of};

const PATH: &str = "/api/v1/openapi.json";

async fn call(world: &World, method: &str, headers: &[(&str, &str)]) -> Answer {
    world.call(method, PATH, None, headers, Bytes::new()).await
}

#[tokio::test]
async fn the_document_that_is_served_is_the_one_that_is_checked_in() {
    let served = call(&World::new().await, "GET", &[]).await;
    assert_eq!(served.status, 200);
    compare("openapi.json", std::str::from_utf8(&served.bytes).unwrap());
}

/// Rules: OPENAPI-1
#[on_each_database]
async fn the_document_needs_no_key_and_counts_in_no_quota() {
    let world = World::with(|settings| settings.quota = 1).await;
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

/// Rules: OPENAPI-1
#[on_each_database]
async fn the_document_has_an_etag_and_is_sent_again_only_where_it_has_changed() {
    let world = World::new().await;
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

/// Rules: OPENAPI-2
#[on_each_database]
async fn a_document_that_is_switched_off_is_404() {
    let world = World::with(|settings| settings.reference.openapi = false).await;
    let answer = call(&world, "GET", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"));
}

/// Rules: OPENAPI-3
#[on_each_database]
async fn the_document_names_the_brand_the_address_and_the_quota_of_its_service() {
    let world = World::with(|settings| {
        settings.brand = "Toiture".to_owned();
        settings.base_url = "https://api.toiture.example/".to_owned();
        settings.quota = 77;
    })
    .await;
    let served = call(&world, "GET", &[]).await;
    let text = String::from_utf8_lossy(&served.bytes);
    assert_eq!(served.json["servers"][0]["url"], "https://api.toiture.example");
    assert!(text.contains("X-Toiture-Signature") && !text.contains("X-Service-"));
    assert!(text.contains("more than 77 requests"));
    assert!(!text.contains("{{"), "a name was not filled in");
}

/// Rules: ENDPOINT-7
#[on_each_database]
async fn options_of_a_known_path_is_204_with_allow_and_needs_no_key() {
    let world = World::with(|settings| settings.quota = 1).await;
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
