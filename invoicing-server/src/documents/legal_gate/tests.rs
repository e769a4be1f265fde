//! An invoice that lacks legal data is told each field, and the rule that it breaks.

use chrono::NaiveDate;
use invoicing_core::{ClientType, Percent, VatRegime, percent};

use super::fixtures::{Record, Sample, business, day, invoice, invoice_of, new_line, person};
use crate::documents::Buyer;
use crate::documents::facturx::{self, can_be_electronic, cross_industry_invoice};

/// The gaps of a changed sample: fields with rules.
fn gaps_of(mut sample: Sample, change: impl FnOnce(&mut Sample)) -> Vec<(String, &'static str)> {
    change(&mut sample);
    sample.with_view(|view| {
        let gaps = facturx::gaps(view);
        assert!(gaps.iter().all(|gap| gap.english.ends_with('.') && gap.french.ends_with('.')), "{gaps:?}");
        gaps.into_iter().map(|gap| (gap.field, gap.rule)).collect()
    })
}

fn gaps(change: impl FnOnce(&mut Sample)) -> Vec<(String, &'static str)> {
    gaps_of(invoice(), change)
}

fn gap(field: &str, rule: &'static str) -> Vec<(String, &'static str)> {
    vec![(field.to_owned(), rule)]
}

fn exempt() -> Sample {
    invoice_of(&[new_line("Peinture", Percent::ZERO)], Percent::ZERO)
}

#[test]
fn a_complete_bill_has_no_gap() {
    assert_eq!(gaps(|_| {}), []);
    assert_eq!(gaps_of(invoice().credited(), |_| {}), []);
    assert_eq!(gaps(|sample| sample.facts.parties.buyer = person()), []);
}

#[test]
fn the_company_has_name_address_and_numbers() {
    assert_eq!(gaps(|s| s.facts.parties.seller.name = " ".into()), gap("company.name", "BR-06"));
    let homeless = gaps(|s| {
        let identity = s.identity();
        (identity.address, identity.zip_code, identity.city) = (None, None, None);
    });
    assert_eq!(homeless, gap("company.address", "BR-08"));
    assert_eq!(gaps(|s| s.identity().siret = None), gap("company.siret", "BR-FR-10"));
    assert_eq!(gaps(|s| s.identity().siret = Some("732829320".into())), gap("company.siret", "BR-FR-09"));
    let wrong = gaps(|s| s.identity().siret = Some("73282932100074".into()));
    assert_eq!(wrong, [gap("company.siret", "BR-FR-10"), gap("company.vatNumber", "BR-CO-09")].concat());
    assert_eq!(gaps(|s| s.identity().vat_number = None), gap("company.vatNumber", "BR-S-02"));
    let foreign = gaps(|s| s.identity().vat_number = Some("FR39356000000".into()));
    assert_eq!(foreign, gap("company.vatNumber", "BR-CO-09"));
    let blank = gaps(|s| s.identity().late_penalty = Some("\u{a0}".into()));
    assert_eq!(blank, gap("company.latePenalty", "BR-FR-05"));
    let spaced = gaps(|s| s.identity().electronic_address = Some("732 829".into()));
    assert_eq!(spaced, gap("company.electronicAddress", "BR-FR-23"));
}

#[test]
fn the_client_has_name_address_and_numbers() {
    assert_eq!(gaps(|s| s.invoice().summary.client_name.clear()), gap("clientName", "BR-07"));
    let homeless = gaps(|s| {
        let client = &mut s.facts.parties.buyer;
        (client.address, client.zip_code, client.city) = (None, None, None);
    });
    assert_eq!(homeless, gap("client.address", "BR-10"));
    assert_eq!(
        gaps(|s| s.facts.parties.buyer.country = Some("BE".into())),
        gap("client.country", "BR-FR-20")
    );
    assert_eq!(gaps(|s| s.facts.parties.buyer.country = Some("FR".into())), []);
    assert_eq!(gaps(|s| s.facts.parties.buyer.siren = None), gap("client.siren", "BR-FR-11"));
    let wrong = gaps(|s| s.facts.parties.buyer.siren = Some("356000001".into()));
    assert_eq!(wrong, [gap("client.siren", "BR-FR-11"), gap("client.vatNumber", "BR-CO-09")].concat());
    let key = gaps(|s| s.facts.parties.buyer.vat_number = Some("FR40356000000".into()));
    assert_eq!(key, gap("client.vatNumber", "BR-CO-09"));
    let state = |number: &str| {
        let number = Some(number.to_owned());
        gaps(|s| (s.facts.parties.buyer.siren, s.facts.parties.buyer.vat_number) = (None, number))
    };
    assert_eq!(state("DE123456788"), gap("client.siren", "BR-FR-11"));
    assert_eq!(state("XI123456789"), gap("client.siren", "BR-FR-11"));
    assert_eq!(state("QQ39356000000"), [state("DE123456788"), gap("client.vatNumber", "BR-CO-09")].concat());
    let address = |text: &str| {
        let text = Some(text.to_owned());
        gaps(|s| s.facts.parties.buyer.electronic_address = text)
    };
    assert_eq!(address("356000000_FACTURES"), []);
    assert_eq!(address("356000000 FACTURES"), gap("client.electronicAddress", "BR-FR-23"));
    assert_eq!(address("404833048"), gap("client.electronicAddress", "BR-FR-21"));
}

