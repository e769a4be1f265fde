//! A webhook that answers at once beside hundreds that take 4.3 s, each with a backlog. For comparison, the same beside as
//! many that answer at once. The first was delivered to before, the hundreds were not. Each scenario has a service and a
//! database of its own.

use std::collections::HashMap;
use std::time::Duration;

use invoicing_tests::bench::{Peer, quantile, wanted};
use serde_json::json;

use super::sink::{CROWD, LATE, Sink};

/// Sizes of the crowd.
const SIZES: [usize; 3] = [180, 300, 1_000];
/// Deliveries that wait for each webhook of the crowd at the start.
const BACKLOG: usize = 200;
/// Events per second of the measured webhook.
const PACE: usize = 20;
/// The times measured from the start of the dispatcher, and after that, in seconds.
const FIRST_SECONDS: usize = 10;
const THEN_SECONDS: usize = 20;
/// How long a delivery is waited for after the last event.
const GRACE: Duration = Duration::from_secs(1);

/// The name of the company whose webhook is measured.
pub(crate) const BYSTANDER: &str = "bystander";

/// A size is asked for by its name, as in `crowd of 180`.
pub(crate) async fn compare(database: &str, sink: &Sink) {
    for size in SIZES {
        if !wanted(&format!("crowd of {size}, {database}")) {
            continue;
        }
        println!("crowd on {database}: milliseconds from the call to the arrival, {PACE} events/s");
        let prompt = measure(database, sink, size, CROWD).await;
        let slow = measure(database, sink, size, LATE).await;
        for (when, prompt, slow) in [("at first", prompt[0], slow[0]), ("then", prompt[1], slow[1])] {
            let max = (2.0 * prompt).max(50.0);
            let missed = if slow > max { " (missed in this run)" } else { "" };
            println!("    {size} {when}: p99 {slow:.1}, target <= {max:.1}{missed}");
        }
    }
}

/// The 99th percentiles: at first, and then.
async fn measure(database: &str, sink: &Sink, size: usize, path: &str) -> [f64; 2] {
    sink.reset();
    let mut peer = Peer::start("service");
    peer.ask(&json!({"do": "open", "sink": sink.address(), "database": database})).await;
    peer.ask(&json!({"do": "bystander"})).await;
    peer.ask(&json!({"do": "start"})).await;
    peer.ask(&json!({"do": "create", "company": BYSTANDER, "events": 1})).await;
    sink.wait_for(1).await;
    peer.ask(&json!({"do": "stop"})).await;
    let crowd = json!({"do": "crowd", "webhooks": size, "path": path, "backlog": BACKLOG});
    peer.ask(&crowd).await;
    sink.reset();
    peer.ask(&json!({"do": "start"})).await;
    let mut tails = [0.0; 2];
    for (tail, seconds) in tails.iter_mut().zip([FIRST_SECONDS, THEN_SECONDS]) {
        let events = seconds * PACE;
        let paced = json!({"do": "paced", "company": BYSTANDER, "events": events, "rate": PACE});
        let calls: HashMap<String, i64> =
            serde_json::from_value(peer.ask(&paced).await).expect("an instant per stamp");
        tokio::time::sleep(GRACE).await;
        *tail = print(&format!("{size} with {path}, {seconds} s"), &calls, sink);
    }
    peer.ask(&json!({"do": "kill"})).await;
    tails
}

/// A delivery that has not arrived counts as if it arrived at the end of the wait.
fn print(what: &str, calls: &HashMap<String, i64>, sink: &Sink) -> f64 {
    let end = super::sink::nanoseconds();
    let arrivals: HashMap<String, i64> = sink.arrivals().into_iter().collect();
    let late = calls.keys().filter(|stamp| !arrivals.contains_key(*stamp)).count();
    let latencies: Vec<f64> = calls
        .iter()
        .map(|(stamp, called)| {
            let microseconds = (arrivals.get(stamp).unwrap_or(&end) - called) / 1_000;
            f64::from(i32::try_from(microseconds).expect("less than half an hour")) / 1e3
        })
        .collect();
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| quantile(&latencies, part));
    println!(
        "{what:<58} p50 {p50:.2}, p99 {p99:.2}, max {max:.1} ({} deliveries, {late} of them not arrived)",
        latencies.len()
    );
    p99
}
