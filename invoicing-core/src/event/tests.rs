use serde_json::Value;

use super::*;
use crate::fixtures::{
    at, client, credit_remaining, holds_costing, invoice_in, names, names_of, quote_in, signature, time,
    today, uuid,
};
use crate::{Changed, Money, QuoteImport, QuoteTerms};

const QUOTE: [&str; 8] =
    ["id", "number", "status", "clientName", "clientEmail", "totalHT", "totalTTC", "tvaRate"];
const INVOICE: [&str; 14] = [
    "id",
    "number",
    "status",
    "type",
    "quoteId",
    "clientName",
    "clientEmail",
    "totalHT",
    "totalTTC",
    "tvaRate",
    "amountPaid",
    "amountDue",
    "issueDate",
    "dueDate",
];

/// The only event of a change.
fn only<T>(changed: Changed<T>) -> Event {
    let [event] = <[Event; 1]>::try_from(changed.events).unwrap();
    event
}

/// The member names of the data, after the checks that hold for every event.
fn data_names(event: &Event) -> Vec<String> {
    assert_eq!(names_of(event), ["event", "timestamp", "data"]);
    let json = serde_json::to_string(event).unwrap();
    assert!(!holds_costing(&json), "{json}");
    for forbidden in
        ["lines", "description", "Paint the hall", "Painting", "Ground floor", "notes", "calls back"]
    {
        assert!(!json.contains(forbidden), "{forbidden} in {json}");
    }
    let tree: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(tree["event"], event.name());
    assert_eq!(tree["timestamp"], event.timestamp.to_string());
    names_of(&event.data)
}

fn tree(event: &Event) -> Value {
    serde_json::to_value(event).unwrap()
}

/// Rules: EVENT-4, WIRE-12
#[test]
fn a_created_quote_holds_only_what_applies() {
    let created =
        Quote::draft(crate::fixtures::origin(), &client(), crate::fixtures::lines(), &QuoteTerms::default());
    let event = only(created.unwrap());
    assert_eq!(event.name(), "quote.created");
    assert_eq!(data_names(&event), QUOTE);
    assert_eq!(tree(&event)["data"]["totalTTC"].to_string(), "340");
}

#[test]
fn a_client_without_email_is_null_and_not_left_out() {
    let anonymous = crate::Client { email: None, ..client() };
    let created = Quote::draft(crate::fixtures::origin(), &anonymous, Vec::new(), &QuoteTerms::default());
    let event = only(created.unwrap());
    assert_eq!(data_names(&event), QUOTE);
    assert!(tree(&event)["data"]["clientEmail"].is_null());
}

/// Rules: EVENT-4
#[test]
fn a_signed_quote_holds_the_twelve_fields() {
    let signed = quote_in(QuoteStatus::Sent).sign(signature(7), at(8), today()).unwrap();
    let twelve = [&QUOTE[..], &["signedAt", "acceptedAt", "signedByName", "signedByEmail"]].concat();
    for (event, name) in signed.events.iter().zip(["quote.signed", "quote.accepted"]) {
        assert_eq!(event.name(), name);
        assert_eq!(data_names(event), twelve);
        let data = &tree(event)["data"];
        assert_eq!(data["status"], "ACCEPTED");
        assert_eq!(data["signedAt"], at(7).to_string());
        assert_eq!(data["signedByEmail"], "lea@exemple.fr");
    }
}

/// Rules: WIRE-12
#[test]
fn a_quote_accepted_by_hand_has_no_signature() {
    let event = only(quote_in(QuoteStatus::Sent).accept(time(8)).unwrap());
    assert_eq!(event.name(), "quote.accepted");
    assert_eq!(data_names(&event), [&QUOTE[..], &["acceptedAt"]].concat());
}

#[test]
fn an_imported_quote_shows_when_it_was_accepted() {
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: Some(at(-5)) };
    let (origin, lines) = (crate::fixtures::origin(), crate::fixtures::lines());
    let imported = Quote::import(origin, &client(), lines, &QuoteTerms::default(), &import, today());
    let event = only(imported.unwrap());
    assert_eq!(event.name(), "quote.created");
    assert_eq!(data_names(&event), [&QUOTE[..], &["acceptedAt"]].concat());
}

/// Rules: EVENT-5
#[test]
fn a_created_invoice_shows_null_for_what_it_will_get() {
    let created = Invoice::from_quote(InvoiceId(uuid(3)), &quote_in(QuoteStatus::Accepted), time(3));
    let event = only(created.unwrap());
    assert_eq!(event.name(), "invoice.created");
    assert_eq!(data_names(&event), INVOICE);
    let data = &tree(&event)["data"];
    assert!(["number", "issueDate", "dueDate"].iter().all(|name| data[name].is_null()));
    assert_eq!(data["amountDue"].to_string(), "323");
}

/// Rules: EVENT-5, EVENT-6
#[test]
fn an_invoice_without_an_email_shows_null_for_it() {
    let anonymous = crate::Client { email: None, ..client() };
    let lines = crate::fixtures::lines();
    let quote = Quote::draft(crate::fixtures::origin(), &anonymous, lines, &QuoteTerms::default());
    let accepted = quote.unwrap().record.accept(time(1)).unwrap().record;
    let created = Invoice::from_quote(InvoiceId(uuid(3)), &accepted, time(3)).unwrap();
    let issue = crate::InvoiceIssue::new("FAC-2026-0007", today());
    let issued = created.record.issue(issue, time(4)).unwrap().record;
    let paid = only(issued.mark_paid(time(9)).unwrap());
    let event = only(created);
    assert_eq!(data_names(&event), INVOICE);
    assert_eq!(data_names(&paid), [&INVOICE[..], &["paidAt"]].concat());
    assert!([event, paid].iter().all(|event| tree(event)["data"]["clientEmail"].is_null()));
}

