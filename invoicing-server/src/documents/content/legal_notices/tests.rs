//! Each legal notice, on a quote, an invoice and a credit note: present exactly if it must be.

use invoicing_core::{ClientType, Line, Percent, VatRegime};

use super::*;
use crate::documents::content::fixtures::{
    credit_note_of, credited, input, invoice_facts, invoice_of, line, offered, quote_of,
};
use crate::documents::content::header;
use crate::documents::{DocumentFacts, DocumentRef};

const REDUCED: &str = "TVA à 10 % (CGI, art. 279-0 bis) : le client certifie que les travaux portent sur des locaux \
    à usage d’habitation achevés depuis plus de deux ans et n’ont pas pour effet, sur une période de deux ans au \
    plus, de concourir à la production d’un immeuble neuf au sens du 2° du 2 du I de l’article 257 du CGI, ni \
    d’augmenter de plus de 10 % la surface de plancher des locaux existants.";
const ENERGY: &str = "TVA à 5,5 % (CGI, art. 278-0 bis A) : le client certifie que les travaux ont la nature de \
    travaux de rénovation énergétique, portent sur des locaux à usage d’habitation achevés depuis plus de deux ans \
    et n’ont pas pour effet, sur une période de deux ans au plus, de concourir";

fn lines(rates: &[&str]) -> Vec<Line> {
    rates.iter().map(|rate| line("Pose", (None, None), rate)).collect()
}

