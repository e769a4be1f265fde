//! How a database grows, and what grows with it: times at 10,000 and 100,000 quotes on both databases, and sizes on
//! PostgreSQL.
//!
//! Quotes are made through the operations, with all that hangs on them: clients, costs, documents, invoices, payments,
//! credit notes, events, deliveries. Half of all belongs to one company, for which the times are; the rest belongs to a
//! hundred. Server and service share the machine, and there is one caller.
//!
//! `cargo bench -p invoicing-tests --bench growth`, `-- sqlite` for one database, `-- 1000000` for the sizes up to that,
//! `-- drill` for a restore of 10,000 quotes with typeset documents, or `-- drill 2000`.

mod drill;
mod sizes;
mod workload;

use std::fmt::Debug;
use std::time::Instant;

use invoicing_core::{InvoiceStatus, QuoteStatus};
use invoicing_server::{
    ClientQuery, CreditNoteQuery, InvoiceQuery, Invoicing, PageWindow, PostgresSettings, QuoteQuery,
};
use invoicing_tests::bench::{block_on, durable_cluster, quantile, wanted};
use invoicing_tests::new_quote;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use workload::{Workload, short_documents};

const CALLS: usize = 300;
/// The sum that is due on all invoices of a company.
const REPORT: &str = "SELECT CAST(sum(amount_due_cents) AS BIGINT) FROM report_invoices WHERE company_id = ";

fn main() {
    let number: Option<u64> = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    if std::env::args().any(|argument| argument == "drill") {
        let quotes = number.unwrap_or(10_000);
        block_on(drill::of_sqlite(quotes));
        block_on(drill::of_postgres(quotes));
        return;
    }
    let max = number.unwrap_or(100_000);
    if wanted("sqlite") {
        block_on(grow_file(max));
    }
    if wanted("postgres") {
        block_on(grow_server(max));
    }
}

/// The numbers of quotes at which everything is measured.
fn sizes_up_to(max: u64) -> impl Iterator<Item = u64> {
    [10_000, 100_000, 1_000_000].into_iter().filter(move |size| *size <= max)
}

async fn grow_file(max: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("invoicing.db");
    let mut workload = Workload::open(short_documents(Invoicing::sqlite(&file))).await;
    for size in sizes_up_to(max) {
        fill("sqlite", &mut workload, size).await;
        measure(&workload).await;
        let url = format!("sqlite://{}", file.display());
        let mut connection = SqliteConnection::connect(&url).await.expect("the file opens");
        timed("a report of what is due", async |_| {
            let sum = AssertSqlSafe(format!("{REPORT}'{}'", workload.company.id()));
            sqlx::query_scalar::<_, Option<i64>>(sum).fetch_one(&mut connection).await
        })
        .await;
        let bytes = std::fs::metadata(&file).expect("the file").len();
        println!("    {size} quotes take {} MB", bytes >> 20);
    }
    workload.invoicing.close().await;
}

async fn grow_server(max: u64) {
    let Some(cluster) = durable_cluster() else { return };
    let url = cluster.create_database("invoicing").await;
    let mut workload =
        Workload::open(short_documents(Invoicing::postgres(PostgresSettings::new(&url)))).await;
    let mut tables = Vec::new();
    for size in sizes_up_to(max) {
        fill("postgres", &mut workload, size).await;
        let mut connection = PgConnection::connect(&url).await.expect("the server answers");
        sqlx::raw_sql("VACUUM ANALYZE").execute(&mut connection).await.expect("statistics");
        measure(&workload).await;
        timed("a report of what is due", async |_| {
            let sum = AssertSqlSafe(format!("{REPORT}'{}'", workload.company.id()));
            sqlx::query_scalar::<_, Option<i64>>(sum).fetch_one(&mut connection).await
        })
        .await;
        tables.push((size, sizes::of(&url).await));
    }
    sizes::print(&tables);
    workload.invoicing.close().await;
}

async fn fill(database: &str, workload: &mut Workload, size: u64) {
    let begun = Instant::now();
    workload.grow_to(size).await;
    println!("\n{database}, {size} quotes (filled in {:.0} s)", begun.elapsed().as_secs_f64());
}

async fn measure(workload: &Workload) {
    let (quotes, invoices, clients) =
        (workload.company.quotes(), workload.company.invoices(), workload.company.clients());
    let middle = workload.middle;
    for (what, include_lines, status, offset, since) in [
        ("quotes by creation", false, None, 0, None),
        ("quotes by creation, with lines", true, None, 0, None),
        ("quotes since the middle", false, None, 0, Some(middle)),
        ("quotes in one status", false, Some(QuoteStatus::Accepted), 0, None),
        ("quotes since the middle, in one status", false, Some(QuoteStatus::Accepted), 0, Some(middle)),
        ("quotes at offset 4,000", false, None, 4_000, None),
    ] {
        let window = PageWindow { offset, since, ..PageWindow::default() };
        timed(what, async |_| quotes.list_json(&QuoteQuery { include_lines, status, window }).await).await;
    }
    for (what, status, since) in [
        ("invoices by creation", None, None),
        ("invoices in one status", Some(InvoiceStatus::Sent), None),
        ("invoices since the middle", None, Some(middle)),
    ] {
        let window = PageWindow { since, ..PageWindow::default() };
        timed(what, async |_| {
            invoices.list_json(&InvoiceQuery { include_lines: false, status, window }).await
        })
        .await;
    }
    timed("credit notes", async |_| {
        workload.company.credit_notes().list_json(&CreditNoteQuery::default()).await
    })
    .await;
    timed("clients by a word", async |_| clients.list_json(&ClientQuery::default().q("lefevre 77")).await)
        .await;
    timed("a quote", async |call| quotes.get_json(workload.some_quote(call)).await).await;
    timed("an invoice", async |call| invoices.get_json(workload.some_invoice(call)).await).await;
    timed("a quote is created", async |_| quotes.create(&new_quote(workload.client)).await).await;
    timed("a quote is accepted", async |_| {
        let quote = quotes.create(&new_quote(workload.client)).await?;
        quotes.accept(quote.summary.id).await
    })
    .await;
}

/// Prints how long calls take.
async fn timed<T, E: Debug>(what: &str, mut call: impl AsyncFnMut(usize) -> Result<T, E>) {
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS + CALLS / 10 {
        let begun = Instant::now();
        call(number).await.expect("an answer");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    // The first ones warm everything up.
    let times = &times[CALLS / 10..];
    let [p50, p99] = [0.5, 0.99].map(|part| quantile(times, part));
    println!("    {what:<40} p50 {p50:>8.2} ms, p99 {p99:>8.2} ms");
}
