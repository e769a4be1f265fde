use super::*;
use crate::OpenEnum;
use crate::fixtures::{differences, draft_quote, holds_costing, names_of, quote_in, uuid};

const HEAD: [&str; 19] = [
    "id",
    "number",
    "status",
    "externalId",
    "clientId",
    "clientName",
    "clientEmail",
    "totalHT",
    "totalTTC",
    "tvaRate",
    "currency",
    "validUntil",
    "createdAt",
    "updatedAt",
    "sentAt",
    "signedAt",
    "acceptedAt",
    "signedByName",
    "signedByEmail",
];
const DETAIL: [&str; 6] =
    ["lines", "retentionRate", "retentionAmount", "vatBreakdown", "signature", "orderNumber"];

/// Rules: RECORD-1
#[test]
fn a_list_item_has_the_fields_of_the_contract_in_their_order() {
    for &status in QuoteStatus::ALL {
        let Quote { summary, lines, .. } = quote_in(status);
        let bare = QuoteItem { summary, lines: None };
        assert_eq!(names_of(&bare), HEAD, "{status}");
        let with_lines = QuoteItem { lines: Some(lines), ..bare };
        assert_eq!(names_of(&with_lines), [&HEAD[..], &["lines"]].concat(), "{status}");
        assert!(!holds_costing(&serde_json::to_string(&with_lines).unwrap()));
    }
}

/// Rules: RECORD-2
#[test]
fn a_detail_has_the_fields_of_the_contract_in_their_order() {
    for &status in QuoteStatus::ALL {
        let quote = quote_in(status);
        assert_eq!(names_of(&quote), [&HEAD[..], &DETAIL[..]].concat(), "{status}");
        assert_eq!(names_of(&quote.detail.vat_breakdown[0]), ["tvaRate", "baseHT", "amountTVA"]);
        assert!(!holds_costing(&serde_json::to_string(&quote).unwrap()));
    }
    let signature = quote_in(QuoteStatus::Accepted).detail.signature.unwrap();
    let expected = ["signedAt", "signedByName", "signedByEmail", "acceptedText", "proofFingerprint"];
    assert_eq!(names_of(&signature), expected);
}

/// Rules: WIRE-11
#[test]
fn what_is_unset_is_null() {
    let json = serde_json::to_value(draft_quote()).unwrap();
    for name in [
        "externalId",
        "validUntil",
        "sentAt",
        "signedAt",
        "acceptedAt",
        "signedByName",
        "signedByEmail",
        "signature",
        "orderNumber",
    ] {
        assert!(json[name].is_null(), "{name}");
    }
}

#[test]
fn values_are_written_as_the_contract_says() {
    let json = serde_json::to_value(quote_in(QuoteStatus::Accepted)).unwrap();
    assert_eq!(json["id"], uuid(2).to_string());
    assert_eq!(json["status"], "ACCEPTED");
    assert_eq!(json["totalTTC"].to_string(), "340");
    assert_eq!(json["tvaRate"].to_string(), "13.33");
    assert_eq!(json["validUntil"], "2026-10-14");
    assert_eq!(json["createdAt"], "2026-09-14T09:41:07.000Z");
    assert_eq!(json["signature"]["signedAt"], "2026-09-14T09:41:07.002Z");
    assert_eq!(json["retentionAmount"].to_string(), "17");
}

#[test]
fn every_record_reads_back_as_itself() {
    for &status in QuoteStatus::ALL {
        let quote = quote_in(status);
        let json = serde_json::to_string(&quote).unwrap();
        assert_eq!(serde_json::from_str::<Quote>(&json).unwrap(), quote);
        for lines in [None, Some(quote.lines.clone())] {
            let item = QuoteItem { summary: quote.summary.clone(), lines };
            let json = serde_json::to_string(&item).unwrap();
            assert_eq!(serde_json::from_str::<QuoteItem>(&json).unwrap(), item);
        }
    }
}

/// Rules: WIRE-26
#[test]
fn a_reader_ignores_new_fields_and_keeps_a_new_status() {
    let quote = quote_in(QuoteStatus::Accepted);
    let mut json = serde_json::to_value(&quote).unwrap();
    json["status"] = "ARCHIVED".into();
    json["signature"]["device"] = "phone".into();
    json["vatBreakdown"][0]["label"] = "reduced".into();
    json["archivedAt"] = serde_json::json!(["anything", {"at": "all"}]);
    let read: Quote<OpenEnum<QuoteStatus>> = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(read.summary.status, OpenEnum::Other("ARCHIVED".into()));
    assert_eq!((&read.lines, &read.detail), (&quote.lines, &quote.detail));
    assert_eq!(differences(&quote, &read), ["status"]);
    let item: QuoteItem<OpenEnum<QuoteStatus>> = serde_json::from_value(json).unwrap();
    assert_eq!(item.summary.status.to_string(), "ARCHIVED");
}

#[test]
fn new_content_needs_only_a_client() {
    let json = format!(r#"{{"clientId": "{}"}}"#, uuid(1));
    let new: NewQuote = serde_json::from_str(&json).unwrap();
    assert_eq!((new.lines.len(), new.retention_rate, new.valid_until), (0, Percent::ZERO, None));
    let json = format!(r#"{{"clientId": "{}", "number": "DEV-1"}}"#, uuid(1));
    assert!(serde_json::from_str::<NewQuote>(&json).is_err());
}

/// Rules: LINK-1
#[test]
fn a_link_has_two_fields() {
    let unlinked = ExternalLink { id: QuoteId(uuid(2)), external_id: None };
    let expected = format!(r#"{{"id":"{}","externalId":null}}"#, uuid(2));
    assert_eq!(serde_json::to_string(&unlinked).unwrap(), expected);
}
