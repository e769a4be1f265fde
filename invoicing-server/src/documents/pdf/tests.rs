//! The content of a document, and texts that must not break it.

mod glyphs;
mod issued;
mod page_breaks;

use invoicing_core::{Company, Line, Percent, Quote, SignatureBlock};
use proptest::prelude::*;

pub(super) use self::issued::png;
use super::pagination::{LEFT, PAGE, RIGHT, Text};
use super::typesetter::Line as TextLine;
use super::*;
pub(crate) use crate::documents::content::fixtures::{
    company, input, line, offer_facts, offered, quote, quote_of, signature,
};
use crate::documents::{ContentHash, DocumentFacts, DocumentRef, RenderDeadline, SentCopy};

fn try_render(company: &Company, quote: &Quote) -> Result<Vec<u8>, RenderError> {
    PdfRenderer::new().render(&input(&offer_facts(company.clone()), offered(quote)))
}

fn composed(company: &Company, quote: &Quote) -> Vec<PdfPage> {
    composed_of(&offer_facts(company.clone()), offered(quote))
}

fn composed_of(facts: &DocumentFacts, record: DocumentRef<'_>) -> Vec<PdfPage> {
    PdfRenderer::new().compose(&DocumentView::of(&input(facts, record))).unwrap().0
}

/// The text of a line, read back from the ranges of its glyphs.
fn said(line: &TextLine) -> &str {
    let ranges = || line.runs.iter().flat_map(|run| &run.glyphs).map(krilla::text::Glyph::text_range);
    let start = ranges().map(|range| range.start).min().unwrap_or(0);
    &line.text[start..ranges().map(|range| range.end).max().unwrap_or(0)]
}

/// The texts of a document as they are drawn, line by line, without repeated lines and page
/// numbers.
#[cfg(feature = "console")]
pub(crate) fn drawn(input: &DocumentInput<'_>) -> Vec<String> {
    let (pages, _, running) = PdfRenderer::new().compose(&DocumentView::of(input)).unwrap();
    let texts = pages.iter().flat_map(|page| &page.texts).filter(|text| text.node.is_some());
    texts.map(|text| &text.line).chain([&running.footer]).map(|line| said(line).to_owned()).collect()
}

/// The lines of all pages in reading order, with plain spaces.
fn text_of(pages: &[PdfPage]) -> String {
    let lines = pages.iter().flat_map(|page| &page.texts).map(|text| said(&text.line).trim_end());
    lines.collect::<Vec<_>>().join("\n").replace(['\u{a0}', '\u{202f}'], " ")
}

/// The maximum that a line starts left of its column. A line of both directions that breaks at a
/// space may start a space left: parley 0.10 hangs the space only if it stands at an edge of the
/// line.
fn hang(line: &TextLine) -> f32 {
    let text = said(line);
    let breaks = text.ends_with(' ') && text.contains(|c: char| matches!(c, '\u{590}'..='\u{8ff}'));
    if breaks { line.runs.iter().map(|run| run.size * 0.3).fold(0.1, f32::max) } else { 0.1 }
}

/// Checks that no text is printed over another, or outside the page.
fn assert_tidy(pages: &[PdfPage]) {
    for page in pages {
        let mut texts: Vec<_> = page.texts.iter().filter(|text| text.line.width > 0.0).collect();
        texts.sort_by(|a, b| a.baseline.total_cmp(&b.baseline).then(a.x.total_cmp(&b.x)));
        for text in &texts {
            assert!(
                text.x > LEFT - hang(&text.line) && text.x + text.line.width < RIGHT + 0.1,
                "{:?}",
                said(&text.line)
            );
            assert!(text.baseline > 50.0 && text.baseline < PAGE.1 - 58.0, "{:?}", said(&text.line));
        }
        for mark in &page.rectangles {
            let (right, bottom) = (mark.x + mark.width, mark.y + mark.height);
            assert!(mark.x > LEFT - 0.1 && right < RIGHT + 0.1, "{mark:?}");
            assert!(mark.y > 50.0 - 0.1 && bottom < PAGE.1 - 58.0 + 0.1, "{mark:?}");
            let through = |text: &&&Text| {
                let beside = text.x >= right || text.x + text.line.width <= mark.x;
                !beside && text.baseline > mark.y && text.baseline - 5.0 < bottom
            };
            assert!(!texts.iter().any(|text| through(&text)), "{mark:?}");
        }
        for (index, one) in texts.iter().enumerate() {
            let beside = |other: &&&Text| other.baseline - one.baseline < 4.0;
            for other in texts[index + 1..].iter().take_while(beside) {
                let apart = |left: &Text, right: &Text| left.x + left.line.width <= right.x;
                assert!(
                    apart(one, other) || apart(other, one),
                    "{:?} {:?}",
                    said(&one.line),
                    said(&other.line)
                );
            }
        }
    }
}

