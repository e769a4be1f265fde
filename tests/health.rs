//! Answers of probes: about the database, about the dispatcher, and about neither.

use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use http_body_util::Full;
use invoicing_server::{DatabaseHealth, DispatcherHealth, DocumentsHealth, Health, Invoicing, MemoryStore};
use invoicing_tests::{Answer, Database, RunningDispatcher, World, on_each_database};
use serde_json::{Value, json};

const OPERATE: &str = include_str!("../docs/operate.md");
/// By then a change of the database shows.
const STORE_SHOWS: Duration = Duration::from_secs(2);
/// By then a dispatcher that does not turn shows.
const DISPATCHER_SHOWS: Duration = Duration::from_secs(10);

async fn probe(invoicing: &Invoicing, method: &str, path: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).body(Full::new(Bytes::new())).unwrap();
    Answer::of(invoicing.health_service().answer(request).await).await
}

async fn readiness(invoicing: &Invoicing) -> (u16, Value) {
    let answer = probe(invoicing, "GET", "/readyz").await;
    (answer.status.as_u16(), answer.json)
}

/// Waits until the health is as it should become.
async fn becomes(invoicing: &Invoicing, limit: Duration, is_so: impl Fn(Health) -> bool) -> Health {
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        let health = invoicing.health().await;
        if is_so(health) {
            return health;
        }
        assert!(begun.elapsed() < limit, "after {limit:?}: {health:?}");
        ticks.tick().await;
    }
}

#[on_each_database]
async fn a_service_without_a_dispatcher_is_ready_and_says_so(db: Database) {
    let world = World::new(db).await;
    let expected = json!({ "ready": true, "store": "reachable", "documents": "reachable", "dispatcher": "not_run", "reasons": [] });
    assert_eq!(readiness(&world.invoicing).await, (200, expected));
    let live = probe(&world.invoicing, "GET", "/livez?verbose").await;
    assert_eq!((live.status, &live.json), (StatusCode::OK, &json!({ "live": true })));
    assert_eq!(live.headers["cache-control"], "no-store");
    assert_eq!(live.headers["content-type"], "application/json; charset=utf-8");
    for path in ["/livez", "/readyz"] {
        let (mut get, mut head) =
            (probe(&world.invoicing, "GET", path).await, probe(&world.invoicing, "HEAD", path).await);
        let ids = [&mut get, &mut head].map(|answer| answer.headers.remove("x-request-id"));
        assert!(ids.iter().all(Option::is_some) && ids[0] != ids[1], "{ids:?}");
        assert_eq!((head.status, &head.headers, head.bytes.len()), (get.status, &get.headers, 0));
        let post = probe(&world.invoicing, "POST", path).await;
        assert_eq!((post.status.as_u16(), &post.headers["allow"]), (405, &"GET, HEAD".parse().unwrap()));
    }
    for path in ["/", "/livez/", "/readyz/store", "/health", "/api/v1/quotes"] {
        let answer = probe(&world.invoicing, "GET", path).await;
        assert_eq!((answer.status.as_u16(), &answer.json["error"]["code"]), (404, &json!("not_found")));
    }
}

#[on_each_database]
async fn it_is_a_hyper_and_a_tower_service(db: Database) {
    let world = World::new(db).await;
    let request = || Request::get("/readyz").body(Full::new(Bytes::new())).unwrap();
    let mut service = world.invoicing.health_service();
    let Ok(response) = hyper::service::Service::call(&service, request()).await;
    assert_eq!(response.status(), 200);
    let Ok(response) = tower_service::Service::call(&mut service, request()).await;
    assert_eq!(response.status(), 200);
}

#[on_each_database]
async fn a_dispatcher_that_has_ended_is_not_ready_until_it_runs_again(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let ended = json!({ "ready": false, "store": "reachable", "documents": "reachable", "dispatcher": "ended", "reasons": ["the dispatcher has ended"] });
    for is_killed in [false, true] {
        let running = RunningDispatcher::start(world.invoicing.dispatcher());
        let runs = |health: Health| health.dispatcher == DispatcherHealth::Running;
        assert!(becomes(&world.invoicing, STORE_SHOWS, runs).await.is_ready());
        if is_killed {
            running.kill().await;
        } else {
            running.stop().await;
        }
        assert_eq!(readiness(&world.invoicing).await, (503, ended.clone()));
        assert_eq!(probe(&world.invoicing, "GET", "/livez").await.status, 200);
    }
    // A dispatcher that a test runs by itself does not count as that of the host.
    world.dispatch().await;
    assert_eq!(readiness(&world.invoicing).await, (503, ended));
}

