//! Records with a gap: what the official rules refuse, `gaps` names.
//!
//! With `FACTURX_SAMPLES=<folder>` the XML of each is written into `gaps` there, though an issue
//! would refuse it: `<n>.xml`, and beside it `<n>.json` with the `change` and the `gaps` that were
//! named, each a field with its rule. `tests/e_invoicing` compares them with the official rules.

use invoicing_core::{
    BillingAddress, CompanyIdentity, DocumentFormat, InvoiceSummary, Line, NewLine, Percent, Quantity,
    VatRegime, percent, quantity, unit_price,
};
use rust_decimal::Decimal;
use serde_json::json;

use super::fixtures::{Record, Sample, accounting, day, invoice, invoice_of, new_line, person};
use super::samples::folder;
use crate::documents::Buyer;
use crate::documents::content::view::DocumentView;
use crate::documents::facturx::cross_industry_invoice;
use crate::documents::legal_gate;

/// The least number of changed records.
const LEAST: usize = 200;

type Change = fn(&mut Sample);
type Named = (&'static str, Change);

/// Fields with the rules that they break.
fn gaps(view: &DocumentView<'_>) -> Vec<String> {
    let gaps = legal_gate::gaps(view, DocumentFormat::FacturX);
    gaps.iter().map(|gap| format!("{}: {}", gap.field, gap.rule)).collect()
}

/// Records of each kind without a gap that refuses them.
fn complete() -> [(&'static str, Sample); 5] {
    let exempt = || invoice_of(&[new_line("Peinture", Percent::ZERO)], Percent::ZERO);
    let (mut private, mut franchise, mut reversed) = (invoice(), exempt(), exempt());
    private.facts.parties.buyer = person();
    franchise.identity().vat_regime = VatRegime::Franchise;
    franchise.identity().vat_number = None;
    reversed.facts.reverse_charge = true;
    [
        ("invoice", invoice()),
        ("private", private),
        ("credit note", invoice().credited()),
        ("franchise", franchise),
        ("reverse charge", reversed),
    ]
}

fn of_company() -> Vec<Named> {
    fn change(sample: &mut Sample, change: impl FnOnce(&mut CompanyIdentity)) {
        change(sample.identity());
    }
    vec![
        ("no name", |s| s.facts.parties.seller.name.clear()),
        ("blank name", |s| s.facts.parties.seller.name = "\u{a0} ".into()),
        ("no address", |s| change(s, |i| (i.address, i.zip_code, i.city) = (None, None, None))),
        ("no street", |s| change(s, |i| i.address = None)),
        ("no SIRET", |s| change(s, |i| i.siret = None)),
        ("SIREN as SIRET", |s| change(s, |i| i.siret = Some("732829320".into()))),
        ("SIRET with spaces", |s| change(s, |i| i.siret = Some("732 829 320 00074".into()))),
        ("SIRET without a SIREN", |s| change(s, |i| i.siret = Some("73282932100074".into()))),
        ("no VAT number", |s| change(s, |i| i.vat_number = None)),
        ("VAT number with another key", |s| change(s, |i| i.vat_number = Some("FR45732829320".into()))),
        ("VAT number without a country", |s| change(s, |i| i.vat_number = Some("44732829320".into()))),
        ("address with a space", |s| change(s, |i| i.electronic_address = Some("732829320 F".into()))),
        ("e-mail as address", |s| change(s, |i| i.electronic_address = Some("a@b.example".into()))),
        ("franchise", |s| change(s, |i| i.vat_regime = VatRegime::Franchise)),
        ("standard regime", |s| change(s, |i| i.vat_regime = VatRegime::Standard)),
        ("blank penalty", |s| change(s, |i| i.late_penalty = Some(" ".into()))),
        ("blank discount", |s| change(s, |i| i.early_payment = Some("\u{a0}".into()))),
        ("no bank account", |s| change(s, |i| (i.iban, i.bic) = (None, None))),
        ("forbidden character", |s| change(s, |i| i.legal_form = Some("SARL\u{b}".into()))),
    ]
}

fn of_client() -> Vec<Named> {
    fn change(sample: &mut Sample, change: impl FnOnce(&mut Buyer)) {
        change(&mut sample.facts.parties.buyer);
    }
    vec![
        ("client without address", |s| change(s, |c| (c.address, c.zip_code, c.city) = (None, None, None))),
        ("billed at a postal code", |s| {
            change(s, |c| c.billing_address = Some(BillingAddress::default().zip_code("69401")));
        }),
        ("billed without a town", |s| {
            change(s, |c| c.billing_address = Some(BillingAddress::default().address("CS 40102")));
        }),
        ("forbidden character in the billing address", |s| {
            change(s, |c| c.billing_address = Some(accounting().city("Lyon\u{b}")));
        }),
        ("client abroad", |s| change(s, |c| c.country = Some("BE".into()))),
        ("country that does not exist", |s| change(s, |c| c.country = Some("QQ".into()))),
        ("client without SIREN", |s| change(s, |c| c.siren = None)),
        ("SIREN of 8 digits", |s| change(s, |c| c.siren = Some("35600000".into()))),
        ("SIREN with spaces", |s| change(s, |c| c.siren = Some("356 000 000".into()))),
        ("SIREN with a wrong digit", |s| change(s, |c| c.siren = Some("356000001".into()))),
        ("client without VAT number", |s| change(s, |c| c.vat_number = None)),
        ("client with a wrong key", |s| change(s, |c| c.vat_number = Some("FR40356000000".into()))),
        ("key with a letter", |s| change(s, |c| c.vat_number = Some("FRK7356000000".into()))),
        ("key with a letter of another", |s| change(s, |c| c.vat_number = Some("FRK7404833048".into()))),
        ("VAT number of nowhere", |s| change(s, |c| c.vat_number = Some("QQ39356000000".into()))),
        ("VAT number of Northern Ireland", |s| change(s, |c| c.vat_number = Some("XI123456789".into()))),
        ("client without numbers", |s| change(s, |c| (c.siren, c.vat_number) = (None, None))),
        ("address of another", |s| change(s, |c| c.electronic_address = Some("404833048".into()))),
        ("client's e-mail as address", |s| change(s, |c| c.electronic_address = Some("a@b.example".into()))),
        ("client without a type", |s| change(s, |c| c.r#type = None)),
    ]
}

fn of_document() -> Vec<Named> {
    vec![
        ("client without name", |s| name(s, "")),
        ("blank client", |s| name(s, "\u{200b}")),
        ("e-mail of 125 characters", |s| email(s, 125)),
        ("e-mail of 126 characters", |s| email(s, 126)),
        ("no number", |s| number(s, "")),
        ("number with a space", |s| number(s, "FAC 2026 42")),
        ("long number", |s| number(s, &"9".repeat(36))),
        ("another currency", |s| match &mut s.record {
            Record::Invoice(invoice) => invoice.summary.currency = "CHF".into(),
            Record::CreditNote(note) => note.summary.currency = "CHF".into(),
        }),
        ("issued in 1999", |s| match &mut s.record {
            Record::Invoice(invoice) => invoice.summary.issue_date = Some(day(1999, 12, 31)),
            Record::CreditNote(note) => note.summary.issue_date = day(1999, 12, 31),
        }),
        ("due before the issue", |s| head(s, |head| head.due_date = Some(day(2026, 9, 13)))),
        ("not due", |s| head(s, |head| head.due_date = None)),
        ("due in 2100", |s| head(s, |head| head.due_date = Some(day(2100, 1, 1)))),
        ("supplied in 2100", |s| head(s, |head| head.supplied_on = Some(day(2100, 1, 1)))),
        ("period that ends before it begins", |s| {
            head(s, |head| {
                (head.period_start, head.period_end) = (Some(day(2026, 9, 2)), Some(day(2026, 9, 1)));
            });
        }),
        ("credit of no invoice", |s| note(s, |head| head.invoice_number.clear())),
        ("credit of an odd number", |s| note(s, |head| head.invoice_number = "№ 41".into())),
        ("credit without a reason", |s| note(s, |head| head.reason = " ".into())),
    ]
}

fn of_lines() -> Vec<Named> {
    fn priced(sample: &mut Sample, rate: Percent) {
        let mut lines = vec![new_line("Peinture", rate), new_line("Sol", rate)];
        lines.push(NewLine::new("Remise", quantity!(-1), unit_price!(10), rate));
        let Record::Invoice(changed) = invoice_of(&lines, Percent::ZERO).record else { unreachable!() };
        match &mut sample.record {
            Record::Invoice(invoice) => {
                (invoice.lines, invoice.detail.vat_breakdown) = (changed.lines, changed.detail.vat_breakdown);
                (invoice.summary.total_ht, invoice.summary.total_ttc) =
                    (changed.summary.total_ht, changed.summary.total_ttc);
            }
            Record::CreditNote(note) => {
                (note.lines, note.detail.vat_breakdown) = (changed.lines, changed.detail.vat_breakdown);
                (note.summary.total_ht, note.summary.total_ttc) =
                    (changed.summary.total_ht, changed.summary.total_ttc);
            }
        }
    }
    vec![
        ("20 %", |s| priced(s, percent!(20))),
        ("20.01 %", |s| priced(s, percent!(20.01))),
        ("5 %", |s| priced(s, percent!(5))),
        ("100 %", |s| priced(s, percent!(100))),
        ("0 %", |s| priced(s, percent!(0))),
        ("no line", |s| lines(s).clear()),
        ("line without a text", |s| lines(s)[0].description.clear()),
        ("line of invisible characters", |s| lines(s)[0].description = "\u{200b}\u{2060}".into()),
        ("forbidden character in a line", |s| lines(s)[0].description = "a\u{ffff}".into()),
        ("negative price", |s| lines(s)[0].unit_price = (-1).into()),
        ("unit that does not exist", |s| lines(s)[0].unit = Some("]]> & <".into())),
        ("quantity of many digits", |s| {
            lines(s)[0].quantity = Quantity::new(Decimal::new(123_456_789, 4)).unwrap();
        }),
    ]
}

fn lines(sample: &mut Sample) -> &mut Vec<Line> {
    match &mut sample.record {
        Record::Invoice(invoice) => &mut invoice.lines,
        Record::CreditNote(note) => &mut note.lines,
    }
}

fn name(sample: &mut Sample, name: &str) {
    match &mut sample.record {
        Record::Invoice(invoice) => invoice.summary.client_name = name.into(),
        Record::CreditNote(note) => note.summary.client_name = name.into(),
    }
}

fn email(sample: &mut Sample, length: usize) {
    let email = Some("a".repeat(length - "@b.example".len()) + "@b.example");
    match &mut sample.record {
        Record::Invoice(invoice) => invoice.summary.client_email = email,
        Record::CreditNote(note) => note.summary.client_email = email,
    }
}

fn number(sample: &mut Sample, number: &str) {
    match &mut sample.record {
        Record::Invoice(invoice) => invoice.summary.number = Some(number.into()),
        Record::CreditNote(note) => note.summary.number = number.into(),
    }
}

fn head(sample: &mut Sample, change: impl FnOnce(&mut InvoiceSummary)) {
    if let Record::Invoice(invoice) = &mut sample.record {
        change(&mut invoice.summary);
    }
}

fn note(sample: &mut Sample, change: impl FnOnce(&mut invoicing_core::CreditNoteSummary)) {
    if let Record::CreditNote(note) = &mut sample.record {
        change(&mut note.summary);
    }
}

#[test]
fn a_record_with_a_gap_is_named_and_written_for_the_official_rules() {
    let changes = [of_company(), of_client(), of_document(), of_lines()].concat();
    let mut count = 0;
    for (kind, complete) in complete() {
        for (name, change) in &changes {
            let mut sample = complete.clone();
            change(&mut sample);
            // Such as a due date on a credit note.
            if format!("{sample:?}") == format!("{complete:?}") {
                continue;
            }
            let (is_electronic, xml) =
                sample.with_view(|view| (legal_gate::can_be_electronic(view), cross_industry_invoice(view)));
            count += 1;
            let known = complete.with_view(gaps);
            let gaps: Vec<_> =
                sample.with_view(gaps).into_iter().filter(|gap| !known.contains(gap)).collect();
            match (xml, folder()) {
                (Err(refused), _) => assert!(!gaps.is_empty(), "{kind}, {name}: {refused}"),
                (Ok(xml), Some(folder)) if is_electronic => {
                    let folder = folder.join("gaps");
                    std::fs::create_dir_all(&folder).unwrap();
                    let record = json!({ "change": format!("{kind}: {name}"), "gaps": gaps });
                    std::fs::write(folder.join(format!("{count}.xml")), xml).unwrap();
                    std::fs::write(folder.join(format!("{count}.json")), record.to_string()).unwrap();
                }
                _ => {}
            }
        }
    }
    assert!(count >= LEAST, "{count}");
}
