//! On PostgreSQL, ours alone: what a change takes, one after the other and many at once. Two versions are compared by
//! running their binaries in turns. The server writes durably and shares the machine with the service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::{ClientId, CompanyId};
use invoicing_server::{CompanyHandle, Invoicing, MemoryStore, PostgresSettings};
use invoicing_tests::bench::{self, aside, durable_cluster, float, postmaster, quantile, rate};
use invoicing_tests::new_quote;
use invoicing_tests::postgres::{Cluster, TripProxy};
use tokio::task::JoinSet;

use super::{open_company, sync_time};

/// Rounds of each row that count, after one that does not.
const ROUNDS: usize = 5;

/// The measured values.
struct Row {
    name: &'static str,
    callers: usize,
    companies: usize,
    /// Quotes per round.
    quotes: usize,
    /// Whether each quote is rejected after it was created: a creation and a change of status in turns.
    rejects: bool,
    /// By how much each trip to the server takes longer.
    farther: Duration,
}

const ONE: Row =
    Row { name: "", callers: 1, companies: 1, quotes: 300, rejects: false, farther: Duration::ZERO };
const ROWS: [Row; 6] = [
    Row { name: "postgres, one caller, quotes", ..ONE },
    Row { name: "postgres, one caller, quotes and changes of status", quotes: 150, rejects: true, ..ONE },
    Row { name: "postgres, 64 callers of one company, quotes", callers: 64, quotes: 1_280, ..ONE },
    Row {
        name: "postgres, 64 callers of one company, quotes and changes of status",
        callers: 64,
        quotes: 640,
        rejects: true,
        ..ONE
    },
    Row {
        name: "postgres, 100 companies with a caller each, quotes",
        callers: 100,
        companies: 100,
        quotes: 1_000,
        ..ONE
    },
    Row {
        name: "postgres 1 ms farther, one caller, quotes and changes of status",
        quotes: 30,
        rejects: true,
        farther: Duration::from_millis(1),
        ..ONE
    },
];

/// The results of a row, each a value per round.
#[derive(Default)]
struct Figures {
    rates: Vec<f64>,
    /// Per operation, in microseconds, of the service and the server.
    processor: Vec<f64>,
    /// In microseconds: medians and 99th percentiles of the creations, and of the changes of status.
    creations: [Vec<f64>; 2],
    rejections: [Vec<f64>; 2],
    /// The time of the disk to keep a page, in microseconds: it bounds the rates.
    syncs: Vec<f64>,
}

/// Measures the rows that are wanted.
pub(crate) async fn measure() {
    if !ROWS.iter().any(|row| bench::wanted(row.name)) {
        return;
    }
    let Some(cluster) = durable_cluster() else { return };
    for (number, row) in ROWS.iter().enumerate().filter(|(_, row)| bench::wanted(row.name)) {
        let url = cluster.create_database(&format!("row_{number}")).await;
        row.measure(&cluster, &url).await.print(row);
    }
}

impl Row {
    async fn measure(&self, cluster: &Cluster, url: &str) -> Figures {
        let proxy = TripProxy::start(url, self.farther).await;
        let url = if self.farther.is_zero() { url.to_owned() } else { proxy.url() };
        let builder = Invoicing::postgres(PostgresSettings::new(url));
        let builder = builder.document_store(Arc::new(MemoryStore::new()));
        let invoicing = builder.open().await.expect("the service opens");
        let mut companies = Vec::with_capacity(self.companies);
        for _ in 0..self.companies {
            companies.push(open_company(&invoicing).await);
        }
        // Where the server has its data, too.
        let folder = tempfile::tempdir().expect("a folder");
        let mut figures = Figures::default();
        self.round(&invoicing, &companies).await;
        for _ in 0..ROUNDS {
            let (begun, used) = (Instant::now(), bench::processor_seconds_with(postmaster(cluster)));
            let [creations, rejections] = self.round(&invoicing, &companies).await;
            let used = bench::processor_seconds_with(postmaster(cluster)) - used;
            let operations = creations.len() + rejections.len();
            figures.rates.push(rate(operations, begun.elapsed()));
            figures.processor.push(used * 1e6 / float(operations));
            figures.syncs.push(sync_time(folder.path()) * 1e3);
            add_quantiles(&mut figures.creations, &creations);
            add_quantiles(&mut figures.rejections, &rejections);
        }
        invoicing.close().await;
        figures
    }

    /// Lets all callers work; how long each creation and each rejection took, in microseconds.
    async fn round(&self, invoicing: &Invoicing, companies: &[(CompanyId, ClientId)]) -> [Vec<f64>; 2] {
        let mut callers = JoinSet::new();
        for caller in 0..self.callers {
            let (company, client) = companies[caller % companies.len()];
            let (quotes, rejects) = (self.quotes / self.callers, self.rejects);
            callers.spawn(call(invoicing.company(company), client, quotes, rejects));
        }
        let (mut creations, mut rejections) = (Vec::new(), Vec::new());
        for [created, rejected] in callers.join_all().await {
            creations.extend(created);
            rejections.extend(rejected);
        }
        [creations, rejections]
    }
}

async fn call(company: CompanyHandle, client: ClientId, quotes: usize, rejects: bool) -> [Vec<f64>; 2] {
    let (mut created, mut rejected) = (Vec::with_capacity(quotes), Vec::new());
    for _ in 0..quotes {
        let new = new_quote(client);
        let begun = Instant::now();
        let quote = company.quotes().create(&new).await.expect("a quote").summary.id;
        created.push(begun.elapsed().as_secs_f64() * 1e6);
        if rejects {
            let begun = Instant::now();
            company.quotes().reject(quote).await.expect("a rejected quote");
            rejected.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    [created, rejected]
}

fn add_quantiles(figures: &mut [Vec<f64>; 2], durations: &[f64]) {
    if !durations.is_empty() {
        figures.iter_mut().zip([0.5, 0.99]).for_each(|(all, part)| all.push(quantile(durations, part)));
    }
}

impl Figures {
    fn print(&self, row: &Row) {
        println!("{}: medians of {ROUNDS} rounds", row.name);
        aside("operations", &self.rates, "a second");
        aside("fdatasync of a page beside it", &self.syncs, "µs");
        // Otherwise the proxy's would be counted, too.
        if row.farther.is_zero() {
            aside("processor per operation, service and server", &self.processor, "µs");
        }
        for (what, [p50, p99]) in [("creation", &self.creations), ("change of status", &self.rejections)] {
            if !p50.is_empty() {
                aside(&format!("{what}, median"), p50, "µs");
                aside(&format!("{what}, p99"), p99, "µs");
            }
        }
    }
}
