//! Invoices: conversion, issue, payments, reversals, cancelling; each row of the state table and each pair that is
//! not in it.

use futures_util::future::join_all;
use invoicing_core::{
    InvoiceId, InvoiceStatus, Money, NewCompany, NewCreditNote, NewLine, NewQuote, PaymentId, Plan,
    QuoteImport, QuoteStatus,
};
use invoicing_server::{Error, NewPayment, PaymentMethod, PaymentSource};
use invoicing_tests::{CANARY, Database, World, new_quote, on_each_database};
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::proptest_runner::{for_all, runtime};
use crate::support::warnings::Warnings;
use crate::support::{
    DAY, accepted_of, body, client_of, company_in, conflict, date, draft_of, events, invalid, invoice_in,
    issued_over, keys, kinds_after, not_found, nothing_happens, payment, quote_at, refused, signature,
};

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// Rules: INVOICE-15, INVOICE-3
#[on_each_database]
async fn an_invoice_with_nothing_due_is_paid_when_it_is_issued(db: Database) {
    let world = World::new(db).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let free = quote_at(client_of(&world.company).await, "0");
    for marked in [false, true] {
        let quote = quotes.create(&free).await.unwrap().summary.id;
        quotes.accept(quote).await.unwrap();
        let draft = invoices.convert(quote).await.unwrap().summary.id;
        let seen = events(&world.company).await.len();
        let issued = if marked { invoices.mark_paid(draft).await } else { invoices.issue(draft, None).await };
        let issued = issued.unwrap();
        assert_eq!((issued.summary.status, issued.summary.paid_at), (InvoiceStatus::Paid, Some(world.now())));
        assert!(issued.summary.number.is_some());
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.issued", "invoice.paid"]);
        assert!(invoices.payments(draft).await.unwrap().is_empty());
        conflict(&world, "mark paid again", invoices.mark_paid(draft)).await;
    }
}

/// Rules: INVOICE-31
#[on_each_database]
async fn a_draft_marked_paid_is_due_on_its_day_unless_a_part_is_held_back(db: Database) {
    let world = World::new(db).await;
    let (invoices, client) = (world.company.invoices(), world.client("Claire").await);
    for (retention, due) in [(0, "2026-09-14"), (5, "2026-10-14")] {
        let content = new_quote(client).retention_rate(retention);
        let draft = invoices.create_direct(&content).await.unwrap().summary.id;
        let paid = invoices.mark_paid(draft).await.unwrap().summary;
        assert_eq!((paid.status, paid.due_date), (InvoiceStatus::Paid, Some(date(due))), "{retention} %");
        let events = events(&world.company).await;
        let issued = events.iter().rfind(|event| event.kind == "invoice.issued").unwrap();
        assert_eq!(body(issued)["data"]["dueDate"], due, "{retention} %");
    }
    let issued = invoices.create_direct(&new_quote(client)).await.unwrap().summary.id;
    invoices.issue(issued, None).await.unwrap();
    let later = invoices.mark_paid(issued).await.unwrap().summary;
    assert_eq!(later.due_date, Some(date("2026-10-14")));
}

/// Rules: INVOICE-30, INVOICE-15
#[on_each_database]
async fn an_invoice_of_0_is_cancelled_by_a_credit_note_of_0(db: Database) {
    let world = World::new(db).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let lines = [1, -1].map(|quantity| NewLine::new("Pose", quantity, 100, 20));
    let content = lines.into_iter().fold(NewQuote::empty(world.client("Claire").await), NewQuote::line);
    for cancels in [true, false] {
        let quote = quotes.create(&content).await.unwrap().summary.id;
        quotes.accept(quote).await.unwrap();
        let draft = invoices.convert(quote).await.unwrap().summary.id;
        let issued = invoices.issue(draft, None).await.unwrap().summary;
        assert_eq!((issued.status, issued.total_ttc), (InvoiceStatus::Paid, Money::ZERO));
        let part = NewCreditNote::new("Moitié").quantity(0, 1);
        invalid(&world, "items", invoices.credit(draft, &part)).await;
        let recorded = invoices.pay(draft, &payment("5", None)).await.unwrap().payment;
        conflict(&world, "with a payment", invoices.cancel(draft)).await;
        invoices.reverse_payment(draft, recorded.id).await.unwrap();
        let seen = events(&world.company).await.len();
        let everything = NewCreditNote::of_remaining("Erreur");
        if cancels {
            invoices.cancel(draft).await.unwrap();
        } else {
            invoices.credit(draft, &everything).await.unwrap();
        }
        assert_eq!(kinds_after(&world.company, seen).await, ["credit_note.issued"]);
        let canceled = invoices.get(draft).await.unwrap();
        assert_eq!(
            (canceled.summary.status, canceled.summary.canceled_at, canceled.summary.paid_at),
            (InvoiceStatus::Canceled, Some(world.now()), None)
        );
        let [note] = &canceled.detail.credit_notes[..] else { panic!("{canceled:?}") };
        assert_eq!(note.total_ttc, Money::ZERO);
        conflict(&world, "twice", invoices.credit(draft, &everything)).await;
        invoices.convert(quote).await.unwrap();
    }
}

