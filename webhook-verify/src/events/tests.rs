use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const ID: &str = "0199f3a2-7c1e-7d10-8f00-5a4b3c2d1e0f";
const AT: &str = "2026-09-14T09:41:07.000Z";

fn quote() -> Value {
    json!({
        "id": ID, "number": "DEV-2026-0042", "status": "ACCEPTED", "clientName": "Léa 🎨", "clientEmail": null,
        "totalHT": 1000.1, "totalTTC": 1200.12, "tvaRate": 20, "signedAt": AT, "signedByName": "Léa",
    })
}

fn invoice() -> Value {
    json!({
        "id": ID, "number": null, "status": "DRAFT", "type": "STANDARD", "quoteId": ID, "clientName": "Léa", "clientEmail": "l@x.fr",
        "totalHT": 10, "totalTTC": 12, "tvaRate": 20, "amountPaid": 0, "amountDue": 12, "issueDate": null,
        "dueDate": "2026-10-14",
    })
}

fn credit_note() -> Value {
    json!({
        "id": ID, "number": "AVO-2026-0042", "invoiceId": ID, "invoiceNumber": "FAC-2026-0042",
        "clientName": "Léa", "clientEmail": null, "totalHT": 10.1, "totalTTC": 12.12, "tvaRate": 20,
        "issueDate": "2026-09-14",
    })
}

fn project() -> Value {
    json!({
        "id": ID, "name": "Hall", "status": "COMPLETED", "clientName": null, "clientEmail": null,
        "quoteIds": [ID], "completedAt": AT,
    })
}

fn body(event: &str, data: &Value) -> Vec<u8> {
    json!({ "event": event, "timestamp": AT, "data": data }).to_string().into_bytes()
}

#[test]
fn each_kind_is_read_and_written_again() {
    for (event, data) in [
        ("quote.created", quote()),
        ("quote.signed", quote()),
        ("quote.accepted", quote()),
        ("invoice.created", invoice()),
        ("invoice.paid", invoice()),
        ("invoice.issued", invoice()),
        ("credit_note.issued", credit_note()),
        ("project.completed", project()),
        ("ping", json!({ "id": ID, "message": "test" })),
        ("quote.viewed", json!({ "id": 7, "by": ["x"] })),
    ] {
        let body = body(event, &data);
        let read = Event::parse(&body).unwrap();
        assert_eq!(read.name(), event);
        assert_eq!(
            matches!(read.data, EventData::Unknown { .. }),
            event == "quote.viewed",
            "a known kind has a type: {event}"
        );
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&written).unwrap(),
            serde_json::from_slice::<Value>(&body).unwrap()
        );
        assert_eq!(Event::parse(written.as_bytes()).unwrap(), read);
    }
}

#[test]
fn what_a_later_version_adds_is_no_obstacle() {
    let mut data = quote();
    data["status"] = "NEGOTIATED".into();
    data["discount"] = json!({ "rate": 5 });
    let event = Event::parse(&body("quote.created", &data)).unwrap();
    let EventData::QuoteCreated(quote) = &event.data else { panic!("{event:?}") };
    assert_eq!(quote.status, OpenEnum::Other("NEGOTIATED".into()));
    assert_eq!(serde_json::to_value(&event).unwrap()["data"]["status"], "NEGOTIATED");
}

/// Rules: EVENT-9
#[test]
fn the_kind_of_an_invoice_is_read_and_an_old_event_has_the_standard_one() {
    let read = |data: &Value| match Event::parse(&body("invoice.issued", data)).unwrap().data {
        EventData::InvoiceIssued(invoice) => invoice.r#type,
        other => panic!("{other:?}"),
    };
    let mut data = invoice();
    for (word, expected) in [
        ("STANDARD", OpenEnum::Known(InvoiceType::Standard)),
        ("DEPOSIT", OpenEnum::Known(InvoiceType::Deposit)),
        ("PROGRESS", OpenEnum::Known(InvoiceType::Progress)),
        ("SELF_BILLED", OpenEnum::Other("SELF_BILLED".into())),
    ] {
        data["type"] = word.into();
        assert_eq!(read(&data), expected);
    }
    data.as_object_mut().unwrap().remove("type");
    assert_eq!(read(&data), InvoiceType::Standard);
}

/// Rules: EVENT-10
#[test]
fn a_credit_note_names_its_invoice() {
    let event = Event::parse(&body("credit_note.issued", &credit_note())).unwrap();
    let EventData::CreditNoteIssued(note) = &event.data else { panic!("{event:?}") };
    assert_eq!((note.number.as_str(), note.invoice_number.as_str()), ("AVO-2026-0042", "FAC-2026-0042"));
    assert_eq!((note.total_ht.to_string(), note.total_ttc.to_string()), ("10.10".into(), "12.12".into()));
    assert_eq!(note.issue_date.to_string(), "2026-09-14");
    let mut unnamed = credit_note();
    unnamed.as_object_mut().unwrap().remove("invoiceNumber");
    assert!(Event::parse(&body("credit_note.issued", &unnamed)).is_err());
}

#[test]
fn a_kind_that_is_announced_but_not_typed_yet_is_kept() {
    for kind in ["quote.sent", "invoice.overdue", "payment.recorded"] {
        let event = Event::parse(&body(kind, &invoice())).unwrap();
        assert!(matches!(&event.data, EventData::Unknown { event, .. } if event == kind), "{kind}");
    }
}

