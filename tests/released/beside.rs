//! A node of the version before beside this one: the rows that it writes while this one runs, with its columns and its
//! version numbers. It was started before the migration of this version, so it knows no table that this one adds.

use invoicing_core::{InvoiceId, InvoiceStatus, NewCreditNote, QuoteId, money};
use invoicing_server::{Error, NewPayment, PaymentSource};
use invoicing_tests::{Argument, Database, World, on_each_database};
use uuid::Uuid;

use crate::support::{invoice_in, issued_over, quote_in, refused};

/// The versions of the shapes that the version before writes.
const INVOICE: i64 = 2;
const CLIENT: i64 = 1;

/// The members that this version adds to the summary of an invoice, to its detail, and to a client.
const SUMMARY: [&str; 10] = [
    "type",
    "suppliedOn",
    "periodStart",
    "periodEnd",
    "documentFormat",
    "position",
    "progressRate",
    "amountCredited",
    "amountWrittenOff",
    "retentionReleaseDate",
];
const DETAIL: [&str; 2] = ["deductions", "creditNotes"];
const CLIENT_FIELDS: [&str; 4] = ["siren", "vatNumber", "electronicAddress", "country"];

/// The JSON without some members, whose values are no objects.
fn without(json: &str, names: &[&str]) -> String {
    names.iter().fold(json.to_owned(), |json, name| {
        let begin = json.find(&format!(",\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {json}"));
        let rest = &json[begin + 1..];
        let end = rest.find(",\"").unwrap_or_else(|| rest.find('}').unwrap_or(rest.len()));
        format!("{}{}", &json[..begin], &rest[end..])
    })
}

async fn text(world: &World, column: &str, table: &str, id: Uuid) -> String {
    world.behind().await.one(&format!("SELECT {column} FROM {table} WHERE id = $1"), &[id.into()]).await
}

/// The invoice and its client as the version before has written them: without a document.
async fn written_before(world: &World, id: InvoiceId) {
    let summary = without(&text(world, "summary", "invoice", id.0).await, &SUMMARY);
    let detail = without(&text(world, "detail", "invoice", id.0).await, &DETAIL);
    let update = "UPDATE invoice SET summary = $2, detail = $3, version = $4 WHERE id = $1";
    let row: [Argument; 4] = [id.0.into(), (&*summary).into(), (&*detail).into(), INVOICE.into()];
    assert_eq!(world.run(update, &row).await, 1);
    world.run("DELETE FROM issued_document WHERE record_id = $1", &row[..1]).await;
    let client = world.company.invoices().get(id).await.unwrap().summary.client_id.0;
    let record = without(&text(world, "record", "client", client).await, &CLIENT_FIELDS);
    let update = "UPDATE client SET record = $2, version = $3 WHERE id = $1";
    assert_eq!(world.run(update, &[client.into(), (&*record).into(), CLIENT.into()]).await, 1);
}

/// The update of an invoice as the version before makes it: it touches no row of a newer shape.
async fn update_before(world: &World, id: InvoiceId, summary: &str) -> u64 {
    let update =
        "UPDATE invoice SET status = 'PAID', summary = $2, version = $3 WHERE id = $1 AND version <= $3";
    world.run(update, &[id.0.into(), summary.into(), INVOICE.into()]).await
}

async fn version(world: &World, id: InvoiceId) -> i64 {
    world.behind().await.one("SELECT version FROM invoice WHERE id = $1", &[id.0.into()]).await
}