/// Rules: NUMBER-6
#[on_each_database]
async fn a_credit_note_with_a_date_that_is_held_back_is_warned_of(db: Database) {
    let world = World::new(db).await;
    let id = issued_over(&world.company, "100").await.summary.id;
    world.clock.set("2026-09-12T12:00:00Z".parse().unwrap());
    let warnings = Warnings::listen();
    let note = world.company.invoices().credit(id, &NewCreditNote::of_remaining("x")).await.unwrap();
    assert_eq!(note.summary.issue_date, date("2026-09-14"));
    assert_eq!(warnings.take("the clock is behind that date"), 1);
}

/// Rules: INVOICE-1, EVENT-5
#[on_each_database]
async fn converting_makes_a_draft_without_a_number_and_emits_invoice_created(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await;
    let seen = events(&world.company).await.len();
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    assert_eq!((invoice.summary.status, invoice.summary.number.as_deref()), (InvoiceStatus::Draft, None));
    assert_eq!(
        (invoice.summary.issue_date, invoice.summary.due_date, invoice.summary.paid_at),
        (None, None, None)
    );
    assert_eq!(
        (invoice.summary.quote_id, invoice.summary.client_id),
        (Some(quote.summary.id), quote.summary.client_id)
    );
    assert_eq!(
        (invoice.summary.total_ht, invoice.summary.total_ttc, invoice.summary.tva_rate),
        (quote.summary.total_ht, quote.summary.total_ttc, quote.summary.tva_rate)
    );
    assert_eq!(invoice.lines, quote.lines);
    assert_eq!(invoice.detail.vat_breakdown, quote.detail.vat_breakdown);
    let due = quote.summary.total_ttc.minus(quote.detail.retention_amount).unwrap();
    assert_eq!(
        (invoice.summary.amount_due, invoice.summary.amount_paid, invoice.summary.amount_overpaid),
        (due, Money::ZERO, Money::ZERO)
    );
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.created"]);
    let event = body(events(&world.company).await.last().unwrap());
    let expected = [
        "amountDue",
        "amountPaid",
        "clientEmail",
        "clientName",
        "dueDate",
        "id",
        "issueDate",
        "number",
        "quoteId",
        "status",
        "totalHT",
        "totalTTC",
        "tvaRate",
        "type",
    ];
    assert_eq!(keys(&event["data"]), expected);
    assert!(event["data"]["number"].is_null());
    assert!(!event.to_string().contains(CANARY));
}

/// Rules: INVOICE-8, STATE-2
#[on_each_database]
async fn twenty_simultaneous_conversions_make_one_invoice(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await;
    let seen = events(&world.company).await.len();
    let invoices = world.company.invoices();
    let results = join_all((0..20).map(|_| invoices.convert(quote.summary.id))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::Conflict(_)))));
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.created"]);
    assert_eq!(world.count("SELECT count(*) FROM invoice").await, 1);
}

/// Rules: INVOICE-8
#[on_each_database]
async fn a_second_conversion_is_a_conflict_until_the_first_invoice_is_cancelled(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await;
    let invoices = world.company.invoices();
    let first = invoices.convert(quote.summary.id).await.unwrap();
    conflict(&world, "while DRAFT", invoices.convert(quote.summary.id)).await;
    invoices.issue(first.summary.id, None).await.unwrap();
    conflict(&world, "while SENT", invoices.convert(quote.summary.id)).await;
    invoices.cancel(first.summary.id).await.unwrap();
    let second = invoices.convert(quote.summary.id).await.unwrap();
    assert_ne!(second.summary.id, first.summary.id);
    invoices.mark_paid(second.summary.id).await.unwrap();
    conflict(&world, "while PAID", invoices.convert(quote.summary.id)).await;
    let kept = invoices.get(first.summary.id).await.unwrap();
    assert_eq!(
        (kept.summary.status, kept.summary.number.as_deref()),
        (InvoiceStatus::Canceled, Some("FAC-2026-0001"))
    );
}

/// Rules: INVOICE-9, STAMP-3
#[on_each_database]
async fn acceptance_converts_by_itself_where_the_company_wants_it(db: Database) {
    let world = World::new(db).await;
    world.company.set_automatic_invoicing(true).await.unwrap();
    let sent = world.sent().await;
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    let seen = events(&world.company).await.len();
    world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    let signed = ["quote.signed", "quote.accepted", "invoice.created"];
    assert_eq!(kinds_after(&world.company, seen).await, signed);
    let new: Vec<_> = events(&world.company).await.into_iter().skip(seen).collect();
    assert!(new.iter().all(|event| event.timestamp == new[0].timestamp), "one transaction, one stamp");
    conflict(&world, "by hand as well", world.company.invoices().convert(sent.summary.id)).await;

    let seen = events(&world.company).await.len();
    world.accepted().await;
    let by_hand = ["quote.created", "quote.accepted", "invoice.created"];
    assert_eq!(kinds_after(&world.company, seen).await, by_hand);

    world.company.set_automatic_invoicing(false).await.unwrap();
    let seen = events(&world.company).await.len();
    world.accepted().await;
    assert_eq!(kinds_after(&world.company, seen).await, ["quote.created", "quote.accepted"]);
}

