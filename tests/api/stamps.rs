//! Stamps: what moves `updatedAt`, and how stamps follow each other.

use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{
    ClientChange, NewClient, NewQuote, Percent, ProjectStatus, QuoteImport, QuoteStatus, Timestamp,
};
use invoicing_server::NewProject;
use invoicing_tests::{Database, new_quote, on_each_database};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::workload::{Workload, acts};
use crate::support::api::{
    CLIENTS, DAY, INVOICES, QUOTES, Tenant, draft_invoice, each_member, for_all_on_service, items, payment,
    read, sign, text, world,
};

/// Rules: STAMP-2
#[on_each_database]
fn every_change_has_a_later_stamp_also_where_the_clock_is_set_back(db: Database) {
    for_all_on_service(db, 24, &acts(10..40), async |world, acts| {
        let tenant = Tenant::open(world).await;
        let mut workload = Workload::open(world, &tenant.company).await;
        workload.run(&acts).await;
        assert!(workload.stamps.is_sorted_by(|a, b| a < b), "{:?}", workload.stamps);
        assert_eq!(tenant.read(QUOTES).await["asOf"], *workload.stamps.last().unwrap());
    });
}

/// Rules: STAMP-1
#[on_each_database]
async fn changes_within_one_millisecond_of_the_clock_are_one_millisecond_apart(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    let mut last = tenant.client(&NewClient::named("0")).await.updated_at;
    for n in 1..50 {
        let next = tenant.client(&NewClient::named(n.to_string())).await.updated_at;
        assert_eq!(next, last.plus_millis(1));
        last = next;
    }
    // The clock has overtaken the stamps: they follow it again.
    world.advance(DAY);
    assert_eq!(tenant.client(&NewClient::named("later")).await.updated_at, world.now());
}

/// Rules: STAMP-1, STAMP-2
#[on_each_database]
async fn stamps_go_on_when_the_clock_is_set_back(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    let quote = tenant.draft().await;
    let before = tenant.client(&NewClient::named("before")).await.updated_at;
    let since = tenant.read(QUOTES).await["asOf"].as_str().unwrap().to_owned();
    world.clock.set(world.now().plus_millis(-3_600_000));
    let after = tenant.client(&NewClient::named("after")).await.updated_at;
    assert_eq!(after, before.plus_millis(1));
    tenant.company.quotes().link(quote.summary.id, Some("crm-1")).await.unwrap();
    let found = tenant.read(&format!("{QUOTES}?since={since}")).await;
    assert_eq!(items(&found).len(), 1, "a reader would have missed the change");
    let clients = tenant.read(&format!("{CLIENTS}?since={since}")).await;
    assert_eq!(text(&items(&clients)[0], "name"), "after");
}

/// Every instant of a record that is no stamp is this one.
fn dated(record: &impl Serialize, at: Timestamp) {
    let json = serde_json::to_value(record).unwrap();
    each_member(&json, &mut |name, value| {
        if name.ends_with("At") && name != "updatedAt" && !value.is_null() {
            assert_eq!(*value, at.to_string(), "{name} of {json}");
        }
    });
}

/// Rules: STAMP-7
#[on_each_database]
async fn a_clock_that_once_ran_a_year_ahead_dates_no_later_record(db: Database) {
    let world = world(db).await;
    let right = world.now();
    world.advance(365 * DAY);
    let ahead = world.client("ahead").await;
    let mut last = world.company.clients().get(ahead).await.unwrap().updated_at;
    world.clock.set(right);

    let client = world.company.clients().create(&NewClient::named("right")).await.unwrap();
    let (company, quotes, invoices) = (&world.company, world.company.quotes(), world.company.invoices());
    let quote = quotes.create(&new_quote(client.id)).await.unwrap().summary.id;
    quotes.send(quote, None).await.unwrap();
    let signed = sign(&world, quote).await;
    let by_hand = quotes.create(&new_quote(client.id)).await.unwrap().summary.id;
    let by_hand = quotes.accept(by_hand).await.unwrap();
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
    let imported = quotes.import(&new_quote(client.id), &import).await.unwrap();
    let invoice = invoices.convert(quote).await.unwrap().summary.id;
    invoices.issue(invoice, None).await.unwrap();
    let reversed = invoices.pay(invoice, &payment("1")).await.unwrap().payment.id;
    invoices.reverse_payment(invoice, reversed).await.unwrap();
    let paid = invoices.mark_paid(invoice).await.unwrap();
    let canceled = invoices.convert(by_hand.summary.id).await.unwrap().summary.id;
    let canceled = invoices.cancel(canceled).await.unwrap();
    let new = NewProject { name: "Hall".into(), client_id: None, quote_ids: Vec::new() };
    let project = company.projects().create(&new).await.unwrap().id;
    let project = company.projects().set_status(project, ProjectStatus::Completed).await.unwrap();

    dated(&client, right);
    for quote in [&signed, &by_hand, &imported] {
        dated(quote, right);
    }
    for invoice in [&paid, &canceled] {
        dated(invoice, right);
    }
    dated(&invoices.payments(invoice).await.unwrap(), right);
    dated(&project, right);
    assert!(quotes.documents(quote).await.unwrap().iter().all(|document| document.created_at == right));
    let stamps = [client.updated_at, signed.summary.updated_at, by_hand.summary.updated_at];
    let later = [imported.summary.updated_at, paid.summary.updated_at, project.updated_at];
    for stamp in stamps.into_iter().chain(later) {
        assert!(stamp > last, "{stamp} after {last}");
        last = stamp;
    }
}