/// Rules: EVENT-6
#[test]
fn a_paid_invoice_adds_when() {
    let event = only(invoice_in(InvoiceStatus::Sent).record_payment(Money::from(400), time(9)).unwrap());
    assert_eq!(event.name(), "invoice.paid");
    assert_eq!(data_names(&event), [&INVOICE[..], &["paidAt"]].concat());
    let data = &tree(&event)["data"];
    assert_eq!((&data["status"], &data["paidAt"]), (&"PAID".into(), &at(9).to_string().into()));
    assert_eq!((data["amountPaid"].to_string(), data["amountDue"].to_string()), ("400".into(), "0".into()));
}

/// Rules: INVOICE-18, EVENT-9
#[test]
fn an_issued_invoice_shows_its_number_and_its_dates() {
    let issue = crate::InvoiceIssue::new("FAC-2026-0007", today());
    let event = only(invoice_in(InvoiceStatus::Draft).issue(issue, time(9)).unwrap());
    assert_eq!(event.name(), "invoice.issued");
    assert_eq!(data_names(&event), INVOICE);
    let data = &tree(&event)["data"];
    let shown = ["number", "status", "type", "issueDate", "dueDate"].map(|name| data[name].as_str().unwrap());
    assert_eq!(shown, ["FAC-2026-0007", "SENT", "STANDARD", "2026-09-14", "2026-10-14"]);
}

/// Rules: EVENT-9
#[test]
fn an_invoice_that_is_issued_with_nothing_due_is_shown_issued_then_paid() {
    let mut draft = invoice_in(InvoiceStatus::Draft);
    draft.summary.amount_due = Money::ZERO;
    let changed = draft.issue(crate::InvoiceIssue::new("FAC-2026-0007", today()), time(9)).unwrap();
    let [issued, paid] = <[Event; 2]>::try_from(changed.events).unwrap();
    assert_eq!((issued.name(), paid.name()), ("invoice.issued", "invoice.paid"));
    assert_eq!((&tree(&issued)["data"]["status"], data_names(&issued)), (&"SENT".into(), data_of_invoice()));
    assert_eq!(tree(&paid)["data"]["status"], "PAID");
}

fn data_of_invoice() -> Vec<String> {
    INVOICE.map(str::to_owned).to_vec()
}

/// Rules: EVENT-10
#[test]
fn a_credit_note_shows_its_invoice_and_totals() {
    let (note, changed) = credit_remaining(&invoice_in(InvoiceStatus::Sent), time(9));
    let event = only(changed);
    assert_eq!((event.name(), event.timestamp), ("credit_note.issued", at(9)));
    let expected = [
        "id",
        "number",
        "invoiceId",
        "invoiceNumber",
        "clientName",
        "clientEmail",
        "totalHT",
        "totalTTC",
        "tvaRate",
        "issueDate",
    ];
    assert_eq!(data_names(&event), expected);
    let data = &tree(&event)["data"];
    assert_eq!(data["id"], note.summary.id.to_string());
    assert_eq!((&data["number"], &data["invoiceNumber"]), (&"AVO-2026-0001".into(), &"FAC-2026-0007".into()));
    assert_eq!((data["totalHT"].to_string(), data["totalTTC"].to_string()), ("300".into(), "340".into()));
    assert_eq!(data["issueDate"], "2026-09-14");
}

/// Rules: EVENT-7
#[test]
fn a_completed_project_has_the_fields_of_the_contract() {
    let expected = ["id", "name", "status", "clientName", "clientEmail", "quoteIds", "completedAt"];
    let quotes = vec![QuoteId(uuid(2))];
    for client in [None, Some(&client())] {
        let project = Project::open(ProjectId(uuid(4)), "Hall", client, quotes.clone(), time(0)).unwrap();
        let event = only(project.set_status(ProjectStatus::Completed, time(5)).unwrap().unwrap());
        assert_eq!(event.name(), "project.completed");
        assert_eq!(data_names(&event), expected);
        let data = &tree(&event)["data"];
        assert_eq!(data["quoteIds"], serde_json::json!([uuid(2).to_string()]));
        assert_eq!(data["clientName"].is_null(), client.is_none());
        assert_eq!(data["completedAt"], at(5).to_string());
    }
}

/// Rules: EVENT-8
#[test]
fn a_ping_names_the_webhook() {
    let event = Event::ping(WebhookId(uuid(5)), at(0));
    assert_eq!((event.kind, event.name()), (None, "ping"));
    assert_eq!(data_names(&event), ["id", "message"]);
    let json = serde_json::to_string(&event).unwrap();
    let start =
        format!(r#"{{"event":"ping","timestamp":"2026-09-14T09:41:07.000Z","data":{{"id":"{}","#, uuid(5));
    assert!(json.starts_with(&start), "{json}");
    assert_eq!(names(&json).len(), 3);
}
