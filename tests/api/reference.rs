//! How the reference page is served.

use bytes::Bytes;
use invoicing_tests::{Answer, Database, World, on_each_database};

const PATH: &str = "/api/v1/docs";

async fn call(world: &World, method: &str, headers: &[(&str, &str)]) -> Answer {
    world.call(method, PATH, None, headers, Bytes::new()).await
}

/// Rules: REFERENCE-1
#[on_each_database]
async fn the_page_needs_no_key_and_counts_in_no_quota(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 1).open().await;
    for key in [None, Some("isk_unknown"), Some(&*world.key)] {
        for _ in 0..2 {
            let answer = world.call("GET", PATH, key, &[], Bytes::new()).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
            assert!(answer.bytes.starts_with(b"<!DOCTYPE html>"));
            assert!(!answer.headers.contains_key("ratelimit-limit"));
        }
    }
    assert_eq!(world.get("/api/v1/quotes").await.status, 200, "the quota is not used");
}

/// Rules: REFERENCE-1
#[on_each_database]
async fn the_page_has_an_etag_and_is_sent_again_only_where_it_has_changed(db: Database) {
    let world = World::new(db).await;
    let whole = call(&world, "GET", &[]).await;
    let etag = whole.headers["etag"].to_str().unwrap();
    let head = call(&world, "HEAD", &[]).await;
    assert_eq!((head.status.as_u16(), head.bytes.len()), (200, 0));
    assert_eq!(head.headers["content-length"], whole.bytes.len().to_string());
    let known = call(&world, "GET", &[("if-none-match", etag)]).await;
    assert_eq!((known.status.as_u16(), known.bytes.len()), (304, 0));
    assert_eq!(
        (&known.headers["etag"], &known.headers["cache-control"]),
        (&whole.headers["etag"], &"no-cache".parse().unwrap())
    );
    assert!(!known.headers.contains_key("content-type"));
    let stale = call(&world, "GET", &[("if-none-match", "\"other\"")]).await;
    assert_eq!((stale.status.as_u16(), stale.bytes), (200, whole.bytes.clone()));
}

#[on_each_database]
async fn the_page_s_policy_allows_its_own_style_and_nothing_else(db: Database) {
    let answer = call(&World::new(db).await, "GET", &[]).await;
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe-"),
        "{policy}"
    );
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
}

/// Rules: REFERENCE-2
#[on_each_database]
async fn a_page_that_is_switched_off_is_404(db: Database) {
    let world = World::on(db).settings(|settings| settings.reference.page = false).open().await;
    let answer = call(&world, "GET", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"));
    let document = world.call("GET", "/api/v1/openapi.json", None, &[], Bytes::new()).await;
    assert_eq!(document.status, 200, "each has a setting of its own");
}