/// The views of the three kinds of documents about the same lines.
fn views<T>(facts: &DocumentFacts, rates: &[&str], of: impl Fn(&DocumentView<'_>) -> T) -> [T; 3] {
    let (quote, invoice) = (quote_of(lines(rates)), invoice_of(lines(rates)));
    let note = credit_note_of(lines(rates));
    let records = [offered(&quote), DocumentRef::Invoice(&invoice), credited(&note)];
    records.map(|record| of(&DocumentView::of(&input(facts, record))))
}

/// The texts, each on a line of its own.
fn joined<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> String {
    texts.into_iter().fold(String::new(), |all, text| all + &text.text + "\n")
}

fn printed(facts: &DocumentFacts, rates: &[&str]) -> [String; 3] {
    let text = |view: &DocumentView<'_>| joined(legal_notices(view));
    let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
    views(facts, rates, text).map(plain)
}

/// Checks a legal notice on a quote, an invoice and a credit note.
fn assert_on(notice: &str, facts: &DocumentFacts, expected: [bool; 3]) {
    let texts = printed(facts, &["20"]);
    assert_eq!(texts.each_ref().map(|text| text.contains(notice)), expected, "{notice} in {texts:?}");
}

const NOWHERE: [bool; 3] = [false; 3];
const EVERYWHERE: [bool; 3] = [true; 3];
const ISSUED: [bool; 3] = [false, true, true];

/// The facts of a private client.
fn private() -> DocumentFacts {
    let mut facts = invoice_facts();
    facts.parties.buyer.r#type = Some(ClientType::Particulier);
    facts
}

/// Rules: DOCUMENT-31
#[test]
fn the_statement_of_a_reduced_rate_is_complete() {
    let facts = invoice_facts();
    let has = |rates: &[&str], notice: &str| printed(&facts, rates).map(|text| text.contains(notice));
    let asked = [true, true, false];
    assert_eq!(has(&["10"], REDUCED), asked);
    assert_eq!(has(&["20", "5.5"], ENERGY), asked);
    assert_eq!(has(&["10"], ENERGY), NOWHERE);
    assert_eq!(has(&["20", "8.5"], "certifie"), NOWHERE);
    let both = printed(&facts, &["10", "5.5"]);
    assert!(both[0].contains(REDUCED) && both[0].contains(ENERGY), "{both:?}");
}

/// Rules: DOCUMENT-31
#[test]
fn the_statement_follows_the_works_and_the_client() {
    let states = |facts: &DocumentFacts, rate: &str| {
        printed(facts, &[rate]).map(|text| text.contains("achevés depuis plus de deux ans"))
    };
    let asked = [true, true, false];
    let mut facts = invoice_facts();
    assert_eq!(states(&facts, "2.1"), NOWHERE, "the press");
    facts.parties.buyer.country = Some("RE".into());
    assert_eq!(states(&facts, "2.1"), asked);
    assert!(printed(&facts, &["2.1"])[0].contains("TVA à 2,1 % (CGI, art. 279-0 bis et 296) : "));
    facts.operations = OperationNature::Goods;
    assert_eq!(states(&facts, "5.5"), NOWHERE, "goods");
    facts.operations = OperationNature::Mixed;
    assert_eq!(states(&facts, "5.5"), asked);
    facts.housing_works = false;
    assert_eq!(states(&facts, "5.5"), NOWHERE, "other works");
}

/// Rules: DOCUMENT-31
#[test]
fn an_invoice_without_a_quote_claims_no_certificate() {
    let mut facts = invoice_facts();
    facts.quote_number = None;
    let [quote, invoice, _] = printed(&facts, &["10"]);
    assert!(quote.contains("le client certifie que les travaux portent"), "{quote}");
    assert!(invoice.contains("selon les indications du client, les travaux portent"), "{invoice}");
    assert!(!invoice.contains("certifie"), "{invoice}");
}

#[cfg(feature = "console")]
#[test]
fn the_accepted_text_has_the_statements_of_the_quote() {
    let [text, ..] = views(&invoice_facts(), &["10", "5.5", "20"], accepted_text);
    let text = text.replace(['\u{a0}', '\u{202f}'], " ");
    assert!(text.starts_with("Bon pour accord sur le devis DEV-2026-0042, d’un montant de "), "{text}");
    assert!(text.contains(ENERGY) && text.ends_with(REDUCED), "{text}");
}

#[test]
fn a_company_without_vat_states_it() {
    let mut facts = invoice_facts();
    let states =
        |facts: &DocumentFacts, rates: &[&str]| printed(facts, rates).map(|text| text.contains(FRANCHISE));
    assert_eq!(states(&facts, &["0"]), NOWHERE);
    facts.parties.seller.identity.vat_regime = VatRegime::Franchise;
    assert_eq!(states(&facts, &["0"]), EVERYWHERE);
    assert_eq!(states(&facts, &["0", "20"]), NOWHERE, "it charges VAT");
    (facts.reverse_charge, facts.parties.seller.identity.vat_on_debits) = (true, true);
    assert_on("Autoliquidation", &facts, NOWHERE);
    assert_on("débits", &facts, NOWHERE);
}

#[test]
fn a_reverse_charge_is_stated() {
    let mut facts = invoice_facts();
    assert_on("Autoliquidation", &facts, NOWHERE);
    facts.reverse_charge = true;
    assert_on("Autoliquidation (CGI, art. 283-2 nonies)", &facts, EVERYWHERE);
}

#[test]
fn the_place_of_the_client_changes_the_reason_for_no_vat() {
    let mut facts = invoice_facts();
    facts.parties.buyer.country = Some("YT".into());
    let untaxed = printed(&facts, &["0"]).map(|text| text.contains(UNTAXED));
    assert_eq!(untaxed, EVERYWHERE);
    assert_on(UNTAXED, &facts, NOWHERE);
    facts.parties.buyer.country = Some("BE".into());
    facts.reverse_charge = true;
    assert_on(REVERSE_CHARGE_ABROAD, &facts, EVERYWHERE);
    assert_on(REVERSE_CHARGE, &facts, NOWHERE);
}

#[test]
fn the_option_for_debits_is_stated_on_invoices() {
    let mut facts = invoice_facts();
    assert_on(DEBITS, &facts, NOWHERE);
    facts.parties.seller.identity.vat_on_debits = true;
    assert_on(DEBITS, &facts, ISSUED);
}

#[test]
fn the_nature_of_the_operations_is_stated_with_e_invoicing() {
    let mut facts = invoice_facts();
    assert_on("Nature des opérations", &facts, NOWHERE);
    facts.parties.seller.identity.e_invoicing = EInvoicing::On;
    for (nature, text) in [
        (OperationNature::Services, "Nature des opérations : prestations de services\n"),
        (OperationNature::Goods, "Nature des opérations : livraisons de biens\n"),
        (OperationNature::Mixed, "Nature des opérations : livraisons de biens et prestations de services\n"),
    ] {
        facts.operations = nature;
        assert_on(text, &facts, ISSUED);
    }
}

#[test]
fn a_business_is_given_the_terms_of_payment() {
    let (mut business, private) = (invoice_facts(), private());
    for notice in [PENALTY, RECOVERY, DISCOUNT] {
        assert_on(notice, &business, ISSUED);
        assert_on(notice, &private, NOWHERE);
    }
    let identity = &mut business.parties.seller.identity;
    identity.late_penalty = Some("Pénalités : 12 %.".into());
    identity.early_payment = Some("Escompte : 1 %.".into());
    assert_on("Pénalités : 12 %.\nIndemnité forfaitaire", &business, ISSUED);
    assert_on("40 €.\nEscompte : 1 %.", &business, ISSUED);
    assert_on(PENALTY, &business, NOWHERE);
    assert_on(DISCOUNT, &business, NOWHERE);
}

#[test]
fn the_terms_of_payment_are_known_for_any_client() {
    let terms = views(&private(), &["20"], payment_terms);
    let expected =
        PaymentTerms { penalty: PENALTY.into(), recovery: RECOVERY.into(), discount: DISCOUNT.into() };
    assert_eq!(terms, [expected.clone(), expected.clone(), expected]);
}

#[test]
fn a_client_without_a_type_is_a_business_if_it_has_a_siren() {
    let mut unknown = invoice_facts();
    (unknown.parties.buyer.r#type, unknown.parties.buyer.vat_number) = (None, None);
    assert_on(RECOVERY, &unknown, ISSUED);
    unknown.parties.buyer.siren = None;
    assert_on(RECOVERY, &unknown, NOWHERE);
}

#[test]
fn the_mediator_is_named_to_private_clients() {
    let (mut business, mut private) = (invoice_facts(), private());
    let notice = "Médiateur de la consommation : CM2C, 49 rue de Ponthieu";
    assert_on("Médiateur", &private, NOWHERE);
    for facts in [&mut business, &mut private] {
        facts.parties.seller.identity.mediator = Some("CM2C, 49 rue de Ponthieu".into());
    }
    assert_on(notice, &private, EVERYWHERE);
    assert_on(notice, &business, NOWHERE);
}

#[test]
fn the_handling_of_waste_is_stated_on_quotes() {
    let mut facts = invoice_facts();
    assert_on("déchets", &facts, NOWHERE);
    facts.parties.seller.identity.waste_terms = Some("tri, 2 m³, déchèterie de Nantes".into());
    let expected = [true, false, false];
    assert_on("Gestion des déchets : tri, 2 m³, déchèterie de Nantes", &facts, expected);
}

#[test]
fn the_insurance_is_stated_if_there_is_one() {
    let mut facts = invoice_facts();
    assert_on("Assurance décennale : Assurance du Bâtiment", &facts, EVERYWHERE);
    facts.parties.seller.identity.insurance = None;
    assert_on("Assurance", &facts, NOWHERE);
}

#[test]
fn the_law_of_the_retention_is_cited_if_there_is_one() {
    assert_on("loi n° 71-584 du 16 juillet 1971", &invoice_facts(), [true, true, false]);
    let mut invoice = invoice_of(lines(&["20"]));
    invoice.summary.retention_rate = Percent::ZERO;
    let facts = invoice_facts();
    let view = DocumentView::of(&input(&facts, DocumentRef::Invoice(&invoice)));
    assert!(!legal_notices(&view).iter().any(|text| text.text.contains("71-584")));
}

/// The texts that identify the company and the client, on a quote, an invoice and a credit note.
fn head(facts: &DocumentFacts) -> [String; 3] {
    let text = |view: &DocumentView<'_>| {
        let name = header::issuer_name(view.company);
        let texts =
            [name].into_iter().chain(header::issuer(view.company)).chain(header::client_details(view));
        joined(texts).replace('\u{a0}', " ")
    };
    views(facts, &["20"], text)
}

#[test]
fn the_company_is_identified_with_its_form_capital_and_register() {
    let mut facts = invoice_facts();
    let has = |facts: &_, text: &str| head(facts).map(|head| head.contains(text));
    let legal = "SARL au capital de 10 000 € — RCS Nantes 123 456 789\n";
    assert_eq!(has(&facts, legal), EVERYWHERE);
    for text in
        ["12 rue des Métiers\n44000 Nantes\n", "SIRET : 123 456 789 01234\n", "N° TVA : FR12345678901\n"]
    {
        assert_eq!(has(&facts, text), EVERYWHERE, "{text}");
    }
    facts.parties.seller.identity.share_capital = None;
    assert_eq!(has(&facts, "SARL — RCS Nantes 123 456 789\n"), EVERYWHERE);
    (facts.parties.seller.identity.legal_form, facts.parties.seller.identity.registration) = (None, None);
    assert_eq!(has(&facts, "SARL"), NOWHERE);
}

#[test]
fn a_sole_trader_has_ei_beside_the_name() {
    let mut facts = invoice_facts();
    let has = |facts: &_, text: &str| head(facts).map(|head| head.contains(text));
    assert_eq!(has(&facts, ", EI"), NOWHERE);
    facts.parties.seller.identity.share_capital = None;
    for form in ["EI", "Entrepreneur individuel"] {
        facts.parties.seller.identity.legal_form = Some(form.into());
        assert_eq!(has(&facts, "Atelier Léa Martin, EI\n"), EVERYWHERE, "{form}");
    }
    facts.parties.seller.name = "EI Léa Martin".into();
    assert_eq!(has(&facts, "EI Léa Martin\n"), EVERYWHERE);
    facts.parties.seller.identity.legal_form = Some("EIRL".into());
    assert_eq!(has(&facts, ", EI"), NOWHERE);
}

#[test]
fn a_business_is_named_with_its_siren_on_invoices() {
    let mut facts = invoice_facts();
    let has = |facts: &_, text: &str| head(facts).map(|head| head.contains(text));
    assert_eq!(has(&facts, "SIREN : 732 829 320\nN° TVA : FR44732829320\n"), ISSUED);
    facts.parties.buyer.r#type = Some(ClientType::Particulier);
    assert_eq!(has(&facts, "SIREN"), NOWHERE);
    assert_eq!(has(&facts, "FR44732829320"), NOWHERE);
    (facts.parties.buyer.r#type, facts.parties.buyer.siren) = (None, None);
    assert_eq!(has(&facts, "SIREN"), NOWHERE);
    assert_eq!(has(&facts, "N° TVA : FR44732829320\n"), ISSUED);
}
