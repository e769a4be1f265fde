//! Random invoices and credit notes, and their files for validators in other languages.
//!
//! With `FACTURX_SAMPLES=<folder>` the property test writes at least 400 of its cases into the
//! folder: `<n>.xml`, and beside it `<n>.json` with the record, as `tests/e_invoicing/record.py`
//! describes it; each figure is a text.

use std::collections::BTreeSet;
use std::path::PathBuf;

use invoicing_core::{
    CompanyIdentity, CreditContent, CreditableBalance, Invoice, Money, NewCreditNote, NewLine,
    OperationNature, Percent, Quantity, Totals, UnitPrice, VatRegime, price_lines,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::fixtures::{Sample, accounting, business, day, invoice_of, person};
use crate::documents::{Buyer, DocumentKind};

/// Rates above 0, and the units that lines are generated with.
const RATES: [&str; 6] = ["20", "10", "5.5", "2.1", "8.5", "13"];
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
    let any = "[ -~é€’\\]\u{200f}\u{a0}\u{1faff}😀\n]{0,60}";
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

/// The lines, each a second time with its quantity turned round: they come to 0.
fn of_nothing(mut lines: Vec<NewLine>) -> Vec<NewLine> {
    let back =
        |line: &NewLine| NewLine { quantity: Quantity::new(-line.quantity.get()).unwrap(), ..line.clone() };
    let taken_back: Vec<_> = lines.iter().map(back).collect();
    lines.extend(taken_back);
    lines
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

/// The client, as far as documents differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Business,
    BusinessWithAddress,
    BusinessWithoutVatNumber,
    /// In a part of France overseas with VAT, by its code.
    BusinessOverseas(&'static str),
    UntypedBusiness,
    Private,
    PrivateWithNumbers,
    PrivateWithAddress,
    UntypedPrivate,
}

use Client::{
    Business, BusinessOverseas, BusinessWithAddress, BusinessWithoutVatNumber, Private, PrivateWithAddress,
    PrivateWithNumbers, UntypedBusiness, UntypedPrivate,
};

/// Businesses with a VAT number, as reverse charge asks for it.
const NUMBERED: [Client; 6] = [
    Business,
    BusinessWithAddress,
    BusinessOverseas("GP"),
    BusinessOverseas("MQ"),
    BusinessOverseas("RE"),
    UntypedBusiness,
];
const PRIVATE: [Client; 4] = [Private, PrivateWithNumbers, PrivateWithAddress, UntypedPrivate];

impl Client {
    fn buyer(self) -> Buyer {
        match self {
            Business => business(),
            BusinessWithAddress => {
                Buyer { electronic_address: Some("356000000_COMPTA.75".into()), ..business() }
            }
            BusinessWithoutVatNumber => Buyer { vat_number: None, ..business() },
            BusinessOverseas(code) => Buyer { country: Some(code.into()), ..business() },
            UntypedBusiness => Buyer { r#type: None, ..business() },
            Private => person(),
            PrivateWithNumbers => Buyer { r#type: person().r#type, ..business() },
            PrivateWithAddress => Buyer { electronic_address: Some("404833048_LEA".into()), ..person() },
            UntypedPrivate => Buyer { r#type: None, ..person() },
        }
    }
}

/// VAT, the lines and a client that can have them.
fn content() -> impl Strategy<Value = (Vat, Vec<NewLine>, Client)> {
    let vat = prop_oneof![3 => Just(Vat::Standard), 1 => Just(Vat::Franchise), 1 => Just(Vat::ReverseCharge)];
    vat.prop_flat_map(|vat| {
        let others = [&[BusinessWithoutVatNumber][..], &PRIVATE].concat();
        let others = if vat == Vat::ReverseCharge { &[][..] } else { &others };
        (Just(vat), lines(vat), prop::sample::select([&NUMBERED, others].concat()))
    })
}

/// Changes to the company: its address, legal form, sentences and numbers.
fn company() -> impl Strategy<Value = Vec<fn(&mut CompanyIdentity)>> {
    let changes: Vec<fn(&mut CompanyIdentity)> = vec![
        |identity| identity.electronic_address = Some("732829320_FACTURES".into()),
        |identity| (identity.legal_form, identity.share_capital) = (Some("EI".into()), None),
        |identity| identity.late_penalty = Some("Pénalités de retard : 12 % l’an.".into()),
        |identity| identity.early_payment = Some("Escompte de 1 % sous 8 jours.".into()),
        |identity| identity.mediator = Some("CM2C, 49 rue de Ponthieu, 75008 Paris".into()),
        |identity| identity.insurance = None,
        |identity| identity.vat_on_debits = true,
        |identity| (identity.iban, identity.bic) = (None, None),
        |identity| identity.bic = None,
    ];
    let count = changes.len();
    prop::sample::subsequence(changes, 0..=count)
}

/// Changes to the document: the order, the address for it, the dates and the places of the supply.
fn document() -> impl Strategy<Value = Vec<fn(&mut Sample)>> {
    let changes: Vec<fn(&mut Sample)> = vec![
        |sample| sample.facts.work_site = Some("4 quai de la Fosse\n44000 Nantes".into()),
        |sample| sample.facts.quote_number = None,
        |sample| sample.invoice().detail.order_number = Some("PO 2026/41 <é> & fils".into()),
        |sample| sample.facts.parties.buyer.billing_address = Some(accounting()),
        |sample| sample.invoice().summary.supplied_on = Some(day(2026, 9, 1)),
        |sample| {
            let head = &mut sample.invoice().summary;
            (head.period_start, head.period_end) = (head.issue_date, head.due_date);
        },
    ];
    let count = changes.len();
    prop::sample::subsequence(changes, 0..=count)
}

/// The choices of a credit note: parts of lines, a reduction, and whether a second one takes what
/// the first one has left.
#[derive(Debug, Clone)]
struct Credit {
    parts: Vec<(prop::sample::Index, i64)>,
    reduction: Option<(prop::sample::Index, i64)>,
    then_remaining: bool,
    reason: String,
}

fn credit() -> impl Strategy<Value = Credit> {
    let part = || (any::<prop::sample::Index>(), 1_i64..=100);
    (vec(part(), 0..4), prop::option::of(part()), any::<bool>(), description()).prop_map(
        |(parts, reduction, then_remaining, reason)| Credit { parts, reduction, then_remaining, reason },
    )
}

impl Credit {
    /// The content of the credit note: of everything, if the parts are nothing that can be
    /// credited. `None` if nothing of the invoice can.
    fn content(&self, invoice: &Invoice) -> Option<CreditContent> {
        let everything = NewCreditNote::of_remaining(&self.reason);
        let mut balance = CreditableBalance::of(invoice);
        let Ok(first) = balance.clone().credit(invoice, &self.items(invoice)) else {
            return balance.credit(invoice, &everything).ok();
        };
        if !self.then_remaining {
            return Some(first);
        }
        balance.take(&first.parts, &first.vat_breakdown).unwrap();
        balance.credit(invoice, &everything).ok().or(Some(first))
    }

    fn items(&self, invoice: &Invoice) -> NewCreditNote {
        let share = |of: Decimal, percent: i64| (of * Decimal::new(percent, 2)).trunc_with_scale(2);
        let mut note = NewCreditNote::new(&self.reason);
        let mut named = BTreeSet::new();
        for (line, percent) in &self.parts {
            let index = line.index(invoice.lines.len());
            let quantity = Quantity::new(share(invoice.lines[index].quantity.get(), *percent)).unwrap();
            if named.insert(index) && !quantity.is_zero() {
                note = note.quantity(index, quantity);
            }
        }
        if let Some((rate, percent)) = &self.reduction {
            let share_of = rate.get(&invoice.detail.vat_breakdown);
            let amount = Money::new(share(share_of.base_ht.get(), *percent)).unwrap();
            note = note.reduction("Remise commerciale", share_of.tva_rate, amount);
        }
        note
    }
}

/// The way in which an invoice is paid, as far as its document depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payment {
    Later,
    AtTheIssue,
    /// Its lines come to 0.
    OfNothing,
}

/// Invoices and credit notes of every kind.
pub(super) fn samples() -> impl Strategy<Value = Sample> {
    use Payment::{AtTheIssue, Later, OfNothing};
    // Twice services, as only works have the statements of reduced rates.
    let natures = vec![
        OperationNature::Services,
        OperationNature::Services,
        OperationNature::Goods,
        OperationNature::Mixed,
    ];
    let retention = prop_oneof![3 => Just(0), 2 => 1_i64..=500];
    let payment = prop_oneof![1 => Just(Later), 2 => Just(AtTheIssue), 1 => Just(OfNothing)];
    let facts = (prop::sample::select(natures), any::<bool>(), retention, payment);
    let changes = (company(), document(), prop::option::of(credit()));
    (content(), facts, changes).prop_map(|((vat, lines, client), facts, (company, document, credit))| {
        let (operations, has_vat_number, retention, payment) = facts;
        let retention = Percent::new(Decimal::new(retention, 2)).unwrap();
        let lines = if payment == OfNothing { of_nothing(lines) } else { lines };
        let mut sample = treated(invoice_of(&lines, retention), vat, has_vat_number);
        sample.facts.operations = operations;
        sample.facts.parties.buyer = client.buyer();
        for change in company {
            change(sample.identity());
        }
        for change in document {
            change(&mut sample);
        }
        match credit.and_then(|credit| credit.content(sample.invoice())) {
            Some(content) => sample.credited_with(content),
            None if payment == AtTheIssue => sample.paid(),
            None => sample,
        }
    })
}

/// The sample with this treatment of VAT. A company in franchise may have a VAT number.
fn treated(mut sample: Sample, vat: Vat, has_vat_number: bool) -> Sample {
    sample.facts.reverse_charge = vat == Vat::ReverseCharge;
    if vat == Vat::Franchise {
        sample.identity().vat_regime = VatRegime::Franchise;
        if !has_vat_number {
            sample.identity().vat_number = None;
        }
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
        let issued = view.issued.unwrap();
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
            "currency": view.currency,
            "clientName": view.client.name,
            "orderNumber": view.order_number,
            "billingCity": view.buyer.billing_address.as_ref().map(|billing| &billing.city),
            "issueDate": view.issued_on,
            "dueDate": view.asking().and_then(|issued| issued.due_date).or(issued.paid_on),
            "suppliedOn": issued.supplied_on,
            "periodStart": issued.period.map(|(first, _)| first),
            "periodEnd": issued.period.map(|(_, last)| last),
            "invoiceNumber": issued.credited.map(|credited| credited.number),
            "retentionRate": view.retention_rate.to_string(),
            "retentionAmount": view.retention_amount.to_string(),
            "totalHT": view.total_ht.to_string(),
            "totalTTC": view.total_ttc.to_string(),
            "vat": vat.collect::<Vec<_>>(),
            "lines": lines.collect::<Vec<_>>(),
        })
    })
}
