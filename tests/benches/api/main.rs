//! The API's two reads against the obvious implementation of the same two reads, and against a bare hyper that
//! answers the same bytes. The description of the API against bare hyper alone.
//!
//! Each server is a peer on the server's core; this process is the load on the other, with connections that are kept.
//! Both are measured on SQLite and on PostgreSQL: there the two use databases of one server, which runs on their core.
//! Ours authenticates, checks the plan, counts an exact quota and sends all headers. The rival looks the key up and
//! reads typed rows. Before anything is measured, both must answer the same JSON.

mod bare;
mod ours;
mod rival;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{CompanyId, Quote};
use invoicing_tests::bench::{self, Peer, aside, call, connect, float, load, rate, report};
use invoicing_tests::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const CONNECTIONS: usize = 16;
/// Answers that need no key share a sixteenth of the memory for answers, in which each counts whole.
const FEW_CONNECTIONS: usize = 8;
const ROUNDS: usize = 15;
const TIME: Duration = Duration::from_millis(700);
/// Quotes in the database, and lines of each.
const QUOTES: usize = 1_000;
const LINES: usize = 12;

/// The databases.
const SQLITE: &str = "sqlite";
const POSTGRES: &str = "postgres";

/// The description of the API, and the same as a page.
const DESCRIPTIONS: [(&str, &str); 2] =
    [("description", "/api/v1/openapi.json"), ("reference page", "/api/v1/docs")];

const LIST: &str = "/api/v1/quotes?include=lines&limit=50";

/// A message of a server, or to it, about its data.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Data {
    address: SocketAddr,
    key: String,
    company: CompanyId,
    quotes: Vec<Quote>,
    /// An empty database, and the first process of its server, if it has one.
    url_of_rival: Option<String>,
    postmaster: Option<u32>,
}

fn main() {
    match bench::role().as_deref() {
        Some("ours") => bench::block_on(ours::run()),
        Some("rival") => bench::block_on(rival::run()),
        Some("bare") => bench::block_on(bare::run()),
        Some(other) => unreachable!("no role {other}"),
        None => bench::block_on(compare()),
    }
}

async fn compare() {
    on(SQLITE, [">= 4", ">= 6"]).await;
    if postgres::is_installed() {
        on(POSTGRES, ["(none)", ">= 4"]).await;
    }
}

async fn on(database: &str, targets: [&str; 2]) {
    let mut peers = ["ours", "rival", "bare"].map(Peer::start);
    let data: Data = serde_json::from_value(peers[0].ask(&json!(database)).await).expect("the data");
    let rival = address(&peers[1].ask(&json!(data)).await);
    if let Some(postmaster) = data.postmaster {
        peers[..2].iter_mut().for_each(|peer| peer.works_with(postmaster));
    }
    println!(
        "api on {database}: answers per second over {CONNECTIONS} connections, server and load on a core each"
    );
    let details: Vec<String> =
        data.quotes.iter().map(|quote| format!("/api/v1/quotes/{}", quote.summary.id)).collect();
    for ((what, paths), target) in
        [("detail", details), ("list with lines", vec![LIST.to_owned()])].into_iter().zip(targets)
    {
        if !bench::wanted(&format!("{what}, {database}")) {
            continue;
        }
        let body = same_answer(&data, rival, &paths[0]).await;
        println!("{what}: {} bytes", body.len());
        let bare = address(&peers[2].ask(&json!(String::from_utf8_lossy(&body))).await);
        let servers = [data.address, rival, bare];
        let sides: Vec<_> = peers.iter().zip(servers).collect();
        measure(what, &sides, request(&data.key, paths), target).await;
    }
    if database == SQLITE {
        for (what, path) in DESCRIPTIONS {
            if bench::wanted(what) {
                description(what, path, &data, &mut peers).await;
            }
        }
    }
}

