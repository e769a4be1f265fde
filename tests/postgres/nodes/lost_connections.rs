//! Every connection breaks off between two calls; each call succeeds all the same.

use invoicing_core::{EventKind, InvoiceStatus, QuoteStatus};
use invoicing_server::{ClientQuery, InvoiceQuery, QuoteQuery};
use invoicing_tests::{Database, World, on_postgres};

use crate::support::{emit, hook_for, invoice_in, quote_in, signature};

/// Waits for the end of each connection: the pool does not test one that was used a moment ago.
const CUT: &str = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'invoicing'";

async fn cut(world: &World) {
    let count: i64 = world.behind().await.one(CUT, &[]).await;
    assert!(count > 0, "nothing to cut off");
}

/// Makes each call after all connections were cut off; the next call uses the connection of the one before.
macro_rules! well_after_a_cut {
    ($world:expr, [$($call:expr),* $(,)?]) => {$(
        cut($world).await;
        if let Err(error) = $call.await {
            panic!("{}: {error:?}", stringify!($call));
        }
    )*};
}

#[on_postgres]
async fn who_calls_does_not_notice_that_connections_break_off(db: Database) {
    let world = World::new(db).await;
    let (invoicing, company) = (&world.invoicing, &world.company);
    let (quotes, invoices, clients) = (company.quotes(), company.invoices(), company.clients());
    let hook = hook_for(company, "http://127.0.0.1:8081/hook", EventKind::ALL).await.webhook.id;
    let quote = quote_in(&world, QuoteStatus::Sent).await;
    let link = quotes.create_signing_link(quote.summary.id).await.unwrap();
    let invoice = invoice_in(&world, InvoiceStatus::Sent).await.summary.id;
    let client = quote.summary.client_id;
    let event = emit(&world, 1).await[0];
    let links = invoicing.signing_links();
    well_after_a_cut!(
        &world,
        [
            invoicing.companies().list(),
            company.details(),
            company.keys().list(),
            company.projects().list(),
            company.webhooks().get(hook),
            company.webhooks().list(),
            company.webhooks().log(hook, 10),
            company.events().list(None, 10),
            company.events().deliveries(event),
            clients.get(client),
            clients.list(&ClientQuery::default()),
            quotes.get(quote.summary.id),
            quotes.get_json(quote.summary.id),
            quotes.list(&QuoteQuery::default()),
            quotes.costings(quote.summary.id),
            quotes.work_site(quote.summary.id),
            quotes.documents(quote.summary.id),
            quotes.document(quote.summary.id),
            quotes.open_document(quote.summary.id),
            quotes.proof(quote.summary.id),
            invoices.get(invoice),
            invoices.get_json(invoice),
            invoices.payments(invoice),
            invoices.list(&InvoiceQuery::default()),
            links.open(link.reveal()),
            links.sign(link.reveal(), &signature()),
            invoicing.sealed_with(),
            invoicing.sweep(),
        ]
    );
}

#[on_postgres]
async fn the_api_does_not_notice_that_connections_break_off(db: Database) {
    let world = World::new(db).await;
    let quote = quote_in(&world, QuoteStatus::Sent).await.summary.id;
    let paths = ["/quotes", "/invoices", "/clients", &format!("/quotes/{quote}")];
    for path in paths.into_iter().cycle().take(8) {
        cut(&world).await;
        let answer = world.get(&format!("/api/v1{path}")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
    }
}