#[on_each_database]
async fn a_dispatcher_that_is_not_polled_stands_still_and_is_said_to(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let dispatcher = world.invoicing.dispatcher();
    let mut run = pin!(dispatcher.run(std::future::pending()));
    let begun = Instant::now();
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut run).await.is_err());
    assert_eq!(world.invoicing.health().await.dispatcher, DispatcherHealth::Running);
    let stalled = |health: Health| health.dispatcher == DispatcherHealth::Stalled;
    let health = becomes(&world.invoicing, DISPATCHER_SHOWS, stalled).await;
    assert!(begun.elapsed() > Duration::from_secs(9), "its loop may nap for five seconds");
    assert_eq!(health.reasons(), ["the dispatcher has not turned for 9 s"]);
    assert_eq!(probe(&world.invoicing, "GET", "/livez").await.status, 200);
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut run).await.is_err());
    becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
}

#[on_each_database]
async fn a_schema_that_lacks_a_migration_is_not_ready_and_a_newer_one_is(db: Database) {
    let world = World::new(db).await;
    let newest: i64 = world.behind().await.one("SELECT max(version) FROM invoicing_migration", &[]).await;
    world.run("INSERT INTO invoicing_migration (version) VALUES ($1)", &[(newest + 1).into()]).await;
    becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
    world.run("DELETE FROM invoicing_migration WHERE version >= $1", &[newest.into()]).await;
    let is_old = |health: Health| health.store == DatabaseHealth::OldSchema;
    let health = becomes(&world.invoicing, STORE_SHOWS, is_old).await;
    assert_eq!(health.reasons(), ["the schema of the database is older than this version"]);
    world.run("INSERT INTO invoicing_migration (version) VALUES ($1)", &[newest.into()]).await;
    becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
}

#[on_each_database]
async fn a_closed_service_is_not_ready_and_lives(db: Database) {
    let world = World::new(db).await;
    becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
    world.invoicing.close().await;
    let is_gone = |health: Health| health.store == DatabaseHealth::Unreachable;
    becomes(&world.invoicing, STORE_SHOWS, is_gone).await;
    let (status, body) = readiness(&world.invoicing).await;
    // As in the book, but for the dispatcher, which no task runs here.
    let (_, example) = OPERATE.split_once("```json\n").unwrap();
    let mut example: Value = serde_json::from_str(example.split("```").next().unwrap()).unwrap();
    example["dispatcher"] = json!("not_run");
    assert_eq!((status, body), (503, example));
    assert_eq!(probe(&world.invoicing, "GET", "/livez").await.status, 200);
}

#[on_each_database]
async fn a_thousand_probes_at_once_are_answered_at_once(db: Database) {
    let world = World::new(db).await;
    becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
    let begun = Instant::now();
    let all = join_all((0..1_000).map(|_| world.invoicing.health())).await;
    assert!(all.iter().all(Health::is_ready));
    assert!(begun.elapsed() < STORE_SHOWS, "{:?}", begun.elapsed());
}

#[on_each_database]
async fn a_document_store_that_fails_or_hangs_is_a_reason(db: Database) {
    let world = World::new(db).await;
    let is_gone = |health: Health| health.documents == DocumentsHealth::Unreachable;
    let reason = "the document store does not answer, or its folder is gone";
    for set in [MemoryStore::fail, MemoryStore::hang] {
        set(&world.documents, true);
        let health = becomes(&world.invoicing, STORE_SHOWS, is_gone).await;
        assert_eq!((health.store, health.reasons()), (DatabaseHealth::Reachable, vec![reason]));
        let (status, body) = readiness(&world.invoicing).await;
        assert_eq!(
            (status, &body["documents"], &body["reasons"]),
            (503, &json!("unreachable"), &json!([reason]))
        );
        assert_eq!(probe(&world.invoicing, "GET", "/livez").await.status, 200);
        set(&world.documents, false);
        // Otherwise the answer of the first kind, which is kept for a second, serves for the other.
        becomes(&world.invoicing, STORE_SHOWS, |health| health.is_ready()).await;
    }
}

#[tokio::test]
async fn a_documents_folder_that_is_gone_is_a_reason_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await.unwrap();
    assert!(invoicing.health().await.is_ready());
    let (documents, away) = (folder.path().join("invoicing.db.documents"), folder.path().join("away"));
    std::fs::rename(&documents, &away).unwrap();
    let health = becomes(&invoicing, STORE_SHOWS, |health| !health.is_ready()).await;
    assert_eq!(health.documents, DocumentsHealth::Unreachable);
    std::fs::rename(&away, &documents).unwrap();
    becomes(&invoicing, STORE_SHOWS, |health| health.is_ready()).await;
    invoicing.close().await;
}
