//! The legal notices of the page as notes, each exactly if it must be there, and the day of the
//! supply.

use invoicing_core::{EInvoicing, OperationNature, Percent, VatRegime};

use super::fixtures::{Sample, day, invoice, invoice_of, new_line, person, texts};

/// The notes that begin with this text, of a changed sample.
fn notes_of(mut sample: Sample, text: &str, change: impl FnOnce(&mut Sample)) -> Vec<String> {
    change(&mut sample);
    texts(&sample.xml(), "Content").into_iter().filter(|note| note.starts_with(text)).collect()
}

fn notes(text: &str, change: impl FnOnce(&mut Sample)) -> Vec<String> {
    notes_of(invoice(), text, change)
}

#[test]
fn the_nature_of_the_operations_is_a_note_with_e_invoicing() {
    let natures = [
        (OperationNature::Services, "Nature des opérations : prestations de services"),
        (OperationNature::Goods, "Nature des opérations : livraisons de biens"),
        (OperationNature::Mixed, "Nature des opérations : livraisons de biens et prestations de services"),
    ];
    for (nature, text) in natures {
        assert_eq!(notes("Nature", |s| s.facts.operations = nature), [text]);
    }
    assert!(notes("Nature", |s| s.identity().e_invoicing = EInvoicing::Off).is_empty());
}

#[test]
fn the_option_for_debits_is_a_note_if_it_is_taken() {
    let option = "Option pour le paiement de la taxe d’après les débits";
    assert_eq!(notes("Option", |s| s.identity().vat_on_debits = true), [option]);
    assert!(notes("Option", |_| {}).is_empty());
}

#[test]
fn a_franchise_is_a_note_and_the_reason_for_no_vat() {
    let franchise = |text| {
        notes_of(invoice_of(&[new_line("Peinture", Percent::ZERO)], Percent::ZERO), text, |sample| {
            sample.identity().vat_regime = VatRegime::Franchise;
            sample.identity().vat_on_debits = true;
        })
    };
    assert_eq!(franchise("TVA"), ["TVA non applicable, art. 293 B du CGI"]);
    assert!(franchise("Option").is_empty());
    assert!(notes("TVA non applicable", |_| {}).is_empty());
}

#[test]
fn the_mediator_is_a_note_for_private_clients() {
    let of = |client, mediator: Option<&str>| {
        notes("Médiateur", |sample| {
            sample.facts.parties.buyer = client;
            sample.identity().mediator = mediator.map(str::to_owned);
        })
    };
    assert_eq!(of(person(), Some("CM2C")), ["Médiateur de la consommation : CM2C"]);
    assert!(of(person(), None).is_empty());
    assert!(of(invoice().facts.parties.buyer, Some("CM2C")).is_empty());
}

#[test]
fn the_supply_is_on_its_own_day_or_on_the_day_of_issue() {
    let supplied = |on| {
        let mut sample = invoice();
        sample.invoice().summary.supplied_on = on;
        texts(&sample.xml(), "ActualDeliverySupplyChainEvent")
    };
    assert!(supplied(Some(day(2026, 9, 1)))[0].contains(">20260901<"));
    assert!(supplied(None)[0].contains(">20260914<"));
}

#[test]
fn a_private_client_has_no_number() {
    let mut sample = invoice();
    sample.facts.parties.buyer.r#type = person().r#type;
    let buyer = &texts(&sample.xml(), "BuyerTradeParty")[0];
    assert!(!buyer.contains("SpecifiedLegalOrganization") && !buyer.contains("SpecifiedTaxRegistration"));
    assert!(buyer.contains("schemeID=\"EM\">compta@batir.example<"));
}
