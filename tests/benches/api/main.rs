//! The API's two reads against the obvious implementation of the same two reads, and against a bare hyper that
//! answers the same bytes.
//!
//! Each server is a peer on the server's core; this process is the load on the other, with connections that are kept.
//! Ours authenticates, checks the plan, counts an exact quota and sends all headers. The rival looks the key up and
//! reads typed rows. Before anything is measured, both must answer the same JSON.

mod bare;
mod ours;
mod rival;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{CompanyId, Quote};
use invoicing_tests::bench::{self, Peer, aside, call, connect, load, report};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 15;
const TIME: Duration = Duration::from_millis(700);
/// Quotes in the database, and lines of each.
const QUOTES: usize = 1_000;
const LINES: usize = 12;

const LIST: &str = "/api/v1/quotes?include=lines&limit=50";

/// What a server is told, or tells, about its data.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Data {
    address: SocketAddr,
    key: String,
    company: CompanyId,
    quotes: Vec<Quote>,
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
    let (mut ours, mut rival, mut bare) = (Peer::start("ours"), Peer::start("rival"), Peer::start("bare"));
    let data: Data = serde_json::from_value(ours.ask(&json!("open")).await).expect("the data");
    let rival: SocketAddr = address(&rival.ask(&json!(data)).await);
    println!("api: answers per second over {CONNECTIONS} connections, server and load on a core each");
    let details: Vec<String> =
        data.quotes.iter().map(|quote| format!("/api/v1/quotes/{}", quote.id)).collect();
    for (what, paths, target) in
        [("detail", details, ">= 4"), ("list with lines", vec![LIST.to_owned()], ">= 6")]
    {
        let body = same_answer(&data, rival, &paths[0]).await;
        println!("{what}: {} bytes", body.len());
        let bare = address(&bare.ask(&json!(String::from_utf8_lossy(&body))).await);
        measure(what, &data, [data.address, rival, bare], paths, target).await;
    }
}

async fn measure(what: &str, data: &Data, servers: [SocketAddr; 3], paths: Vec<String>, target: &str) {
    let authorization = format!("Bearer {}", data.key);
    let request = move |number: usize| {
        let path = &paths[number % paths.len()];
        Request::get(path)
            .header("host", "localhost")
            .header("authorization", &authorization)
            .body(Full::new(Bytes::new()))
            .expect("a request")
    };
    let mut rates = [vec![], vec![], vec![]];
    for round in 0..=ROUNDS {
        for (server, rates) in servers.into_iter().zip(&mut rates) {
            let rate = load(server, CONNECTIONS, TIME, request.clone()).await;
            // The first round warms everything up.
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    let [ours, rival, bare] = &rates;
    let ratio = |to: &[f64]| ours.iter().zip(to).map(|(ours, to)| ours / to).collect::<Vec<_>>();
    report(&format!("{what}, ours / axum + sqlx"), &ratio(rival), target);
    report(&format!("{what}, part of bare hyper"), &ratio(bare), "(none)");
    for (what, rates) in ["ours", "axum + sqlx", "bare hyper"].into_iter().zip(&rates) {
        aside(what, rates, "answers/s");
    }
}

/// Both must say the same, whatever the order of fields and the form of numbers.
async fn same_answer(data: &Data, rival: SocketAddr, path: &str) -> Bytes {
    let get = || {
        let get = Request::get(path).header("host", "localhost");
        get.header("authorization", format!("Bearer {}", data.key)).body(Full::default()).expect("a request")
    };
    let ours = call(&mut connect(data.address).await, get()).await;
    let theirs = call(&mut connect(rival).await, get()).await;
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
