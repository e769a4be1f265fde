//! Lines and totals of quotes and invoices.

use std::collections::{BTreeMap, BTreeSet};

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

/// Base and VAT of a rate. The rate is in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) rate: i128,
    pub(crate) base: i128,
    pub(crate) vat: i128,
}

impl Share {
    pub(crate) fn json(self) -> Value {
        json!({ "tvaRate": number(self.rate, 2), "baseHT": money(self.base), "amountTVA": money(self.vat) })
    }
}

/// The one rate of a document, or the mean of several.
pub(crate) fn mean_rate(shares: &[Share]) -> i128 {
    let (ht, tva) = shares.iter().fold((0, 0), |(ht, tva), share| (ht + share.base, tva + share.vat));
    match shares {
        [only] => only.rate,
        _ if ht == 0 => 0,
        _ => divide(tva * 10_000, ht),
    }
}

/// Lines with their totals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Priced {
    pub(crate) lines: Vec<Value>,
    pub(crate) shares: Vec<Share>,
    /// The rates of lines with a quantity.
    pub(crate) charged: BTreeSet<i128>,
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
    let share = |(&rate, &base): (&i128, &i128)| Share { rate, base, vat: divide(base * rate, 10_000) };
    let shares: Vec<_> = bases.iter().map(share).collect();
    let ht = shares.iter().map(|share| share.base).sum();
    let ttc = ht + shares.iter().map(|share| share.vat).sum::<i128>();
    if ht < 0 || ttc < 0 || !(0..=500).contains(&retention_rate) {
        return Err(Refused::Invalid);
    }
    let charged = lines.iter().filter(|line| line.quantity != 0).map(|line| line.rate.into()).collect();
    let rate = mean_rate(&shares);
    let retention_rate = i128::from(retention_rate);
    let retention = divide(ttc * retention_rate, 10_000);
    Ok(Priced { lines: shown, shares, charged, ht, ttc, rate, retention_rate, retention })
}
