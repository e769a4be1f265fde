//! The largest quotes: a correct document, or a refusal that leaves no trace.

use std::path::Path;

use invoicing_core::{MAX_LINES, NewLine, NewQuote};
use invoicing_server::Error;
use invoicing_tests::{World, on_each_database};

use crate::documents::golden::run;
use crate::support::refused;

/// As many lines as a quote may have.
fn lines(description: impl Fn(usize) -> String) -> Vec<NewLine> {
    let line = |index| {
        let line = serde_json::json!({
            "description": description(index), "quantity": 2, "unit": "m²", "unitPrice": 12.5, "tvaRate": 20,
            "lot": format!("Lot {}", index / 1_000), "section": format!("Section {}", index / 250),
        });
        serde_json::from_value(line).unwrap()
    };
    (0..MAX_LINES).map(line).collect()
}

/// Rules: RECORD-11
#[on_each_database]
async fn the_most_lines_that_a_quote_may_have_are_sent() {
    let world = World::new().await;
    let quotes = world.company.quotes();
    let client = world.client("Lefèvre").await;
    let new = NewQuote { lines: lines(|index| format!("Poste {index}.")), ..NewQuote::empty(client) };
    let draft = quotes.create(&new).await.unwrap();
    let sent = quotes.send(draft.summary.id, None).await.unwrap();
    let document = quotes.open_document(sent.summary.id).await.unwrap();

    let file = format!("{}/most_lines_{:?}.pdf", env!("CARGO_TARGET_TMPDIR"), world.database());
    std::fs::write(Path::new(&file), &document.bytes).unwrap();
    run("qpdf", &["--check", &file]);
    let Some(text) = run("pdftotext", &["-layout", &file, "-"]) else { return };
    let text = String::from_utf8(text).unwrap().replace(['\u{a0}', '\u{202f}'], " ");
    let shown = text.split_whitespace().zip(text.split_whitespace().skip(1));
    let shown: Vec<usize> = shown
        .filter(|(word, _)| *word == "Poste")
        .map(|(_, number)| number.trim_end_matches('.').parse().unwrap())
        .collect();
    assert!(shown.into_iter().eq(0..MAX_LINES), "each line once, in order");
    for total in ["Sous-total Section 19", "Sous-total Lot 4", "125 000,00 €", "25 000,00 €", "150 000,00 €"]
    {
        assert!(text.contains(total), "{total}");
    }
}

#[on_each_database]
async fn a_quote_that_no_document_can_hold_stays_a_draft() {
    let world = World::new().await;
    let quotes = world.company.quotes();
    let client = world.client("Lefèvre").await;
    // 2,000 characters each.
    let new = NewQuote { lines: lines(|_| "a\n".repeat(999) + "ab"), ..NewQuote::empty(client) };
    let draft = quotes.create(&new).await.unwrap();
    let refusal = refused(&world, "send", quotes.send(draft.summary.id, None)).await;
    assert!(
        matches!(&refusal, Error::Invalid(invalid) if invalid.to_string() == "lines: fill more than 2000 pages"),
        "{refusal:?}"
    );
    assert_eq!(quotes.get(draft.summary.id).await.unwrap(), draft);
}
