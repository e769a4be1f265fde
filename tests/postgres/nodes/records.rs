//! Records: stamps in the order of commits, numbers without gaps, and nothing created twice, on any node.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use invoicing_core::{ClientId, InvoiceId, NewClient, NewCreditNote, QuoteStatus, Timestamp, money};
use invoicing_server::{ClientQuery, CompanyHandle, Decline, Error, ManualClock, PageWindow};
use invoicing_tests::{Database, World, new_quote, on_postgres};
use tokio::sync::Barrier;

use super::{MINUTE, Nodes, call};
use crate::operations::imports::{IMPORT, Writers, assert_no_gaps};
use crate::support::hooked_store::HookedStore;
use crate::support::{client_of, payment, quote_at};

/// Rules: STAMP-2
#[on_postgres]
async fn stamps_increase_over_nodes_whose_clocks_are_minutes_apart(db: Database) {
    let nodes = Nodes::minutes_apart(World::new(db).await).await;
    let mut last = Timestamp::from_millis(0);
    for n in 0..60 {
        let client = nodes.company(n).clients().create(&NewClient::named("x")).await.unwrap();
        assert!(client.updated_at > last, "{} after {last}, on node {}", client.updated_at, n % 3);
        last = client.updated_at;
    }
}

const WRITERS: usize = 9;
const CLIENTS_EACH: usize = 40;

/// A reader that reads by `since` while nodes write, and goes on from `asOf`, has seen everything in the end.
///
/// Rules: LIST-9
#[on_postgres(worker_threads = 4)]
async fn a_reader_beside_writers_on_all_nodes_misses_nothing(db: Database) {
    let nodes = Arc::new(Nodes::minutes_apart(World::new(db).await).await);
    let at_work = Arc::new(AtomicUsize::new(WRITERS));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (nodes, at_work) = (Arc::clone(&nodes), Arc::clone(&at_work));
        writers.spawn(async move {
            let mut stamps = Vec::new();
            for n in 0..CLIENTS_EACH {
                // Each writer goes from node to node: its changes are in order all the same.
                let company = nodes.company(writer + n);
                let client = company.clients().create(&NewClient::named("x")).await.unwrap();
                stamps.push((client.id, client.updated_at));
            }
            at_work.fetch_sub(1, Ordering::SeqCst);
            stamps
        });
    }
    let reader = read_along(nodes.company(2), &at_work).await;
    let written = writers.join_all().await;
    for stamps in &written {
        assert!(stamps.is_sorted_by(|(_, a), (_, b)| a < b), "{stamps:?}");
    }
    let written: BTreeMap<ClientId, Timestamp> = written.into_iter().flatten().collect();
    assert_eq!(written.len(), WRITERS * CLIENTS_EACH);
    assert_eq!(written.values().collect::<HashSet<_>>().len(), written.len(), "no stamp is given twice");
    assert_eq!(reader, written);
}

/// Reads to the end again and again, each pass from the `asOf` of the one before, until no writer is left.
async fn read_along(company: CompanyHandle, at_work: &AtomicUsize) -> BTreeMap<ClientId, Timestamp> {
    let mut seen = BTreeMap::new();
    let mut since: Option<Timestamp> = None;
    loop {
        let is_last = at_work.load(Ordering::SeqCst) == 0;
        let (mut offset, mut as_of) = (0, None);
        loop {
            let window = PageWindow { since, limit: 100, offset };
            let page =
                company.clients().list(&ClientQuery { window, ..ClientQuery::default() }).await.unwrap();
            // The first page of a pass sets the start of the next pass.
            as_of = as_of.or(Some(page.as_of));
            for client in &page.data {
                assert!(since.is_none_or(|since| client.updated_at >= since));
                let is_new = seen.insert(client.id, client.updated_at).is_none();
                let is_late = is_new && since.is_some_and(|since| client.updated_at == since);
                assert!(!is_late, "a change became visible under a stamp that had been read");
            }
            offset += 100;
            if page.data.len() < 100 {
                break;
            }
        }
        since = as_of;
        if is_last {
            return seen;
        }
    }
}

