//! Invoices and credit notes.

use std::time::Instant;

use invoicing_core::{
    BillingAddress, ClientType, Deduction, InvoiceId, InvoiceStatus, Line, OperationNature, Percent,
    Quantity, VatRegime,
};
use uuid::Uuid;

use super::*;
use crate::documents::DocumentLogo;
use crate::documents::content::fixtures::{
    credit_note, credit_note_of, credited, day, invoice, invoice_facts, invoice_of,
};

fn pages_of(input: &DocumentInput<'_>) -> Vec<PdfPage> {
    let pages = PdfRenderer::new().compose(&DocumentView::of(input)).unwrap().0;
    assert_tidy(&pages);
    pages
}

fn printed(input: &DocumentInput<'_>) -> String {
    text_of(&pages_of(input))
}

fn assert_prints(text: &str, expected: &[&str], absent: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    for absent in absent {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}

#[test]
fn an_invoice_shows_all_its_data() {
    let (facts, invoice) = (invoice_facts(), invoice());
    let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    let expected = [
        "Facture\nFAC-2026-0007\n",
        "Atelier Léa Martin\n12 rue des Métiers\n44000 Nantes\n",
        "SARL au capital de 10 000 € — RCS Nantes 123 456 789\n",
        "Date\n1er octobre 2026\nÉchéance\n31 octobre 2026\nNet à payer\n68 791,67 €\n",
        "Référence\nDevis DEV-2026-0042\n",
        "Client\nSCI des Lilas\n3 place Royale\n75001 Paris\nTél. : 06 12 34 56 78\n",
        "E-mail : gerance@lilas.example\nSIREN : 732 829 320\nN° TVA : FR44732829320\n",
        "Lot 1 Finitions\nSéjour\nPeinture des murs (deux couches)\n12,5\nm²\n1 024,40 €\n10 %\n12 805,00 €\n",
        "Isolation\n12,5\nm²\n1 024,40 €\n5,5 %\n12 805,00 €\n",
        "Total HT\n64 025,00 €\nTVA 5,5 % sur 12 805,00 €\n704,28 €\n",
        "Total TTC\n72 412,28 €\nRetenue de garantie 5 %\n−3 620,61 €\nNet à payer\n68 791,67 €\n",
        "Règlement\nNet à payer\n68 791,67 €\nAu plus tard le\n31 octobre 2026\n",
        "IBAN\nFR14 2004 1010 0505 0001 3M02 606\nBIC\nPSSTFRPPNTE\nRéférence à rappeler\nFAC-2026-0007\n",
    ];
    let absent =
        ["Bon pour accord", "Avoir", "Motif", "Valable", "réalisation", "Période", "Déduction", "Chantier"];
    assert_prints(&text, &expected, &absent);
    assert_prints(&text, &["Conditions\nAcompte de 30 % à la commande."], &[]);
}

/// Rules: INVOICE-31
#[test]
fn an_invoice_that_is_paid_with_its_issue_asks_for_nothing() {
    let (facts, mut invoice) = (invoice_facts(), invoice());
    let head = &mut invoice.summary;
    (head.status, head.retention_rate, head.due_date) = (InvoiceStatus::Paid, Percent::ZERO, head.issue_date);
    head.update_amounts().unwrap();
    let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    let expected = [
        "Date\n1er octobre 2026\nAcquittée le\n1er octobre 2026\nRéférence\n",
        "Total TTC\n72 412,28 €\nAcquittée le 1er octobre 2026\n−72 412,28 €\nNet à payer\n0,00 €\n",
    ];
    assert_prints(&text, &expected, &["Échéance", "Règlement", "Au plus tard", "IBAN", "à rappeler"]);
    invoice.summary.retention_rate = Percent::from(5);
    invoice.summary.update_amounts().unwrap();
    let retained = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    assert_prints(&retained, &["Échéance", "Règlement", "Au plus tard", "IBAN"], &["Acquittée"]);
}

/// Rules: INVOICE-15
#[test]
fn an_invoice_of_0_asks_for_nothing() {
    let one = line("Pose", (None, None), "20");
    let quantity = Quantity::new(-one.quantity.get()).unwrap();
    let back = Line { quantity, total_ht: quantity.times(one.unit_price).unwrap(), ..one.clone() };
    let (facts, mut invoice) = (invoice_facts(), invoice_of(vec![one, back]));
    invoice.summary.status = InvoiceStatus::Paid;
    let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    let absent = ["Échéance", "Règlement", "Au plus tard", "IBAN", "à rappeler", "Acquittée"];
    assert_prints(&text, &["Date\n1er octobre 2026\nNet à payer\n0,00 €\n", "Total TTC\n0,00 €\n"], &absent);
}

#[test]
fn the_work_site_is_named_on_invoices_and_credit_notes() {
    let (mut facts, invoice, note) = (invoice_facts(), invoice(), credit_note());
    facts.work_site = Some("4 quai de la Fosse\n44000 Nantes".into());
    for record in [DocumentRef::Invoice(&invoice), credited(&note)] {
        let text = printed(&input(&facts, record));
        assert_prints(&text, &["Chantier\n4 quai de la Fosse\n44000 Nantes\n"], &[]);
    }
}

/// Rules: DOCUMENT-32
#[test]
fn the_order_number_and_the_billing_address_stand_beside_the_seat() {
    let (mut facts, mut invoice, mut quote, note) = (invoice_facts(), invoice(), quote(), credit_note());
    let own = BillingAddress::default().address("CS 40102").zip_code("1000").city("Bruxelles").country("BE");
    facts.parties.buyer.billing_address = Some(own);
    let order = Some("PO-2026/41".to_owned());
    (invoice.detail.order_number, quote.detail.order_number) = (order.clone(), order.clone());
    let DocumentRef::CreditNote { note, invoice_date, supplied_on, .. } = credited(&note) else { panic!() };
    let order_number = order.as_deref();
    let credited = DocumentRef::CreditNote { note, invoice_date, supplied_on, order_number };
    for record in [offered(&quote), DocumentRef::Invoice(&invoice), credited] {
        let text = printed(&input(&facts, record));
        let seat = "3 place Royale\n75001 Paris\nTél. : 06 12 34 56 78\n";
        let billing = "Adresse de facturation\nCS 40102\n1000 Bruxelles\nBelgique\n";
        assert_prints(&text, &["Votre commande\nPO-2026/41\n", seat, billing], &[]);
    }
    invoice.detail.order_number = None;
    let seat = BillingAddress::default().address("3 place Royale").zip_code("75001").city("Paris");
    for same_or_none in [Some(seat), None] {
        facts.parties.buyer.billing_address = same_or_none;
        let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
        assert_prints(&text, &["3 place Royale"], &["commande\n", "Adresse de facturation"]);
    }
}

#[test]
fn numbers_are_shown_of_businesses_with_numbers_only() {
    let (mut facts, invoice) = (invoice_facts(), invoice_of(vec![line("Pose", (None, None), "0")]));
    let identity = &mut facts.parties.seller.identity;
    (identity.vat_regime, identity.vat_number) = (VatRegime::Franchise, None);
    let text = |facts: &_| printed(&input(facts, DocumentRef::Invoice(&invoice)));
    let business = text(&facts);
    assert_prints(&business, &["TVA non applicable, art. 293 B du CGI\n", "N° TVA : FR44732829320\n"], &[]);
    assert_eq!(business.matches("N° TVA").count(), 1);
    facts.parties.buyer.r#type = Some(ClientType::Particulier);
    assert_prints(&text(&facts), &["SIRET : "], &["N° TVA", "SIREN"]);
}

#[test]
fn an_invoice_shows_when_it_was_supplied_and_its_deductions() {
    let (mut facts, mut invoice) = (invoice_facts(), invoice());
    invoice.summary.supplied_on = Some(day("2026-09-30"));
    (invoice.summary.period_start, invoice.summary.period_end) =
        (Some(day("2026-09-01")), Some(day("2026-09-30")));
    invoice.detail.deductions.push(Deduction {
        invoice_id: InvoiceId(Uuid::from_u128(6)),
        number: "FAC-2026-0002".into(),
        issue_date: day("2026-08-03"),
        total_ht: invoice.summary.total_ht,
        total_ttc: invoice.summary.total_ttc,
    });
    let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    let period = "Période\ndu 1er septembre 2026\nau 30 septembre 2026\n";
    let deducted = "Déduction de la facture FAC-2026-0002 du 3 août 2026\n";
    assert_prints(&text, &["Date de réalisation\n30 septembre 2026\n", period, deducted], &[]);
    facts.operations = OperationNature::Goods;
    let goods = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    assert_prints(&goods, &["Date de livraison\n"], &["Date de réalisation"]);
}

#[test]
fn a_credit_note_shows_its_invoice_and_its_reason_and_asks_for_nothing() {
    let (facts, note) = (invoice_facts(), credit_note());
    let text = printed(&input(&facts, credited(&note)));
    let expected = [
        "Avoir\nAVO-2026-0003\n",
        "Date\n12 octobre 2026\nDate de réalisation\n1er octobre 2026\nRéférence\nDevis DEV-2026-0042\n",
        "Avoir sur la facture FAC-2026-0007 du 1er octobre 2026\nMotif : Plinthes non posées\n",
        "Chambre\nPlinthes\n12,5\nm²\n1 024,40 €\n20 %\n12 805,00 €\n",
        "Enduit\n12,5\nm²\n1 024,40 €\n10 %\n12 805,00 €\n",
        "Total TTC de l’avoir\n29 451,50 €\n",
    ];
    let absent = [
        "Chantier",
        "Période",
        "Déduction",
        "Conditions",
        "Acompte",
        "Échéance",
        "Retenue",
        "Règlement",
        "Net à payer",
        "IBAN",
        "Bon pour accord",
    ];
    assert_prints(&text, &expected, &absent);
}

#[test]
fn a_credit_note_of_the_day_of_the_supply_does_not_repeat_it() {
    let (facts, note) = (invoice_facts(), credit_note());
    let supplied_on = note.summary.issue_date;
    let record =
        DocumentRef::CreditNote { note: &note, invoice_date: supplied_on, supplied_on, order_number: None };
    assert_prints(&printed(&input(&facts, record)), &["Date\n12 octobre 2026\n"], &["Date de réalisation"]);
}

/// Rules: DOCUMENT-27
#[test]
fn the_address_of_a_client_abroad_ends_with_the_country() {
    let (mut facts, offer, invoice, note) = (invoice_facts(), quote(), invoice(), credit_note());
    let quote = DocumentRef::Quote { quote: &offer, sent_copy: None };
    let texts = |facts: &_| {
        [quote, DocumentRef::Invoice(&invoice), credited(&note)].map(|record| printed(&input(facts, record)))
    };
    for (code, expected) in [
        (Some("BE"), "75001 Paris\nBelgique\nTél."),
        (Some("JP"), "75001 Paris\nJP\nTél."),
        (Some("FR"), "75001 Paris\nTél."),
        (None, "75001 Paris\nTél."),
    ] {
        facts.parties.buyer.country = code.map(str::to_owned);
        for text in texts(&facts) {
            assert_prints(&text, &[expected], &[]);
        }
    }
    let client = &mut facts.parties.buyer;
    (client.address, client.zip_code, client.city, client.country) = (None, None, None, Some("BE".into()));
    assert_prints(&texts(&facts)[1], &["SCI des Lilas\nBelgique\n"], &[]);
}

#[test]
fn without_a_retention_the_total_is_what_is_to_pay() {
    let (mut facts, mut invoice) = (invoice_facts(), invoice());
    invoice.summary.retention_rate = Percent::ZERO;
    invoice.summary.update_amounts().unwrap();
    (facts.parties.seller.identity.iban, facts.parties.seller.identity.bic) = (None, None);
    let text = printed(&input(&facts, DocumentRef::Invoice(&invoice)));
    let expected =
        ["Total TTC\n72 412,28 €\nRèglement\nNet à payer\n72 412,28 €\n", "Référence à rappeler\n"];
    assert_prints(&text, &expected, &["Retenue", "IBAN", "BIC"]);
}

#[test]
fn equal_invoices_have_equal_bytes_and_a_title() {
    let (facts, invoice, note) = (invoice_facts(), invoice(), credit_note());
    for (record, title) in
        [(DocumentRef::Invoice(&invoice), "Facture FAC-2026-0007"), (credited(&note), "Avoir AVO-2026-0003")]
    {
        let render = || PdfRenderer::new().render(&input(&facts, record)).unwrap();
        let pdf = render();
        assert!(pdf == render());
        assert!(contains(&pdf, title) && contains(&pdf, "<pdfaid:part>3<"), "{title}");
        assert!(!contains(&pdf, "factur-x.xml"));
    }
}

/// Kozea/WeasyPrint#2380: the relation was `/Unspecified`. akretion/factur-x#78: a validator
/// refused an attachment without its date (ISO 19005-3, 6.8).
#[test]
fn the_xml_is_attached_as_an_alternative() {
    let (facts, invoice) = (invoice_facts(), invoice());
    let input = DocumentInput { factur_x: Some(b"<xml/>"), ..input(&facts, DocumentRef::Invoice(&invoice)) };
    let pdf = PdfRenderer::new().render(&input).unwrap();
    for expected in
        ["factur-x.xml", "/AFRelationship/Alternative", "text#2Fxml", "(Factur-X)", "D:20261001000000"]
    {
        assert!(contains(&pdf, expected), "{expected}");
    }
}

#[test]
fn long_names_stay_in_their_places() {
    let word = "x".repeat(255);
    let (mut facts, mut invoice, mut note) = (invoice_facts(), invoice(), credit_note());
    let company = &mut facts.parties.seller;
    company.name.clone_from(&word);
    for field in [
        &mut company.identity.legal_form,
        &mut company.identity.registration,
        &mut company.identity.iban,
        &mut company.identity.bic,
        &mut facts.quote_number,
        &mut facts.work_site,
        &mut facts.parties.buyer.vat_number,
    ] {
        *field = Some(word.clone());
    }
    invoice.summary.client_name.clone_from(&word);
    invoice.summary.number = Some(word.clone());
    note.summary.invoice_number.clone_from(&word);
    note.summary.reason = word.repeat(4);
    pages_of(&input(&facts, DocumentRef::Invoice(&invoice)));
    pages_of(&input(&facts, credited(&note)));
}

#[test]
fn the_payment_stays_whole_on_a_long_invoice() {
    let facts = invoice_facts();
    for count in (1..30).chain([230]) {
        let invoice = invoice_of(vec![line("Poste", (Some("Lot"), None), "20"); count]);
        let pages = pages_of(&input(&facts, DocumentRef::Invoice(&invoice)));
        let texts: Vec<_> = pages.iter().map(|page| text_of(std::slice::from_ref(page))).collect();
        let whole = |text: &&String| text.contains("Règlement\n") && text.contains("Référence à rappeler\n");
        assert_eq!(texts.iter().filter(whole).count(), 1, "{count}");
        assert!(count < 230 || pages.len() >= 8, "{}", pages.len());
    }
    let note = credit_note_of(vec![line("Poste", (None, None), "20"); 230]);
    assert!(pages_of(&input(&facts, credited(&note))).len() >= 8);
}

/// A PNG of this size, with transparent pixels.
pub(in crate::documents::pdf) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    let pixel = |at: u32| if at.is_multiple_of(7) { [0; 4] } else { [200, 90, 40, 255] };
    writer.write_image_data(&(0..width * height).flat_map(pixel).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    file
}

#[test]
fn a_logo_stands_above_the_name_and_is_described() {
    let (facts, invoice) = (invoice_facts(), invoice());
    let logo = DocumentLogo::parse(png(280, 60)).unwrap();
    let plain = input(&facts, DocumentRef::Invoice(&invoice));
    let input = DocumentInput { logo: Some(&logo), ..plain };
    let pages = pages_of(&input);
    let image = &pages[0].images[0];
    assert_eq!((image.x, image.size), (LEFT, (140.0, 30.0)));
    let name = pages[0].texts.iter().find(|text| said(&text.line) == "Atelier Léa Martin").unwrap();
    assert!(name.baseline > image.y + image.size.1 + 10.0, "{}", name.baseline);
    assert!(pages_of(&plain)[0].images.is_empty());
    let pdf = PdfRenderer::new().render(&input).unwrap();
    assert!(contains(&pdf, "/S/Figure") && contains(&pdf, "/Subtype/Image"));
    assert!(pdf == PdfRenderer::new().render(&input).unwrap());
}

/// A PNG of the largest size, whose pixels hardly fit into a document.
fn largest_png() -> Vec<u8> {
    const SIDE: usize = 1_000;
    let mut noise = 1_u32;
    let mut pixels: Vec<u8> = (0..255_000)
        .map(|_| {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            noise.to_be_bytes()[0]
        })
        .collect();
    pixels.resize(SIDE * SIDE * 3, 0);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 1_000, 1_000);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    file
}

