//! The pages of the console, against limits in time and in bytes. Exits with 1 if a limit is missed.
//!
//! A page is requested in the process of the service, so its time is the server's: sign-in, operations, markup. Lists have
//! 50 items. One webhook has 100,000 deliveries; most are copies of the first one, made by statements. There is one
//! caller, and PostgreSQL shares the core of the service.

mod records;

use std::process::ExitCode;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_server::{Console, ConsoleRole, ConsoleSession, ConsoleSettings, SignInDecision};
use invoicing_tests::bench::{self, aside, float, limit, quantile};
use invoicing_tests::{Database, postgres};
use records::Records;

const CALLS: usize = 200;
/// A list of 50: milliseconds.
const LIST_MS: f64 = 5.0;
/// A page of the webhook with 100,000 deliveries: milliseconds.
const MANY_MS: f64 = 10.0;
/// A page with up to 50 items, and all assets together: bytes.
const PAGE_BYTES: f64 = 100.0 * 1024.0;
const ASSETS_BYTES: f64 = 40.0 * 1024.0;

fn main() -> ExitCode {
    bench::role();
    let within = bench::block_on(async {
        let mut within = on(Database::Sqlite).await;
        if postgres::is_installed() {
            within &= on(Database::Postgres).await;
        }
        within
    });
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether every limit is kept on a database.
async fn on(database: Database) -> bool {
    println!(
        "console on {}: median time of a page and its size, ratio to the limit",
        database.either("SQLite", "PostgreSQL")
    );
    let records = Records::make(database).await;
    let session = ConsoleSession::new(records.world.company.id(), "Anna", ConsoleRole::Full);
    let sign_in = move |_: &http::request::Parts| SignInDecision::Granted(session.clone());
    let settings = ConsoleSettings::at("https://app.example/settings");
    let console = records.world.invoicing.console(settings, sign_in).expect("the console opens");

    let mut within = true;
    let Records { few, many, middle, long, .. } = &records;
    for (what, path, max_ms) in [
        ("quotes", "/quotes".to_owned(), LIST_MS),
        ("quotes in a status", "/quotes?status=SENT".to_owned(), LIST_MS),
        ("deliveries", format!("/webhooks/{few}/deliveries"), LIST_MS),
        ("deliveries of 100,000", format!("/webhooks/{many}/deliveries"), MANY_MS),
        ("deliveries of 100,000 that failed", format!("/webhooks/{many}/deliveries?status=failed"), MANY_MS),
        (
            "deliveries of 100,000, from the middle",
            format!("/webhooks/{many}/deliveries?before={middle}"),
            MANY_MS,
        ),
    ] {
        let Measured { ms, slow_ms, bytes } = measure(&console, &path).await;
        within &= limit(&format!("{what}, ms"), ms, max_ms);
        within &= limit(&format!("{what}, bytes"), bytes, PAGE_BYTES);
        aside(&format!("{what}, the slowest of 100"), &[slow_ms], "ms");
    }
    for (what, path) in [
        ("overview", "/".to_owned()),
        ("webhooks", "/webhooks".to_owned()),
        ("keys", "/keys".to_owned()),
        ("search in 1,000 quotes", "/quotes?q=exemple".to_owned()),
        ("quote of 50 lines", format!("/quotes/{long}")),
        ("events", "/events".to_owned()),
        ("history", "/history".to_owned()),
    ] {
        let Measured { ms, bytes, .. } = measure(&console, &path).await;
        within &= limit(&format!("{what}, bytes"), bytes, PAGE_BYTES);
        aside(&format!("{what}, time"), &[ms], "ms");
    }
    within &= limit("assets, bytes", assets(&console).await, ASSETS_BYTES);
    records.world.invoicing.close().await;
    within
}

struct Measured {
    ms: f64,
    /// Of the slowest in a hundred.
    slow_ms: f64,
    bytes: f64,
}

async fn measure(console: &Console, path: &str) -> Measured {
    let mut times = Vec::with_capacity(CALLS);
    let mut size = 0;
    for _ in 0..CALLS + CALLS / 10 {
        let begun = Instant::now();
        size = get(console, path).await.len();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    // The first ones warm everything up.
    let [ms, slow_ms] = [0.5, 0.99].map(|part| quantile(&times[CALLS / 10..], part));
    Measured { ms, slow_ms, bytes: float(size) }
}

/// A page, read to its end.
async fn get(console: &Console, path: &str) -> Bytes {
    let request = Request::get(path).body(Full::<Bytes>::default()).expect("a request");
    let response = console.clone().answer(request).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    response.into_body().collect().await.expect("a body").to_bytes()
}

/// Bytes of the assets that a page names.
async fn assets(console: &Console) -> f64 {
    let page = String::from_utf8(get(console, "/").await.to_vec()).expect("HTML");
    let mut bytes = 0;
    for rest in page.split("=\"/settings/assets/").skip(1) {
        let name = rest.split('"').next().expect("the end of the address");
        bytes += get(console, &format!("/assets/{name}")).await.len();
    }
    assert!(bytes > 0, "{page}");
    float(bytes)
}