/// Rules: NUMBER-3, NUMBER-8
#[on_postgres(worker_threads = 4)]
async fn numbers_have_no_gaps_over_nodes(db: Database) {
    let nodes = Nodes::minutes_apart(World::new(db).await).await;
    let client = client_of(&nodes.world.company).await;
    let mut made = Vec::new();
    for some in (0..60).collect::<Vec<_>>().chunks(12) {
        made.extend(join_all(some.iter().map(|n| invoiced(nodes.company(*n), client))).await);
    }
    let mut credited = Vec::new();
    for some in made.iter().enumerate().collect::<Vec<_>>().chunks(12) {
        // Through another node than the one that issued it; each third is cancelled, the others are credited in part.
        let credits =
            some.iter().map(|(n, made)| credited_of(nodes.company(n + 1), made.invoice, n % 3 == 0));
        credited.extend(join_all(credits).await);
    }
    let (quotes, invoices) = made.into_iter().map(|made| (made.quote_number, made.number)).unzip();
    for (series, mut numbers) in [("DEV", quotes), ("FAC", invoices), ("AVO", credited)] {
        numbers.sort();
        let expected: Vec<String> = (1..=60).map(|n| format!("{series}-2026-{n:04}")).collect();
        assert_eq!(numbers, expected);
    }
}

/// An issued invoice and its quote.
struct Invoiced {
    invoice: InvoiceId,
    quote_number: String,
    number: String,
}

async fn invoiced(company: CompanyHandle, client: ClientId) -> Invoiced {
    let quote = company.quotes().create(&quote_at(client, "10")).await.unwrap();
    company.quotes().accept(quote.summary.id).await.unwrap();
    let invoice = company.invoices().convert(quote.summary.id).await.unwrap();
    let issued = company.invoices().issue(invoice.summary.id, None).await.unwrap().summary;
    Invoiced { invoice: issued.id, quote_number: quote.summary.number, number: issued.number.unwrap() }
}

/// The number of the credit note of an invoice that is cancelled, or credited in part.
async fn credited_of(company: CompanyHandle, invoice: InvoiceId, cancels: bool) -> String {
    if cancels {
        let canceled = company.invoices().cancel(invoice).await.unwrap();
        return canceled.detail.credit_notes[0].number.clone();
    }
    let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(3));
    company.invoices().credit(invoice, &part).await.unwrap().summary.number
}

/// Rules: CLIENT-3
#[on_postgres(worker_threads = 4)]
async fn simultaneous_posts_of_one_external_id_create_one_client(db: Database) {
    let nodes = Nodes::of_one_clock(World::on(db).settings(|settings| settings.quota = 0).open().await).await;
    for body in [
        r#"{"name": "A", "externalId": "crm-1"}"#,
        r#"{"name": "B", "externalId": "crm-2"}"#,
        r#"{"name": "C", "externalId": "crm-3"}"#,
    ] {
        let key = &nodes.world.key;
        let posts = (0..30).map(|n| call(&nodes.all[n % 3], "POST", "/api/v1/clients", key, body));
        let heard = join_all(posts).await;
        assert_eq!(heard.iter().filter(|heard| heard.status == 201).count(), 1);
        assert!(heard.iter().all(|heard| matches!(heard.status, 200 | 201)));
        assert!(heard.iter().all(|one| one.json == heard[0].json));
    }
    assert_eq!(nodes.world.count("SELECT count(*) FROM client").await, 3);
}

/// Rules: INVOICE-12
#[on_postgres(worker_threads = 4)]
async fn payments_with_one_reference_are_one_payment(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let invoice = crate::support::issued_over(&nodes.world.company, "100").await.summary.id;
    let payment = payment("30", Some("bank-1"));
    let recorded = join_all((0..30).map(|n| {
        let company = nodes.company(n);
        let payment = payment.clone();
        async move { company.invoices().pay(invoice, &payment).await.unwrap() }
    }))
    .await;
    assert_eq!(recorded.iter().filter(|recorded| recorded.created).count(), 1);
    assert!(recorded.iter().all(|one| one.payment == recorded[0].payment));
    let invoice = nodes.company(1).invoices().get(invoice).await.unwrap();
    assert_eq!(invoice.summary.amount_paid.to_string(), "30.00");
}

/// Rules: INVOICE-8
#[on_postgres(worker_threads = 4)]
async fn a_quote_is_converted_once(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    for _ in 0..3 {
        let quote = nodes.world.accepted().await.summary.id;
        let converted = join_all((0..15).map(|n| {
            let company = nodes.company(n);
            async move { company.invoices().convert(quote).await }
        }))
        .await;
        assert_eq!(converted.iter().filter(|result| result.is_ok()).count(), 1, "{converted:?}");
        assert!(converted.iter().all(|result| matches!(result, Ok(_) | Err(Error::Conflict(_)))));
    }
    assert_eq!(nodes.world.count("SELECT count(*) FROM invoice").await, 3);
}