/// Rules: INVOICE-9
#[on_each_database]
async fn automatic_conversion_belongs_to_the_higher_plans(db: Database) {
    let world = World::new(db).await;
    let (starter, _) = world.another("Petit", Plan::Starter).await;
    conflict(&world, "on Starter", starter.set_automatic_invoicing(true)).await;
    let (pro, _) = world.another("Moyen", Plan::Pro).await;
    pro.set_automatic_invoicing(true).await.unwrap();
    conflict(&world, "down to Starter", pro.set_plan(Plan::Starter)).await;
    pro.set_plan(Plan::Team).await.unwrap();
    pro.set_automatic_invoicing(false).await.unwrap();
    pro.set_plan(Plan::Starter).await.unwrap();
    // By hand it works on every plan.
    let quote = accepted_of(&starter).await;
    starter.invoices().convert(quote.summary.id).await.unwrap();
    let new = NewCompany { automatic_invoicing: true, ..NewCompany::named("x", Plan::Starter) };
    conflict(&world, "new on Starter", world.invoicing.companies().create(&new)).await;
}

#[on_each_database]
async fn an_imported_accepted_quote_can_be_converted(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(world.client("x").await);
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
    let quote = world.company.quotes().import(&new, &import).await.unwrap();
    world.company.invoices().convert(quote.summary.id).await.unwrap();
}

/// Rules: INVOICE-2
#[on_each_database]
async fn issuing_allocates_the_number_and_the_dates_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    let cases = [
        ("Europe/Paris", "2026-09-14T21:59:59.000Z", "2026-09-14", "2026-10-14"),
        ("Europe/Paris", "2026-09-14T22:00:00.000Z", "2026-09-15", "2026-10-15"),
        ("Pacific/Auckland", "2026-09-14T12:00:00.000Z", "2026-09-15", "2026-10-15"),
    ];
    for (zone, now, issued, due) in cases {
        // Stamps never go back, so each company begins before its case.
        world.clock.set("2026-09-01T00:00:00.000Z".parse().unwrap());
        let company = company_in(&world, zone).await;
        let quote = accepted_of(&company).await;
        let draft = company.invoices().convert(quote.summary.id).await.unwrap();
        world.clock.set(now.parse().unwrap());
        let seen = events(&company).await.len();
        let invoice = company.invoices().issue(draft.summary.id, None).await.unwrap();
        assert_eq!(
            (invoice.summary.status, invoice.summary.number.as_deref()),
            (InvoiceStatus::Sent, Some("FAC-2026-0001"))
        );
        assert_eq!(
            (invoice.summary.issue_date, invoice.summary.due_date),
            (Some(date(issued)), Some(date(due))),
            "{zone}"
        );
        assert_eq!(kinds_after(&company, seen).await, ["invoice.issued"]);
    }
}

/// Rules: INVOICE-14, NUMBER-3
#[on_each_database]
async fn a_due_date_before_the_issue_is_refused_and_gives_the_number_back(db: Database) {
    let world = World::new(db).await;
    let invoice = invoice_in(&world, InvoiceStatus::Draft).await;
    let invoices = world.company.invoices();
    invalid(&world, "dueDate", invoices.issue(invoice.summary.id, Some(date("2026-09-13")))).await;
    let issued = invoices.issue(invoice.summary.id, Some(date("2026-09-14"))).await.unwrap();
    assert_eq!(issued.summary.number.as_deref(), Some("FAC-2026-0001"));
}

/// Rules: ERROR-9
#[on_each_database]
async fn every_illegal_operation_in_a_state_is_a_conflict_without_a_trace(db: Database) {
    use InvoiceStatus::{Canceled, Draft, Overdue, Paid, Sent};
    for status in InvoiceStatus::ALL {
        let world = World::new(db).await;
        let invoice = invoice_in(&world, *status).await;
        let (id, invoices) = (invoice.summary.id, world.company.invoices());
        if *status != Draft {
            conflict(&world, &format!("issue {status}"), invoices.issue(id, None)).await;
        }
        if matches!(status, Draft | Canceled) {
            conflict(&world, &format!("pay {status}"), invoices.pay(id, &payment("1", None))).await;
            conflict(&world, &format!("pay {status}"), invoices.pay(id, &payment("1", Some("R")))).await;
        }
        if !matches!(status, Draft | Sent | Overdue) {
            conflict(&world, &format!("mark paid {status}"), invoices.mark_paid(id)).await;
        }
        if !matches!(status, Draft | Sent | Overdue) {
            conflict(&world, &format!("cancel {status}"), invoices.cancel(id)).await;
        }
        if *status != Paid {
            let none = PaymentId(Uuid::nil());
            not_found(&world, &format!("reverse {status}"), invoices.reverse_payment(id, none)).await;
        }
    }
}

