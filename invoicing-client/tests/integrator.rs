//! How an integrator tests a connector against [`FakeServer`]: what it does on a good day, and what it leaves behind on
//! a bad one.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use futures_util::TryStreamExt;
use invoicing_client::testing::{FakeServer, Fault};
use invoicing_client::{ErrorKind, InvoicingClient, NewClient, QuoteId, QuoteStatus};

/// The connector under test: links each accepted quote to a deal, and makes sure that the CRM's contact is a client.
async fn nightly(client: &InvoicingClient) -> Result<BTreeMap<QuoteId, String>, invoicing_client::Error> {
    let contact = NewClient { external_id: Some("contact-1".into()), ..NewClient::named("Dupont SARL") };
    client.clients().create(&contact).await?;
    let mut deals = BTreeMap::new();
    let mut quotes = client.quotes().list().status(QuoteStatus::Accepted).stream();
    while let Some(quote) = quotes.try_next().await? {
        let deal = format!("deal-{}", quote.summary.number);
        client.quotes().link(quote.summary.id, &*deal).await?;
        deals.insert(quote.summary.id, deal);
    }
    Ok(deals)
}

/// A service with some accepted quotes and others.
fn server(accepted: usize) -> FakeServer {
    let server = FakeServer::start();
    server.store(|store| {
        for _ in 0..accepted {
            store.add_quote(QuoteStatus::Draft);
            store.add_quote(QuoteStatus::Accepted);
        }
        store.clients.clear();
    });
    server
}

fn links(server: &FakeServer) -> BTreeMap<QuoteId, String> {
    server.store(|store| {
        let linked = store
            .quotes
            .iter()
            .filter_map(|quote| Some((quote.summary.id, quote.summary.external_id.clone()?)));
        linked.collect()
    })
}

#[tokio::test]
async fn a_good_night() -> Result<(), Box<dyn Error>> {
    let server = server(3);
    let deals = nightly(&server.client().build()?).await?;
    assert_eq!(deals.len(), 3);
    assert_eq!(deals, links(&server));
    // One page, one client, three links.
    assert_eq!(server.requests().len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_night_full_of_faults() -> Result<(), Box<dyn Error>> {
    for seed in 0..2 {
        let server = server(8);
        server.chaos(
            seed,
            [
                (0.1, Fault::status(503)),
                (0.05, Fault::CutBeforeRequest),
                (0.1, Fault::CutBeforeHeaders),
                (0.05, Fault::CutAfterHeaders),
                (0.05, Fault::CutInBody),
                (0.05, Fault::Slow { pieces: 3, pause: Duration::from_millis(1) }),
            ],
        );
        let client = server.client().build()?;
        // The job is repeated until it has come to its end, as a real one is every night.
        let deals = loop {
            match nightly(&client).await {
                Ok(deals) => break deals,
                Err(error) => {
                    assert!(error.kind() != ErrorKind::Unreadable && error.attempts() == 4, "{error}");
                }
            }
        };
        assert_eq!((deals.len(), &deals), (8, &links(&server)), "seed {seed}");
        // However often the creation was cut off after it was carried out.
        assert_eq!(server.store(|store| store.clients.len()), 1, "seed {seed}");
    }
    Ok(())
}

#[test]
fn a_job_without_a_runtime() -> Result<(), Box<dyn Error>> {
    let server = server(2);
    let client = server.client().build_blocking()?;
    let numbers: Result<Vec<_>, _> =
        client.quotes().list().iter().map(|quote| quote.map(|quote| quote.summary.number.clone())).collect();
    assert_eq!(numbers?, ["DEV-2026-0004", "DEV-2026-0003", "DEV-2026-0002", "DEV-2026-0001"]);
    Ok(())
}
