//! 16 concurrent writers: on SQLite against a pool of one connection with a commit per operation, which runs the same
//! statements on the same tables, prepared, `synchronous=FULL`; on PostgreSQL those of one company against those of many.
//! And what a change takes on PostgreSQL, ours alone: `cargo bench -p invoicing-tests --bench writers -- postgres`.

mod changes;
mod companies;
mod one_connection;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use invoicing_core::{ClientId, CompanyId, NewClient, Plan};
use invoicing_server::Invoicing;
use invoicing_tests::bench::{self, aside, quantile, rate, report};
use invoicing_tests::{new_company, new_quote, postgres};
use one_connection::OneConnection;
use tokio::task::JoinSet;

const WRITERS: usize = 16;
const ROUNDS: usize = 9;
/// Operations per side and round.
const OPERATIONS: usize = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    CreateClient,
    CreateQuote,
}

fn main() {
    bench::block_on(async {
        compare().await;
        if bench::wanted("companies") && postgres::is_installed() {
            companies::compare().await;
        }
        changes::measure().await;
    });
}

async fn compare() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
    let ours = Arc::new(Ours::open(&folder.path().join("ours.db")).await);
    let rival = Arc::new(OneConnection::open(&folder.path().join("rival.db")).await);
    println!(
        "writers on sqlite: {WRITERS} writers, operations per second, ours / one connection with a commit each"
    );
    for operation in [Operation::CreateClient, Operation::CreateQuote] {
        if !bench::wanted(&format!("{operation:?}")) {
            continue;
        }
        let (mut ratios, mut of_ours, mut of_rival) = (Vec::new(), Vec::new(), Vec::new());
        let (mut tails, mut rival_tails, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (ours, ours_p99) = run(&ours, operation).await;
            let (rival, rival_p99) = run(&rival, operation).await;
            let sync = sync_time(folder.path());
            // The first round warms both up.
            if round > 0 {
                ratios.push(ours / rival);
                of_ours.push(ours);
                of_rival.push(rival);
                tails.push(ours_p99);
                rival_tails.push(rival_p99);
                syncs.push(sync);
            }
        }
        report(&format!("{operation:?}"), &ratios, ">= 1.7");
        aside("ours", &of_ours, "operations/s");
        aside("one connection", &of_rival, "operations/s");
        aside("ours, p99", &tails, "ms");
        aside("one connection, p99", &rival_tails, "ms");
        let limit = (25.0 * quantile(&syncs, 0.5)).max(25.0);
        println!("    p99 must be under {limit:.1} ms (fdatasync: {:.2} ms)", quantile(&syncs, 0.5));
    }
}

/// A side: does one operation, of one of the writers.
trait Side: Send + Sync + 'static {
    fn operate(&self, writer: usize, operation: Operation) -> impl Future<Output = ()> + Send;
}

/// Operations per second, and the 99th percentile of their durations in milliseconds.
async fn run<S: Side>(side: &Arc<S>, operation: Operation) -> (f64, f64) {
    let mut writers = JoinSet::new();
    let begun = Instant::now();
    for writer in 0..WRITERS {
        let side = Arc::clone(side);
        writers.spawn(async move {
            let mut durations = Vec::with_capacity(OPERATIONS / WRITERS);
            for _ in 0..OPERATIONS / WRITERS {
                let begun = Instant::now();
                side.operate(writer, operation).await;
                durations.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            durations
        });
    }
    let durations = writers.join_all().await.concat();
    (rate(durations.len(), begun.elapsed()), quantile(&durations, 0.99))
}

/// The time of one `fdatasync` of a page, in milliseconds.
fn sync_time(folder: &Path) -> f64 {
    let mut file = std::fs::File::create(folder.join("sync")).expect("a file");
    let times: Vec<f64> = (0..50)
        .map(|_| {
            file.write_all(&[0; 4_096]).expect("a write");
            let begun = Instant::now();
            file.sync_data().expect("a sync");
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    quantile(&times, 0.5)
}

fn new_client() -> NewClient {
    NewClient {
        email: Some("lea@exemple.fr".into()),
        city: Some("Lyon".into()),
        ..NewClient::named("Léa Lefèvre")
    }
}

async fn open_company(invoicing: &Invoicing) -> (CompanyId, ClientId) {
    let new = new_company("Martin Peinture", Plan::Team);
    let company = invoicing.companies().create(&new).await.expect("a company").id;
    let client = invoicing.company(company).clients().create(&new_client()).await.expect("a client").id;
    (company, client)
}

struct Ours {
    invoicing: Invoicing,
    company: CompanyId,
    client: ClientId,
}

impl Ours {
    async fn open(database: &Path) -> Self {
        let invoicing = Invoicing::sqlite(database).open().await.expect("the service opens");
        let (company, client) = open_company(&invoicing).await;
        Self { invoicing, company, client }
    }
}

impl Side for Ours {
    async fn operate(&self, _: usize, operation: Operation) {
        let company = self.invoicing.company(self.company);
        match operation {
            Operation::CreateClient => {
                company.clients().create(&new_client()).await.expect("a client");
            }
            Operation::CreateQuote => {
                company.quotes().create(&new_quote(self.client)).await.expect("a quote");
            }
        }
    }
}

impl Side for OneConnection {
    async fn operate(&self, _: usize, operation: Operation) {
        match operation {
            Operation::CreateClient => {
                self.create_client(&new_client()).await.expect("a client");
            }
            Operation::CreateQuote => {
                self.create_quote(&new_quote(self.client)).await.expect("a quote");
            }
        }
    }
}
