//! Whole Factur-X files: the page, the XML, and the metadata.

use invoicing_core::{
    CreditableBalance, NewCreditNote, OperationNature, Percent, VatRegime, money, percent, quantity,
};

use super::fixtures::{Sample, accounting, day, invoice, invoice_of, new_line, person};
use super::samples::folder;
use crate::documents::{DocumentRenderer, PdfRenderer};

/// Invoices and credit notes of every kind, and of one line to many, by their names.
pub(super) fn documents() -> Vec<(&'static str, Sample)> {
    let rates = [percent!(20), percent!(10), percent!(5.5), percent!(20)];
    let long = |count: usize| {
        let line = |n| new_line(&format!("Ouvrage n° {n}"), rates[n % rates.len()]);
        invoice_of(&(0..count).map(line).collect::<Vec<_>>(), percent!(0))
    };
    vec![
        ("invoice", invoice()),
        ("private", private()),
        ("credit-note", invoice().credited()),
        ("one-line", long(1)),
        ("two-lines", long(2)),
        ("five-lines", long(5)),
        ("twenty-lines", long(20)),
        ("forty-lines", long(40)),
        ("credit-note-of-one-line", long(1).credited()),
        ("credit-note-of-three-lines", long(3).credited()),
        ("supply", supply()),
        ("franchise", franchise()),
        ("reverse-charge", reverse_charge()),
        ("no-account", no_account()),
        ("order", order()),
        ("credit-note-of-order", order().credited()),
        ("rest", remaining()),
    ]
}

fn private() -> Sample {
    let mut sample = invoice();
    sample.facts.parties.buyer = person();
    sample.identity().mediator = Some("CM2C, 49 rue de Ponthieu, 75008 Paris".into());
    sample
}

/// An invoice for goods at a work site, with the day and the period of their supply.
fn supply() -> Sample {
    let mut sample = invoice();
    sample.facts.work_site = Some("4 quai de la Fosse\n44000 Nantes".into());
    sample.facts.operations = OperationNature::Goods;
    let head = &mut sample.invoice().summary;
    head.supplied_on = Some(day(2026, 9, 11));
    (head.period_start, head.period_end) = (Some(day(2026, 9, 1)), Some(day(2026, 9, 12)));
    sample
}

fn exempt() -> Sample {
    invoice_of(&[new_line("Peinture", Percent::ZERO)], Percent::ZERO)
}

/// An invoice of a sole trader without a VAT number.
fn franchise() -> Sample {
    let mut sample = exempt();
    let identity = sample.identity();
    (identity.vat_regime, identity.vat_number) = (VatRegime::Franchise, None);
    (identity.legal_form, identity.share_capital) = (Some("EI".into()), None);
    sample.facts.operations = OperationNature::Mixed;
    sample
}

/// An invoice about an order, made out to another address than the client's.
fn order() -> Sample {
    let mut sample = invoice();
    sample.facts.parties.buyer.billing_address = Some(accounting());
    sample.invoice().detail.order_number = Some("PO-2026/0041".into());
    sample
}

fn reverse_charge() -> Sample {
    let mut sample = exempt();
    sample.facts.reverse_charge = true;
    sample
}

/// An invoice with sentences of the company, and without an account, an insurance and a quote.
fn no_account() -> Sample {
    let mut sample = invoice();
    sample.facts.quote_number = None;
    let identity = sample.identity();
    (identity.iban, identity.bic, identity.insurance) = (None, None, None);
    identity.late_penalty = Some("Pénalités de retard : 12 % l’an.".into());
    identity.early_payment = Some("Escompte de 1 % sous 8 jours.".into());
    identity.vat_on_debits = true;
    sample
}

/// The credit note of what an earlier one has left.
fn remaining() -> Sample {
    let mut sample = invoice();
    let invoice = sample.invoice();
    let mut balance = CreditableBalance::of(invoice);
    let part =
        NewCreditNote::new("Remise").quantity(0, quantity!(2.5)).reduction("Remise", 20, money!(150.01));
    let taken = balance.clone().credit(invoice, &part).unwrap();
    balance.take(&taken.parts, &taken.vat_breakdown).unwrap();
    let content = balance.credit(invoice, &NewCreditNote::of_remaining("Travaux annulés")).unwrap();
    sample.credited_with(content)
}

pub(super) fn render(document: &Sample) -> Vec<u8> {
    let xml = document.xml();
    PdfRenderer::new().render(&document.input(Some(xml.as_bytes()))).unwrap()
}

/// With `FACTURX_SAMPLES=<folder>` the files are written there, each with its XML beside it.
#[test]
fn a_file_is_the_same_whenever_and_wherever_it_is_made() {
    for (name, document) in documents() {
        let file = render(&document);
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| render(&document)).join().unwrap());
        assert!(file == elsewhere, "{name}");
        if let Some(folder) = folder() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{name}.pdf")), file).unwrap();
            std::fs::write(folder.join(format!("{name}.xml")), document.xml()).unwrap();
        }
    }
}
