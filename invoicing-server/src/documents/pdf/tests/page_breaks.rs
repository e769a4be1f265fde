//! Page breaks, and the blocks that are repeated on the next page.

use super::super::pagination::Block;
use super::*;

#[test]
fn the_head_of_the_table_is_repeated_on_each_of_its_pages() {
    let lines = (0..200).map(|n| line(&format!("Poste {n}."), (None, None), "20")).collect();
    let pages = composed(&company(), &quote_of(lines));
    let text = text_of(&pages);
    for n in 0..200 {
        assert!(text.contains(&format!("Poste {n}.\n")), "{n}");
    }
    for page in &pages {
        let text = text_of(std::slice::from_ref(page));
        assert_eq!(text.contains("Poste"), text.contains("Désignation"), "{text}");
    }
}

#[test]
fn only_a_row_taller_than_a_page_is_split() {
    let tall = (0..200).map(|n| format!("Étape {n}.")).collect::<Vec<_>>().join("\n");
    let mut lines = vec![line("Avant", (Some("Lot"), None), "20"), line(&tall, (Some("Lot"), None), "20")];
    lines.push(line("Après", (Some("Lot"), None), "20"));
    let pages = composed(&company(), &quote_of(lines));
    assert_tidy(&pages);
    let text = text_of(&pages);
    for n in 0..200 {
        assert_eq!(text.matches(&format!("Étape {n}.")).count(), 1, "{n}");
    }
    assert_eq!(split_blocks(&pages).len(), 1);
}

#[test]
fn a_row_that_fills_a_page_is_split_so_that_its_heading_stays_with_it() {
    for height in 35..70 {
        let place = (Some("Lot"), Some("Section"));
        let lines = vec![line("Avant", (None, None), "20"), line(&"mot\n".repeat(height), place, "20")];
        let pages = composed(&company(), &quote_of(lines));
        assert_tidy(&pages);
        assert!(pages.iter().all(|page| !page.blocks.last().unwrap().2.keeps_with_next), "{height}");
        assert!(text_of(&pages).contains("Lot\nSection\nmot\n"), "{height}");
        assert_eq!(split_blocks(&pages).len(), usize::from(height > 48), "{height}");
    }
}

#[test]
fn a_list_longer_than_a_page_breaks_between_its_rows() {
    let mut lines: Vec<Line> =
        (1..=90).map(|rate| line("Pose", (None, None), &format!("{rate}.25"))).collect();
    // Its label takes two lines, and is not split.
    lines[30].total_ht = "6987654321010.99".parse().unwrap();
    let pages = composed(&company(), &quote_of(lines));
    assert_tidy(&pages);
    assert!(!text_of(&pages).contains("TVA 31,25 % sur 6 987 654 321 010,99 €"));
    assert_eq!(split_blocks(&pages), Vec::<usize>::new());
}

#[test]
fn the_bar_is_drawn_beside_the_whole_signature_on_each_page() {
    let mut pages_signed = Vec::new();
    for lines in (1..40).chain([100, 200]) {
        let mut quote = quote();
        let accepted_text = (0..lines).map(|n| format!("Point {n}.")).collect::<Vec<_>>().join("\n");
        quote.detail.signature = Some(SignatureBlock { accepted_text, ..signature() });
        let pages = composed(&company(), &quote);
        assert_tidy(&pages);
        assert!(pages.iter().all(|page| !page.blocks.last().unwrap().2.keeps_with_next), "{lines}");
        let mut signed = 0;
        for page in &pages {
            let begin = page.texts.iter().position(|text| said(&text.line) == "Signature électronique");
            let Some(begin) = begin.or((signed > 0).then_some(0)) else { continue };
            let bars = || page.rectangles.iter().filter(|mark| mark.width < 3.0 && mark.height > 3.0);
            for text in &page.texts[begin..] {
                let beside = bars().filter(|bar| bar.y < text.baseline && text.baseline < bar.y + bar.height);
                assert_eq!(beside.count(), 1, "{lines}: {:?}", said(&text.line));
            }
            assert!(bars().is_sorted_by(|one, next| (one.y + one.height - next.y).abs() < 0.1), "{lines}");
            signed += 1;
        }
        pages_signed.push(signed);
    }
    assert!(pages_signed.starts_with(&[1]) && pages_signed.ends_with(&[2, 3, 4]), "{pages_signed:?}");
    assert!(pages_signed.is_sorted(), "{pages_signed:?}");
}

