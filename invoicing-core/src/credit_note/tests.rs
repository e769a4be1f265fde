use super::*;
use crate::InvoiceStatus;
use crate::fixtures::{credit_remaining, differences, holds_costing, invoice_in, names_of, time};

const HEAD: [&str; 17] = [
    "id",
    "number",
    "invoiceId",
    "invoiceNumber",
    "quoteId",
    "clientId",
    "clientName",
    "clientEmail",
    "issueDate",
    "reason",
    "documentFormat",
    "totalHT",
    "totalTTC",
    "tvaRate",
    "currency",
    "createdAt",
    "updatedAt",
];

fn note() -> CreditNote {
    credit_remaining(&invoice_in(InvoiceStatus::Sent), time(9)).0
}

/// Rules: RECORD-14
#[test]
fn a_list_item_has_the_fields_of_the_contract_in_their_order() {
    let CreditNote { summary, lines, .. } = note();
    let bare = CreditNoteItem { summary, lines: None };
    assert_eq!(names_of(&bare), HEAD);
    assert!(bare.lines().is_empty());
    let with_lines = CreditNoteItem { lines: Some(lines), ..bare };
    assert_eq!(names_of(&with_lines), [&HEAD[..], &["lines"]].concat());
    assert!(!holds_costing(&serde_json::to_string(&with_lines).unwrap()));
}

/// Rules: RECORD-15, RECORD-6
#[test]
fn a_detail_has_the_fields_of_the_contract_in_their_order() {
    assert_eq!(names_of(&note()), [&HEAD[..], &["lines", "vatBreakdown"]].concat());
    assert!(!holds_costing(&serde_json::to_string(&note()).unwrap()));
    assert_eq!(note().lines().len(), 2);
}

/// Rules: RECORD-16
#[test]
fn an_invoice_names_its_credit_notes() {
    let invoice = credit_remaining(&invoice_in(InvoiceStatus::Sent), time(9)).1.record;
    let named = &serde_json::to_value(&invoice).unwrap()["creditNotes"];
    let expected = serde_json::json!([{
        "id": note().summary.id, "number": "AVO-2026-0001", "issueDate": "2026-09-14", "totalTTC": 340,
    }]);
    assert_eq!(*named, expected);
}

/// Rules: WIRE-11
#[test]
fn amounts_are_positive_and_what_is_unset_is_null() {
    let mut note = note();
    let summary = &mut note.summary;
    (summary.quote_id, summary.client_email, summary.document_format) = (None, None, None);
    let json = serde_json::to_value(&note).unwrap();
    assert_eq!(["totalHT", "totalTTC"].map(|name| json[name].to_string()), ["300", "340"]);
    for name in ["quoteId", "clientEmail", "documentFormat"] {
        assert!(json[name].is_null(), "{name}");
    }
}

#[test]
fn every_record_reads_back_as_itself() {
    let json = serde_json::to_string(&note()).unwrap();
    assert_eq!(serde_json::from_str::<CreditNote>(&json).unwrap(), note());
    for lines in [None, Some(note().lines)] {
        let item = CreditNoteItem { summary: note().summary, lines };
        let json = serde_json::to_string(&item).unwrap();
        assert_eq!(serde_json::from_str::<CreditNoteItem>(&json).unwrap(), item);
    }
}

/// Rules: WIRE-26
#[test]
fn a_reader_ignores_new_fields_and_keeps_a_new_format() {
    let mut json = serde_json::to_value(note()).unwrap();
    json["documentFormat"] = "UBL".into();
    json["disputedAt"] = serde_json::json!({"at": [1.5]});
    let read: CreditNote = serde_json::from_value(json).unwrap();
    assert_eq!(read.summary.document_format, Some(OpenEnum::Other("UBL".into())));
    assert_eq!(differences(&note(), &read), ["documentFormat"]);
}
