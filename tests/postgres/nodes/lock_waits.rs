//! A write waits for other changes of the same company, and for nothing else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::{EventKind, NewClient, Plan, QuoteStatus};
use invoicing_server::{CompanyHandle, Invoicing, PostgresSettings};
use invoicing_tests::{Database, Receiver, World, on_postgres};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::time::timeout;

use super::{WAITING, call, comes_to};
use crate::support::{
    DAY, client_of, draft_of, emit_for, hook_for, issued_over, payment, quote_at, signature,
};

const TABLES: &str = "SELECT table_name::text FROM information_schema.columns \
     JOIN information_schema.tables USING (table_schema, table_name) \
     WHERE table_schema = 'public' AND column_name = 'company_id' AND table_type = 'BASE TABLE'";
/// A transaction in the middle of changing all records of a company; it does not end.
async fn in_the_middle_of_changing(world: &World, company: &CompanyHandle) -> PgConnection {
    let mut connection = PgConnection::connect(world.place().url()).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut connection).await.unwrap();
    assert!(tables.len() > 10, "{tables:?}");
    connection.execute("BEGIN").await.unwrap();
    let mut locked = vec![("company".to_owned(), "id")];
    locked.extend(tables.into_iter().map(|table| (table, "company_id")));
    for (table, column) in locked {
        let statement = format!("SELECT FROM {table} WHERE {column} = $1 FOR UPDATE");
        let rows = sqlx::query(AssertSqlSafe(statement)).bind(company.id().0);
        rows.fetch_all(&mut connection).await.unwrap();
    }
    connection
}

/// Makes one change of each kind in a company. Returns only once all changes are committed.
async fn do_business(world: &World, company: &CompanyHandle, key: &str, receiver: &Receiver) {
    let webhooks = company.webhooks();
    let webhook = hook_for(company, &receiver.url, EventKind::ALL).await.webhook.id;
    let quote = draft_of(company).await;
    company.quotes().send(quote.summary.id, None).await.unwrap();
    let link = company.quotes().create_signing_link(quote.summary.id).await.unwrap();
    world.invoicing.signing_links().sign(link.reveal(), &signature()).await.unwrap();
    assert_eq!(company.quotes().get(quote.summary.id).await.unwrap().summary.status, QuoteStatus::Accepted);
    let invoice = issued_over(company, "100").await;
    company.invoices().pay(invoice.summary.id, &payment("40", Some("R"))).await.unwrap();
    company.invoices().mark_paid(invoice.summary.id).await.unwrap();
    let events = emit_for(company, 20).await;
    let answer = call(&world.invoicing, "GET", "/api/v1/quotes", key, "").await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    let body = r#"{"name":"Léa","externalId":"crm-1"}"#;
    assert_eq!(call(&world.invoicing, "POST", "/api/v1/clients", key, body).await.status, 201);
    // The world's company has deliveries that are due and locked: they are passed over.
    let report = world.dispatch().await;
    assert!(report.delivered >= 20, "{report:?}");
    assert!(receiver.received().len() >= events.len());
    webhooks.disable(webhook).await.unwrap();
    webhooks.enable(webhook).await.unwrap();
    webhooks.rotate(webhook).await.unwrap();
    webhooks.remove(webhook).await.unwrap();
    let issued = company.keys().issue("another").await.unwrap();
    company.keys().revoke(issued.record.id).await.unwrap();
}

#[on_postgres(worker_threads = 4)]
async fn a_company_that_is_being_changed_delays_no_other(db: Database) {
    let world = World::new(db).await;
    let [ours, theirs] = [Receiver::start().await, Receiver::start().await];
    hook_for(&world.company, &ours.url, EventKind::ALL).await;
    issued_over(&world.company, "100").await;
    emit_for(&world.company, 20).await;
    let (other, key) = world.another("Autre", Plan::Team).await;

    let middle = in_the_middle_of_changing(&world, &world.company).await;
    // The transaction never ends, so an operation that waited for it would fail.
    do_business(&world, &other, &key, &theirs).await;
    assert!(ours.received().is_empty(), "deliveries of the locked company were attempted");

    // Writers of the same company show that the locks are real.
    let release = async {
        comes_to("a writer that waits", async || world.count(WAITING).await > 0).await;
        middle.close().await.unwrap();
    };
    tokio::join!(draft_of(&world.company), release);
    world.dispatch().await;
    world.assert_all_ended().await;
    assert!(ours.received().len() >= 20);
}

