//! The metrics: those that the book lists, with labels of closed sets, and values that are what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{Event, EventKind, FailureClass, QuoteId};
use invoicing_server::ROUTES;
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use serde_json::json;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::support::{emit, hook};

/// Longer than an attempt takes.
const SOON: Duration = Duration::from_secs(5);

const OBSERVE: &str = include_str!("../../docs/operate-observe.md");
const PENDING: &str = "invoicing_deliveries_pending";
const OLDEST: &str = "invoicing_deliveries_oldest_seconds";

/// Rows of the tables of metrics: name, kind, labels, meaning.
fn documented() -> Vec<[&'static str; 4]> {
    let rows = OBSERVE
        .lines()
        .filter(|line| ["| `invoicing_", "| `http_server_"].iter().any(|begin| line.starts_with(begin)));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        [cells[0].trim_matches('`'), cells[1], cells[2], cells[3]]
    })
    .collect()
}

/// The values of a label in the book.
fn values(label: &str) -> BTreeSet<&'static str> {
    let (_, section) = OBSERVE.split_once("### Labels").expect("a section");
    let row = section.lines().find_map(|line| line.strip_prefix(&format!("| `{label}` | "))).expect(label);
    row.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_label_is_listed_with_all_of_its_values() {
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str()).chain([Event::PING]);
    assert_eq!(values("kind"), kinds.collect());
    let classes = FailureClass::ALL.iter().map(|class| class.as_str());
    assert_eq!(values("reason"), classes.chain(["2xx", "3xx", "4xx", "429", "5xx", "other"]).collect());
    assert_eq!(values("outcome"), BTreeSet::from(["delivered", "retried", "failed"]));
    assert_eq!(values("limit"), BTreeSet::from(["quota", "overloaded"]));
    assert_eq!(values("source"), BTreeSet::from(["primary", "replica"]));
    let results = [
        "ok",
        "not_found",
        "validation_error",
        "conflict",
        "document_unavailable",
        "overloaded",
        "storage_unavailable",
        "server_error",
    ];
    assert_eq!(values("result"), BTreeSet::from(results));
    let methods = ["GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE", "_OTHER"];
    assert_eq!(values("method"), BTreeSet::from(methods));
    assert!(ROUTES.iter().all(|route| methods.contains(&route.method.as_str())));
    assert!(values("route").contains("unmatched"));
    assert!(values("operation").contains("sweep"));
    // Each label has a row: `values` panics without one.
    for [_, _, labels, _] in documented() {
        labels
            .split(", ")
            .filter(|label| !label.is_empty())
            .for_each(|label| _ = values(label.trim_matches('`')));
    }
}

/// Attempts of each kind, requests of each kind, refusals, a sweep.
async fn live(world: &World) {
    let receivers = [Receiver::start().await, Receiver::start().await];
    receivers[1].reply_always(Reply::status(404));
    for receiver in &receivers {
        hook(world, &receiver.url).await;
    }
    hook(world, "http://127.0.0.1:8/hook").await;
    emit(world, 3).await;
    for gap in [0, 1_200, 5_600] {
        world.advance(Duration::from_millis(gap));
        world.dispatch().await;
    }
    for path in ["/api/v1/quotes?limit=2", "/api/v1/quotes?limit=x", "/api/v1/nothing"] {
        world.get(path).await;
    }
    world.call("GET", "/api/v1/quotes", None, &[], Bytes::new()).await;
    world.send("POST", "/api/v1/clients", &json!({ "name": "Measured" })).await;
    while world.get("/api/v1/clients").await.status != 429 {}
    world.accepted().await;
    world.invoicing.sweep().await.unwrap();
}