/// Rules: STORED-1, DOCUMENT-23, DOCUMENT-25, NUMBER-3, NUMBER-8
#[on_each_database]
async fn an_invoice_of_the_version_before_is_issued_paid_and_credited(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let issued = issued_over(&world.company, "100").await.summary;
    let draft = invoice_in(&world, InvoiceStatus::Draft).await.summary.id;
    let canceled = issued_over(&world.company, "70").await.summary.id;
    for id in [issued.id, draft, canceled] {
        written_before(&world, id).await;
    }
    let before = text(&world, "summary", "invoice", issued.id.0).await;
    let path = format!("/api/v1/invoices/{}", issued.id);
    assert_eq!(world.get(&path).await.json["documentFormat"], serde_json::Value::Null);
    assert_eq!(world.get(&format!("{path}/document")).await.code(), "document_unavailable");
    // The other node still writes it as it knows it.
    assert_eq!(update_before(&world, issued.id, &before).await, 1);
    assert_eq!(world.run("UPDATE invoice SET status = 'SENT' WHERE id = $1", &[issued.id.0.into()]).await, 1);

    let payment = |amount| NewPayment::new(amount, PaymentSource::Bank);
    let paid = invoices.pay(issued.id, &payment(money!(60))).await.unwrap().invoice.summary;
    assert_eq!((paid.amount_due, paid.document_format), (money!(40), None));
    assert_eq!(version(&world, issued.id).await, INVOICE + 1);
    assert_eq!(
        update_before(&world, issued.id, &before).await,
        0,
        "a row of this version is not the other's"
    );
    let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(50));
    let note = invoices.credit(issued.id, &part).await.unwrap();
    assert!(note.summary.number.ends_with("-0001"), "{note:?}");
    world.company.credit_notes().open_document(note.summary.id).await.unwrap();
    let credited = invoices.get(issued.id).await.unwrap();
    assert_eq!(
        (credited.summary.amount_credited, credited.summary.amount_overpaid),
        (money!(50), money!(10))
    );
    assert_eq!(credited.detail.credit_notes.len(), 1);
    let refunded = invoices.refund(issued.id, &payment(money!(10))).await.unwrap().invoice.summary;
    assert_eq!((refunded.amount_paid, refunded.amount_overpaid), (money!(50), money!(0)));

    let canceled = invoices.cancel(canceled).await.unwrap();
    assert!(canceled.detail.credit_notes[0].number.ends_with("-0002"), "{canceled:?}");
    let next = invoices.issue(draft, None).await.unwrap().summary;
    assert!(next.number.unwrap().ends_with("-0003"));
    invoices.open_document(draft).await.unwrap();
    for id in [draft, issued.id, canceled.summary.id] {
        assert_eq!(version(&world, id).await, INVOICE + 1);
        assert_eq!(update_before(&world, id, &before).await, 0);
    }
    world.invoicing.sweep().await.unwrap();
}

/// The version before names the columns that it knows.
///
/// Rules: STORED-1
#[on_each_database]
async fn a_quote_that_the_version_before_inserts_is_invoiced_with_a_document(db: Database) {
    let world = World::new(db).await;
    let quote = quote_in(&world, invoicing_core::QuoteStatus::Sent).await.summary;
    let id = QuoteId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0001));
    for (table, key, columns) in [
        (
            "quote",
            "id",
            "status, valid_until, created_at, updated_at, summary, lines, detail, work_site, version",
        ),
        ("quote_costing", "quote_id", "costings"),
    ] {
        let insert = format!(
            "INSERT INTO {table} (company_id, {key}, {columns})
            SELECT company_id, $2, {columns} FROM {table} WHERE {key} = $1"
        );
        assert_eq!(world.run(&insert, &[quote.id.0.into(), id.0.into()]).await, 1, "{insert}");
    }
    let summary = text(&world, "summary", "quote", id.0).await;
    let summary = summary.replace(&quote.id.to_string(), &id.to_string());
    world.run("UPDATE quote SET summary = $2 WHERE id = $1", &[id.0.into(), (&*summary).into()]).await;
    world.company.quotes().accept(id).await.unwrap();
    let invoices = world.company.invoices();
    let draft = invoices.convert(id).await.unwrap().summary.id;
    invoices.issue(draft, None).await.unwrap();
    invoices.open_document(draft).await.unwrap();
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
    for table in ["invoice", "credit_note"] {
        let newer = format!(
            "UPDATE {table} SET version = version + 1, summary = '{{\"added\":1,' || substr(summary, 2)"
        );
        assert_eq!(world.run(&newer, &[]).await, 2);
    }
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
