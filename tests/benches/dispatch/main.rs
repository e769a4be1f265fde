//! The dispatcher against the bare HTTP client: deliveries per second and latency, everything durable.
//!
//! A peer on the server's core runs the service on a SQLite file with `synchronous=FULL`, another one on a PostgreSQL
//! server that writes as durably and shares that core; this process, on the other core, is the receiver of all webhooks.
//! The rival runs in the same peer: hyper-util's client pushes the same bytes,
//! signed, with 64 in flight, and stores nothing. *Fresh* counts from the first operation to the last recorded
//! outcome, with the operations (16 writers that create quotes) on the same core; *backlog* finds all events committed
//! and shows the dispatcher alone. With one webhook the fresh rate is that of creating quotes, which is given beside it.

mod crowd;
mod database;
mod nodes;
mod pressure;
mod queue;
mod rival;
mod service;
mod sink;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use invoicing_tests::bench::{self, Peer, aside, float, quantile, rate, report};
use invoicing_tests::postgres;
use serde_json::{Value, json};
use sink::Sink;

/// The companies of the service, by the number of their webhooks; the last has one that never answers.
const TWENTY: &str = "20 webhooks";
const ONE: &str = "1 webhook";
const HANGING: &str = "20 webhooks, 1 hanging";
/// Its receivers take a while to answer.
const FAR: &str = "20 webhooks far away";
/// Its webhooks are off.
const OFF: &str = "20 webhooks that are off";

/// The databases.
const SQLITE: &str = "sqlite";
const POSTGRES: &str = "postgres";

const ROUNDS: usize = 7;
/// Deliveries per side and round.
const DELIVERIES: usize = 12_000;
/// Events per second when latency is measured, and for how long in seconds.
const PACE: usize = 20;
const PACED_SECONDS: usize = 15;

fn main() {
    match bench::role() {
        Some(_) => bench::block_on(service::run()),
        None => bench::block_on(compare()),
    }
}

async fn compare() {
    let sink = Sink::start().await;
    on(SQLITE, &sink).await;
    if postgres::is_installed() {
        on(POSTGRES, &sink).await;
    }
}

/// Everything that is measured on a database. A part is asked for by its name, after which comes that of the database.
async fn on(database: &str, sink: &Sink) {
    let wanted = |part: &str| bench::wanted(&format!("{part}, {database}"));
    let mut peer = Peer::start("service");
    let told = peer.ask(&json!({"do": "open", "sink": sink.address(), "database": database})).await;
    if let Some(postmaster) = told["postmaster"].as_u64() {
        peer.works_with(postmaster.try_into().expect("a process"));
    }
    println!("dispatch on {database}: deliveries per second, ours / bare client");
    let targets = if database == SQLITE { [">= 0.30", ">= 0.15"] } else { [">= 0.25", ">= 0.10"] };
    for ((company, webhooks), target) in [(TWENTY, 20), (ONE, 1)].into_iter().zip(targets) {
        if wanted(&format!("throughput, {company}")) {
            throughput(&mut peer, sink, company, webhooks, target).await;
        }
    }
    if wanted("latency") {
        latency(&mut peer, sink, database).await;
    }
    if wanted("hanging") {
        hanging(&mut peer, sink, database).await;
    }
    crowd::compare(database, sink).await;
    if database == POSTGRES {
        if wanted("nodes") {
            nodes::compare(&mut peer, sink, &told["url"]).await;
        }
        if wanted("queue") {
            queue::compare(&mut peer).await;
        }
        if wanted("history") {
            queue::compare_history(&mut peer).await;
        }
        if wanted("snapshot") {
            let url = told["url"].as_str().expect("a URL");
            queue::hold_snapshot(&mut peer, url).await;
        }
        if wanted("pressure") {
            let url = told["url"].as_str().expect("a URL");
            pressure::compare(&mut peer, sink, url).await;
        }
    }
}

async fn latency(peer: &mut Peer, sink: &Sink, database: &str) {
    println!(
        "dispatch on {database}: milliseconds from the operation's call to the arrival, {PACE} events/s"
    );
    for company in [ONE, TWENTY] {
        let latencies = latencies(peer, sink, company).await;
        let p99 = print_latencies(company, &latencies);
        println!("    targets: p50 <= 3, p99 <= 10{}", if p99 > 10.0 { " (missed in this run)" } else { "" });
    }
    peer.ask(&json!({"do": "stop"})).await;
}

