use super::*;
use crate::OpenEnum;
use crate::fixtures::{differences, holds_costing, invoice_in, names_of};

const HEAD: [&str; 33] = [
    "id",
    "number",
    "status",
    "type",
    "quoteId",
    "clientId",
    "clientName",
    "clientEmail",
    "issueDate",
    "dueDate",
    "suppliedOn",
    "periodStart",
    "periodEnd",
    "documentFormat",
    "position",
    "progressRate",
    "totalHT",
    "totalTTC",
    "tvaRate",
    "currency",
    "amountCredited",
    "amountWrittenOff",
    "retentionRate",
    "retentionAmount",
    "retentionReleaseDate",
    "retentionDue",
    "amountPaid",
    "amountDue",
    "amountOverpaid",
    "paidAt",
    "canceledAt",
    "createdAt",
    "updatedAt",
];

/// Rules: RECORD-7
#[test]
fn a_list_item_has_the_fields_of_the_contract_in_their_order() {
    for &status in InvoiceStatus::ALL {
        let Invoice { summary, lines, .. } = invoice_in(status);
        let bare = InvoiceItem { summary, lines: None };
        assert_eq!(names_of(&bare), HEAD, "{status}");
        let with_lines = InvoiceItem { lines: Some(lines), ..bare };
        assert_eq!(names_of(&with_lines), [&HEAD[..], &["lines"]].concat(), "{status}");
        assert!(!holds_costing(&serde_json::to_string(&with_lines).unwrap()));
    }
}

/// Rules: RECORD-8
#[test]
fn a_detail_has_the_fields_of_the_contract_in_their_order() {
    for &status in InvoiceStatus::ALL {
        let invoice = invoice_in(status);
        let side = ["lines", "vatBreakdown", "deductions", "creditNotes", "orderNumber"];
        assert_eq!(names_of(&invoice), [&HEAD[..], &side].concat(), "{status}");
        assert!(!holds_costing(&serde_json::to_string(&invoice).unwrap()));
    }
}

/// Rules: WIRE-11
#[test]
fn what_is_unset_is_null() {
    let json = serde_json::to_value(invoice_in(InvoiceStatus::Draft)).unwrap();
    let dates = ["issueDate", "dueDate", "suppliedOn", "periodStart", "periodEnd", "retentionReleaseDate"];
    let others =
        ["number", "documentFormat", "position", "progressRate", "paidAt", "canceledAt", "orderNumber"];
    for name in dates.into_iter().chain(others) {
        assert!(json[name].is_null(), "{name}");
    }
}

#[test]
fn values_are_written_as_the_contract_says() {
    let json = serde_json::to_value(invoice_in(InvoiceStatus::Paid)).unwrap();
    assert_eq!((&json["issueDate"], &json["dueDate"]), (&"2026-09-14".into(), &"2026-10-14".into()));
    assert_eq!(json["paidAt"], "2026-09-14T09:41:07.005Z");
    let amounts =
        ["totalTTC", "retentionAmount", "retentionDue", "amountPaid", "amountDue", "amountOverpaid"];
    assert_eq!(amounts.map(|name| json[name].to_string()), ["340", "17", "17", "323", "0", "0"]);
}

#[test]
fn every_record_reads_back_as_itself() {
    for &status in InvoiceStatus::ALL {
        let invoice = invoice_in(status);
        let json = serde_json::to_string(&invoice).unwrap();
        assert_eq!(serde_json::from_str::<Invoice>(&json).unwrap(), invoice);
        for lines in [None, Some(invoice.lines.clone())] {
            let item = InvoiceItem { summary: invoice.summary.clone(), lines };
            let json = serde_json::to_string(&item).unwrap();
            assert_eq!(serde_json::from_str::<InvoiceItem>(&json).unwrap(), item);
        }
    }
}

/// Rules: WIRE-26
#[test]
fn a_reader_ignores_new_fields_and_keeps_a_new_status() {
    let invoice = invoice_in(InvoiceStatus::Sent);
    let mut json = serde_json::to_value(&invoice).unwrap();
    json["status"] = "DISPUTED".into();
    json["disputedAt"] = serde_json::json!({"at": [1.5]});
    let read: Invoice<OpenEnum<InvoiceStatus>> = serde_json::from_value(json).unwrap();
    assert_eq!(read.summary.status, OpenEnum::Other("DISPUTED".into()));
    assert_eq!(differences(&invoice, &read), ["status"]);
}
