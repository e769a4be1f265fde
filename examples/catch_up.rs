//! A copy of all quotes that stays in step, even if webhooks were missed.
//!
//! ```console
//! $ cargo run --example catch_up                                                    # on a service of its own
//! $ cargo run --example catch_up -- http://127.0.0.1:8080 isk_… quotes.checkpoint   # one pass, against a sandbox
//! ```
//!
//! A pass asks for everything modified since the checkpoint and moves it once all of that is stored. Run it at start
//! and every few minutes; what webhooks bring meanwhile only makes the copy fresher. Run it twice: the second pass has
//! nothing to tell.

use std::collections::HashMap;
use std::future::ready;

use invoicing_client::{CatchUp, FileCheckpoint, InvoicingClient, QuoteItem, Quotes};
use invoicing_core::{NewClient, NewLine, NewQuote, QuoteId, quantity};
use invoicing_examples::{Demo, Failure};

/// The integrator's copy. A real one is a table, written in the handler, before `Ok`.
type Copy = HashMap<QuoteId, QuoteItem>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => demonstrate().await,
        [base_url, key, checkpoint] => {
            let client = InvoicingClient::builder(base_url, &**key).build()?;
            let mut catch_up = client.quotes().catch_up(FileCheckpoint::new(checkpoint));
            pass(&mut catch_up, &mut Copy::new()).await.map(drop)
        }
        _ => Err("give no arguments, or BASE_URL KEY CHECKPOINT_FILE".into()),
    }
}

/// One pass; how many versions it brought.
async fn pass(catch_up: &mut CatchUp<Quotes>, copy: &mut Copy) -> Result<usize, Failure> {
    let pass = catch_up.pass(|quote| {
        let lines = quote.lines.as_ref().map_or(0, Vec::len);
        println!(
            "  {} {} {} {lines} lines {}",
            quote.summary.updated_at, quote.summary.number, quote.summary.status, quote.summary.total_ttc
        );
        // Versions come oldest first, and a version may come again: the newest stays.
        copy.insert(quote.summary.id, quote);
        // An error here would leave the checkpoint unchanged, and the record would come again.
        ready(Ok::<(), std::io::Error>(()))
    });
    let pass = pass.await?;
    println!("{} new or changed; the next pass begins at {}", pass.delivered, pass.since);
    Ok(pass.delivered)
}

async fn demonstrate() -> Result<(), Failure> {
    let demo = Demo::start().await?;
    let quotes = demo.company.quotes();
    let client = demo.company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
    let line = NewLine::new("Peinture", quantity!(12.5), 24, 10).unit("m2");
    let new = NewQuote::empty(client.id).line(line);
    let first = quotes.create(&new).await?;
    quotes.create(&new).await?;

    let folder = tempfile::tempdir()?;
    let checkpoint = FileCheckpoint::new(folder.path().join("quotes.checkpoint.json"));
    let client = InvoicingClient::builder(&demo.base_url, &*demo.key).build()?;
    let mut copy = Copy::new();
    let mut brought = Vec::new();
    brought.push(pass(&mut client.quotes().catch_up(checkpoint.clone()), &mut copy).await?);

    println!("meanwhile one is sent and one is new");
    quotes.send(first.summary.id, None).await?;
    quotes.create(&new).await?;
    // As after a restart: only the file has the checkpoint.
    let mut catch_up = client.quotes().catch_up(checkpoint);
    brought.push(pass(&mut catch_up, &mut copy).await?);
    brought.push(pass(&mut catch_up, &mut copy).await?);

    let is_in_step = copy.len() == 3 && copy[&first.summary.id].summary.sent_at.is_some();
    if brought == [2, 2, 0] && is_in_step {
        Ok(())
    } else {
        Err(format!("the passes brought {brought:?}").into())
    }
}
