//! Number of times that a change waits for the server's answer, counted by a proxy in front of it.

use std::fmt::{Debug, Write as _};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use invoicing_core::{EventKind, NewClient, NewCreditNote, QuoteId, SignatureEvidence};
use invoicing_server::{CompanyHandle, Error, Invoicing, PostgresSettings, Secret, Signature};
use invoicing_tests::postgres::TripProxy;
use invoicing_tests::{Database, World, ask, new_quote, on_postgres, tell};

use crate::support::{accepted_of, client_of, draft_of, hook_for, issued_over, payment};

/// Maximum number of trips of a change whose statements are prepared.
const MAX_TRIPS: usize = 5;
/// Maximum number of trips of changes that freeze a document: they also read all that it shows, and store the row of its upload.
const SENT: usize = 14;
const SIGNED: usize = 17;
const ISSUED: usize = 18;
const CREDITED: usize = 18;
/// Each change is made `TIMES` times, and the fewest trips count: the first ones prepare their statements. The connections of
/// a node are fewer, as they take turns and each prepares for itself.
const TIMES: usize = 8;
const CONNECTIONS: u32 = 4;
/// Number of changes one after the other.
const IN_A_ROW: usize = 32;
/// A node's statements beside its operations: the time, and notifications to other nodes.
const BESIDE: [&str; 2] = ["clock_timestamp()", "pg_notify("];

#[on_postgres]
async fn a_change_takes_a_few_trips(db: Database) {
    let world = World::new(db).await;
    let proxy = TripProxy::start(world.place().url(), Duration::ZERO).await;
    let node = async |transaction_pooling| {
        let settings = PostgresSettings {
            transaction_pooling,
            max_connections: CONNECTIONS,
            ..PostgresSettings::new(proxy.url())
        };
        world.node_from(Invoicing::postgres(settings)).await
    };
    let (direct, pooled) = (node(false).await, node(true).await);
    let company = direct.company(world.company.id());
    let mut counter =
        Counter { proxy: &proxy, on: "direct", counted: String::new(), too_many: String::new() };
    count(&mut counter, &company).await;
    count_frozen(&mut counter, &direct, &company).await;
    hook_for(&company, "http://127.0.0.1:8081/hook", EventKind::ALL).await;
    counter.on = "direct, a webhook";
    count(&mut counter, &company).await;
    count_frozen(&mut counter, &direct, &company).await;
    counter.on = "as behind a pooler, a webhook";
    count(&mut counter, &pooled.company(world.company.id())).await;
    count_frozen(&mut counter, &pooled, &pooled.company(world.company.id())).await;
    counter.on = "direct, noted in the history";
    count(&mut counter, &company.acting_as("Léa").unwrap()).await;
    count_frozen(&mut counter, &direct, &company.acting_as("Léa").unwrap()).await;
    company.set_automatic_invoicing(true).await.unwrap();
    counter.on = "direct, with the invoice";
    count_acceptance(&mut counter, &company).await;
    direct.close().await;
    pooled.close().await;
    tell("trips per change", &counter.counted);
    assert!(counter.too_many.is_empty(), "too many trips:\n{}", counter.too_many);
}

/// One trip counts the request, one reads the page.
#[on_postgres]
async fn a_page_takes_two_trips(db: Database) {
    let world = World::new(db).await;
    let proxy = TripProxy::start(world.place().url(), Duration::ZERO).await;
    let postgres = PostgresSettings { max_connections: CONNECTIONS, ..PostgresSettings::new(proxy.url()) };
    let node = world.node_from(Invoicing::postgres(postgres)).await;
    let mut fewest = usize::MAX;
    for _ in 0..TIMES {
        proxy.take();
        let request = Request::get("/api/v1/quotes").header("authorization", format!("Bearer {}", world.key));
        let answer = ask(&node, request.body(Full::new(Bytes::new())).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK);
        fewest = fewest.min(proxy.take().iter().filter(|trip| is_of_a_change(trip)).count());
    }
    assert_eq!(fewest, 2);
    node.close().await;
}

#[on_postgres]
async fn changes_that_follow_each_other_keep_their_connection(db: Database) {
    let world = World::new(db).await;
    let proxy = TripProxy::start(world.place().url(), Duration::ZERO).await;
    let node = world.node_from(Invoicing::postgres(PostgresSettings::new(proxy.url()))).await;
    let company = node.company(world.company.id());
    for number in 0..IN_A_ROW {
        company.clients().create(&NewClient::named(format!("Client {number}"))).await.unwrap();
    }
    node.close().await;
    // The clock gives a connection back once a second, too.
    let given_back = proxy.take().iter().filter(|trip| trip.is_empty()).count();
    assert!(given_back < IN_A_ROW / 2, "{given_back} connections were given back");
}

