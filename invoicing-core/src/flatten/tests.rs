//! Comparison with a struct of the same members without a summary: same results, no more
//! allocations, no more time.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixtures::{invoice_in, quote_in};
use crate::{
    ClientId, Invoice, InvoiceItem, InvoiceStatus, Line, Money, OpenEnum, Page, Percent, Quote, QuoteId,
    QuoteItem, QuoteStatus, Timestamp,
};

/// A list item in one piece, as written by a reader with no more than the JSON.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read")]
struct Plain {
    id: QuoteId,
    number: String,
    status: OpenEnum<QuoteStatus>,
    external_id: Option<String>,
    client_id: ClientId,
    client_name: String,
    client_email: Option<String>,
    #[serde(rename = "totalHT")]
    total_ht: Money,
    #[serde(rename = "totalTTC")]
    total_ttc: Money,
    tva_rate: Percent,
    currency: String,
    valid_until: Option<chrono::NaiveDate>,
    created_at: Timestamp,
    updated_at: Timestamp,
    sent_at: Option<Timestamp>,
    signed_at: Option<Timestamp>,
    accepted_at: Option<Timestamp>,
    signed_by_name: Option<String>,
    signed_by_email: Option<String>,
    #[serde(default)]
    lines: Option<Vec<Line>>,
}

type Item = QuoteItem<OpenEnum<QuoteStatus>>;

/// A page of 100 signed quotes of 20 lines each.
fn page() -> String {
    let quote = quote_in(QuoteStatus::Accepted);
    let lines: Vec<Line> = quote.lines.iter().cycle().take(20).cloned().collect();
    let mut item = serde_json::to_value(QuoteItem { summary: quote.summary, lines: Some(lines) }).unwrap();
    item["aNewMember"] = json!({"of": ["any", "kind"]});
    json!({
        "data": vec![item; 100],
        "pagination": {"limit": 100, "offset": 0, "hasMore": true},
        "asOf": "2026-09-14T09:41:07.123Z",
    })
    .to_string()
}

fn read<'de, T: Deserialize<'de>>(text: &'de str) -> T {
    serde_json::from_str(text).unwrap()
}

#[test]
fn nothing_is_buffered() {
    let text = page();
    let plain = allocation_counter::measure(|| drop(read::<Page<Plain>>(&text)));
    let item = allocation_counter::measure(|| drop(read::<Page<Item>>(&text)));
    assert_eq!((item.count_total, item.bytes_max), (plain.count_total, plain.bytes_max));
}

#[test]
fn a_page_is_read_as_fast_as_in_one_piece() {
    let text = page();
    let time = |read: &dyn Fn()| {
        let started = Instant::now();
        read();
        started.elapsed()
    };
    // A tree costs a factor of 2.
    let max = 1.15;
    // Alternates, and takes the best of many, so that the time of other processes is not counted. A
    // busy machine needs more rounds.
    let (mut plain, mut item, mut ratio) = (Duration::MAX, Duration::MAX, f64::INFINITY);
    for round in 0..400 {
        plain = plain.min(time(&|| drop(read::<Page<Plain>>(&text))));
        item = item.min(time(&|| drop(read::<Page<Item>>(&text))));
        ratio = item.as_secs_f64() / plain.as_secs_f64();
        if round >= 20 && ratio < max {
            break;
        }
    }
    println!("{} bytes: {plain:?} in one piece, {item:?} as items, ratio {ratio:.3}", text.len());
    assert!(ratio < max, "{ratio}");
}

#[test]
fn members_may_come_in_any_order_and_once() {
    let quote = quote_in(QuoteStatus::Accepted);
    let Value::Object(members) = serde_json::to_value(&quote).unwrap() else { panic!("an object") };
    let text = |members: &[(&String, &Value)]| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let mut order: Vec<_> = members.iter().collect();
    for _ in 0..order.len() {
        order.rotate_left(1);
        assert_eq!(read::<Quote>(&text(&order)), quote);
    }
    for twice in 0..order.len() {
        let mut order = order.clone();
        order.push(order[twice]);
        let error = serde_json::from_str::<Quote>(&text(&order)).unwrap_err();
        assert!(error.to_string().contains("duplicate field"), "{error}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let quote = serde_json::to_value(quote_in(QuoteStatus::Sent)).unwrap();
    let invoice = serde_json::to_value(invoice_in(InvoiceStatus::Sent)).unwrap();
    let without = |record: &Value, name: &str| {
        let mut record = record.clone();
        record.as_object_mut().unwrap().remove(name);
        record
    };
    for name in ["id", "lines", "retentionRate", "retentionAmount", "vatBreakdown"] {
        let error = serde_json::from_value::<Quote>(without(&quote, name)).unwrap_err();
        assert_eq!(error.to_string(), format!("missing field `{name}`"));
    }
    for name in ["id", "lines", "vatBreakdown"] {
        let error = serde_json::from_value::<Invoice>(without(&invoice, name)).unwrap_err();
        assert_eq!(error.to_string(), format!("missing field `{name}`"));
    }
    // A member that is null if it is unset may also be left out.
    assert!(serde_json::from_value::<Quote>(without(&quote, "signature")).is_ok());
    let mut item = without(&invoice, "lines");
    assert_eq!(serde_json::from_value::<InvoiceItem>(item.clone()).unwrap().lines, None);
    item["lines"] = Value::Null;
    assert_eq!(serde_json::from_value::<InvoiceItem>(item).unwrap().lines, None);
}

#[test]
fn anything_but_an_object_is_refused() {
    for bad in ["[]", "null", "1", "\"x\"", "{\"lines\":[]", "{\"lines\":{}}"] {
        assert!(serde_json::from_str::<Quote>(bad).is_err(), "{bad}");
        assert!(serde_json::from_str::<Item>(bad).is_err(), "{bad}");
    }
}
