//! Random invoices and credit notes, and their files for validators in other languages.
//!
//! With `FACTURX_SAMPLES=<folder>` the property test writes at least 300 of its cases into the
//! folder: `<n>.xml`, and beside it `<n>.json` with the figures of the record: `number`, `type`
//! (`380`, `381`), `totalHT`, `totalTTC`, `vat` (`rate`, `base`, `amount`) and `lines`
//! (`description`, `quantity`, `unitPrice`, `totalHT`, `rate`); each figure is a text.

use std::path::PathBuf;

use invoicing_core::{
    NewLine, OperationNature, Percent, Quantity, Totals, UnitPrice, VatRegime, price_lines,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::fixtures::{Sample, invoice_of, person};
use crate::documents::content::view::DocumentKind;

/// Rates above 0, and the units that lines are generated with.
const RATES: [&str; 6] = ["20", "10", "5.5", "2.1", "8.5", "19.6"];
const UNITS: [Option<&str>; 6] =
    [None, Some("m2"), Some("ml"), Some("h"), Some("Forfait"), Some("rouleau & demi")];

/// The treatment of VAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vat {
    Standard,
    Franchise,
    ReverseCharge,
}

/// Descriptions that are legal and hostile.
fn description() -> impl Strategy<Value = String> {
    let known =
        ["]]>", "&amp; <b>", "a\r\nb\rc", "\u{feff}BOM", "א\u{200f}ב\u{202e}", "x\u{2028}y", "😀\ttab"];
    let long = "é".repeat(1_990);
    let known = prop::sample::select(known.map(str::to_owned).to_vec());
    let any = "[ -~é€’\\]\u{200f}\u{a0}\u{1fffe}😀\n]{0,60}";
    prop_oneof![2 => any, 2 => known, 1 => Just(long)].prop_map(|text| format!("L{text}."))
}

fn line(rates: Vec<Percent>) -> impl Strategy<Value = NewLine> {
    let quantity = prop_oneof![1_i64..=9_999_999, -9_999_i64..=-1];
    let place = prop::option::of("[A-Z][a-zé &<]{0,20}[a-z]");
    let rate = prop::sample::select(rates);
    let unit = prop::sample::select(UNITS.to_vec());
    (description(), quantity, 0_i64..=99_999_999, rate, unit, place).prop_map(
        |(description, quantity, price, rate, unit, place)| {
            let quantity = Quantity::new(Decimal::new(quantity, 4)).unwrap();
            let mut line =
                NewLine::new(description, quantity, UnitPrice::new(Decimal::new(price, 4)).unwrap(), rate);
            (line.unit, line.lot, line.section) = (unit.map(str::to_owned), place.clone(), place);
            line
        },
    )
}

fn lines(vat: Vat) -> impl Strategy<Value = Vec<NewLine>> {
    let rates = prop::sample::subsequence(RATES.to_vec(), 1..=4);
    rates
        .prop_map(move |rates| match vat {
            Vat::Standard => rates.into_iter().map(|rate| rate.parse().unwrap()).collect(),
            _ => vec![Percent::ZERO],
        })
        .prop_flat_map(|rates| vec(line(rates), 1..8))
        .prop_map(with_a_total)
}

/// The lines, with the quantities of discounts turned round if their sum is below 0.
fn with_a_total(mut lines: Vec<NewLine>) -> Vec<NewLine> {
    if Totals::of(&price_lines(&lines).unwrap().lines).is_err() {
        for line in &mut lines {
            line.quantity = Quantity::new(line.quantity.get().abs()).unwrap();
        }
    }
    lines
}

/// Invoices and credit notes of every kind.
pub(super) fn samples() -> impl Strategy<Value = Sample> {
    let vat = prop::sample::select(vec![Vat::Standard, Vat::Standard, Vat::Franchise, Vat::ReverseCharge]);
    let natures = vec![OperationNature::Services, OperationNature::Goods, OperationNature::Mixed];
    let facts = (prop::sample::select(natures), any::<[bool; 6]>(), 0_i64..=500);
    (vat.prop_flat_map(|vat| (Just(vat), lines(vat))), facts).prop_map(|((vat, lines), facts)| {
        let (operations, [is_private, on_debits, is_credit, has_site, has_iban, has_period], retention) =
            facts;
        let retention = Percent::new(Decimal::new(retention, 2)).unwrap();
        let mut sample = treated(invoice_of(&lines, retention), vat);
        sample.particulars.operations = operations;
        sample.identity().vat_on_debits = on_debits;
        if is_private && vat != Vat::ReverseCharge {
            sample.particulars.client = person();
        }
        if has_site {
            sample.particulars.work_site = Some("4 quai de la Fosse\n44000 Nantes".to_owned());
        }
        if !has_iban {
            sample.identity().iban = None;
        }
        if has_period {
            let head = &mut sample.invoice().summary;
            (head.period_start, head.period_end) = (head.issue_date, head.due_date);
        }
        if is_credit { sample.credited() } else { sample }
    })
}

fn treated(mut sample: Sample, vat: Vat) -> Sample {
    sample.particulars.reverse_charge = vat == Vat::ReverseCharge;
    if vat == Vat::Franchise {
        sample.identity().vat_regime = VatRegime::Franchise;
        sample.identity().vat_number = None;
    }
    sample
}

/// The folder that samples are written to.
pub(super) fn folder() -> Option<PathBuf> {
    std::env::var_os("FACTURX_SAMPLES").map(PathBuf::from)
}

/// Writes a sample, and its figures beside it.
pub(super) fn write(folder: &std::path::Path, n: usize, sample: &Sample) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{n}.xml")), sample.xml()).unwrap();
    std::fs::write(folder.join(format!("{n}.json")), figures(sample).to_string()).unwrap();
}

fn figures(sample: &Sample) -> Value {
    sample.with_view(|view| {
        let lines = view.lines.iter().map(|line| {
            json!({
                "description": line.description,
                "quantity": line.quantity.to_string(),
                "unitPrice": line.unit_price.to_string(),
                "totalHT": line.total_ht.to_string(),
                "rate": line.tva_rate.to_string(),
            })
        });
        let vat = view.vat_breakdown.iter().map(|share| {
            json!({
                "rate": share.tva_rate.to_string(),
                "base": share.base_ht.to_string(),
                "amount": share.amount_tva.to_string(),
            })
        });
        json!({
            "number": view.number,
            "type": if view.kind == DocumentKind::CreditNote { "381" } else { "380" },
            "totalHT": view.total_ht.to_string(),
            "totalTTC": view.total_ttc.to_string(),
            "vat": vat.collect::<Vec<_>>(),
            "lines": lines.collect::<Vec<_>>(),
        })
    })
}