/// Rules: STAMP-2
#[on_each_database]
async fn simultaneous_changes_have_stamps_of_their_own(db: Database) {
    let world = Arc::new(world(db).await);
    let mut tasks = JoinSet::new();
    for n in 0..60 {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            let answer = world.send("POST", CLIENTS, &json!({"name": format!("Client {n}")})).await;
            text(&answer.json, "updatedAt").to_owned()
        });
    }
    let mut stamps = tasks.join_all().await;
    stamps.sort();
    let as_of = read(&world, CLIENTS).await["asOf"].clone();
    assert_eq!(as_of, *stamps.last().unwrap());
    stamps.dedup();
    assert_eq!(stamps.len(), 60);
}

/// Rules: STAMP-4
#[on_each_database]
async fn companies_have_stamps_of_their_own(db: Database) {
    let world = world(db).await;
    let (one, other) = (Tenant::open(&world).await, Tenant::open(&world).await);
    for n in 0..20 {
        one.client(&NewClient::named(n.to_string())).await;
    }
    world.advance(Duration::from_millis(5));
    let client = other.client(&NewClient::named("A")).await;
    assert_eq!(client.updated_at, world.now(), "pushed ahead by another company's changes");
}

/// Rules: STAMP-3
#[on_each_database]
async fn what_one_transaction_changes_shares_its_stamp(db: Database) {
    let world = world(db).await;
    world.company.set_automatic_invoicing(true).await.unwrap();
    let quote = world.sent().await;
    let quote = sign(&world, quote.summary.id).await;
    let invoices = read(&world, INVOICES).await;
    assert_eq!(items(&invoices)[0]["quoteId"], quote.summary.id.to_string());
    assert_eq!(items(&invoices)[0]["updatedAt"], quote.summary.updated_at.to_string());
}

/// `updatedAt` of a record.
async fn updated_at(world: &invoicing_tests::World, path: &str) -> Value {
    read(world, path).await["updatedAt"].clone()
}

/// Rules: STAMP-5
#[on_each_database]
async fn every_visible_change_of_a_quote_moves_updated_at(db: Database) {
    let world = world(db).await;
    let quotes = world.company.quotes();
    let draft = world.draft().await;
    let path = format!("{QUOTES}/{}", draft.summary.id);
    let mut last = updated_at(&world, &path).await;
    let mut moved = async |what: &str| {
        let next = updated_at(&world, &path).await;
        assert!(next.as_str() > last.as_str(), "{what}: {last} to {next}");
        last = next;
    };
    let content = NewQuote { retention_rate: Percent::from(3), ..new_quote(draft.summary.client_id) };
    quotes.edit(draft.summary.id, &content).await.unwrap();
    moved("edit").await;
    world.send("PATCH", &path, &json!({"externalId": "crm-1"})).await;
    moved("link").await;
    world.send("PATCH", &path, &json!({"externalId": "crm-2"})).await;
    moved("link elsewhere").await;
    world.send("PATCH", &path, &json!({"externalId": null})).await;
    moved("unlink").await;
    quotes.send(draft.summary.id, None).await.unwrap();
    moved("send").await;
    quotes.reject(draft.summary.id).await.unwrap();
    moved("reject").await;
    quotes.send(draft.summary.id, None).await.unwrap();
    moved("send again").await;
    world.advance(31 * DAY);
    world.invoicing.sweep().await.unwrap();
    moved("expire").await;
    quotes.send(draft.summary.id, None).await.unwrap();
    moved("send an expired one").await;
    sign(&world, draft.summary.id).await;
    moved("sign").await;
}

