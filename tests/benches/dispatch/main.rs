//! The dispatcher against the bare HTTP client: deliveries per second and latency, everything durable.
//!
//! A peer on the server's core runs the service on a SQLite file with `synchronous=FULL`; this process, on the other
//! core, is the receiver of all webhooks. The rival runs in the same peer: hyper-util's client pushes the same bytes,
//! signed, with 64 in flight, and stores nothing. *Fresh* counts from the first operation to the last recorded
//! outcome, with the operations (16 writers) on the same core; *backlog* finds all events committed.

mod rival;
mod service;
mod sink;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use invoicing_tests::bench::{self, Peer, aside, quantile, rate, report};
use serde_json::{Value, json};
use sink::Sink;

/// The companies of the service, by the number of their webhooks; the last has one that never answers.
const TWENTY: &str = "20 webhooks";
const ONE: &str = "1 webhook";
const HANGING: &str = "20 webhooks, 1 hanging";

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
    let mut peer = Peer::start("service");
    peer.ask(&json!({"do": "open", "sink": sink.address})).await;
    println!("dispatch: deliveries per second, ours / bare client");
    for (company, webhooks, target) in [(TWENTY, 20, ">= 0.30"), (ONE, 1, ">= 0.15")] {
        throughput(&mut peer, &sink, company, webhooks, target).await;
    }
    println!("dispatch: milliseconds from the operation's call to the arrival, {PACE} events/s");
    for company in [ONE, TWENTY] {
        let latencies = latencies(&mut peer, &sink, company).await;
        let p99 = print_latencies(company, &latencies);
        println!("    targets: p50 <= 3, p99 <= 10{}", if p99 > 10.0 { " (missed)" } else { "" });
    }
    hanging(&mut peer, &sink).await;
}

async fn throughput(peer: &mut Peer, sink: &Sink, company: &str, webhooks: usize, target: &str) {
    let (mut fresh, mut backlog) = (Vec::new(), Vec::new());
    let (mut of_fresh, mut of_backlog, mut of_bare, mut created) = (vec![], vec![], vec![], vec![]);
    let events = DELIVERIES / webhooks.max(2);
    let deliveries = events * webhooks;
    for round in 0..=ROUNDS {
        let bare = bare(peer, sink, deliveries).await;
        let a = run_fresh(peer, sink, company, events, deliveries).await;
        let bare_again = self::bare(peer, sink, deliveries).await;
        let (creating, b) = run_backlog(peer, sink, company, events, deliveries).await;
        // The first round warms everything up.
        if round > 0 {
            fresh.push(a / bare);
            backlog.push(b / bare_again);
            of_fresh.push(a);
            of_backlog.push(b);
            of_bare.push(bare);
            created.push(creating);
        }
    }
    report(&format!("{company}, fresh"), &fresh, target);
    report(&format!("{company}, backlog"), &backlog, target);
    aside("bare client", &of_bare, "deliveries/s");
    aside("fresh", &of_fresh, "deliveries/s");
    aside("backlog", &of_backlog, "deliveries/s");
    aside("quotes created alone", &created, "operations/s");
}

async fn bare(peer: &mut Peer, sink: &Sink, deliveries: usize) -> f64 {
    sink.reset();
    let begun = Instant::now();
    peer.ask(&json!({"do": "push", "deliveries": deliveries})).await;
    assert_eq!(sink.count(), deliveries);
    rate(deliveries, begun.elapsed())
}

/// Until the last outcome is recorded: stopping the dispatcher waits for that.
async fn run_fresh(peer: &mut Peer, sink: &Sink, company: &str, events: usize, deliveries: usize) -> f64 {
    sink.reset();
    peer.ask(&json!({"do": "start"})).await;
    let begun = Instant::now();
    peer.ask(&create(company, events)).await;
    sink.wait_for(deliveries).await;
    peer.ask(&json!({"do": "stop"})).await;
    rate(deliveries, begun.elapsed())
}

/// How fast events were created without a dispatcher, and how fast one delivers them.
async fn run_backlog(
    peer: &mut Peer,
    sink: &Sink,
    company: &str,
    events: usize,
    deliveries: usize,
) -> (f64, f64) {
    sink.reset();
    let begun = Instant::now();
    peer.ask(&create(company, events)).await;
    let creating = rate(events, begun.elapsed());
    let begun = Instant::now();
    peer.ask(&json!({"do": "start"})).await;
    sink.wait_for(deliveries).await;
    peer.ask(&json!({"do": "stop"})).await;
    (creating, rate(deliveries, begun.elapsed()))
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

/// What one webhook that never answers does to the nineteen others.
async fn hanging(peer: &mut Peer, sink: &Sink) {
    peer.ask(&json!({"do": "stop"})).await;
    println!("dispatch: 1 of 20 webhooks hangs; the 19 others");
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
