//! Rows of a newer version, as a newer node writes them during a rolling upgrade: they are shown with all their fields, and
//! stay as they are.

use invoicing_core::{
    ClientId, CompanyIdentity, InvoiceId, NewClient, NewCreditNote, NewQuote, ProjectId, ProjectStatus,
    QuoteId, money,
};
use invoicing_server::{Error, NewPayment, NewProject, PaymentSource};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use serde_json::{Value, json};

use crate::support::{issued_over, payment, refused};

const LISTS: [&str; 6] = [
    "/api/v1/quotes?include=lines",
    "/api/v1/quotes?since=2026-01-01T00:00:00Z",
    "/api/v1/invoices?include=lines&since=2026-01-01T00:00:00Z",
    "/api/v1/invoices?limit=1",
    "/api/v1/clients?since=2026-01-01T00:00:00Z",
    "/api/v1/clients?limit=1",
];

/// A quote with its client, and an invoice of another one.
struct Records {
    quote: QuoteId,
    invoice: InvoiceId,
    client: ClientId,
}

impl Records {
    async fn create(world: &World) -> Self {
        // A name that looks like the lines in the JSON of a record.
        let client = world.client(",\"lines\":[]").await;
        let quote = world.company.quotes().create(&new_quote(client)).await.unwrap().summary;
        let accepted = world.accepted().await.summary.id;
        let invoice = world.company.invoices().convert(accepted).await.unwrap().summary.id;
        Self { quote: quote.id, invoice, client: quote.client_id }
    }
}

/// Makes rows such as a newer version writes them: with a field that this one does not know.
async fn make_newer(world: &World, tables: &[&str]) {
    for table in tables {
        let column = if matches!(*table, "quote" | "invoice" | "credit_note") { "summary" } else { "record" };
        let statement = format!(
            "UPDATE {table} SET version = version + 1, {column} = '{{\"added\":1,' || substr({column}, 2)"
        );
        assert!(world.run(&statement, &[]).await > 0, "{statement}");
    }
}

/// Rules: STORED-3
#[on_each_database]
async fn a_newer_row_is_answered_as_it_is_and_refuses_changes(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    let records = Records::create(&world).await;
    make_newer(&world, &["quote", "invoice", "client"]).await;
    for path in LISTS {
        let items = world.get(path).await.json["data"].as_array().unwrap().clone();
        assert!(!items.is_empty(), "{path}");
        for item in items {
            assert_eq!(item["added"], 1, "{path}");
        }
    }
    let path = format!("/api/v1/quotes/{}", records.quote);
    let before = world.dump().await;
    let refused = world.send("PATCH", &path, &json!({"externalId": "deal-1"})).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "storage_unavailable"));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(world.dump().await, before);
    assert_eq!(world.get(&path).await.json["added"], 1);
}

/// Rules: STORED-3
#[on_each_database]
async fn a_page_shows_the_fields_of_newer_rows_beside_those_of_this_version(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    world.client("Today's").await;
    let newer = world.client("Newer").await;
    let update = "UPDATE client SET version = version + 1, record = '{\"added\":1,' || substr(record, 2) WHERE id = $1";
    world.run(update, &[newer.0.into()]).await;
    let page = world.get("/api/v1/clients?limit=2").await.json;
    let added: Vec<Value> =
        page["data"].as_array().unwrap().iter().map(|item| item["added"].clone()).collect();
    assert_eq!(added, [json!(1), Value::Null]);
}

/// Rules: STORED-3
#[on_each_database]
async fn no_operation_changes_a_row_of_a_newer_version(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    let company = &world.company;
    let paid = {
        let quote = world.accepted().await.summary.id;
        let id = company.invoices().convert(quote).await.unwrap().summary.id;
        company.invoices().issue(id, None).await.unwrap();
        (id, company.invoices().pay(id, &payment("10", None)).await.unwrap().payment.id)
    };
    let new = NewProject { name: "Project".into(), client_id: None, quote_ids: Vec::new() };
    let project: ProjectId = company.projects().create(&new).await.unwrap().id;
    make_newer(&world, &["quote", "invoice", "client", "payment", "project", "company"]).await;
    let before = world.dump().await;
    let change = NewClient::named("Changed");
    let identity = CompanyIdentity { phone: Some("1".into()), ..CompanyIdentity::default() };
    for refused in [
        company.quotes().send(records.quote, None).await.map(drop),
        company.quotes().edit(records.quote, &NewQuote::empty(records.client)).await.map(drop),
        company.invoices().issue(records.invoice, None).await.map(drop),
        company.invoices().reverse_payment(paid.0, paid.1).await.map(drop),
        company.clients().change(records.client, &change).await.map(drop),
        company.projects().set_status(project, ProjectStatus::Completed).await.map(drop),
        company.set_identity(&identity).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))), "{refused:?}");
    }
    assert_eq!(world.dump().await, before);
}

/// Rules: STORED-3
#[on_each_database]
async fn no_change_of_a_newer_invoice_or_credit_note_is_made(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    let (invoices, notes) = (world.company.invoices(), world.company.credit_notes());
    let id = issued_over(&world.company, "100").await.summary.id;
    let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(10));
    let note = invoices.credit(id, &part).await.unwrap().summary;
    let overpaid = issued_over(&world.company, "100").await.summary.id;
    let payment = NewPayment::new(money!(30), PaymentSource::Bank);
    invoices.pay(overpaid, &NewPayment::new(money!(100), PaymentSource::Bank)).await.unwrap();
    invoices
        .credit(overpaid, &NewCreditNote::new("Remise").reduction("Remise", 0, money!(50)))
        .await
        .unwrap();
    make_newer(&world, &["invoice", "credit_note"]).await;
    let detail = world.get(&format!("/api/v1/credit-notes/{}", note.id)).await.json;
    assert_eq!((&detail["added"], &detail["number"]), (&1.into(), &note.number.as_str().into()));
    let page = world.get("/api/v1/credit-notes?include=lines&since=2026-01-01T00:00:00Z").await.json;
    assert!(page["data"].as_array().unwrap().iter().all(|item| item["added"] == 1), "{page}");
    notes.open_document(note.id).await.unwrap();
    for (what, error) in [
        ("credit", refused(&world, "credit", invoices.credit(id, &part)).await),
        ("cancel", refused(&world, "cancel", invoices.cancel(id)).await),
        ("pay", refused(&world, "pay", invoices.pay(id, &payment)).await),
        ("mark paid", refused(&world, "mark paid", invoices.mark_paid(id)).await),
        ("refund", refused(&world, "refund", invoices.refund(overpaid, &payment)).await),
    ] {
        assert!(matches!(error, Error::StorageUnavailable(_)), "{what}: {error:?}");
    }
}
