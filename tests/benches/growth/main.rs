//! How a PostgreSQL database grows, and what grows with it: times and sizes at 10,000, 100,000 and 1,000,000 quotes.
//!
//! A few hundred quotes are made through the operations, with all that hangs on them: costs, documents, events, deliveries,
//! attempts. Statements then copy them, with ids and instants of their own. Half of all quotes belong to one company, for
//! which the times are; the others belong to a hundred. Server and service share the machine, and there is one caller.
//!
//! `cargo bench -p invoicing-tests --bench growth`, or `-- 100000` for the sizes up to that.

mod copies;
mod sizes;
mod workload;

use std::time::Instant;

use invoicing_core::QuoteStatus;
use invoicing_server::{PageQuery, PageWindow};
use invoicing_tests::bench::{block_on, durable_cluster, quantile};
use invoicing_tests::new_quote;
use workload::Workload;

/// Quotes at which everything is measured.
const SIZES: [i64; 3] = [10_000, 100_000, 1_000_000];
const CALLS: usize = 300;
/// Deliveries that are claimed and ended at once.
const CLAIMED: i64 = 5_000;

fn main() {
    let most = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(i64::MAX);
    block_on(grow(most));
}

async fn grow(most: i64) {
    let Some(cluster) = durable_cluster() else { return };
    let url = cluster.create_database("invoicing").await;
    let workload = Workload::open(&url).await;
    copies::prepare(&url).await;
    let mut tables = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let begun = Instant::now();
        copies::grow_to(&url, size).await;
        println!("\n{size} quotes (filled in {:.0} s)", begun.elapsed().as_secs_f64());
        measure(&workload, &url).await;
        tables.push((size, sizes::of(&url).await));
    }
    sizes::print(&tables);
    workload.invoicing.close().await;
}

async fn measure(workload: &Workload, url: &str) {
    let middle = copies::middle(url).await;
    let page = |include_lines, status, offset, since| PageQuery {
        include_lines,
        status,
        window: PageWindow { offset, since, ..PageWindow::default() },
    };
    for (what, query) in [
        ("page of 50 by creation", page(false, None, 0, None)),
        ("page of 50 by creation, with lines", page(true, None, 0, None)),
        ("page of 50 since the middle", page(false, None, 0, Some(middle))),
        ("page of 50 in one status", page(false, Some(QuoteStatus::Accepted), 0, None)),
        (
            "page of 50 since the middle, in one status",
            page(false, Some(QuoteStatus::Accepted), 0, Some(middle)),
        ),
        ("page of 50 at offset 4,000", page(false, None, 4_000, None)),
        ("page of 50 at offset 10,000", page(false, None, 10_000, None)),
    ] {
        timed(what, async |_| {
            let page = workload.company.quotes().page(&query).await.expect("a page");
            assert!(page.len() > 100);
        })
        .await;
    }
    let ids = copies::some_ids(url, workload.company.id(), 1_000).await;
    timed("detail", async |call| {
        workload.company.quotes().detail(ids[call % ids.len()]).await.expect("a quote");
    })
    .await;
    timed("a quote is created", async |_| {
        workload.company.quotes().create(&new_quote(workload.client)).await.expect("a quote");
    })
    .await;
    claim(workload, url).await;
}

/// Prints how long calls take.
async fn timed(what: &str, call: impl AsyncFn(usize)) {
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS + CALLS / 10 {
        let begun = Instant::now();
        call(number).await;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    // The first ones warm everything up.
    let times = &times[CALLS / 10..];
    let [p50, p99] = [0.5, 0.99].map(|part| quantile(times, part));
    println!("    {what:<46} p50 {p50:>8.2} ms, p99 {p99:>8.2} ms");
}

async fn claim(workload: &Workload, url: &str) {
    let mut rates = Vec::new();
    for _ in 0..5 {
        copies::put_pending(url, workload.off, CLAIMED).await;
        let begun = Instant::now();
        let report = workload.invoicing.dispatcher().run_once().await.expect("the dispatcher runs");
        assert_eq!(report.skipped, CLAIMED.unsigned_abs());
        rates.push(begun.elapsed().as_secs_f64() * 1e3 / 5.0);
    }
    println!("    {:<46} p50 {:>8.2} ms", "1,000 deliveries are claimed and ended", quantile(&rates, 0.5));
}
