//! Example of an integration test with [`FakeServer`]: a connector with and without faults.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use futures_util::TryStreamExt;
use invoicing_client::testing::{FakeServer, Fault};
use invoicing_client::{ErrorKind, InvoicingClient, NewClient, QuoteId, QuoteStatus};

/// The connector under test: links each accepted quote to a deal, and creates a client for the CRM's contact.
async fn synchronise(client: &InvoicingClient) -> Result<BTreeMap<QuoteId, String>, invoicing_client::Error> {
    let contact = NewClient { external_id: Some("contact-1".into()), ..NewClient::named("Dupont SARL") };
    client.clients().create(&contact).await?;
    let mut deals = BTreeMap::new();
    let mut quotes = client.quotes().list().status(QuoteStatus::Accepted).stream();
    while let Some(quote) = quotes.try_next().await? {
        let deal = format!("deal-{}", quote.summary.number);
        client.quotes().link(quote.summary.id, &deal).await?;
        deals.insert(quote.summary.id, deal);
    }
    Ok(deals)
}

/// A service with this many accepted quotes and as many drafts.
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
async fn a_connector_links_every_accepted_quote() -> Result<(), Box<dyn Error>> {
    let server = server(3);
    let deals = synchronise(&server.client().build()?).await?;
    assert_eq!(deals.len(), 3);
    assert_eq!(deals, links(&server));
    // One client, one page, three links.
    assert_eq!(server.requests().len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_connector_survives_random_faults() -> Result<(), Box<dyn Error>> {
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
        // The job is repeated until it succeeds, like a scheduled one.
        let deals = loop {
            match synchronise(&client).await {
                Ok(deals) => break deals,
                Err(error) => {
                    assert!(error.kind() != ErrorKind::InvalidResponse && error.attempts() == 4, "{error}");
                }
            }
        };
        assert_eq!((deals.len(), &deals), (8, &links(&server)), "seed {seed}");
        // The creation was interrupted after the service had carried it out, and retried.
        assert_eq!(server.store(|store| store.clients.len()), 1, "seed {seed}");
    }
    Ok(())
}

#[test]
fn a_blocking_connector_needs_no_runtime() -> Result<(), Box<dyn Error>> {
    let server = server(2);
    let client = server.client().build_blocking()?;
    let numbers: Result<Vec<_>, _> =
        client.quotes().list().iter().map(|quote| quote.map(|quote| quote.summary.number.clone())).collect();
    assert_eq!(numbers?, ["DEV-2026-0004", "DEV-2026-0003", "DEV-2026-0002", "DEV-2026-0001"]);
    Ok(())
}