/// Rules: INVOICE-3, EVENT-6
#[on_each_database]
async fn marking_paid_from_draft_issues_first_in_the_same_transaction(db: Database) {
    let world = World::new(db).await;
    let draft = invoice_in(&world, InvoiceStatus::Draft).await;
    let seen = events(&world.company).await.len();
    let paid = world.company.invoices().mark_paid(draft.summary.id).await.unwrap();
    assert_eq!(
        (paid.summary.status, paid.summary.number.as_deref()),
        (InvoiceStatus::Paid, Some("FAC-2026-0001"))
    );
    assert_eq!(
        (paid.summary.issue_date, paid.summary.due_date),
        (Some(date("2026-09-14")), Some(date("2026-10-14")))
    );
    assert_eq!((paid.summary.amount_due, paid.summary.paid_at), (Money::ZERO, Some(world.now())));
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.issued", "invoice.paid"]);
    let event = body(events(&world.company).await.last().unwrap());
    assert_eq!(event["data"]["paidAt"], paid.summary.paid_at.unwrap().to_string());
    assert_eq!(
        (&event["data"]["status"], &event["data"]["number"]),
        (&"PAID".into(), &"FAC-2026-0001".into())
    );
    let payments = world.company.invoices().payments(draft.summary.id).await.unwrap();
    assert_eq!(payments.len(), 1);
    assert_eq!((payments[0].amount, payments[0].source), (draft.summary.amount_due, PaymentSource::Manual));
    assert_eq!(payments[0].method, None, "how the client paid is not known");
}

/// Rules: INVOICE-4
#[on_each_database]
async fn marking_paid_works_from_sent_overdue_and_half_paid(db: Database) {
    for status in [InvoiceStatus::Sent, InvoiceStatus::Overdue] {
        let world = World::new(db).await;
        let invoice = invoice_in(&world, status).await;
        let invoices = world.company.invoices();
        invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
        let seen = events(&world.company).await.len();
        let paid = invoices.mark_paid(invoice.summary.id).await.unwrap();
        assert_eq!((paid.summary.status, paid.summary.amount_due), (InvoiceStatus::Paid, Money::ZERO));
        assert_eq!(
            (paid.summary.amount_paid, paid.summary.amount_overpaid),
            (invoice.summary.amount_due, Money::ZERO)
        );
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
        let sum = invoices
            .payments(invoice.summary.id)
            .await
            .unwrap()
            .iter()
            .map(|payment| payment.amount.get())
            .sum();
        assert_eq!(paid.summary.amount_paid, Money::new(sum).unwrap());
    }
}

/// Rules: INVOICE-10
#[on_each_database]
async fn a_partial_payment_changes_amounts_and_stamp_and_is_silent(db: Database) {
    for status in [InvoiceStatus::Sent, InvoiceStatus::Overdue] {
        let world = World::new(db).await;
        let invoice = invoice_in(&world, status).await;
        let seen = events(&world.company).await.len();
        let recorded =
            world.company.invoices().pay(invoice.summary.id, &payment("0.01", None)).await.unwrap();
        assert!(recorded.created);
        let after = recorded.invoice;
        assert_eq!((after.summary.status, after.summary.paid_at), (status, None));
        assert_eq!(after.summary.amount_paid, money("0.01"));
        assert_eq!(after.summary.amount_due, invoice.summary.amount_due.minus(money("0.01")).unwrap());
        assert!(after.summary.updated_at > invoice.summary.updated_at);
        assert_eq!(events(&world.company).await.len(), seen);
    }
}

/// Rules: INVOICE-4
#[on_each_database]
async fn the_payment_that_covers_the_rest_emits_invoice_paid_once(db: Database) {
    for source in [PaymentSource::Manual, PaymentSource::Entered, PaymentSource::Online, PaymentSource::Bank]
    {
        let world = World::new(db).await;
        let invoice = issued_over(&world.company, "100").await;
        let invoices = world.company.invoices();
        let seen = events(&world.company).await.len();
        invoices.pay(invoice.summary.id, &payment("99.99", None)).await.unwrap();
        assert_eq!(events(&world.company).await.len(), seen);
        let last = NewPayment::new(money("0.01"), source);
        let paid = invoices.pay(invoice.summary.id, &last).await.unwrap().invoice;
        assert_eq!((paid.summary.status, paid.summary.paid_at), (InvoiceStatus::Paid, Some(world.now())));
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
        // More money changes the excess and not the state, and emits no event.
        let more = invoices.pay(invoice.summary.id, &payment("5", None)).await.unwrap().invoice;
        assert_eq!(
            (more.summary.status, more.summary.amount_overpaid, more.summary.paid_at),
            (InvoiceStatus::Paid, money("5"), paid.summary.paid_at)
        );
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
    }
}

