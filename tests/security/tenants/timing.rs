//! Response times do not reveal another company's records: medians of many calls, foreign and absent ids in turn.
//!
//! The machine is shared with other tests, so several rounds are made and the calmest one counts: a real difference is
//! there in all of them. A control proves that a difference would be measured.

use std::time::{Duration, Instant};

use bytes::Bytes;
use invoicing_tests::bench::quantile;
use invoicing_tests::{Database, World, on_each_database};

use super::{JSON, Tenant};

/// Maximum number of rounds.
const ROUNDS: usize = 12;
/// Calls of each side in a round.
const CALLS: usize = 250;
/// Largest relative distance of the medians.
const BOUND: f64 = 0.10;

/// A request.
#[derive(Clone)]
struct Ask {
    method: &'static str,
    path: String,
    key: Option<String>,
    body: &'static str,
    status: u16,
}

async fn time(world: &World, ask: &Ask) -> Duration {
    let begun = Instant::now();
    let answer = world
        .call(ask.method, &ask.path, ask.key.as_deref(), JSON, Bytes::from_static(ask.body.as_bytes()))
        .await;
    let time = begun.elapsed();
    assert_eq!(answer.status, ask.status, "{} {}", ask.method, ask.path);
    time
}

/// The ratio of the medians of one round.
async fn round(world: &World, one: &Ask, other: &Ask) -> f64 {
    let mut times = [Vec::with_capacity(CALLS), Vec::with_capacity(CALLS)];
    for call in 0..2 * CALLS {
        // One, other, other, one: neither always follows the other.
        let side = call.div_ceil(2) % 2;
        times[side].push(time(world, [one, other][side]).await.as_secs_f64());
    }
    quantile(&times[0], 0.5) / quantile(&times[1], 0.5)
}

/// The ratios of rounds, until one is within the bound.
async fn ratios(world: &World, one: &Ask, other: &Ask) -> Vec<f64> {
    let mut ratios = Vec::new();
    while ratios.len() < ROUNDS && !ratios.last().is_some_and(|ratio| alike(*ratio)) {
        ratios.push(round(world, one, other).await);
    }
    ratios
}

fn alike(ratio: f64) -> bool {
    ratio.max(1.0 / ratio) - 1.0 <= BOUND
}

/// Rules: TENANT-2
#[on_each_database]
async fn foreign_and_absent_ids_take_the_same_time(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let mut victim = Tenant::new(&world, "Victim").await;
    for _ in 0..20 {
        victim.make(2).await;
        victim.make(3).await;
    }
    let mut caller = Tenant::new(&world, "Caller").await;
    caller.make(3).await;
    let beside = |id: &str| {
        let id: uuid::Uuid = id.parse().unwrap();
        uuid::Uuid::from_u128(id.as_u128() ^ 1).to_string()
    };
    let ask =
        |method, path: String, body| Ask { method, path, key: Some(caller.key.clone()), body, status: 404 };
    let (quote, invoice) = (&victim.quotes[10], &victim.invoices[10]);
    for (method, prefix, id, suffix, body) in [
        ("GET", "/api/v1/quotes/", quote, "", ""),
        ("GET", "/api/v1/quotes/", quote, "/document", ""),
        ("GET", "/api/v1/invoices/", invoice, "", ""),
        ("PATCH", "/api/v1/quotes/", quote, "", "{\"externalId\":\"stolen\"}"),
    ] {
        let foreign = ask(method, format!("{prefix}{id}{suffix}"), body);
        let absent = ask(method, format!("{prefix}{}{suffix}", beside(id)), body);
        let ratios = ratios(&world, &foreign, &absent).await;
        println!("{method} {prefix}…{suffix}: {ratios:.3?}");
        assert!(alike(*ratios.last().unwrap()), "{method} {prefix}…{suffix}: {ratios:?}");
    }
}

/// Rules: TENANT-2
#[on_each_database]
async fn a_key_that_is_nearly_another_s_takes_the_time_of_any_unknown_key(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let victim = Tenant::new(&world, "Victim").await;
    let ask = |key: String, status: u16| Ask {
        method: "GET",
        path: "/api/v1/quotes".to_owned(),
        key: Some(key),
        body: "",
        status,
    };
    let last = if victim.key.ends_with('A') { 'B' } else { 'A' };
    let nearly = format!("{}{last}", &victim.key[..victim.key.len() - 1]);
    let unknown = ask(format!("isk_{}", "x".repeat(43)), 401);
    let ratios_of_keys = ratios(&world, &ask(nearly, 401), &unknown).await;
    println!("unknown keys: {ratios_of_keys:.3?}");
    assert!(alike(*ratios_of_keys.last().unwrap()), "{ratios_of_keys:?}");
    // The control: the answer to a known key takes far longer than the noise of the machine.
    let control = ratios(&world, &ask(victim.key.clone(), 200), &unknown).await;
    println!("control: {control:.3?}");
    assert!(!alike(*control.last().unwrap()), "no difference would be seen: {control:?}");
}
