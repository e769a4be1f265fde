//! The traps of the format, and hostile texts.

use invoicing_core::{Line, NewLine, Percent, UnitPrice, percent, quantity};

use super::fixtures::{Sample, invoice, invoice_of, new_line, person, texts};
use crate::documents::facturx::cross_industry_invoice;
use crate::documents::legal_gate::refusals;

/// An invoice with one line of this text.
fn described(text: &str) -> Sample {
    let mut sample = invoice_of(&[new_line("Peinture", percent!(20))], Percent::ZERO);
    sample.invoice().lines[0].description = text.to_owned();
    sample
}

#[test]
fn characters_that_xml_cannot_hold_are_refused_by_name() {
    for (character, code) in
        [('\u{ffff}', "U+FFFF"), ('\u{fffe}', "U+FFFE"), ('\u{1}', "U+0001"), ('\u{c}', "U+000C")]
    {
        let sample = described(&format!("ab{character}"));
        let refused = sample.with_view(cross_industry_invoice).unwrap_err();
        assert_eq!(refused.field, "lines[0].description");
        assert!(
            refused.to_string().contains(code) && refused.to_string().contains("character 3"),
            "{refused}"
        );
        sample.with_view(|view| {
            let gaps = refusals(view);
            assert_eq!((&*gaps[0].field, gaps[0].rule), ("lines[0].description", "XML 1.0"));
        });
    }
    let mut sample = invoice();
    sample.identity().legal_form = Some("SARL\u{ffff}".into());
    assert_eq!(sample.with_view(cross_industry_invoice).unwrap_err().field, "company.legalForm");
}

#[test]
fn hostile_texts_are_escaped() {
    let xml = described("a ]]> & <b> \"c\" \u{feff}\u{200f}\u{1fffe}😀").xml();
    assert_eq!(texts(&xml, "Name")[0], "a ]]&gt; &amp; &lt;b&gt; &quot;c&quot; \u{feff}\u{200f}\u{1fffe}😀");
}

#[test]
fn line_breaks_are_plain_and_split_name_from_description() {
    for text in ["Peinture\r\ndeux couches\rmate", "\n Peinture \n\ndeux couches\nmate\n"] {
        let xml = described(text).xml();
        assert_eq!(texts(&xml, "Name")[0], "Peinture");
        assert!(
            !xml.contains('\r') && texts(&xml, "SpecifiedTradeProduct")[0].contains("deux couches\nmate<")
        );
    }
    let long = "é".repeat(2_000);
    assert_eq!(texts(&described(&long).xml(), "Name")[0], long);
}

#[test]
fn numbers_are_short_and_have_no_exponent() {
    let line =
        |price: &str| NewLine::new("x", quantity!(0.0001), price.parse::<UnitPrice>().unwrap(), percent!(20));
    let sample =
        invoice_of(&[line("0.0001"), line("1000000"), line("12.50"), line("99999999999")], Percent::ZERO);
    let xml = sample.xml();
    assert_eq!(texts(&xml, "ChargeAmount"), ["0.0001", "1000000", "12.5", "99999999999"]);
    assert_eq!(texts(&xml, "LineTotalAmount")[..2], ["0", "100"]);
    assert!(xml.contains("<ram:BilledQuantity unitCode=\"C62\">0.0001<"));
    assert!(xml.contains("<ram:TaxTotalAmount currencyID=\"EUR\">"));
}

#[test]
fn the_retention_is_a_text_and_no_amount() {
    let xml = invoice().xml().replace(['\u{a0}', '\u{202f}'], " ");
    let term = texts(&xml, "SpecifiedTradePaymentTerms");
    assert!(term[0].contains("À payer au plus tard le 14 octobre 2026."));
    assert!(term[0].contains("Retenue de garantie 5 % : "));
    assert!(term[0].contains(" € (loi n° 71-584), libérable un an après la réception des travaux<"));
    assert_eq!(texts(&xml, "DuePayableAmount"), texts(&xml, "GrandTotalAmount"));
    assert!(!xml.contains("TotalPrepaidAmount") && !xml.contains("RoundingAmount"));
}

/// dolibarr-community-modules#485, #488: a credit note without the date of its invoice was refused
/// by BR-FR-CO-05.
#[test]
fn a_credit_note_names_its_invoice_and_asks_for_no_payment() {
    let xml = invoice().credited().xml();
    for absent in ["DueDateDateTime", "PaymentMeans", "PaymentReference", "71-584"] {
        assert!(!xml.contains(absent), "{absent}");
    }
    let terms = texts(&texts(&xml, "SpecifiedTradePaymentTerms")[0], "Description");
    assert!(terms[0].starts_with("Avoir sur la facture FAC-"), "{terms:?}");
    let credited = &texts(&xml, "InvoiceReferencedDocument")[0];
    assert_eq!(texts(credited, "IssuerAssignedID"), ["FAC-2026-0041"]);
    assert!(credited.contains("<qdt:DateTimeString format=\"102\">20260831<"));
    assert!(texts(&xml, "Content").iter().any(|note| note == "Motif : Travaux annulés"));
}