#[test]
fn the_numbers_of_a_private_client_are_not_looked_at() {
    let mut private = invoice();
    private.facts.parties.buyer = Buyer { r#type: person().r#type, ..business() };
    private.facts.parties.buyer.siren = Some("356000001".into());
    assert_eq!(gaps_of(private, |_| {}), []);
}

#[test]
fn an_email_that_an_invoice_is_sent_to_has_125_characters_at_most() {
    let of = |length: usize, client| {
        let email = "é".repeat(length - "@b.example".len()) + "@b.example";
        gaps(|s| {
            s.facts.parties.buyer = client;
            s.invoice().summary.client_email = Some(email);
        })
    };
    assert_eq!(of(125, person()), []);
    assert_eq!(of(126, person()), gap("clientEmail", "BR-FR-25"));
    // A business has an address in the directory, which its e-mail does not replace.
    assert_eq!(of(126, business()), []);
}

#[test]
fn a_client_without_a_type_is_a_business_by_its_siren() {
    assert_eq!(gaps(|s| s.facts.parties.buyer.r#type = None), []);
    let private = gaps(|s| {
        let client = &mut s.facts.parties.buyer;
        (client.r#type, client.siren, client.vat_number) = (None, None, None);
    });
    assert_eq!(private, []);
}

#[test]
fn the_document_has_a_number_dates_and_lines() {
    let number = |text: &str| {
        let text = Some(text.to_owned());
        gaps(|s| s.invoice().summary.number = text)
    };
    assert_eq!(number("FAC/2026_42+a"), []);
    assert_eq!(number("FAC 42"), gap("number", "BR-FR-02"));
    assert_eq!(number(""), gap("number", "BR-FR-02"));
    assert_eq!(number(&"9".repeat(35)), []);
    assert_eq!(number(&"9".repeat(36)), gap("number", "BR-FR-01"));
    assert_eq!(gaps(|s| s.invoice().summary.currency = "CHF".into()), gap("currency", "BR-FR-CO-12"));
    assert_eq!(gaps(|s| s.invoice().lines.clear()), gap("lines", "BR-16"));
    let blank = gaps(|s| s.invoice().lines[1].description = "\u{200b} ".into());
    assert_eq!(blank, gap("lines[1].description", "BR-25"));
    let negative = gaps(|s| s.invoice().lines[1].unit_price = (-1).into());
    assert_eq!(negative, gap("lines[1].unitPrice", "BR-27"));
}

#[test]
fn dates_are_in_order_and_in_this_century() {
    let due = |date: Option<NaiveDate>| gaps(|s| s.invoice().summary.due_date = date);
    assert_eq!(due(Some(day(2026, 9, 14))), []);
    assert_eq!(due(Some(day(2026, 9, 13))), gap("dueDate", "BR-FR-CO-07"));
    assert_eq!(due(None), gap("dueDate", "BR-CO-25"));
    assert_eq!(due(Some(day(2099, 12, 31))), []);
    assert_eq!(due(Some(day(2100, 1, 1))), gap("dueDate", "BR-FR-03"));
    assert_eq!(gaps(|s| s.invoice().summary.issue_date = Some(day(2000, 1, 1))), []);
    let issued = gaps(|s| s.invoice().summary.issue_date = Some(day(1999, 12, 31)));
    assert_eq!(issued, gap("issueDate", "BR-FR-03"));
    let supplied = gaps(|s| s.invoice().summary.supplied_on = Some(day(1999, 1, 1)));
    assert_eq!(supplied, gap("suppliedOn", "BR-FR-03"));
    let period = gaps(|s| {
        let head = &mut s.invoice().summary;
        (head.period_start, head.period_end) = (Some(day(2026, 9, 2)), Some(day(2026, 9, 1)));
    });
    assert_eq!(period, gap("periodEnd", "BR-29"));
}

#[test]
fn a_credit_note_names_its_invoice_and_a_reason() {
    let credited = |change: fn(&mut invoicing_core::CreditNoteSummary)| {
        gaps_of(invoice().credited(), |sample| {
            let Record::CreditNote(note) = &mut sample.record else { panic!("an invoice") };
            change(&mut note.summary);
        })
    };
    assert_eq!(credited(|head| head.invoice_number = "№ 42".into()), gap("invoiceNumber", "BR-FR-02"));
    assert_eq!(credited(|head| head.reason = " ".into()), gap("reason", "BG-1"));
}

#[test]
fn a_rate_is_one_of_the_french_ones() {
    for rate in
        ["0.9", "1.05", "1.75", "2.1", "5.5", "7", "8.5", "9.2", "9.6", "10", "13", "19.6", "20", "20.6"]
    {
        let sample = invoice_of(&[new_line("Peinture", rate.parse().unwrap())], Percent::ZERO);
        assert_eq!(gaps_of(sample, |_| {}), [], "{rate}");
    }
    for rate in [percent!(5), percent!(20.01), percent!(100)] {
        let sample = invoice_of(&[new_line("Peinture", percent!(20)), new_line("Sol", rate)], Percent::ZERO);
        assert_eq!(gaps_of(sample, |_| {}), gap("lines[1].tvaRate", "BR-FR-16"), "{rate}");
    }
}

#[test]
fn a_rate_of_0_needs_a_reason() {
    let sample = exempt();
    assert!(sample.with_view(|view| cross_industry_invoice(view).unwrap_err().field == "lines[0].tvaRate"));
    assert_eq!(gaps_of(sample, |_| {}), gap("lines[0].tvaRate", "BR-FR-15"));
    let franchise = |sample: &mut Sample| {
        sample.identity().vat_regime = VatRegime::Franchise;
        sample.identity().vat_number = None;
    };
    assert_eq!(gaps_of(exempt(), franchise), []);
    let charged = invoice_of(&[new_line("Peinture", percent!(20))], Percent::ZERO);
    assert_eq!(gaps_of(charged.clone(), franchise), gap("lines[0].tvaRate", "BR-E-05"));
    assert_eq!(gaps_of(exempt(), |s| s.facts.reverse_charge = true), []);
    let reversed = gaps_of(charged, |s| s.facts.reverse_charge = true);
    assert_eq!(reversed, gap("lines[0].tvaRate", "BR-AE-05"));
}

#[test]
fn reverse_charge_needs_the_numbers_of_both_sides() {
    let private = gaps_of(exempt(), |s| {
        (s.facts.reverse_charge, s.facts.parties.buyer) = (true, person());
    });
    assert_eq!(private, gap("client.vatNumber", "BR-AE-02"));
    let numbered = gaps_of(exempt(), |s| {
        s.facts.reverse_charge = true;
        s.facts.parties.buyer.r#type = Some(ClientType::Particulier);
    });
    assert_eq!(numbered, gap("client.vatNumber", "BR-AE-02"));
    let seller = gaps_of(exempt(), |s| {
        s.facts.reverse_charge = true;
        s.identity().vat_number = None;
    });
    assert_eq!(seller, gap("company.vatNumber", "BR-AE-02"));
}

#[test]
fn a_private_client_without_an_address_gets_a_plain_pdf() {
    let electronic = |email: Option<&str>, address: Option<&str>, kind| {
        let mut sample = invoice();
        sample.facts.parties.buyer = person();
        sample.facts.parties.buyer.r#type = kind;
        sample.facts.parties.buyer.electronic_address = address.map(str::to_owned);
        sample.invoice().summary.client_email = email.map(str::to_owned);
        sample.with_view(can_be_electronic)
    };
    let private = Some(ClientType::Particulier);
    assert!(!electronic(None, None, private) && !electronic(None, None, None));
    assert!(electronic(Some("a@b.example"), None, private));
    assert!(electronic(None, Some("356000000"), private));
    // Refused by `gaps` instead, as a business has to have a SIREN.
    assert!(electronic(None, None, Some(ClientType::Professionnel)));
}