/// Rules: DOCUMENT-12, DOCUMENT-19
#[test]
fn a_quote_shows_all_its_data() {
    let company = company();
    let text = text_of(&composed(&company, &quote()));
    for expected in [
        "Devis\nDEV-2026-0042\n",
        "Atelier Léa Martin\n12 rue des Métiers\n44000 Nantes\nTél. : 02 40 00 00 00\n",
        "E-mail : contact@atelier.example\nSIRET : 123 456 789 01234\nN° TVA : FR12345678901\n",
        "Date\n14 septembre 2026\nValable jusqu’au\n14 octobre 2026\n",
        "Client\nJean Lefèvre\n3 place Royale\n75001 Paris\nTél. : 06 12 34 56 78\nE-mail : jean@client.example\n",
        "Peinture des murs (deux couches)\n12,5\nm²\n1 024,40 €\n10 %\n12 805,00 €\n",
        "Total HT\n64 025,00 €\nTVA 5,5 % sur 12 805,00 €\n704,28 €\nTVA 10 % sur 25 610,00 €\n2 561,00 €\n",
        "Total TTC\n72 412,28 €\nRetenue de garantie 5 %\n−3 620,61 €\nNet à payer hors retenue\n68 791,67 €\n",
        "279-0 bis",
        "278-0 bis A",
        "Assurance décennale : Assurance du Bâtiment, police 42, France métropolitaine\n",
        "Acompte de 30 % à la commande.\n",
        "Bon pour accord\n",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    for absent in ["crm-EXTERNAL", "Signature électronique", "Team", "SENT", "Chantier"] {
        assert!(!text.contains(absent), "{absent}");
    }
    let facts = DocumentFacts { work_site: Some("4 quai de la Fosse".into()), ..offer_facts(company) };
    let pages = composed_of(&facts, offered(&quote()));
    assert!(text_of(&pages).contains("Chantier\n4 quai de la Fosse\n"));
}

/// Rules: DOCUMENT-12
#[test]
fn lines_keep_their_order_below_the_names_of_lots_and_sections() {
    let mut quote = quote();
    quote.lines.push(line("Dépose", (Some("Lot 1 Finitions"), None), "20"));
    let text = text_of(&composed(&company(), &quote));
    let order = [
        "Lot 1 Finitions\nSéjour\nPeinture des murs",
        "Lot 2 Énergie\nIsolation\n",
        "Sous-total Lot 2 Énergie\n12 805,00 €\nLot 1 Finitions (suite)\nChambre\nPlinthes\n",
        // The line does not come first, and must not seem to belong to the lot above.
        "Sous-total Chambre\n12 805,00 €\nHors lot\nNettoyage\n",
        "Lot 1 Finitions (suite)\nSéjour (suite)\nEnduit\n",
        "Sous-total Séjour\n25 610,00 €\n",
        "Hors section\nDépose\n",
        "Sous-total Lot 1 Finitions\n51 220,00 €\n",
    ];
    let places: Vec<_> =
        order.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    let plain = quote_of(vec![line("Pose", (None, None), "20")]);
    assert!(!text_of(&composed(&company(), &plain)).contains("Sous-total"));
}

/// Rules: DOCUMENT-12
#[test]
fn a_signed_quote_shows_the_evidence_and_carries_it() {
    let (facts, mut quote) = (offer_facts(company()), quote());
    let sent = PdfRenderer::new().render(&input(&facts, offered(&quote))).unwrap();
    quote.detail.signature = Some(signature());
    let copy = SentCopy { file_name: "DEV-2026-0042.pdf", sha256: ContentHash::of(&sent), bytes: &sent };
    let signed = DocumentRef::Quote { quote: &quote, sent_copy: Some(copy) };
    let text = text_of(&composed_of(&facts, signed));
    for expected in [
        "Signature électronique\nDevis DEV-2026-0042, total TTC 72 412,28 €\nSigné par\nJean Lefèvre\nE-mail\njean@client.example\nSigné le\n",
        "14 septembre 2026 à 11:41:07 (Europe/Paris), soit 2026-09-14T09:41:07.123Z\n",
        "Texte accepté\nBon pour accord, sans réserve\n",
        &signature().proof_fingerprint,
        &ContentHash::of(&sent).to_string(),
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("Nom et signature du client"));
    let pdf = PdfRenderer::new().render(&input(&facts, signed)).unwrap();
    for expected in ["/AFRelationship/Source", "/AFRelationship/Data", "proof.json", "application#2Fpdf"] {
        assert!(contains(&pdf, expected), "{expected}");
    }
}

fn contains(pdf: &[u8], needle: &str) -> bool {
    pdf.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn the_file_declares_its_standards() {
    let pdf = try_render(&company(), &quote()).unwrap();
    for expected in [
        "<pdfaid:part>3<",
        "<pdfaid:conformance>A<",
        "<pdfuaid:part>1<",
        "Devis DEV-2026-0042",
        "/Lang(fr-FR)",
        "/S/TH",
        "/Scope/Column",
        "/Marked true",
    ] {
        assert!(contains(&pdf, expected), "{expected}");
    }
    // poppler reports the entry as an error.
    assert!(!contains(&pdf, "/Suspects"));
}

#[test]
fn rates_and_retention_are_only_mentioned_where_they_apply() {
    let mut quote = quote_of(vec![line("Pose", (None, None), "20")]);
    quote.detail.retention_rate = Percent::ZERO;
    let text = text_of(&composed(&company(), &quote));
    assert!(!text.contains("bis") && !text.contains("Retenue"), "{text}");
}

/// Rules: DOCUMENT-13
#[test]
fn equal_input_gives_equal_bytes_and_other_input_other_bytes() {
    let quote = quote();
    let first = try_render(&company(), &quote).unwrap();
    let elsewhere = std::thread::spawn({
        let quote = quote.clone();
        move || try_render(&company(), &quote).unwrap()
    });
    assert!(first == elsewhere.join().unwrap());
    let mut other = quote.clone();
    other.lines[0].description.push('.');
    assert!(first != try_render(&company(), &other).unwrap());
    let (facts, red) = (offer_facts(company()), PdfRenderer::new().with_accent([160, 30, 30]));
    assert!(first != red.render(&input(&facts, offered(&quote))).unwrap());
}

#[test]
fn an_unknown_time_zone_is_an_error() {
    let mut quote = quote();
    quote.detail.signature = Some(signature());
    let company = Company { time_zone: "Mars/Olympus".into(), ..company() };
    assert!(matches!(try_render(&company, &quote), Err(RenderError::Failed(_))));
}

#[test]
fn large_amounts_and_long_words_stay_in_their_columns() {
    let word = "x".repeat(255);
    let mut lines = vec![line("Pose", (Some(&word), Some(&word)), "19.99"); 2];
    lines[0].unit_price = "98765432101".parse().unwrap();
    lines[0].quantity = "10".parse().unwrap();
    lines[0].total_ht = lines[0].quantity.times(lines[0].unit_price).unwrap();
    lines[1].unit = Some(word.clone());
    let mut quote = quote_of(lines);
    quote.summary.client_name.clone_from(&word);
    quote.summary.number.clone_from(&word);
    let company = Company { name: word, ..company() };
    assert_tidy(&composed(&company, &quote));
    let facts = offer_facts(company);
    let view = DocumentView::of(&input(&facts, offered(&quote)));
    let running = PdfRenderer::new().compose(&view).unwrap().2;
    assert!(running.footer.width + running.numbers[0].width <= WIDTH && running.head.width <= WIDTH);
}

#[test]
fn the_footer_counts_the_pages() {
    let quote = quote_of(vec![line("Poste", (None, None), "20"); 60]);
    let facts = offer_facts(company());
    let view = DocumentView::of(&input(&facts, offered(&quote)));
    let (pages, _, running) = PdfRenderer::new().compose(&view).unwrap();
    let numbers: Vec<_> = running.numbers.iter().map(|line| said(line)).collect();
    assert_eq!(pages.len(), numbers.len());
    assert_eq!(
        format!("{}{}", said(&running.footer), numbers[1]),
        format!("Devis DEV-2026-0042 — Atelier Léa Martin — page 2 / {}", pages.len())
    );
}

#[test]
fn too_many_pages_are_an_error_that_says_so() {
    let lines = vec![line(&"a\n".repeat(1_000), (None, None), "20"); 200];
    let Err(RenderError::Text(invalid)) = try_render(&company(), &quote_of(lines)) else {
        panic!("rendered")
    };
    assert_eq!(invalid.to_string(), "lines: fill more than 2000 pages");
}

fn signed_by(name: &str, email: &str) -> Quote {
    let mut quote = quote();
    let block = SignatureBlock { signed_by_name: name.into(), signed_by_email: email.into(), ..signature() };
    quote.detail.signature = Some(block);
    quote
}

#[test]
fn a_line_that_breaks_between_directions_juts_out_by_a_space_at_most() {
    let mut quote = quote();
    quote.lines[1].description = "😀دA😀ź'0\\1'\"2źהŁźźœAAì'r\"#xa{Eà[w<b*[#<2*😀[😀a😀{ a".into();
    assert_tidy(&composed(&company(), &quote));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_text_is_rendered_or_refused_by_its_field(texts in proptest::collection::vec(any::<String>(), 8), rate in 0_i32..=100) {
        let mut quote = quote_of(vec![line(&texts[0], (Some(&texts[1]), Some(&texts[2])), &rate.to_string())]);
        quote.lines[0].unit = Some(texts[3].clone());
        quote.summary.number.clone_from(&texts[4]);
        quote.summary.client_name.clone_from(&texts[5]);
        quote.detail.signature = Some(SignatureBlock { accepted_text: texts[6].clone(), ..signature() });
        let company = Company { name: texts[7].clone(), ..company() };
        match try_render(&company, &quote) {
            Ok(pdf) => prop_assert!(pdf == try_render(&company, &quote).unwrap()),
            Err(RenderError::Text(invalid)) => prop_assert!(!invalid.field.is_empty()),
            Err(error) => prop_assert!(false, "{:?}", error),
        }
    }

    /// Rules: DOCUMENT-21
    #[test]
    fn any_signer_can_be_printed(name in any::<String>(), email in any::<String>(), text in any::<String>()) {
        let mut quote = signed_by(&name, &email);
        quote.detail.signature.as_mut().unwrap().accepted_text = text;
        assert_tidy(&composed(&company(), &quote));
        let pdf = try_render(&company(), &quote);
        prop_assert!(pdf.is_ok(), "{:?}", pdf.err());
    }

    #[test]
    fn printable_text_is_printed_completely(text in "[ -~à-ÿœŁźא-תء-ي😀-😂\n]{0,200}") {
        let mut quote = quote();
        quote.lines[1].description.clone_from(&text);
        let pages = composed(&company(), &quote);
        assert_tidy(&pages);
        prop_assert!(try_render(&company(), &quote).is_ok());
    }

    #[test]
    fn glyphs_map_back_to_the_entered_text(text in "[ -~à-ÿא-תء-ي😀-😂]{1,120}") {
        let fonts = Arc::clone(&super::fonts::EMBEDDED);
        let mut set = Typesetter::new(&fonts, Unprintable::Refused);
        let lines = set.lines(&text, FOOTER.style, Some(90.0)).unwrap();
        let read: String = lines.iter().map(|line| said(line)).collect();
        let visible = |text: &str| text.replace(' ', "");
        prop_assert_eq!(visible(&read), visible(&content::sanitize::sanitize(&text).unwrap()));
    }
}

/// Rules: FAIR-6
#[test]
fn a_rendering_past_its_deadline_ends() {
    let (facts, quote) = (offer_facts(company()), quote());
    let late = DocumentInput {
        deadline: RenderDeadline::after(std::time::Duration::ZERO),
        ..input(&facts, offered(&quote))
    };
    assert!(matches!(PdfRenderer::new().render(&late), Err(RenderError::TimedOut)));
}