#[test]
fn vat_is_due_on_payment_or_by_option_on_issue() {
    let mut sample = invoice();
    assert_eq!(texts(&sample.xml(), "DueDateTypeCode"), ["72"; 3]);
    sample.identity().vat_on_debits = true;
    let xml = sample.xml();
    assert_eq!(texts(&xml, "DueDateTypeCode"), ["5"; 3]);
    assert!(xml.contains("Option pour le paiement de la taxe d’après les débits"));
}

#[test]
fn sentences_about_payment_are_the_companys_or_those_of_the_law() {
    let mut sample = invoice();
    sample.identity().late_penalty = Some("Pénalités : 12 % l’an.".into());
    let notes = texts(&sample.xml(), "Content");
    assert_eq!(notes[0], "Pénalités : 12 % l’an.");
    assert_eq!(notes[2], "Pas d’escompte pour paiement anticipé.");
}

#[test]
fn an_address_in_one_text_is_read_in_its_parts() {
    let mut sample = invoice();
    sample.facts.parties.buyer = person();
    let client = &mut sample.facts.parties.buyer;
    (client.zip_code, client.city) = (None, None);
    client.address = Some("Chez Léa\nBât. B\nEsc. 2\n3 place Royale\n75001 Paris".into());
    let xml = sample.xml();
    let buyer = &texts(&xml, "BuyerTradeParty")[0];
    assert_eq!(texts(buyer, "LineOne"), ["Chez Léa"]);
    assert_eq!(texts(buyer, "LineThree"), ["Esc. 2, 3 place Royale"]);
    assert_eq!(
        (texts(buyer, "PostcodeCode"), texts(buyer, "CityName")),
        (vec!["75001".into()], vec!["Paris".into()])
    );
    assert!(buyer.contains("schemeID=\"EM\">compta@batir.example<"));
}

/// Rules: DOCUMENT-29
#[test]
fn an_address_is_the_same_in_the_xml_and_on_the_page() {
    for (address, zip_code, city) in [
        ("3 place Royale, 44000 Nantes", None, None),
        ("3 place Royale, 44000 Nantes", Some("44000"), Some("Nantes")),
        ("3 place Royale\n44000 Nantes\nFrance", Some("44000"), Some("Nantes")),
        ("3 place Royale", Some("44000"), Some("Nantes")),
    ] {
        let mut sample = invoice();
        let buyer = &mut sample.facts.parties.buyer;
        buyer.address = Some(address.into());
        (buyer.zip_code, buyer.city) = (zip_code.map(str::to_owned), city.map(str::to_owned));
        let printed = buyer.postal_address();
        assert_eq!(printed.as_deref(), Some("3 place Royale\n44000 Nantes"), "{address}");
        let (address, zip_code, city) = (buyer.address.clone(), buyer.zip_code.clone(), buyer.city.clone());
        let identity = sample.identity();
        (identity.address, identity.zip_code, identity.city) = (address, zip_code, city);
        assert_eq!(identity.postal_address(), printed);
        let xml = sample.xml();
        for party in ["BuyerTradeParty", "SellerTradeParty"] {
            let written = &texts(&xml, party)[0];
            let parts = ["LineOne", "PostcodeCode", "CityName", "CountryID"].map(|name| texts(written, name));
            assert_eq!(parts, ["3 place Royale", "44000", "Nantes", "FR"].map(|part| vec![part.to_owned()]));
            assert!(!written.contains("LineTwo"));
        }
    }
}

#[test]
fn the_largest_invoice_is_written() {
    let mut sample = described("Peinture");
    let line: Line = sample.invoice().lines[0].clone();
    sample.invoice().lines = vec![line; 5_000];
    let begun = std::time::Instant::now();
    let xml = sample.xml();
    println!("5,000 lines: {} bytes in {:?}", xml.len(), begun.elapsed());
    assert_eq!(texts(&xml, "LineID").last().unwrap(), "5000");
}

#[test]
fn the_same_bill_has_the_same_bytes() {
    assert_eq!(invoice().xml(), invoice().xml());
    assert!(!invoice().xml().contains(">\n<"));
}