#[test]
fn the_largest_logo_adds_300_kb_and_is_compressed_once() {
    let (facts, invoice) = (invoice_facts(), invoice());
    let logo = DocumentLogo::parse(largest_png()).unwrap();
    let plain = input(&facts, DocumentRef::Invoice(&invoice));
    let renderer = PdfRenderer::new();
    let with_logo = || renderer.render(&DocumentInput { logo: Some(&logo), ..plain }).unwrap();
    let (without, first) = (renderer.render(&plain).unwrap(), with_logo());
    let added = first.len() - without.len();
    assert!((250_000..300_000).contains(&added), "{added}");
    let fastest = |render: &dyn Fn() -> Vec<u8>| {
        let times = (0..15).map(|_| {
            let begun = Instant::now();
            render();
            begun.elapsed()
        });
        times.min().unwrap()
    };
    assert!(with_logo() == first);
    let (plain, logo) = (fastest(&|| renderer.render(&plain).unwrap()), fastest(&with_logo));
    // Compressing takes ten times as long as a page. 1.2 is promised, of an optimised build.
    assert!(logo < 2 * plain, "{logo:?} with, {plain:?} without");
}

#[test]
fn a_company_has_a_colour_of_its_own() {
    let (mut facts, invoice) = (invoice_facts(), invoice());
    let render =
        |facts: &_| PdfRenderer::new().render(&input(facts, DocumentRef::Invoice(&invoice))).unwrap();
    let default = render(&facts);
    facts.parties.seller.identity.color = Some("#8a1c1c".into());
    assert!(default != render(&facts));
    facts.parties.seller.identity.color = Some("#ffff00".into());
    assert!(default == render(&facts));
}