/// The description of the API, which no rival has.
async fn description(what: &str, path: &str, data: &Data, [ours, _, bare]: &mut [Peer; 3]) {
    let get = request(&data.key, vec![path.to_owned()]);
    let body = call(&mut connect(data.address).await, get(0)).await.into_body();
    println!("{what}: {} bytes, over {FEW_CONNECTIONS} connections", body.len());
    let address = address(&bare.ask(&json!(String::from_utf8_lossy(&body))).await);
    let sides = [(&*ours, data.address), (&*bare, address)];
    let (rates, costs) = rounds(FEW_CONNECTIONS, &sides, get).await;
    report(&format!("{what}, part of bare hyper"), &ratios(&rates[0], &rates[1]), ">= 0.6");
    print_rates(["ours", "bare hyper"], &rates, &costs);
}

fn request(key: &str, paths: Vec<String>) -> impl Fn(usize) -> Request<Full<Bytes>> + Clone + Send + 'static {
    let authorization = format!("Bearer {key}");
    move |number: usize| {
        let get = Request::get(&paths[number % paths.len()]).header("host", "localhost");
        get.header("authorization", &authorization).body(Full::default()).expect("a request")
    }
}

/// Of each side in each round: answers per second, and microseconds of the server's processor per answer.
async fn rounds(
    connections: usize,
    sides: &[(&Peer, SocketAddr)],
    request: impl Fn(usize) -> Request<Full<Bytes>> + Clone + Send + 'static,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut rates = vec![Vec::new(); sides.len()];
    let mut costs = rates.clone();
    for round in 0..=ROUNDS {
        for (number, (peer, address)) in sides.iter().enumerate() {
            let (begun, used) = (Instant::now(), peer.processor_seconds());
            let answers = load(*address, connections, TIME, request.clone()).await;
            // The first round warms everything up.
            if round > 0 {
                rates[number].push(rate(answers, begun.elapsed()));
                costs[number].push((peer.processor_seconds() - used) * 1e6 / float(answers));
            }
        }
    }
    (rates, costs)
}

fn ratios(values: &[f64], to: &[f64]) -> Vec<f64> {
    values.iter().zip(to).map(|(a, b)| a / b).collect()
}

async fn measure(
    what: &str,
    sides: &[(&Peer, SocketAddr)],
    request: impl Fn(usize) -> Request<Full<Bytes>> + Clone + Send + 'static,
    target: &str,
) {
    let (rates, costs) = rounds(CONNECTIONS, sides, request).await;
    report(&format!("{what}, ours / axum + sqlx"), &ratios(&rates[0], &rates[1]), target);
    report(&format!("{what}, the same in processor time"), &ratios(&costs[1], &costs[0]), target);
    report(&format!("{what}, part of bare hyper"), &ratios(&rates[0], &rates[2]), "(none)");
    print_rates(["ours", "axum + sqlx", "bare hyper"], &rates, &costs);
}

fn print_rates<const N: usize>(sides: [&str; N], rates: &[Vec<f64>], costs: &[Vec<f64>]) {
    for (number, what) in sides.into_iter().enumerate() {
        aside(what, &rates[number], "answers/s");
        aside("", &costs[number], "µs of processor each");
    }
}

/// Both must answer the same; the order of fields and the form of numbers may differ.
async fn same_answer(data: &Data, rival: SocketAddr, path: &str) -> Bytes {
    let get = request(&data.key, vec![path.to_owned()]);
    let ours = call(&mut connect(data.address).await, get(0)).await;
    let theirs = call(&mut connect(rival).await, get(0)).await;
    assert_eq!((ours.status().as_u16(), theirs.status().as_u16()), (200, 200));
    let json = |bytes: &Bytes| floats(serde_json::from_slice(bytes).expect("JSON"));
    assert_eq!(json(ours.body()), json(theirs.body()), "{path}");
    ours.into_body()
}

/// Makes `12` and `12.0` the same.
fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.into_iter().map(floats).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, floats(value))).collect(),
        other => other,
    }
}

fn address(value: &Value) -> SocketAddr {
    value.as_str().and_then(|text| text.parse().ok()).expect("an address")
}