/// Rules: DOCUMENT-12
#[test]
fn a_lot_that_goes_on_is_named_at_the_top_of_each_page() {
    let place = |n: usize| match n {
        0..40 => (Some("Lot 1"), None),
        40..100 => (Some("Lot 2"), Some("Murs")),
        100..160 => (Some("Lot 2"), Some("Sols")),
        _ => (None, None),
    };
    for first in 0..45 {
        let lines = (first..200).map(|n| line(&format!("Poste {n}."), place(n), "20")).collect();
        let pages = composed(&company(), &quote_of(lines));
        assert_tidy(&pages);
        for page in &pages[1..] {
            let text = text_of(std::slice::from_ref(page));
            let Some((_, rows)) = text.split_once("Total HT\n") else { continue };
            let Some(at) = rows.find("Poste ") else { continue };
            let number: usize = rows[at + 6..].split('.').next().unwrap().parse().unwrap();
            let (lot, section) = place(number);
            let begins = number == first || place(number - 1) != (lot, section);
            let expected = match (lot, section, begins) {
                (None, _, true) => "Hors lot\n".to_owned(),
                (None, _, false) => "Hors lot (suite)\n".to_owned(),
                (Some("Lot 2"), Some("Sols"), true) => "Lot 2 (suite)\nSols\n".to_owned(),
                (Some(lot), None, true) => format!("{lot}\n"),
                (Some(lot), None, false) => format!("{lot} (suite)\n"),
                (Some(lot), Some(section), true) => format!("{lot}\n{section}\n"),
                (Some(lot), Some(section), false) => format!("{lot} — {section} (suite)\n"),
            };
            assert_eq!(&rows[..at], expected, "{first}: {number}");
        }
    }
}

/// Rules: DOCUMENT-20
#[test]
fn a_line_taller_than_a_page_begins_where_there_is_room() {
    for rows in (45..120).step_by(5) {
        for before in [0, 3, 8, 20, 25] {
            let mut lines = vec![line("Avant", (Some("Lot"), None), "20"); before];
            lines.push(line(&"étape\n".repeat(rows), (Some("Lot"), None), "20"));
            let pages = composed(&company(), &quote_of(lines));
            assert_tidy(&pages);
            assert!(
                !pages.iter().any(|page| page.blocks.last().unwrap().2.keeps_with_next),
                "{rows}, {before}"
            );
            let begins = |page: &&PdfPage| page.texts.iter().any(|text| said(&text.line).contains("étape"));
            let empty = pages.iter().take_while(|page| !begins(page)).last().map_or(0.0, |page| {
                let (_, top, last) = page.blocks.last().unwrap();
                (PAGE.1 - 58.0 - top - last.height) / (PAGE.1 - 108.0)
            });
            let max = if rows > 55 { 0.25 } else { 1.0 };
            assert!(empty < max, "{rows}, {before}: {empty}");
        }
    }
}

/// Rules: DOCUMENT-20
#[test]
fn the_page_of_the_signature_names_the_quote_and_its_total() {
    let many_rates = (1..=6).map(|rate| line("Pose", (None, None), &format!("{rate}"))).collect();
    let quotes =
        (1..40).map(|count| quote_of(postes(count))).chain([quote_of(many_rates), quote_of(postes(200))]);
    for quote in quotes {
        let mut signed = quote.clone();
        signed.detail.signature = Some(signature());
        for (title, quote) in [("Bon pour accord", quote), ("Signature électronique", signed)] {
            let pages = composed(&company(), &quote);
            assert_tidy(&pages);
            let texts: Vec<_> = pages.iter().map(|page| text_of(std::slice::from_ref(page))).collect();
            let total = content::french::amount(quote.summary.total_ttc.get(), "EUR")
                .replace(['\u{a0}', '\u{202f}'], " ");
            let expected = format!("{title}\nDevis DEV-2026-0042, total TTC {total}");
            assert!(texts.iter().any(|text| text.contains(&expected)), "{expected} in {texts:?}");
        }
    }
}

fn postes(count: usize) -> Vec<Line> {
    vec![line("Poste", (None, None), "20"); count]
}

/// The signed document of a quote of `lines` lines.
fn signed(lines: usize, signature: SignatureBlock) -> Vec<PdfPage> {
    let (facts, mut quote) = (offer_facts(company()), quote_of(postes(lines)));
    quote.detail.signature = Some(signature);
    let copy = SentCopy { file_name: "DEV-2026-0042.pdf", sha256: ContentHash::of(b""), bytes: b"" };
    composed_of(&facts, DocumentRef::Quote { quote: &quote, sent_copy: Some(copy) })
}