/// Rules: INVOICE-16
#[on_each_database]
async fn a_payment_keeps_where_its_entry_comes_from_and_how_the_client_paid(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await.summary.id;
    let invoices = world.company.invoices();
    let methods = [
        Some(PaymentMethod::Transfer),
        Some(PaymentMethod::Card),
        Some(PaymentMethod::Cheque),
        Some(PaymentMethod::Cash),
        Some(PaymentMethod::DirectDebit),
        Some(PaymentMethod::Other),
        None,
    ];
    for method in methods {
        let new = NewPayment { method, ..NewPayment::new(10, PaymentSource::Entered) };
        assert_eq!(invoices.pay(invoice, &new).await.unwrap().payment.method, method);
    }
    let first = invoices.payments(invoice).await.unwrap()[0].id;
    invoices.reverse_payment(invoice, first).await.unwrap();
    let stored = invoices.payments(invoice).await.unwrap();
    assert!(stored.iter().all(|payment| payment.source == PaymentSource::Entered));
    assert_eq!(stored.iter().map(|payment| payment.method).collect::<Vec<_>>(), methods);
    let again = NewPayment::new(10, PaymentSource::Bank).method(PaymentMethod::Card).movement_id("R1");
    assert!(invoices.pay(invoice, &again).await.unwrap().created);
    let known = invoices.pay(invoice, &again).await.unwrap();
    assert_eq!((known.created, known.payment.method), (false, Some(PaymentMethod::Card)));
}

/// Rules: INVOICE-12
#[on_each_database]
async fn a_movement_with_another_amount_is_a_conflict_that_names_both(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let id = issued_over(&world.company, "100").await.summary.id;
    let first = invoices.pay(id, &payment("0.01", Some("VIR 7781"))).await.unwrap();
    let other = payment("7", Some("VIR 7781"));
    let refusal = refused(&world, "another amount", invoices.pay(id, &other)).await;
    assert!(matches!(refusal, Error::Conflict(_)), "{refusal:?}");
    let refusal = refusal.to_string();
    for named in ["0.01", "7.00", "VIR 7781"] {
        assert!(refusal.contains(named), "{refusal}");
    }
    // The same amount in another notation.
    let again = invoices.pay(id, &payment("0.010", Some(" VIR 7781 "))).await.unwrap();
    assert_eq!((again.created, &again.payment), (false, &first.payment));
    // The other fields of the payment do not count.
    let by_card = payment("0.01", Some("VIR 7781")).method(PaymentMethod::Card);
    assert!(!invoices.pay(id, &by_card).await.unwrap().created);
    invoices.reverse_payment(id, first.payment.id).await.unwrap();
    assert!(invoices.pay(id, &other).await.unwrap().created);
    conflict(&world, "the reversed amount", invoices.pay(id, &payment("0.01", Some("VIR 7781")))).await;
    // Of simultaneous payments one is recorded; each other one is refused or returns the recorded one.
    let amounts = ["1", "2", "1", "2", "3", "1"].map(|amount| payment(amount, Some("CHQ 0412")));
    let paid = join_all(amounts.iter().map(|new| invoices.pay(id, new))).await;
    let recorded: Vec<_> = paid.iter().filter_map(|paid| paid.as_ref().ok()).collect();
    assert_eq!(recorded.iter().filter(|recorded| recorded.created).count(), 1);
    assert!(recorded.iter().all(|one| one.payment == recorded[0].payment), "{recorded:?}");
    let refused = paid.iter().filter_map(|paid| paid.as_ref().err());
    refused.for_each(|error| assert!(matches!(error, Error::Conflict(_)), "{error:?}"));
}

/// Rules: INVOICE-12
#[on_each_database]
async fn equal_instalments_with_one_reference_are_as_many_payments(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let id = issued_over(&world.company, "100").await.summary.id;
    let instalment = NewPayment::new(30, PaymentSource::Bank).reference("FAC-2026-0001");
    for part in ["1", "2"] {
        assert!(invoices.pay(id, &instalment).await.unwrap().created);
        let of_movement = instalment.clone().movement_id(format!("2026-09-14/{part}"));
        for is_new in [true, false] {
            let paid = invoices.pay(id, &of_movement).await.unwrap();
            assert_eq!(
                (paid.created, paid.payment.movement_id.as_deref()),
                (is_new, of_movement.movement_id.as_deref())
            );
        }
    }
    let payments = invoices.payments(id).await.unwrap();
    assert_eq!(payments.len(), 4);
    assert!(payments.iter().all(|payment| payment.reference.as_deref() == Some("FAC-2026-0001")));
    // One movement may pay several invoices.
    let other = issued_over(&world.company, "100").await.summary.id;
    assert!(invoices.pay(other, &instalment.movement_id("2026-09-14/1")).await.unwrap().created);
}

/// Rules: INVOICE-11
#[on_each_database]
async fn an_overpayment_is_recorded_as_such(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await;
    let seen = events(&world.company).await.len();
    let paid =
        world.company.invoices().pay(invoice.summary.id, &payment("150.5", None)).await.unwrap().invoice;
    assert_eq!(paid.summary.status, InvoiceStatus::Paid);
    assert_eq!(
        (paid.summary.amount_paid, paid.summary.amount_due, paid.summary.amount_overpaid),
        (money("150.5"), Money::ZERO, money("50.5"))
    );
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
}

