//! Callers with unknown keys, beside valid keys that the server has to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use invoicing_tests::postgres::{self, Cluster, Options};
use invoicing_tests::tell;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::process::{Broken, Server, answer, beside_others, check, kept};

/// Connections that send unknown keys, all at the same moment and 5 times a second: 2,000 requests a second.
const CONNECTIONS: usize = 400;
const INTERVAL: Duration = Duration::from_millis(200);
const ROUNDS: usize = 15;
/// Valid keys, each used once beside the others; and the pause between them.
const KEYS: usize = 50;
const PAUSE: Duration = Duration::from_millis(50);
/// Slowest answer for a valid key: on an idle machine 1 s, beside other tests more.
const SLOWEST: Duration = Duration::from_secs(3);
/// Factor by which the unknown keys may exceed their intended time, beside other tests.
const SLOWER: u32 = 4;

/// A `GET` with a key.
fn get(key: &str) -> Vec<u8> {
    format!("GET /api/v1/clients HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n").into()
}

/// Sends requests with unknown keys, each key once. Returns the number of answers that were not 401. A missed tick is
/// made up for.
async fn ask_with_unknown_keys(server: Arc<Server>, connection: usize) -> usize {
    let mut stream = server.connect().await;
    let mut ticks = interval(INTERVAL);
    let mut others = 0;
    for round in 0..ROUNDS {
        ticks.tick().await;
        let key = format!("isk_{:043}", connection * ROUNDS + round);
        let answer = answer(&mut stream, &get(&key)).await;
        others += usize::from(!answer.starts_with("HTTP/1.1 401"));
    }
    others
}

/// Sends a request with each of the valid keys beside 2,000 unknown ones a second.
async fn valid_keys_are_answered(server: Server) -> Result<(), Broken> {
    let server = Arc::new(server);
    let flood = Instant::now();
    let mut others = JoinSet::new();
    for connection in 0..CONNECTIONS {
        others.spawn(ask_with_unknown_keys(Arc::clone(&server), connection));
    }
    let (mut times, mut refused) = (Vec::new(), 0);
    for key in &server.keys {
        let begun = Instant::now();
        let mut stream = server.connect().await;
        let answer = answer(&mut stream, &get(key)).await;
        refused += usize::from(!answer.starts_with("HTTP/1.1 200"));
        times.push(begun.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_unstable();
    let slowest = times[KEYS - 1];
    let others: usize = others.join_all().await.into_iter().sum();
    let (asked, took) = (CONNECTIONS * ROUNDS, flood.elapsed());
    let median = times[KEYS / 2];
    let known =
        format_args!("{refused} of {KEYS} valid ones refused, median {median:?}, slowest {slowest:?}");
    tell("valid keys beside unknown ones", &known);
    let unknown = format_args!("{others} of {asked} not answered with 401, all in {took:?}");
    tell("unknown keys", &unknown);
    assert_eq!((refused, others), (0, 0));
    let intended = INTERVAL * u32::try_from(ROUNDS).unwrap();
    check(took < SLOWER * intended, || "the machine is too slow to ask often enough".to_owned())?;
    check(slowest < SLOWEST, || format!("{slowest:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_keys_are_answered_beside_2000_unknown_ones_a_second() {
    let _beside = beside_others().await;
    kept(async || valid_keys_are_answered(Server::start(&json!({ "keys": KEYS }))).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reread_keys_on_postgresql_are_answered_beside_2000_unknown_a_second() {
    let _beside = beside_others().await;
    if !postgres::is_installed() {
        return;
    }
    let cluster = Cluster::start(&Options { durable: false, settings: Vec::new() }).unwrap();
    let names = AtomicUsize::new(0);
    kept(async || {
        let name = format!("invoicing_{}", names.fetch_add(1, Ordering::Relaxed));
        let url = cluster.create_database(&name).await;
        let server = Server::start(&json!({ "keys": KEYS, "postgres": url }));
        for key in &server.keys {
            let answer = answer(&mut server.connect().await, &get(key)).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        // The cached rows of the keys are outdated by then.
        tokio::time::sleep(Duration::from_millis(5_100)).await;
        valid_keys_are_answered(server).await
    })
    .await;
}