/// Rules: DOCUMENT-20
#[test]
fn a_signature_of_short_texts_adds_no_page() {
    for lines in 1..30 {
        let sent = composed(&company(), &quote_of(postes(lines)));
        assert_eq!(sent.len(), signed(lines, signature()).len(), "{lines}");
        let boxed = SignatureBlock { signed_by_name: "Անահիտ".into(), ..signature() };
        assert_eq!(sent.len(), signed(lines, boxed).len(), "{lines}");
        assert!(empty_before("Bon pour accord", &sent) < 1.0 / 3.0, "{lines}");
    }
}

/// The part of a page that is empty because the block with this title begins the next one.
fn empty_before(title: &str, pages: &[PdfPage]) -> f32 {
    let begins = |page: &PdfPage| said(&page.texts[0].line) == title;
    let Some(at) = pages.iter().position(begins) else { return 0.0 };
    let (_, top, last) = pages[at - 1].blocks.last().unwrap();
    let (first, bottom) = (50.0, PAGE.1 - 58.0);
    (bottom - top - last.height) / (bottom - first)
}

/// Rules: DOCUMENT-20
#[test]
fn less_than_a_third_of_a_page_is_empty_before_a_signature() {
    let accepting = |lines| "Lu et approuvé\n".repeat(lines);
    let mut signatures: Vec<_> = [1, 2, 3, 4, 20, 60]
        .map(|lines| SignatureBlock { accepted_text: accepting(lines), ..signature() })
        .into();
    let name = "Lefèvre ".repeat(30);
    signatures.push(SignatureBlock {
        signed_by_email: name.clone(),
        signed_by_name: name,
        accepted_text: accepting(3),
        ..signature()
    });
    for (index, signature) in signatures.into_iter().enumerate() {
        for lines in (1..30).step_by(3) {
            let pages = signed(lines, signature.clone());
            assert_tidy(&pages);
            let empty = empty_before("Signature électronique", &pages);
            assert!(empty < 1.0 / 3.0, "{index}, {lines}: {empty}");
            assert!(
                !pages.iter().any(|page| page.blocks.last().unwrap().2.keeps_with_next),
                "{index}, {lines}"
            );
        }
    }
}

/// True if the block is a repeated head of a table.
fn is_repeated(block: &Block) -> bool {
    block.columns.iter().flatten().all(|line| line.text.node.is_none())
}

/// The blocks with parts on several pages.
fn split_blocks(pages: &[PdfPage]) -> Vec<usize> {
    let placed = |page: &PdfPage| {
        page.blocks.iter().filter(|(_, _, block)| !is_repeated(block)).map(|(index, ..)| *index).collect()
    };
    let mut all: Vec<usize> = pages.iter().flat_map::<Vec<usize>, _>(placed).collect();
    all.dedup();
    let mut seen = std::collections::HashMap::new();
    for block in pages.iter().flat_map::<Vec<usize>, _>(placed) {
        *seen.entry(block).or_insert(0) += 1;
    }
    all.into_iter().filter(|block| seen[block] > 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_row_is_split_and_no_heading_is_separated_from_its_row(
        rows in proptest::collection::vec((1_usize..70, 0_u8..4, 0_u8..3), 1..60),
    ) {
        let lines = rows.iter().map(|(height, lot, section)| {
            let names = [lot, section].map(|n| format!("Groupe {n}"));
            line(&"mot\n".repeat(*height), (Some(&names[0]), Some(&names[1])), "20")
        });
        let pages = composed(&company(), &quote_of(lines.collect()));
        assert_tidy(&pages);
        // Up to `max`, a row fits a page with its headings and subtotals.
        let (min, max) = (48.0 * 12.78, 712.0);
        for block in split_blocks(&pages) {
            let parts = pages.iter().flat_map(|page| &page.blocks);
            let parts = parts.filter(|(index, _, part)| *index == block && !is_repeated(part));
            let height = parts.map(|(_, _, part)| part.height).sum::<f32>();
            prop_assert!((min..2.0 * max).contains(&height), "split: {}", height);
        }
        for page in &pages {
            prop_assert!(!page.blocks.last().unwrap().2.keeps_with_next, "a block is separated from the next");
            for pair in page.blocks.windows(2) {
                let [(_, top, upper), (_, lower_top, _)] = pair else { unreachable!() };
                prop_assert!(top + upper.height <= lower_top + 0.01);
            }
        }
    }
}
