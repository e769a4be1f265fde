use invoicing_core::{BillingAddress, Quote};
use proptest::prelude::*;

use super::*;
use crate::documents::pdf_tests::{company, drawn, input, line, offer_facts, offered, quote, quote_of};
use crate::documents::{ContentHash, DocumentFacts, DocumentInput, DocumentRef, SentCopy, pdf_tests};

/// The text of a page with single spaces, and each tag as a space.
fn text_of(html: &str) -> String {
    let pieces = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text = pieces.collect::<Vec<_>>().join(" ");
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    narrowed(&entities.iter().fold(text, |text, (entity, character)| text.replace(entity, character)))
}

fn narrowed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_says_all(input: &DocumentInput<'_>) {
    let paper = DocumentHtml::of(DocumentView::of(input));
    let html: String =
        (0..paper.parts()).map(|part| paper.part(part).expect("texts").into_string()).collect();
    let text = text_of(&html);
    for drawn in drawn(input) {
        assert!(text.contains(&narrowed(&drawn)), "{drawn:?} is not in {text}");
    }
}

fn assert_says_all_of(quote: &Quote) {
    assert_says_all(&input(&offer_facts(company()), offered(quote)));
}

/// Rules: SIGN-1
#[test]
fn every_text_of_the_pdf_is_in_the_html() {
    let (facts, quote) = (offer_facts(company()), quote());
    assert_says_all_of(&quote);
    let work_site = Some("4 quai de la Fosse\r\n44000 Nantes".into());
    assert_says_all(&input(&DocumentFacts { work_site, ..facts.clone() }, offered(&quote)));
    let (mut ordered, mut billed) = (quote.clone(), facts.clone());
    ordered.detail.order_number = Some("PO-2026/41".into());
    let accounting = BillingAddress::default().address("CS 40102").zip_code("69401").city("Lyon Cedex 03");
    billed.parties.buyer.billing_address = Some(accounting);
    assert_says_all(&input(&billed, offered(&ordered)));
    let mut signed = quote.clone();
    signed.detail.signature = Some(pdf_tests::signature());
    let copy = SentCopy { file_name: "DEV-2026-0042.pdf", sha256: ContentHash::of(b"x"), bytes: b"x" };
    assert_says_all(&input(&facts, DocumentRef::Quote { quote: &signed, sent_copy: Some(copy) }));
    let texts = ["<b>&amp;\"'", "100\u{202e}000 €", "e\u{301}té\ttab", "עבודות צבע, 42 m²", "👩\u{200d}🔧 ☎"];
    let lines = texts.iter().map(|text| line(text, (Some(text), None), "20")).collect();
    assert_says_all_of(&quote_of(lines));
    let long = (0..130).map(|i| line(&format!("Ligne {i}"), (Some("Lot"), Some("Pièce")), "10")).collect();
    assert_says_all_of(&quote_of(long));
}

/// Rules: SIGN-1
#[test]
fn no_part_is_too_large_or_ends_with_a_name() {
    let text = "\"é".repeat(1_000);
    let lines = (0..60).map(|i| line(&text, (Some(&format!("Lot {i}")), Some("Pièce")), "10")).collect();
    let (facts, quote) = (offer_facts(company()), quote_of(lines));
    let paper = DocumentHtml::of(DocumentView::of(&input(&facts, offered(&quote))));
    assert!(paper.parts() > 2);
    for part in 0..paper.parts() {
        let rows =
            paper.rows_of(part).iter().map(|row| row_html(row, VatDisplay::Charged, "EUR").into_string());
        let rows = rows.collect::<String>();
        assert!(rows.len() < PART_BYTES + 1_000, "{}", rows.len());
        let last = rows.rsplit("<tr").next().unwrap();
        assert!(last.starts_with(" class=\"subtotal"), "{last}");
    }
}

/// Rules: SIGN-1
#[test]
fn a_row_takes_no_more_bytes_than_its_part_was_given_for_it() {
    let texts = ["\"".repeat(2_000), "\u{1d160}".repeat(2_000), "\u{958}<é".repeat(600)];
    let wide = |text: &String| line(text, (Some(text), Some(text)), "5.5");
    let mut quote = quote_of(texts.iter().map(wide).collect());
    quote.lines[0].unit = Some("&".repeat(255));
    let facts = offer_facts(company());
    let paper = DocumentHtml::of(DocumentView::of(&input(&facts, offered(&quote))));
    for row in &paper.rows {
        let html = row_html(row, VatDisplay::Charged, "EUR").into_string();
        assert!(html.len() <= max_bytes(row), "{} of {}: {html}", html.len(), max_bytes(row));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_can_be_printed_is_shown(text in "[ -~¡-ÿœ€’\n]{1,80}", unit in "[ -~]{0,10}") {
        prop_assume!(!text.trim().is_empty());
        let mut quote = quote_of(vec![line(&text, (Some(&text), None), "5.5")]);
        quote.lines[0].unit = Some(unit);
        assert_says_all_of(&quote);
    }
}
