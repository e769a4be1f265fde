//! Lines and totals of quotes and invoices.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Refused;
use super::money::{divide, money, number};
use crate::model::steps::LineSpec;

/// Descriptions as entered and as stored.
const TEXTS: [(&str, &str); 4] = [
    ("Peinture", "Peinture"),
    ("  Évacuation des gravats\t", "Évacuation des gravats"),
    ("E\u{301}cran", "Écran"),
    ("Fourniture & pose \"A\" 😀", "Fourniture & pose \"A\" 😀"),
];
const UNITS: [Option<&str>; 3] = [None, Some("m2"), Some("h")];

/// Lines with their totals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Priced {
    pub(crate) lines: Vec<Value>,
    pub(crate) breakdown: Vec<Value>,
    pub(crate) ht: i128,
    pub(crate) ttc: i128,
    /// Hundredths of a percent.
    pub(crate) rate: i128,
    pub(crate) retention_rate: i128,
    pub(crate) retention: i128,
}

/// The text of a line as entered and as stored. The service refuses text 59.
fn text(line: &LineSpec) -> (&'static str, Option<&'static str>) {
    match line.text {
        59 => (" \n ", None),
        n => {
            let (given, kept) = TEXTS[usize::from(n) % TEXTS.len()];
            (given, Some(kept))
        }
    }
}

/// The lines in the form of a request, each with private fields.
pub(crate) fn entered(lines: &[LineSpec]) -> Value {
    let private = json!({ "labourCost": 777.77, "privateNote": invoicing_tests::CANARY });
    let line = |line: &LineSpec| {
        json!({
            "description": text(line).0,
            "quantity": number(line.quantity.into(), 4),
            "unit": UNITS[usize::from(line.unit)],
            "unitPrice": number(line.price.into(), 4),
            "tvaRate": number(line.rate.into(), 2),
            "lot": (line.unit == 1).then_some("Lot 1"),
            "costing": private,
        })
    };
    lines.iter().map(line).collect()
}

/// Checks the lines and adds them up.
pub(crate) fn price(lines: &[LineSpec], retention_rate: i64) -> Result<Priced, Refused> {
    let mut bases = BTreeMap::<i128, i128>::new();
    let mut shown = Vec::new();
    for line in lines {
        let description = text(line).1.ok_or(Refused::Invalid)?;
        if line.price < 0 || !(0..=10_000).contains(&line.rate) {
            return Err(Refused::Invalid);
        }
        let total = divide(i128::from(line.quantity) * i128::from(line.price), 1_000_000);
        *bases.entry(line.rate.into()).or_default() += total;
        shown.push(json!({
            "description": description,
            "quantity": number(line.quantity.into(), 4),
            "unit": UNITS[usize::from(line.unit)],
            "unitPrice": number(line.price.into(), 4),
            "totalHT": money(total),
            "tvaRate": number(line.rate.into(), 2),
            "lot": (line.unit == 1).then_some("Lot 1"),
            "section": null,
        }));
    }
    let (mut ht, mut tva, mut breakdown) = (0, 0, Vec::new());
    for (rate, base) in &bases {
        let vat = divide(base * rate, 10_000);
        ht += base;
        tva += vat;
        let share = json!({ "tvaRate": number(*rate, 2), "baseHT": money(*base), "amountTVA": money(vat) });
        breakdown.push(share);
    }
    let ttc = ht + tva;
    if ht < 0 || ttc < 0 || !(0..=500).contains(&retention_rate) {
        return Err(Refused::Invalid);
    }
    let mut rates = bases.keys();
    let rate = match (rates.next(), rates.next()) {
        (Some(only), None) => *only,
        _ if ht == 0 => 0,
        _ => divide((ttc - ht) * 10_000, ht),
    };
    let retention_rate = i128::from(retention_rate);
    let retention = divide(ttc * retention_rate, 10_000);
    Ok(Priced { lines: shown, breakdown, ht, ttc, rate, retention_rate, retention })
}