/// Rules: STAMP-5
#[on_each_database]
async fn every_visible_change_of_an_invoice_moves_updated_at(db: Database) {
    let world = world(db).await;
    let invoices = world.company.invoices();
    let id = draft_invoice(&world).await;
    let path = format!("{INVOICES}/{id}");
    let mut last = updated_at(&world, &path).await;
    let mut moved = async |what: &str| {
        let next = updated_at(&world, &path).await;
        assert!(next.as_str() > last.as_str(), "{what}: {last} to {next}");
        last = next;
    };
    invoices.issue(id, None).await.unwrap();
    moved("issue").await;
    world.advance(31 * DAY);
    world.invoicing.sweep().await.unwrap();
    moved("fall overdue").await;
    let partial = invoices.pay(id, &payment("1")).await.unwrap();
    moved("a partial payment").await;
    assert_eq!(partial.invoice.summary.status.as_str(), "OVERDUE");
    invoices.reverse_payment(id, partial.payment.id).await.unwrap();
    moved("its reversal").await;
    invoices.mark_paid(id).await.unwrap();
    moved("mark paid").await;
    invoices.pay(id, &payment("1")).await.unwrap();
    moved("an overpayment").await;
    let other = draft_invoice(&world).await;
    let before = updated_at(&world, &format!("{INVOICES}/{other}")).await;
    invoices.cancel(other).await.unwrap();
    assert!(updated_at(&world, &format!("{INVOICES}/{other}")).await.as_str() > before.as_str());
}

/// Rules: STAMP-5, STAMP-6
#[on_each_database]
async fn every_change_of_a_client_moves_updated_at(db: Database) {
    let world = world(db).await;
    let id = world.client("A").await;
    let full: ClientChange = serde_json::from_value(json!({
        "name": "B", "email": "b@exemple.fr", "phone": "1", "address": "1 rue Haute", "city": "Lyon",
        "zipCode": "69001", "type": "PARTICULIER", "notes": "n", "externalId": "crm-1",
    }))
    .unwrap();
    let mut last = world.company.clients().change(id, &full).await.unwrap();
    for (field, value) in [
        ("name", json!("C")),
        ("email", json!("c@exemple.fr")),
        ("phone", json!("2")),
        ("address", Value::Null),
        ("city", json!("Paris")),
        ("zipCode", json!("75001")),
        ("type", json!("PROFESSIONNEL")),
        ("notes", Value::Null),
        ("externalId", json!("crm-2")),
    ] {
        let mut change = serde_json::to_value(&full).unwrap();
        change[field] = value;
        let change: ClientChange = serde_json::from_value(change).unwrap();
        let next = world.company.clients().change(id, &change).await.unwrap();
        assert!(next.updated_at > last.updated_at, "{field}");
        assert_eq!(world.company.clients().change(id, &change).await.unwrap(), next, "{field} again");
        last = world.company.clients().change(id, &full).await.unwrap();
    }
}

/// Rules: STAMP-6
#[on_each_database]
async fn a_no_op_does_not_move_updated_at(db: Database) {
    let world = world(db).await;
    let draft = world.draft().await;
    let path = format!("{QUOTES}/{}", draft.summary.id);
    world.send("PATCH", &path, &json!({"externalId": "crm-é"})).await;
    let before = read(&world, &path).await;
    let as_of = read(&world, QUOTES).await["asOf"].clone();
    world.advance(DAY);
    for same in ["crm-é", " crm-é ", "crm-e\u{301}"] {
        let answer = world.send("PATCH", &path, &json!({"externalId": same})).await;
        assert_eq!(answer.json["externalId"], "crm-é");
    }
    let client = world.company.clients().get(draft.summary.client_id).await.unwrap();
    let same = NewClient { email: client.email.clone(), ..NewClient::named(format!(" {} ", client.name)) };
    world.company.clients().change(client.id, &same).await.unwrap();
    world.company.quotes().edit(draft.summary.id, &new_quote(draft.summary.client_id)).await.unwrap();
    world.invoicing.sweep().await.unwrap();
    assert_eq!(read(&world, &path).await, before);
    assert_eq!(world.company.clients().get(client.id).await.unwrap(), client);
    assert_eq!(read(&world, QUOTES).await["asOf"], as_of, "nothing was modified, so the last stamp stays");
}
