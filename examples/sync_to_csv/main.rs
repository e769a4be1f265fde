//! Quotes, invoices, credit notes and clients as CSV files: all of them at first, then what changed.
//!
//! ```console
//! $ cargo run --example sync_to_csv                                        # on a service of its own
//! $ cargo run --example sync_to_csv -- http://127.0.0.1:8080 isk_… export  # one run, into a folder
//! ```
//!
//! Run it as often as you like. It may be stopped at any moment, with Ctrl-C or harder: a file is replaced as a whole,
//! and only then does the checkpoint move, so that the next run brings what this one has not written.

mod rows;
mod table;

use std::convert::Infallible;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use invoicing_client::{CatchUp, InvoicingClient, Resource};
use invoicing_core::{NewClient, NewLine, NewQuote};
use invoicing_examples::{Demo, Failure};

use rows::Row;
use table::Table;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (base_url, key, folder) = match &args[..] {
        [] => return demonstrate().await,
        [base_url, key, folder] => (base_url, key, folder),
        _ => return Err("give no arguments, or BASE_URL KEY FOLDER".into()),
    };
    let client = InvoicingClient::builder(base_url, &**key).build()?;
    tokio::select! {
        synced = sync(&client, Path::new(folder)) => synced.map(drop),
        _ = tokio::signal::ctrl_c() => {
            eprintln!("stopped; the next run goes on from the last complete file");
            Ok(())
        }
    }
}

/// One run over the four resources; how many versions it brought.
async fn sync(client: &InvoicingClient, folder: &Path) -> Result<usize, Failure> {
    std::fs::create_dir_all(folder)?;
    let quotes = Table::open::<invoicing_client::QuoteItem>(folder, "quotes");
    let invoices = Table::open::<invoicing_client::InvoiceItem>(folder, "invoices");
    let credit_notes = Table::open::<invoicing_client::CreditNoteItem>(folder, "credit_notes");
    let clients = Table::open::<invoicing_client::Client>(folder, "clients");
    let mut brought = pass(client.quotes().catch_up(Arc::clone(&quotes)), &quotes).await?;
    brought += pass(client.invoices().catch_up(Arc::clone(&invoices)), &invoices).await?;
    brought += pass(client.credit_notes().catch_up(Arc::clone(&credit_notes)), &credit_notes).await?;
    brought += pass(client.clients().catch_up(Arc::clone(&clients)), &clients).await?;
    Ok(brought)
}

async fn pass<R: Resource<Item: Row>>(catch_up: CatchUp<R>, table: &Arc<Table>) -> Result<usize, Failure> {
    // The service states no total, so the bar has no end.
    let bar = ProgressBar::no_length()
        .with_prefix(R::NAME)
        .with_style(ProgressStyle::with_template("{prefix:>12} {spinner} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(100));
    let shown = bar.clone();
    let mut catch_up = catch_up.on_progress(move |progress| shown.set_message(progress.to_string()));
    let pass = catch_up
        .pass(|record| {
            table.put(&record);
            ready(Ok::<(), Infallible>(()))
        })
        .await?;
    bar.finish_and_clear();
    println!(
        "{:>12}: {} new or changed, {} in {}",
        R::NAME,
        pass.delivered,
        table.len(),
        table.path().display()
    );
    Ok(pass.delivered)
}

async fn demonstrate() -> Result<(), Failure> {
    let demo = Demo::start().await?;
    let quotes = demo.company.quotes();
    let client = demo.company.clients().create(&NewClient::named("=Claire; \"Lefèvre\"")).await?;
    let first = quotes.create(&NewQuote::empty(client.id)).await?;
    let sold = NewQuote::empty(client.id).line(NewLine::new("Peinture", 10, 25, 10));
    let invoice = demo.company.invoices().create_direct(&sold).await?;
    demo.company.invoices().issue(invoice.summary.id, None).await?;
    demo.company.invoices().cancel(invoice.summary.id).await?;

    let folder = tempfile::tempdir()?;
    let api = InvoicingClient::builder(&demo.base_url, &*demo.key).build()?;
    let mut brought = vec![sync(&api, folder.path()).await?];
    println!("meanwhile one quote is linked, and one is new");
    quotes.link(first.summary.id, Some("crm-7")).await?;
    quotes.create(&NewQuote::empty(client.id)).await?;
    brought.push(sync(&api, folder.path()).await?);
    brought.push(sync(&api, folder.path()).await?);

    let written = std::fs::read_to_string(folder.path().join("quotes.csv"))?;
    let linked = written.lines().filter(|line| line.contains("crm-7")).count();
    if (&brought[..], written.lines().count(), linked) == (&[5, 2, 0], 4, 1) {
        Ok(())
    } else {
        Err(format!("the runs brought {brought:?}, and quotes.csv is\n{written}").into())
    }
}