async fn throughput(peer: &mut Peer, sink: &Sink, company: &str, webhooks: usize, target: &str) {
    let events = DELIVERIES / webhooks.max(2);
    let deliveries = events * webhooks;
    // In each round: deliveries per second, and microseconds of the processor per delivery, in all and of the database.
    let (mut bare, mut fresh, mut backlog, mut created) = (vec![], vec![], vec![], vec![]);
    for round in 0..=ROUNDS {
        let a = timed(peer, deliveries, async |peer| push(peer, sink, deliveries).await).await;
        let b =
            timed(peer, deliveries, async |peer| run_fresh(peer, sink, company, events, deliveries).await)
                .await;
        let begun = Instant::now();
        peer.ask(&create(company, events)).await;
        let creating = rate(events, begun.elapsed());
        let c = timed(peer, deliveries, async |peer| run_backlog(peer, sink, deliveries).await).await;
        // The first round warms everything up.
        if round > 0 {
            bare.push(a);
            fresh.push(b);
            backlog.push(c);
            created.push(creating);
        }
    }
    let of_fresh = if webhooks > 1 { target } else { "(bound by creating)" };
    for (what, ours, target) in [("fresh", &fresh, of_fresh), ("backlog", &backlog, target)] {
        let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours.0 / bare.0).collect();
        report(&format!("{company}, {what}"), &ratios, target);
        let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| bare.1 / ours.1).collect();
        report(&format!("{company}, {what}, in processor time"), &ratios, target);
    }
    for (what, figures) in [("bare client", bare), ("fresh", fresh), ("backlog", backlog)] {
        let column = |pick: fn(&Figures) -> f64| figures.iter().map(pick).collect::<Vec<_>>();
        aside(what, &column(|figures| figures.0), "deliveries/s");
        aside("", &column(|figures| figures.1), "µs of processor each");
        aside("", &column(|figures| figures.2), "of them the database server's");
    }
    aside("quotes created alone", &created, "operations/s");
}

/// Deliveries per second, microseconds of the peer's processor per delivery, those of its database server alone.
type Figures = (f64, f64, f64);

async fn timed(peer: &mut Peer, deliveries: usize, run: impl AsyncFnOnce(&mut Peer)) -> Figures {
    let (begun, used, of_database) = (Instant::now(), peer.processor_seconds(), peer.database_seconds());
    run(peer).await;
    let rate = rate(deliveries, begun.elapsed());
    let each = |seconds: f64| seconds * 1e6 / float(deliveries);
    (rate, each(peer.processor_seconds() - used), each(peer.database_seconds() - of_database))
}

async fn push(peer: &mut Peer, sink: &Sink, deliveries: usize) {
    sink.reset();
    peer.ask(&json!({"do": "push", "deliveries": deliveries})).await;
    assert_eq!(sink.count(), deliveries);
}

/// Until the last outcome is recorded: stopping the dispatcher waits for that.
async fn run_fresh(peer: &mut Peer, sink: &Sink, company: &str, events: usize, deliveries: usize) {
    sink.reset();
    peer.ask(&json!({"do": "start"})).await;
    peer.ask(&create(company, events)).await;
    sink.wait_for(deliveries).await;
    peer.ask(&json!({"do": "stop"})).await;
}

/// The same where all events are committed already.
async fn run_backlog(peer: &mut Peer, sink: &Sink, deliveries: usize) {
    sink.reset();
    peer.ask(&json!({"do": "start"})).await;
    sink.wait_for(deliveries).await;
    peer.ask(&json!({"do": "stop"})).await;
}

fn create(company: &str, events: usize) -> Value {
    json!({"do": "create", "company": company, "events": events})
}

/// Of every delivery to a webhook that answers, in milliseconds.
async fn latencies(peer: &mut Peer, sink: &Sink, company: &str) -> Vec<f64> {
    sink.reset();
    let events = PACE * PACED_SECONDS;
    peer.ask(&json!({"do": "start"})).await;
    let calls = peer.ask(&json!({"do": "paced", "company": company, "events": events, "rate": PACE})).await;
    let calls: HashMap<String, i64> = serde_json::from_value(calls).expect("an instant per stamp");
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Not waited for: one of them may hang.
    let arrivals = sink.arrivals();
    let milliseconds = |arrived: i64, called: i64| {
        f64::from(i32::try_from((arrived - called) / 1_000).expect("less than half an hour")) / 1e3
    };
    arrivals.iter().map(|(stamp, at)| milliseconds(*at, calls[stamp])).collect()
}

/// The 99th percentile.
fn print_latencies(what: &str, latencies: &[f64]) -> f64 {
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| quantile(latencies, part));
    println!("{what:<58} p50 {p50:.2}, p99 {p99:.2}, max {max:.1} ({} deliveries)", latencies.len());
    p99
}

/// The effect of one webhook that never answers on the nineteen others.
async fn hanging(peer: &mut Peer, sink: &Sink, database: &str) {
    println!("dispatch on {database}: 1 of 20 webhooks hangs; the 19 others");
    let (mut rates, mut tails) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        peer.ask(&json!({"do": "start"})).await;
        let healthy = arrival_rate(peer, sink, TWENTY, 20).await;
        let troubled = arrival_rate(peer, sink, HANGING, 19).await;
        rates.push(troubled * 20.0 / 19.0 / healthy);
        let healthy = quantile(&latencies(peer, sink, TWENTY).await, 0.99);
        let troubled = quantile(&latencies(peer, sink, HANGING).await, 0.99);
        tails.push(troubled / healthy);
        peer.ask(&json!({"do": "stop"})).await;
    }
    report("rate, against that without", &rates, "~ 1");
    report("p99, against that without", &tails, "<= 2");
}

async fn arrival_rate(peer: &mut Peer, sink: &Sink, company: &str, answering: usize) -> f64 {
    sink.reset();
    let events = DELIVERIES / 20;
    let begun = Instant::now();
    peer.ask(&create(company, events)).await;
    sink.wait_for(events * answering).await;
    rate(events * answering, begun.elapsed())
}