#[test]
fn the_data_of_an_unknown_kind_keeps_its_digits() {
    let body = format!(r#"{{"event":"x.y","timestamp":"{AT}","data":{{"total":12345678901234567890.12}}}}"#);
    let event = Event::parse(body.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), body);
}

/// A call takes the id of an event without a conversion, and a record compares with an event.
#[test]
fn an_event_has_the_types_of_the_client() {
    let event = Event::parse(&body("quote.signed", &quote())).unwrap();
    let EventData::QuoteSigned(quote) = event.data else { panic!("{:?}", event.data) };
    let id: invoicing_core::QuoteId = quote.id;
    let total: invoicing_core::Money = quote.total_ttc;
    let at: invoicing_core::Timestamp = event.timestamp;
    assert_eq!((id.to_string(), total.to_string(), at.to_string()), (ID.into(), "1200.12".into(), AT.into()));
    assert_eq!(quote.status, invoicing_core::QuoteStatus::Accepted);
}

#[test]
fn an_amount_of_the_last_digit_is_exact_and_a_larger_one_is_refused() {
    let text = String::from_utf8(body("quote.created", &quote())).unwrap();
    let read = |amount| Event::parse(text.replace("1200.12", amount).as_bytes());
    let event = read("9999999999999.99").unwrap();
    assert!(serde_json::to_string(&event).unwrap().contains(r#""totalTTC":9999999999999.99"#));
    for refused in ["9007199254740993.01", "0.10000000000000000001", "12.005"] {
        assert!(read(refused).is_err(), "{refused}");
    }
}

#[test]
fn what_is_not_an_event_says_why() {
    let text = String::from_utf8(body("quote.created", &quote())).unwrap();
    for (body, reason) in [
        (String::new(), "not a JSON object"),
        (format!(r#"["ping","{AT}",{{}}]"#), "not a JSON object"),
        (format!("\u{feff}{text}"), "not a JSON object"),
        (format!("{text}}}"), "trailing characters"),
        (r#"{"event":"ping"}"#.to_owned(), "missing field `timestamp`"),
        (
            text.replace("1200.12", "\"1200.12\""),
            "not a quote.created as documented: data: expected a number",
        ),
        (text.replace("1200.12", "1e400"), "too many digits"),
        (text.replace("totalTTC", "total"), "missing field `totalTTC`"),
        (text.replacen(AT, "yesterday", 2), "timestamp"),
        (text.replacen('{', r#"{"event":"ping","#, 1), "duplicate field `event`"),
    ] {
        let error = Event::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{body}: {error}");
    }
}

#[test]
fn the_key_is_in_every_envelope() {
    let key = |data: &str| {
        let body = format!(r#"{{"data":{data},"event":"a\u002eb","timestamp":"{AT}"}}"#);
        Envelope::parse(body.as_bytes()).unwrap().key().to_string()
    };
    assert_eq!(key(r#"{"x":[{"id":1}],"id":"7"}"#), format!("a.b 7 {AT}"));
    let without = [key("{}"), key("null"), key("[]"), key(r#"{"id":7}"#), key(r#"{"id":8}"#)];
    for (index, one) in without.iter().enumerate() {
        assert!(one.starts_with("a.b sha256:"), "{one}");
        assert!(!without[..index].contains(one), "events without an id are told apart: {one}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(Value::from(ID)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let names = prop_oneof!["[a-z]{1,3}", Just("id".to_owned()), Just("status".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_amount_in_cents_comes_through(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
        let amount = format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100);
        let text = String::from_utf8(body("quote.created", &quote())).unwrap();
        let event = Event::parse(text.replace("1200.12", &amount).as_bytes()).unwrap();
        let EventData::QuoteCreated(quote) = &event.data else { panic!("{event:?}") };
        prop_assert_eq!(quote.total_ttc.to_string(), if cents == 0 { "0.00".to_owned() } else { amount });
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Event::parse(&bytes);
    }

    #[test]
    fn any_data_of_an_unknown_kind_is_kept(data in json_value(), event in "[a-z]{1,5}\\.[a-z ]{1,5}") {
        let body = body(&event, &data);
        let read = Event::parse(&body).unwrap();
        prop_assert_eq!(read.name(), &event);
        let again = serde_json::to_vec(&read).unwrap();
        prop_assert_eq!(Event::parse(&again).unwrap(), read);
    }

    #[test]
    fn one_field_of_any_type_is_read_or_refused(
        at in any::<prop::sample::Index>(),
        value in json_value(),
        event in prop::sample::select(vec![
            "quote.created", "invoice.paid", "credit_note.issued", "project.completed",
        ]),
    ) {
        let mut data = match event {
            "quote.created" => quote(),
            "invoice.paid" => invoice(),
            "credit_note.issued" => credit_note(),
            _ => project(),
        };
        let names: Vec<String> = data.as_object().unwrap().keys().cloned().collect();
        data[&names[at.index(names.len())]] = value;
        let body = body(event, &data);
        if let Ok(read) = Event::parse(&body) {
            let again = serde_json::to_vec(&read).unwrap();
            prop_assert_eq!(Event::parse(&again).unwrap(), read);
        }
        prop_assert!(Envelope::parse(&body).is_ok());
    }
}