/// All nodes decide at one time, when the documents of the signatures are stored.
///
/// Rules: STATE-2
#[on_postgres(worker_threads = 4)]
async fn a_quote_is_signed_or_declined_by_one_and_not_both(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let nodes = Nodes::of_one_clock(world).await;
    let links: Vec<_> = nodes.all.iter().map(invoicing_server::Invoicing::signing_links).collect();
    for _ in 0..5 {
        let quote = nodes.world.sent().await;
        let token = nodes.company(1).quotes().create_signing_link(quote.summary.id).await.unwrap();
        let (signature, token) = (crate::support::signature(), token.reveal());
        let all_ready = Arc::new(Barrier::new(2 * links.len()));
        let ready = Arc::clone(&all_ready);
        store.happens_next(links.len(), move || {
            let ready = Arc::clone(&ready);
            Box::pin(async move { _ = ready.wait().await })
        });
        let signed = links.iter().map(|links| async { links.sign(token, &signature).await.is_ok() });
        let declined = links.iter().map(|links| async {
            all_ready.wait().await;
            links.decline(token, &Decline::default()).await.is_ok()
        });
        let both = async { tokio::join!(join_all(signed), join_all(declined)) };
        let (signed, declined) = tokio::time::timeout(MINUTE, both).await.expect("all of them are ready");
        store.nothing_happens();
        let signed = signed.into_iter().filter(|done| *done).count();
        let declined = declined.into_iter().filter(|done| *done).count();
        assert_eq!(signed + declined, 1, "{signed} signed, {declined} declined");
        let status = nodes.company(2).quotes().get(quote.summary.id).await.unwrap().summary.status;
        assert_eq!(status, if signed == 1 { QuoteStatus::Accepted } else { QuoteStatus::Rejected });
    }
}

/// Creates a quote on another node when a document of an import is stored, `times` times.
fn creates_elsewhere(store: &HookedStore, company: CompanyHandle, client: ClientId, times: usize) {
    store.happens_next(times, move || {
        let company = company.clone();
        Box::pin(async move { _ = company.quotes().create(&new_quote(client)).await.unwrap() })
    });
}

#[on_postgres]
async fn an_import_whose_number_another_node_takes_is_tried_eight_times(db: Database) {
    for (taken, number) in [(7, Some("DEV-2026-0008")), (8, None)] {
        let (world, store) = HookedStore::world(db).await;
        // Half a second is more than the clocks of nodes differ.
        let clocks = [-500, 500].map(|by| ManualClock::at(world.now().plus_millis(by)));
        let nodes = Nodes::with_clocks(world, clocks).await;
        let client = nodes.world.client("x").await;
        creates_elsewhere(&store, nodes.company(1), client, taken);
        let imported = nodes.company(0).quotes().import(&new_quote(client), &IMPORT).await;
        match (imported, number) {
            (Ok(quote), Some(number)) => assert_eq!(quote.summary.number, number),
            (Err(Error::StorageUnavailable(_)), None) => {}
            (imported, _) => panic!("{imported:?}"),
        }
        assert_eq!(store.memory.count(), 8);
        store.nothing_happens();
        let next = nodes.company(0).quotes().import(&new_quote(client), &IMPORT).await.unwrap();
        assert_eq!(next.summary.number, "DEV-2026-0009", "no number is lost");
    }
}

#[on_postgres(worker_threads = 4)]
async fn an_import_ends_beside_sixteen_writers_on_two_nodes(db: Database) {
    let (world, _store) = HookedStore::world(db).await;
    let nodes = Nodes::of_one_clock(world).await;
    let new = new_quote(nodes.world.client("x").await);
    let writers = Writers::start(&[nodes.company(0), nodes.company(1)], &new);
    let mut numbers = Vec::new();
    for _ in 0..5 {
        match nodes.company(0).quotes().import(&new, &IMPORT).await {
            Ok(quote) => numbers.push(quote.summary.number),
            Err(error) => assert!(matches!(error, Error::StorageUnavailable(_)), "{error:?}"),
        }
    }
    numbers.extend(writers.stop().await);
    assert_no_gaps(numbers);
}
