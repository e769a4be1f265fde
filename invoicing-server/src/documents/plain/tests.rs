//! What a plain document says, and that nothing a customer may enter breaks it.

use std::time::{Duration, Instant};

use chrono::NaiveDate;
use invoicing_core::{
    ClientId, Company, CompanyId, CompanyIdentity, Line, MAX_LINES, NewCompany, Percent, Plan, Quote,
    QuoteHead, QuoteId, QuoteStatus, QuoteTerms, SignatureBlock, Timestamp, Totals, retention_amount,
};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

pub(in crate::documents) fn company() -> Company {
    let identity = CompanyIdentity {
        address: Some("12 rue des Métiers\n44000 Nantes".into()),
        email: Some("contact@atelier.example".into()),
        phone: Some("02 40 00 00 00".into()),
        siret: Some("12345678901234".into()),
        vat_number: Some("FR12345678901".into()),
        insurance: Some("Assurance du Bâtiment, police 42, France métropolitaine".into()),
        terms: Some("Acompte de 30 % à la commande.".into()),
    };
    let new = NewCompany { identity, ..NewCompany::named("Atelier Léa Martin", Plan::Team) };
    new.create(CompanyId(Uuid::from_u128(1)), Timestamp::from_millis(0)).unwrap()
}

pub(in crate::documents) fn line(description: &str, place: (Option<&str>, Option<&str>), rate: &str) -> Line {
    let (quantity, unit_price) = ("12.5".parse().unwrap(), "1024.4".parse().unwrap());
    Line {
        description: description.into(),
        quantity,
        unit: Some("m²".into()),
        unit_price,
        total_ht: quantity.at(unit_price).unwrap(),
        tva_rate: rate.parse().unwrap(),
        lot: place.0.map(str::to_owned),
        section: place.1.map(str::to_owned),
    }
}

pub(in crate::documents) fn quote_of(lines: Vec<Line>) -> Quote {
    let totals = Totals::of(&lines).unwrap();
    let at = Timestamp::from_millis(1_789_378_867_123);
    let retention_rate = Percent::from(5);
    Quote {
        head: QuoteHead {
            id: QuoteId(Uuid::from_u128(2)),
            number: "DEV-2026-0042".into(),
            status: QuoteStatus::Sent,
            external_id: Some("crm-EXTERNAL".into()),
            client_id: ClientId(Uuid::from_u128(3)),
            client_name: "Jean Lefèvre".into(),
            client_email: Some("jean@client.example".into()),
            total_ht: totals.total_ht,
            total_ttc: totals.total_ttc,
            tva_rate: totals.tva_rate,
            currency: "EUR".into(),
            valid_until: NaiveDate::from_ymd_opt(2026, 10, 14),
            created_at: at,
            updated_at: at,
            sent_at: Some(at),
            signed_at: None,
            accepted_at: None,
            signed_by_name: None,
            signed_by_email: None,
        },
        lines,
        terms: QuoteTerms {
            retention_rate,
            retention_amount: retention_amount(totals.total_ttc, retention_rate).unwrap(),
            vat_breakdown: totals.vat_breakdown,
            signature: None,
        },
    }
}