#[on_each_database]
async fn every_metric_that_is_listed_is_recorded_and_no_other(db: Database) {
    let world = World::new(db).await;
    live(&world).await;
    let listed: BTreeMap<String, (&str, String)> = documented()
        .into_iter()
        .map(|[name, kind, _, meaning]| (name.to_owned(), (kind, meaning.to_owned())))
        .collect();
    assert_eq!(world.metrics.described(), listed);
    let name = |key: &str| key.split('{').next().unwrap_or_default().to_owned();
    let recorded: BTreeSet<String> = world.metrics.all().iter().map(|(key, _)| name(key)).collect();
    for name in listed.keys() {
        let is_absent = match name.as_str() {
            "invoicing_clock_offset_seconds" => world.database() == Database::Sqlite,
            // Without a read replica.
            "invoicing_pages_total" => true,
            _ => false,
        };
        assert_ne!(recorded.contains(name), is_absent, "{name}");
    }
    assert!(recorded.iter().all(|name| listed.contains_key(name)), "{recorded:?}");
}

#[on_each_database]
async fn labels_are_those_that_are_listed_and_name_no_company_and_no_receiver(db: Database) {
    let world = World::new(db).await;
    live(&world).await;
    let labels: BTreeMap<&str, &str> =
        documented().into_iter().map(|[name, _, labels, _]| (name, labels)).collect();
    for (key, _) in world.metrics.all() {
        let (name, pairs) = key.split_once('{').unwrap_or((&key, ""));
        let names = pairs.trim_end_matches('}').split("\",").filter(|pair| !pair.is_empty());
        let names: Vec<String> =
            names.map(|pair| format!("`{}`", pair.split('=').next().unwrap_or_default())).collect();
        assert_eq!(names.join(", "), labels[name], "{key}");
        let company = world.company.id().to_string();
        for private in [&*company, &world.key, "127.0.0.1", "/hook", "Martin", "Measured"] {
            assert!(!pairs.contains(private), "{private} in {key}");
        }
    }
}

#[on_each_database]
async fn requests_and_attempts_are_counted_by_what_became_of_them(db: Database) {
    let world = World::new(db).await;
    live(&world).await;
    let requests = |route: &str, method: &str, status: u16| {
        let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
        world.metrics.count(&format!("http_server_request_duration_seconds{{{labels}}}"))
    };
    assert_eq!(requests("/api/v1/quotes", "GET", 200), 1);
    assert_eq!(requests("/api/v1/quotes", "GET", 400), 1);
    assert_eq!(requests("/api/v1/quotes", "GET", 401), 1);
    assert_eq!(requests("unmatched", "GET", 404), 1);
    assert_eq!(requests("/api/v1/clients", "POST", 201), 1);
    assert_eq!(requests("/api/v1/clients", "GET", 429), 1);
    assert_eq!(world.metrics.count("invoicing_requests_limited_total{limit=\"quota\"}"), 1);
    assert_eq!(world.metrics.count("invoicing_requests_limited_total{limit=\"overloaded\"}"), 0);
    let attempts = |outcome: &str, reason: &str| {
        let labels = format!("outcome=\"{outcome}\",reason=\"{reason}\"");
        world.metrics.count(&format!("invoicing_webhook_attempts_total{{{labels}}}"))
    };
    assert_eq!([attempts("delivered", "2xx"), attempts("failed", "4xx")], [3, 3]);
    assert_eq!([attempts("retried", "network"), attempts("failed", "network")], [6, 3]);
    assert_eq!(world.metrics.count("invoicing_webhook_delay_seconds"), 3);
    let all = world.count("SELECT count(*) FROM attempt").await;
    assert_eq!(world.metrics.sum("invoicing_webhook_attempts_total").to_string(), all.to_string());
}

#[on_each_database]
async fn a_refused_operation_counts_no_event(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await.summary.id;
    let count = |kind: &str| world.metrics.count(&format!("invoicing_events_total{{kind=\"{kind}\"}}"));
    assert_eq!([count("quote.created"), count("quote.accepted")], [1, 1]);
    world.company.quotes().accept(quote).await.unwrap_err();
    world.company.invoices().convert(quote).await.unwrap();
    world.company.invoices().convert(quote).await.unwrap_err();
    assert_eq!([count("quote.accepted"), count("invoice.created")], [1, 1]);
}