/// Rules: MONEY-11
#[on_each_database]
async fn what_is_retained_is_not_due(db: Database) {
    let world = World::new(db).await;
    let invoice = invoice_in(&world, InvoiceStatus::Sent).await;
    assert_eq!(invoice.summary.retention_rate, 5.into());
    let payable = invoice.summary.total_ttc.minus(invoice.summary.retention_amount).unwrap();
    let pay = payment(&payable.to_string(), None);
    let paid = world.company.invoices().pay(invoice.summary.id, &pay).await.unwrap().invoice;
    assert_eq!((paid.summary.status, paid.summary.amount_overpaid), (InvoiceStatus::Paid, Money::ZERO));
    // Later payments go to the retention; only the amount above the total is an excess.
    assert_eq!(paid.summary.retention_due, invoice.summary.retention_amount);
    let held = invoice.summary.retention_amount;
    let pay = payment(&held.plus(money("3")).unwrap().to_string(), None);
    let more = world.company.invoices().pay(invoice.summary.id, &pay).await.unwrap().invoice.summary;
    assert_eq!(
        (more.status, more.retention_due, more.amount_overpaid),
        (InvoiceStatus::Paid, Money::ZERO, money("3"))
    );
}

/// Rules: INVOICE-13, MONEY-7
#[on_each_database]
async fn amounts_that_are_no_payment_are_refused(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await;
    let invoices = world.company.invoices();
    for amount in ["0", "-1", "-0.01"] {
        invalid(&world, "amount", invoices.pay(invoice.summary.id, &payment(amount, None))).await;
    }
    let long = "x".repeat(256);
    invalid(&world, "reference", invoices.pay(invoice.summary.id, &payment("1", Some(&long)))).await;
    invalid(&world, "reference", invoices.pay(invoice.summary.id, &payment("1", Some("a\0")))).await;
    for text in [&*long, "a\0"] {
        let payment = payment("1", None).movement_id(text);
        invalid(&world, "movementId", invoices.pay(invoice.summary.id, &payment)).await;
    }
    // Two amounts whose sum exceeds the largest amount.
    invoices.pay(invoice.summary.id, &payment("9999999999999.99", None)).await.unwrap();
    invalid(&world, "", invoices.pay(invoice.summary.id, &payment("9999999999999.99", None))).await;
}

/// Rules: INVOICE-12, STATE-2
#[on_each_database]
async fn simultaneous_payments_of_one_movement_are_one_payment(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await;
    let invoices = world.company.invoices();
    let seen = events(&world.company).await.len();
    // Insignificant differences of the movement: spaces around it, and the composition of its accents.
    let movements = ["virement é", " virement é ", "virement e\u{301}"];
    let payments: Vec<_> = (0..20).map(|n| payment("100", Some(movements[n % 3]))).collect();
    let results = join_all(payments.iter().map(|payment| invoices.pay(invoice.summary.id, payment))).await;
    let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(results.iter().filter(|recorded| recorded.created).count(), 1);
    assert!(results.iter().all(|recorded| recorded.payment.id == results[0].payment.id));
    assert_eq!(invoices.payments(invoice.summary.id).await.unwrap().len(), 1);
    let after = invoices.get(invoice.summary.id).await.unwrap();
    assert_eq!((after.summary.amount_paid, after.summary.amount_overpaid), (money("100"), Money::ZERO));
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
    nothing_happens(&world, invoices.pay(invoice.summary.id, &payments[0])).await;
}

/// Rules: INVOICE-12
#[on_each_database]
async fn a_movement_is_known_per_invoice_and_free_again_after_a_reversal(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let (a, b) = (issued_over(&world.company, "10").await, issued_over(&world.company, "10").await);
    let pay = payment("10", Some("R"));
    let first = invoices.pay(a.summary.id, &pay).await.unwrap();
    assert!(invoices.pay(b.summary.id, &pay).await.unwrap().created);
    invoices.reverse_payment(a.summary.id, first.payment.id).await.unwrap();
    let again = invoices.pay(a.summary.id, &pay).await.unwrap();
    assert!(again.created && again.payment.id != first.payment.id);
    assert_eq!(again.invoice.summary.status, InvoiceStatus::Paid);
    assert!(!nothing_happens(&world, invoices.pay(a.summary.id, &pay)).await.created);
    invoices.reverse_payment(a.summary.id, again.payment.id).await.unwrap();
    // Without a movement, payments of the same amount are distinct.
    for _ in 0..2 {
        assert!(invoices.pay(a.summary.id, &payment("1", None)).await.unwrap().created);
        assert!(invoices.pay(a.summary.id, &payment("1", Some(" "))).await.unwrap().created);
    }
    assert_eq!(invoices.get(a.summary.id).await.unwrap().summary.amount_paid, money("4"));
}