pub(in crate::documents) fn quote() -> Quote {
    quote_of(vec![
        line("Peinture des murs (deux couches)", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
        line("Isolation", (Some("Lot 2 Énergie"), None), "5.5"),
        line("Plinthes", (Some("Lot 1 Finitions"), Some("Chambre")), "20"),
        line("Nettoyage", (None, None), "20"),
        line("Enduit", (Some("Lot 1 Finitions"), Some("Séjour")), "10"),
    ])
}

fn signature() -> SignatureBlock {
    SignatureBlock {
        signed_at: Timestamp::from_millis(1_789_378_867_123),
        signed_by_name: "Jean Lefèvre".into(),
        signed_by_email: "jean@client.example".into(),
        accepted_text: "Bon pour accord, sans réserve".into(),
        proof_fingerprint: format!("sha256:{}", "ab".repeat(32)),
    }
}

fn try_render(company: &Company, quote: &Quote) -> Result<Vec<u8>, RenderError> {
    let issued_on = NaiveDate::from_ymd_opt(2026, 9, 14).unwrap();
    let client_address = Some("3 place Royale\n75001 Paris");
    PlainRenderer::new().render(&DocumentInput {
        company,
        quote,
        client_address,
        work_site: None,
        issued_on,
        signed_copy: None,
    })
}

fn render(quote: &Quote) -> Vec<u8> {
    try_render(&company(), quote).unwrap()
}

/// The shown strings, one a line, from the uncompressed content streams.
fn text_of(pdf: &[u8]) -> String {
    let mut text = String::new();
    for operation in pdf.split(|byte| *byte == b'\n').filter_map(|row| row.strip_suffix(b"TJ")) {
        let mut bytes = operation.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'(' => literal(&mut bytes, &mut text),
                b'<' => {
                    let hex: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'>').collect();
                    for pair in std::str::from_utf8(&hex).unwrap().as_bytes().chunks(2) {
                        let pair = std::str::from_utf8(pair).unwrap();
                        text.push(shown(u8::from_str_radix(pair, 16).unwrap()));
                    }
                }
                _ => {}
            }
        }
        text.push('\n');
    }
    text
}

fn literal(bytes: &mut impl Iterator<Item = u8>, text: &mut String) {
    let mut depth = 1;
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'\\' => bytes.next().unwrap(),
            b'(' => {
                depth += 1;
                byte
            }
            b')' => {
                depth -= 1;
                byte
            }
            _ => byte,
        };
        if depth == 0 {
            return;
        }
        text.push(char::from(byte));
    }
}

fn shown(byte: u8) -> char {
    match byte {
        0x80 => '€',
        0xa0 => ' ',
        _ => char::from(byte),
    }
}