#[on_each_database]
async fn the_oldest_age_grows_while_a_receiver_is_down_and_returns_to_zero(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.max_attempts = 10).open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    hook(&world, &receiver.url).await;
    emit(&world, 1).await;
    let mut ages = Vec::new();
    for gap in [0, 1_200, 5_600, 33_100, 33_100] {
        world.advance(Duration::from_millis(gap));
        world.dispatch().await;
        assert_eq!(world.metrics.count(PENDING), 1);
        ages.push(world.metrics.value(OLDEST));
    }
    assert!(ages.is_sorted_by(|age, next| age < next), "{ages:?}");
    assert!(ages[0] < 0.1 && (60.0..73.1).contains(&ages[4]), "{ages:?}");
    receiver.reply_always(Reply::status(200));
    world.advance(Duration::from_millis(33_100));
    world.dispatch().await;
    world.dispatch().await;
    assert_eq!([world.metrics.count(PENDING), world.metrics.count(OLDEST)], [0, 0]);
}

#[on_each_database]
async fn a_replay_of_old_events_begins_to_wait_anew(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    world.company.webhooks().disable(id).await.unwrap();
    emit(&world, 2).await;
    world.advance(Duration::from_hours(50));
    assert_eq!(world.company.webhooks().enable_and_replay(id, None).await.unwrap(), 2);
    world.dispatch().await;
    assert_eq!([world.metrics.count(PENDING), world.metrics.count(OLDEST)], [2, 0]);
    assert_eq!(world.metrics.sum_with("invoicing_webhook_attempts_total", "outcome", "delivered"), 2);
}

#[on_each_database]
async fn webhooks_that_are_disabled_after_failures_are_counted(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(410));
    hook(&world, &receiver.url).await;
    assert_eq!(world.metrics.count("invoicing_webhooks_disabled_total"), 0);
    emit(&world, 10).await;
    world.dispatch().await;
    assert_eq!(world.metrics.count("invoicing_webhooks_disabled_total"), 1);
}

#[on_each_database]
async fn operations_are_measured_by_what_became_of_them_each_once(db: Database) {
    let world = World::new(db).await;
    let count = |operation: &str, result: &str| {
        let labels = format!("operation=\"{operation}\",result=\"{result}\"");
        world.metrics.count(&format!("invoicing_operation_duration_seconds{{{labels}}}"))
    };
    let before = world.metrics.sum("invoicing_operation_duration_seconds");
    let quote = world.accepted().await.summary.id;
    world.company.quotes().accept(quote).await.unwrap_err();
    world.company.quotes().reject(QuoteId(Uuid::nil())).await.unwrap_err();
    world.company.invoices().convert(quote).await.unwrap();
    world.get("/api/v1/quotes").await;
    world.invoicing.sweep().await.unwrap();
    assert_eq!([count("quotes.accept", "ok"), count("quotes.accept", "conflict")], [1, 1]);
    assert_eq!([count("quotes.reject", "ok"), count("quotes.reject", "not_found")], [0, 1]);
    assert_eq!(
        [count("invoices.convert", "ok"), count("quotes.list", "ok"), count("sweep", "ok")],
        [1, 1, 1]
    );
    // The client and the quote are made first.
    assert_eq!(count("clients.find_or_create", "ok") + count("quotes.create", "ok"), 2);
    assert_eq!(world.metrics.sum("invoicing_operation_duration_seconds") - before, 9);
}

#[on_each_database]
async fn attempts_that_outlive_their_claim_are_counted_with_any_outcome(db: Database) {
    for status in [200, 500] {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        hook(&world, &receiver.url).await;
        let release = Arc::new(Semaphore::new(0));
        receiver.reply_next([Reply::Held(Arc::clone(&release), status)]);
        emit(&world, 1).await;
        let taken = async {
            assert!(receiver.wait_for(1, SOON).await);
            let later = world.now().plus_millis(60_000).as_millis();
            world.run(&format!("UPDATE delivery SET claim = 7, held_until = {later}"), &[]).await;
            release.close();
        };
        let (report, ()) = tokio::join!(world.dispatch(), taken);
        assert_eq!((report.attempts, report.delivered, report.retried), (1, 0, 0), "{status}");
        assert_eq!(world.metrics.count("invoicing_claims_lost_total"), 1, "{status}");
    }
}
