//! A node behind `PgBouncer` in transaction mode.

use invoicing_core::{EventKind, Plan, QuoteStatus};
use invoicing_server::{Invoicing, PostgresSettings, QuoteQuery};
use invoicing_tests::postgres::Pooler;
use invoicing_tests::{Batch, Database, Receiver, World, on_postgres};

use crate::support::{draft_of, hook_for, issued_over, payment};

/// Fewer connections to the server than the node has to the pooler, so that each transaction may get another one.
const TO_SERVER: u32 = 3;

#[on_postgres(worker_threads = 4)]
async fn changes_batches_and_deliveries_work_behind_pgbouncer(db: Database) {
    let world = World::new(db).await;
    let direct = world.place().url();
    let Some(pooler) = Pooler::start(direct, TO_SERVER) else { return };
    let settings = PostgresSettings {
        transaction_pooling: true,
        listen_url: Some(direct.to_owned()),
        ..PostgresSettings::new(&pooler.url)
    };
    let node = world.node_from(Invoicing::postgres(settings)).await;
    let company = node.company(world.company.id());
    let receiver = Receiver::start().await;
    hook_for(&company, &receiver.url, EventKind::ALL).await;

    let rejected = draft_of(&company).await.summary.id;
    company.quotes().reject(rejected).await.unwrap();
    let invoice = issued_over(&company, "100").await.summary.id;
    company.invoices().pay(invoice, &payment("100", None)).await.unwrap();
    let window = QuoteQuery { status: Some(QuoteStatus::Rejected), ..QuoteQuery::default() };
    assert_eq!(company.quotes().list(&window).await.unwrap().data.len(), 1);
    let events = company.events().list(None, 100).await.unwrap();
    let report = node.dispatcher().run_once().await.unwrap();
    assert_eq!((report.delivered, receiver.received().len()), (events.len() as u64, events.len()));

    let (other, _) = world.another("Autre", Plan::Team).await;
    let other = node.company(other.id());
    let batch = Batch::prepare(&other, "pooled").await;
    let told = batch.run(&other).await;
    let [done, refused, unavailable] = batch.check(&other, &told).await;
    assert!(done > 30 && refused > 30 && unavailable == 0, "{done}, {refused}, {unavailable}");
    node.close().await;
}