#[test]
fn a_quote_says_what_the_customer_must_know() {
    let text = text_of(&render(&quote()));
    for expected in [
        "Atelier Léa Martin\n",
        "12 rue des Métiers\n",
        "44000 Nantes\n",
        "Tél. : 02 40 00 00 00\n",
        "E-mail : contact@atelier.example\n",
        "E-mail : jean@client.example\n",
        "SIRET : 12345678901234\n",
        "N° TVA : FR12345678901\n",
        "Jean Lefèvre\n",
        "3 place Royale\n",
        "Devis n° DEV-2026-0042\n",
        "Date : 14/09/2026\n",
        "Valable jusqu'au 14/10/2026\n",
        "Peinture des murs (deux couches)\n12,5\nm²\n1 024,40 €\n10 %\n12 805,00 €\n",
        "Total HT\n64 025,00 €\n",
        "TVA 5,5 % sur 12 805,00 €\n704,28 €\n",
        "TVA 10 % sur 25 610,00 €\n2 561,00 €\n",
        "Total TTC\n72 412,28 €\n",
        "Retenue de garantie 5 %\n3 620,61 €\n",
        "Net à payer hors retenue\n68 791,67 €\n",
        "279-0 bis",
        "278-0 bis A",
        "Assurance décennale : Assurance du Bâtiment, police 42, France métropolitaine\n",
        "Acompte de 30 % à la commande.\n",
        "Bon pour accord\n",
        "Page 1 / 1\n",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    for absent in ["crm-EXTERNAL", "Signature électronique", "Team", "SENT"] {
        assert!(!text.contains(absent), "{absent}");
    }
}

#[test]
fn lines_stand_under_their_lot_and_section() {
    let text = text_of(&render(&quote()));
    let order = [
        "Nettoyage",
        "Lot 1 Finitions",
        "Séjour",
        "Peinture des murs",
        "Enduit",
        "Chambre",
        "Plinthes",
        "Lot 2 Énergie",
        "Isolation",
    ];
    let places: Vec<_> = order.iter().map(|part| text.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(text.matches("Séjour").count(), 1);
}

#[test]
fn a_signed_quote_shows_the_evidence() {
    let mut quote = quote();
    quote.terms.signature = Some(signature());
    let text = text_of(&render(&quote));
    for expected in [
        "Signé le 14/09/2026 à 11:41:07 (Europe/Paris), soit 2026-09-14T09:41:07.123Z",
        "Par : Jean Lefèvre <jean@client.example>",
        "Texte accepté : Bon pour accord, sans réserve",
        &signature().proof_fingerprint,
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("Date, nom et signature"));
}

#[test]
fn rates_and_retention_are_only_mentioned_where_they_apply() {
    let mut quote = quote_of(vec![line("Pose", (None, None), "20")]);
    quote.terms.retention_rate = Percent::ZERO;
    let text = text_of(&render(&quote));
    assert!(!text.contains("bis") && !text.contains("Retenue"), "{text}");
}

#[test]
fn the_same_input_gives_the_same_bytes_and_another_gives_others() {
    let quote = quote();
    assert_eq!(render(&quote), render(&quote.clone()));
    let mut other = quote.clone();
    other.lines[0].description.push('.');
    assert_ne!(render(&quote), render(&other));
}

#[test]
fn an_unknown_time_zone_is_an_error() {
    let mut quote = quote();
    quote.terms.signature = Some(signature());
    let company = Company { time_zone: "Mars/Olympus".into(), ..company() };
    assert!(try_render(&company, &quote).is_err());
}

#[test]
fn long_documents_run_over_pages_and_repeat_the_table_s_head() {
    let lines = (0..200).map(|n| line(&format!("Poste {n}"), (None, None), "20")).collect();
    let text = text_of(&render(&quote_of(lines)));
    let pages = text.matches("Page ").count();
    assert!(pages > 3, "{pages}");
    assert!(text.contains(&format!("Page {pages} / {pages}\n")));
    assert!(text.matches("Désignation").count() >= pages - 1);
    for n in 0..200 {
        assert!(text.contains(&format!("Poste {n}\n")), "{n}");
    }
}

#[test]
fn the_longest_quote_is_done_quickly() {
    let description = "Fourniture et pose, é€ ".repeat(100).chars().take(2_000).collect::<String>();
    let lots: Vec<String> = (0..100).map(|n| format!("Lot {n}")).collect();
    let lines = (0..MAX_LINES).map(|n| line(&description, (Some(&lots[n % 100]), None), "20")).collect();
    let quote = quote_of(lines);
    let begun = Instant::now();
    assert!(render(&quote).ends_with(b"%%EOF"));
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn a_text_of_line_breaks_does_not_fill_the_memory() {
    let lines = vec![line(&"a\n".repeat(1_000), (None, None), "20"); MAX_LINES];
    let error = try_render(&company(), &quote_of(lines)).unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("pages"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_makes_a_document(texts in proptest::collection::vec(any::<String>(), 8), rate in 0_i32..=100) {
        let hostile = [&texts[0][..], "😀\u{202e}\u{0}()\\ שלום \u{2028}", "x"].concat().repeat(3);
        let mut quote = quote_of(vec![line(&hostile, (Some(&texts[1]), Some(&texts[2])), &rate.to_string())]);
        quote.lines[0].unit = Some(texts[3].clone());
        quote.head.number.clone_from(&texts[4]);
        quote.head.client_name.clone_from(&texts[5]);
        quote.head.currency.clone_from(&texts[6]);
        quote.terms.signature = Some(SignatureBlock { accepted_text: texts[7].clone(), ..signature() });
        let company = Company { name: hostile, ..company() };
        let first = try_render(&company, &quote).unwrap();
        prop_assert!(first.starts_with(b"%PDF-1.7") && first.ends_with(b"%%EOF"));
        prop_assert_eq!(&first, &try_render(&company, &quote).unwrap());
        let text = text_of(&first);
        prop_assert!(text.contains("Total TTC"), "{}", text);
    }
}