/// Rules: STATE-2
#[on_each_database]
async fn simultaneous_partial_payments_add_up_and_announce_once(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await;
    let invoices = world.company.invoices();
    let seen = events(&world.company).await.len();
    let pay = payment("7.5", None);
    let results = join_all((0..20).map(|_| invoices.pay(invoice.summary.id, &pay))).await;
    assert!(results.iter().all(Result::is_ok));
    let after = invoices.get(invoice.summary.id).await.unwrap();
    assert_eq!((after.summary.amount_paid, after.summary.amount_overpaid), (money("150"), money("50")));
    assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"]);
}

/// Rules: INVOICE-6, INVOICE-13
#[on_each_database]
async fn a_reversal_leads_to_sent_or_overdue_and_payment_is_announced_again(db: Database) {
    for (later, status) in [(DAY, InvoiceStatus::Sent), (40 * DAY, InvoiceStatus::Overdue)] {
        let world = World::new(db).await;
        let invoice = issued_over(&world.company, "100").await;
        let invoices = world.company.invoices();
        let seen = events(&world.company).await.len();
        let recorded = invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
        world.advance(later);
        world.invoicing.sweep().await.unwrap();
        assert_eq!(
            invoices.get(invoice.summary.id).await.unwrap().summary.status,
            InvoiceStatus::Paid,
            "paid is never overdue"
        );
        let back = invoices.reverse_payment(invoice.summary.id, recorded.payment.id).await.unwrap();
        assert_eq!((back.summary.status, back.summary.paid_at), (status, None));
        assert_eq!((back.summary.amount_due, back.summary.amount_paid), (money("100"), Money::ZERO));
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid"], "a reversal is silent");
        conflict(&world, "reverse twice", invoices.reverse_payment(invoice.summary.id, recorded.payment.id))
            .await;
        world.advance(DAY);
        let paid = invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap().invoice;
        assert_eq!(paid.summary.status, InvoiceStatus::Paid);
        assert_eq!(kinds_after(&world.company, seen).await, ["invoice.paid", "invoice.paid"]);
        let all = events(&world.company).await;
        let paid_at: Vec<_> = all[seen..].iter().map(|event| body(event)["data"]["paidAt"].clone()).collect();
        assert_ne!(paid_at[0], paid_at[1]);
    }
}

/// Rules: INVOICE-6
#[on_each_database]
async fn a_reversal_is_not_overdue_on_the_last_day_or_stays_paid_by_an_excess(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let invoice = issued_over(&world.company, "100").await;
    let recorded = invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
    world.clock.set("2026-10-14T21:59:00.000Z".parse().unwrap());
    assert_eq!(
        invoices.reverse_payment(invoice.summary.id, recorded.payment.id).await.unwrap().summary.status,
        InvoiceStatus::Sent
    );
    let invoice = issued_over(&world.company, "100").await;
    let half = invoices.pay(invoice.summary.id, &payment("60", None)).await.unwrap();
    invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
    let seen = events(&world.company).await.len();
    let still = invoices.reverse_payment(invoice.summary.id, half.payment.id).await.unwrap();
    assert_eq!((still.summary.status, still.summary.amount_overpaid), (InvoiceStatus::Paid, Money::ZERO));
    assert_eq!(events(&world.company).await.len(), seen);
}