async fn count(counter: &mut Counter<'_>, company: &CompanyHandle) {
    let (clients, quotes, invoices) = (company.clients(), company.quotes(), company.invoices());
    let new = NewClient::named("Léa");
    counter.at_most("a client is created", async || (), async |()| clients.create(&new).await).await;
    let prepare = async || new_quote(client_of(company).await);
    counter.at_most("a quote is created", prepare, async |new| quotes.create(&new).await).await;
    let prepare = async || sent_of(company).await;
    counter.at_most("a sent quote is rejected", prepare, async |quote| quotes.reject(quote).await).await;
    let prepare = async || {
        let quote = accepted_of(company).await.summary.id;
        invoices.convert(quote).await.unwrap().summary.id
    };
    counter.at_most("an invoice is cancelled", prepare, async |invoice| invoices.cancel(invoice).await).await;
    let (prepare, paid) = (async || issued_over(company, "100").await.summary.id, payment("100", None));
    counter.at_most("an invoice is paid", prepare, async |invoice| invoices.pay(invoice, &paid).await).await;
    count_acceptance(counter, company).await;
}

async fn count_acceptance(counter: &mut Counter<'_>, company: &CompanyHandle) {
    let (prepare, quotes) = (async || sent_of(company).await, company.quotes());
    counter.at_most("a sent quote is accepted", prepare, async |quote| quotes.accept(quote).await).await;
}

/// Changes that freeze a document.
async fn count_frozen(counter: &mut Counter<'_>, node: &Invoicing, company: &CompanyHandle) {
    let (quotes, invoices, links) = (company.quotes(), company.invoices(), node.signing_links());
    let draft = async || draft_of(company).await.summary.id;
    counter.within(SENT, "a quote is sent", draft, async |quote| quotes.send(quote, None).await).await;
    let linked = async || quotes.create_signing_link(sent_of(company).await).await.unwrap();
    let evidence = SignatureEvidence::new("Claire Lefèvre", "claire@exemple.fr", "Bon pour accord");
    let signature = Signature::new(evidence);
    let sign = async |token: Secret| links.sign(token.reveal(), &signature).await;
    counter.within(SIGNED, "a quote is signed", linked, sign).await;
    let accepted = async || {
        let quote = accepted_of(company).await.summary.id;
        invoices.convert(quote).await.unwrap().summary.id
    };
    counter.within(ISSUED, "an invoice is issued", accepted, async |id| invoices.issue(id, None).await).await;
    let issued = async || issued_over(company, "100").await.summary.id;
    let remaining = NewCreditNote::of_remaining("x");
    counter
        .within(CREDITED, "an invoice is credited", issued, async |id| invoices.credit(id, &remaining).await)
        .await;
}

async fn sent_of(company: &CompanyHandle) -> QuoteId {
    let quote = draft_of(company).await.summary.id;
    company.quotes().send(quote, None).await.unwrap().summary.id
}

struct Counter<'p> {
    proxy: &'p TripProxy,
    on: &'static str,
    /// The trips of each change, and the statements of changes that take too many.
    counted: String,
    too_many: String,
}

impl Counter<'_> {
    /// As [`Self::within`], for a change of at most [`MAX_TRIPS`] trips.
    async fn at_most<P, T: Debug>(
        &mut self,
        what: &str,
        prepare: impl AsyncFn() -> P,
        change: impl AsyncFn(P) -> Result<T, Error>,
    ) {
        self.within(MAX_TRIPS, what, prepare, change).await;
    }

    /// Counts the trips of a change; `prepare` makes its input.
    async fn within<P, T: Debug>(
        &mut self,
        max: usize,
        what: &str,
        prepare: impl AsyncFn() -> P,
        change: impl AsyncFn(P) -> Result<T, Error>,
    ) {
        let mut all = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let prepared = prepare().await;
            self.proxy.take();
            change(prepared).await.unwrap();
            let mut trips = self.proxy.take();
            trips.retain(|trip| is_of_a_change(trip));
            all.push(trips);
        }
        let trips = all.into_iter().min_by_key(Vec::len).unwrap();
        assert!(!trips.is_empty(), "{what}: no trip was seen");
        let what = format!("{what}, {}: {} of {max}", self.on, trips.len());
        write!(self.counted, "{what}; ").unwrap();
        if trips.len() > max {
            let heads: Vec<String> = trips.iter().map(|trip| head(trip)).collect();
            writeln!(self.too_many, "{what}\n    {}", heads.join("\n    ")).unwrap();
        }
    }
}

/// A trip without a statement is the pool's: it tests a connection that is given back.
fn is_of_a_change(trip: &str) -> bool {
    !trip.is_empty() && !BESIDE.iter().any(|beside| trip.contains(beside))
}

/// The begin of a sent statement, in one line.
fn head(trip: &str) -> String {
    let words: Vec<&str> = trip.split_whitespace().collect();
    words.join(" ").chars().take(110).collect()
}