/// Rules: NUMBER-7
#[on_postgres(worker_threads = 4)]
async fn a_change_that_waited_is_dated_by_the_clock_after_the_wait(db: Database) {
    let world = World::new(db).await;
    let middle = in_the_middle_of_changing(&world, &world.company).await;
    let release = async {
        comes_to("a writer that waits", async || world.count(WAITING).await > 0).await;
        world.advance(DAY);
        middle.close().await.unwrap();
    };
    let new = NewClient::named("Léa");
    let clients = world.company.clients();
    let (created, ()) = tokio::join!(clients.create(&new), release);
    let client = created.unwrap();
    assert_eq!((client.created_at, client.updated_at), (world.now(), world.now()));
}

/// More tasks than connections.
const CROWD: usize = 200;

#[on_postgres(worker_threads = 4)]
async fn a_crowd_on_one_company_leaves_connections_to_another(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let (quote, theirs) = (quote_at(client_of(&world.company).await, "10"), client_of(&other).await);
    let quotes = world.company.quotes();
    let done = AtomicUsize::new(0);
    let crowd = join_all((0..CROWD).map(|_| async {
        let made = quotes.create(&quote).await;
        done.fetch_add(1, Ordering::SeqCst);
        made
    }));
    let beside = async {
        other.quotes().create(&quote_at(theirs, "10")).await.unwrap();
        done.load(Ordering::SeqCst)
    };
    let (made, done_before) = tokio::join!(crowd, beside);
    assert!(made.iter().all(Result::is_ok), "{:?}", made.iter().find(|made| made.is_err()));
    // If they share a worker: the transaction that had begun, and the other one's own, of 64 changes each.
    assert!(done_before < CROWD * 3 / 4, "one of another company waited for {done_before} of the crowd");
}

/// Number of other companies: some of them share transactions with the company that waits.
const OTHERS: usize = 12;
/// Much longer than a transaction of several companies waits for a row, and shorter than a single company's does.
const SOON: Duration = Duration::from_secs(20);
const LOCK_TIMEOUT_MS: u64 = 60_000;

/// Rules: ISOLATION-1
#[on_postgres(worker_threads = 4)]
async fn a_company_whose_webhook_is_locked_soon_delays_no_other(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhook = hook_for(&world.company, &receiver.url, EventKind::ALL).await.webhook.id;
    let mut others = Vec::new();
    for number in 0..OTHERS {
        let (other, _) = world.another(&format!("Other {number}"), Plan::Starter).await;
        others.push(other);
    }
    let mut locking = PgConnection::connect(world.place().url()).await.unwrap();
    locking.execute("BEGIN; SELECT FROM webhook FOR UPDATE").await.unwrap();
    let settings =
        PostgresSettings { lock_timeout_ms: LOCK_TIMEOUT_MS, ..PostgresSettings::new(world.place().url()) };
    let node = world.node_from(Invoicing::postgres(settings)).await;
    let here = |company: &CompanyHandle| node.company(company.id());
    let (company, others) = (here(&world.company), others.iter().map(here).collect::<Vec<_>>());
    let webhooks = company.webhooks();
    let beside = async {
        comes_to("a change that waits", async || world.count(WAITING).await > 0).await;
        let made = join_all(others.iter().map(draft_of));
        timeout(SOON, made).await.expect("others are not delayed for long");
        locking.close().await.unwrap();
    };
    let (disabled, ()) = tokio::join!(webhooks.disable(webhook), beside);
    disabled.unwrap();
    node.close().await;
}