/// Rules: INVOICE-13, STATE-2
#[on_each_database]
async fn ten_simultaneous_reversals_take_the_money_back_once(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await;
    let invoices = world.company.invoices();
    invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
    let other = invoices.pay(invoice.summary.id, &payment("100", None)).await.unwrap();
    let results =
        join_all((0..10).map(|_| invoices.reverse_payment(invoice.summary.id, other.payment.id))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(invoices.get(invoice.summary.id).await.unwrap().summary.amount_paid, money("100"));
}

/// Rules: INVOICE-7
#[on_each_database]
async fn only_an_unpaid_invoice_is_cancelled_and_it_keeps_its_number(db: Database) {
    for status in [InvoiceStatus::Draft, InvoiceStatus::Sent, InvoiceStatus::Overdue] {
        let world = World::new(db).await;
        let invoice = invoice_in(&world, status).await;
        let invoices = world.company.invoices();
        let seen = events(&world.company).await.len();
        if status != InvoiceStatus::Draft {
            let recorded = invoices.pay(invoice.summary.id, &payment("0.01", None)).await.unwrap();
            conflict(&world, "cancel with a payment", invoices.cancel(invoice.summary.id)).await;
            invoices.reverse_payment(invoice.summary.id, recorded.payment.id).await.unwrap();
        }
        let canceled = invoices.cancel(invoice.summary.id).await.unwrap();
        assert_eq!(
            (canceled.summary.status, canceled.summary.canceled_at),
            (InvoiceStatus::Canceled, Some(world.now()))
        );
        assert_eq!(canceled.summary.number, invoice.summary.number);
        assert_eq!((canceled.summary.amount_due, canceled.summary.retention_due), (Money::ZERO, Money::ZERO));
        let stored = invoices.get(invoice.summary.id).await.unwrap();
        assert_eq!(stored, canceled);
        let is_draft = status == InvoiceStatus::Draft;
        let expected: &[&str] = if is_draft { &[] } else { &["credit_note.issued"] };
        assert_eq!(kinds_after(&world.company, seen).await, expected, "{status}");
        assert_eq!(canceled.detail.credit_notes.is_empty(), is_draft);
    }
}

/// Rules: INVOICE-7, STATE-2
#[on_each_database]
async fn payment_and_cancellation_at_once_never_both_happen(db: Database) {
    for _ in 0..10 {
        let world = World::new(db).await;
        let invoice = issued_over(&world.company, "100").await;
        let invoices = world.company.invoices();
        let pay = payment("50", None);
        let (paid, canceled) =
            tokio::join!(invoices.pay(invoice.summary.id, &pay), invoices.cancel(invoice.summary.id));
        assert!(paid.is_ok() != canceled.is_ok(), "{paid:?} {canceled:?}");
        let after = invoices.get(invoice.summary.id).await.unwrap();
        assert_eq!(after.summary.status == InvoiceStatus::Canceled, after.summary.amount_paid.is_zero());
    }
}

/// Rules: TENANT-1
#[on_each_database]
async fn another_company_s_invoice_is_not_found_by_any_operation(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let invoice = issued_over(&world.company, "100").await;
    let recorded = world.company.invoices().pay(invoice.summary.id, &payment("1", Some("R"))).await.unwrap();
    draft_of(&other).await;
    for id in [invoice.summary.id, InvoiceId(Uuid::nil())] {
        let invoices = other.invoices();
        not_found(&world, "get", invoices.get(id)).await;
        not_found(&world, "detail", invoices.get_json(id)).await;
        not_found(&world, "issue", invoices.issue(id, None)).await;
        not_found(&world, "pay", invoices.pay(id, &payment("1", Some("R")))).await;
        not_found(&world, "mark_paid", invoices.mark_paid(id)).await;
        not_found(&world, "reverse", invoices.reverse_payment(id, recorded.payment.id)).await;
        not_found(&world, "cancel", invoices.cancel(id)).await;
        not_found(&world, "payments", invoices.payments(id)).await;
    }
    let second = issued_over(&world.company, "100").await;
    let invoices = world.company.invoices();
    not_found(
        &world,
        "another invoice's payment",
        invoices.reverse_payment(second.summary.id, recorded.payment.id),
    )
    .await;
}

/// For any payments and reversals in any order: the amounts follow from the valid payments, PAID implies that
/// nothing is due, and `invoice.paid` comes exactly when an invoice becomes PAID.
///
/// Rules: INVOICE-4, INVOICE-6, INVOICE-11, MONEY-11
#[on_each_database]
fn the_amounts_of_an_invoice_follow_from_the_payments_that_stand(db: Database) {
    let runtime = runtime();
    let world = runtime.block_on(World::new(db));
    let steps = proptest::collection::vec((any::<bool>(), 1_i64..8_000, any::<prop::sample::Index>()), 1..12);
    for_all(db, 12, &steps, |steps| {
        runtime.block_on(async {
            let invoice = issued_over(&world.company, "100").await;
            let invoices = world.company.invoices();
            let (mut standing, mut announced, mut was_paid) = (Vec::<(PaymentId, i64)>::new(), 0, false);
            let seen = events(&world.company).await.len();
            for (reverse, cents, pick) in steps {
                let after = if reverse && !standing.is_empty() {
                    let (id, _) = standing.swap_remove(pick.index(standing.len()));
                    invoices.reverse_payment(invoice.summary.id, id).await.unwrap()
                } else {
                    let amount = format!("{}.{:02}", cents / 100, cents % 100);
                    let recorded = invoices.pay(invoice.summary.id, &payment(&amount, None)).await.unwrap();
                    standing.push((recorded.payment.id, cents));
                    recorded.invoice
                };
                let paid: i64 = standing.iter().map(|(_, cents)| cents).sum();
                let cents = |cents: i64| Money::new(rust_decimal::Decimal::new(cents, 2)).unwrap();
                prop_assert_eq!(after.summary.amount_paid, cents(paid));
                prop_assert_eq!(after.summary.amount_due, cents((10_000 - paid).max(0)));
                prop_assert_eq!(after.summary.amount_overpaid, cents((paid - 10_000).max(0)));
                let is_paid = after.summary.status == InvoiceStatus::Paid;
                prop_assert_eq!(is_paid, paid >= 10_000);
                prop_assert_eq!(after.summary.paid_at.is_some(), is_paid);
                announced += usize::from(is_paid && !was_paid);
                was_paid = is_paid;
                prop_assert_eq!(events(&world.company).await.len() - seen, announced);
                prop_assert_eq!(&invoices.get(invoice.summary.id).await.unwrap(), &after);
            }
            Ok(())
        })
    });
}
