//! Credit notes on issued invoices, refunds, and the events of both.

use invoicing_core::{EventKind, InvoiceStatus, NewCreditNote, money};
use invoicing_server::{NewPayment, NewWebhook, PaymentSource};
use invoicing_tests::{Database, Receiver, World, on_each_database};
use serde_json::Value;

use crate::support::{client_of, conflict, invalid, quote_at};

/// An issued invoice over an amount, without VAT and retention.
async fn invoice_over(world: &World, amount: &str) -> invoicing_core::InvoiceId {
    let client = client_of(&world.company).await;
    let invoices = world.company.invoices();
    let draft = invoices.create_direct(&quote_at(client, amount)).await.unwrap().summary.id;
    invoices.issue(draft, None).await.unwrap().summary.id
}

/// The kinds of the events, oldest first.
async fn kinds(world: &World) -> Vec<String> {
    let events = world.company.events().list(None, 1_000).await.unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

/// Rules: INVOICE-18, CREDIT-7, EVENT-10, NUMBER-8
#[on_each_database]
async fn a_cancelled_invoice_is_credited_in_the_same_transaction(db: Database) {
    let world = World::new(db).await;
    let id = invoice_over(&world, "120").await;
    let created = ["quote.created", "quote.accepted", "invoice.created", "invoice.issued"];
    assert_eq!(kinds(&world).await, created);
    let canceled = world.company.invoices().cancel(id).await.unwrap();
    let summary = canceled.summary;
    assert_eq!(summary.status, InvoiceStatus::Canceled);
    assert_eq!((summary.amount_credited, summary.amount_due), (money!(120), money!(0)));
    let note = world.company.credit_notes().get(canceled.detail.credit_notes[0].id).await.unwrap().summary;
    assert!(note.number.starts_with("AVO-") && note.number.ends_with("-0001"), "{}", note.number);
    assert_eq!((note.invoice_id, note.updated_at), (id, summary.updated_at));
    assert_eq!(kinds(&world).await.split_at(4).1, ["credit_note.issued"]);
    let detail = world.get(&format!("/api/v1/invoices/{id}")).await.json;
    assert_eq!(detail["creditNotes"][0]["number"], note.number);
    let since = format!("/api/v1/credit-notes?since={}", summary.updated_at);
    assert_eq!(world.get(&since).await.json["data"][0]["id"], note.id.to_string());
    // The quote can be converted again.
    world.company.invoices().convert(summary.quote_id.unwrap()).await.unwrap();
}

/// Rules: CREDIT-8, NUMBER-8
#[on_each_database]
async fn simultaneous_credits_never_exceed_the_invoice(db: Database) {
    let world = World::new(db).await;
    let id = invoice_over(&world, "100").await;
    let credits = (0..6).map(|_| {
        let company = world.company.clone();
        async move {
            let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(30));
            company.invoices().credit(id, &part).await
        }
    });
    let done = futures_util::future::join_all(credits).await;
    assert_eq!(done.iter().filter(|credit| credit.is_ok()).count(), 3);
    let mut numbers: Vec<_> = done.into_iter().flatten().map(|note| note.summary.number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().zip(["-0001", "-0002", "-0003"]).all(|(number, end)| number.ends_with(end)));
    let invoice = world.company.invoices().get(id).await.unwrap();
    assert_eq!(invoice.summary.amount_credited, money!(90));
    assert_eq!(invoice.detail.credit_notes.len(), 3);
    world.company.invoices().credit(id, &NewCreditNote::of_remaining("Solde")).await.unwrap();
    conflict(&world, "canceled", world.company.invoices().cancel(id)).await;
}

/// Rules: INVOICE-23, INVOICE-24
#[on_each_database]
async fn a_paid_invoice_is_refunded_after_its_credit(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let id = invoice_over(&world, "120").await;
    let bank =
        |amount: &str| NewPayment::new(amount.parse::<invoicing_core::Money>().unwrap(), PaymentSource::Bank);
    invoices.pay(id, &bank("120")).await.unwrap();
    invalid(&world, "amount", invoices.refund(id, &bank("1"))).await;
    invoices.credit(id, &NewCreditNote::of_remaining("Retour")).await.unwrap();
    let paid = invoices.get(id).await.unwrap().summary;
    assert_eq!((paid.status, paid.amount_overpaid), (InvoiceStatus::Paid, money!(120)));
    let refund = bank("20").movement_id("VIR-9");
    let part = invoices.refund(id, &refund).await.unwrap();
    assert_eq!((part.payment.amount, part.invoice.summary.status), (money!(-20), InvoiceStatus::Paid));
    assert!(!invoices.refund(id, &refund).await.unwrap().created, "the same refund twice is one");
    let rest = invoices.refund(id, &bank("100")).await.unwrap().invoice.summary;
    assert_eq!((rest.status, rest.amount_paid), (InvoiceStatus::Canceled, money!(0)));
    assert_eq!(kinds(&world).await.split_at(4).1, ["invoice.paid", "credit_note.issued"]);
}

/// Rules: EVENT-11
#[on_each_database]
async fn later_kinds_go_only_to_webhooks_that_name_them(db: Database) {
    let (world, receiver) = (World::new(db).await, Receiver::start().await);
    let first = [
        EventKind::QuoteCreated,
        EventKind::QuoteSigned,
        EventKind::QuoteAccepted,
        EventKind::InvoiceCreated,
        EventKind::InvoicePaid,
        EventKind::ProjectCompleted,
    ];
    world.company.webhooks().register(&NewWebhook::new(&receiver.url, first)).await.unwrap();
    let id = invoice_over(&world, "120").await;
    world.company.invoices().cancel(id).await.unwrap();
    world.dispatch().await;
    let events = |receiver: &Receiver| -> Vec<String> {
        receiver.take().into_iter().map(|one| one.json["event"].as_str().unwrap().to_owned()).collect()
    };
    assert!(events(&receiver).iter().all(|event| first.iter().any(|kind| kind.as_str() == event)));
    let both = [EventKind::InvoiceIssued, EventKind::CreditNoteIssued];
    world.company.webhooks().register(&NewWebhook::new(&receiver.url, both)).await.unwrap();
    let id = invoice_over(&world, "80").await;
    world.company.invoices().cancel(id).await.unwrap();
    world.dispatch().await;
    let sent = events(&receiver);
    for kind in both {
        assert_eq!(sent.iter().filter(|event| *event == kind.as_str()).count(), 1, "{sent:?}");
    }
}

/// Rules: LIST-1, LIST-15, LIST-18
#[on_each_database]
async fn a_list_of_credit_notes_has_the_envelope_of_the_others(db: Database) {
    let world = World::new(db).await;
    for amount in ["10", "20", "30"] {
        let id = invoice_over(&world, amount).await;
        world.company.invoices().cancel(id).await.unwrap();
    }
    let page = world.get("/api/v1/credit-notes?limit=2&include=lines").await.json;
    assert_eq!(page["pagination"]["hasMore"], true);
    assert_eq!(page["data"].as_array().unwrap().len(), 2);
    assert_eq!(page["data"][0]["lines"][0]["totalHT"], 30);
    assert_eq!(page["data"][0]["totalTTC"], 30);
    let rest = world.get("/api/v1/credit-notes?limit=2&offset=2").await.json;
    assert_eq!((&rest["data"][0]["totalTTC"], rest["data"].as_array().unwrap().len()), (&Value::from(10), 1));
    for wrong in ["status=SENT", "q=x", "include=all"] {
        let answer = world.get(&format!("/api/v1/credit-notes?{wrong}")).await;
        assert_eq!(answer.code(), "validation_error", "{wrong}");
    }
}
