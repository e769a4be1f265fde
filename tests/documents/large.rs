//! The largest quotes and invoices: a correct document, or a refusal that leaves no trace.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use invoicing_core::{InvoiceId, MAX_LINES, NewLine, NewQuote, Plan, QuoteId};
use invoicing_server::{CompanyHandle, Error};
use invoicing_tests::{Database, World, on_each_database, tell};
use serde_json::json;
use tokio::time::sleep;

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
async fn the_most_lines_that_a_quote_may_have_are_sent(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let client = world.client("Lefèvre").await;
    let new = NewQuote { lines: lines(|index| format!("Poste {index}.")), ..NewQuote::empty(client) };
    let draft = quotes.create(&new).await.unwrap();
    let sent = quotes.send(draft.summary.id, None).await.unwrap();
    let document = quotes.open_document(sent.summary.id).await.unwrap();

    let file = format!("{}/max_lines_{:?}.pdf", env!("CARGO_TARGET_TMPDIR"), world.database());
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
async fn a_quote_that_no_document_can_hold_stays_a_draft(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let client = world.client("Lefèvre").await;
    // 2,000 characters each, together within the bytes that lines may have.
    let mut lines = lines(|_| "a\n".repeat(999) + "ab");
    lines.truncate(200);
    let draft = quotes.create(&NewQuote { lines, ..NewQuote::empty(client) }).await.unwrap();
    let refusal = refused(&world, "send", quotes.send(draft.summary.id, None)).await;
    assert!(
        matches!(&refusal, Error::Invalid(invalid) if invalid.to_string() == "lines: fill more than 2000 pages"),
        "{refusal:?}"
    );
    assert_eq!(quotes.get(draft.summary.id).await.unwrap(), draft);
}

/// A draft that fills so many pages, or a few less.
async fn draft_of_pages(company: &CompanyHandle, pages: usize) -> QuoteId {
    /// Pages of the longest description.
    const PAGES: usize = 17;
    let client =
        company.clients().create(&serde_json::from_value(json!({ "name": "Client" })).unwrap()).await;
    let mut lines = lines(|_| "a\n".repeat(999) + "ab");
    lines.truncate(pages / PAGES);
    let new = NewQuote { lines, ..NewQuote::empty(client.unwrap().id) };
    company.quotes().create(&new).await.unwrap().summary.id
}

/// The same as the draft of an invoice.
async fn invoice_of_pages(company: &CompanyHandle, pages: usize) -> InvoiceId {
    let quote = draft_of_pages(company, pages).await;
    company.quotes().accept(quote).await.unwrap();
    company.invoices().convert(quote).await.unwrap().summary.id
}

/// Rules: FAIR-6
#[on_each_database]
async fn large_documents_of_one_company_do_not_delay_those_of_another(db: Database) {
    const PAGES: usize = 250;
    let world = World::new(db).await;
    let count = 3 * available_parallelism().unwrap().get().max(2);
    let drafts = join_all((0..count).map(|_| draft_of_pages(&world.company, PAGES))).await;
    let (other, _) = world.another("Other", Plan::Team).await;
    let small = draft_of_pages(&other, 17).await;
    let sent = AtomicUsize::new(0);
    let begun = Instant::now();
    let large = join_all(drafts.into_iter().map(async |draft| {
        world.company.quotes().send(draft, None).await.unwrap();
        sent.fetch_add(1, Ordering::SeqCst);
    }));
    let beside = async {
        // Until the large ones wait for their turn.
        sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        other.quotes().send(small, None).await.unwrap();
        (begun.elapsed(), sent.load(Ordering::SeqCst))
    };
    let (_, (elapsed, sent)) = tokio::join!(large, beside);
    let took = begun.elapsed();
    tell(
        "another company's document",
        &format_args!("{elapsed:?} beside {count} of {PAGES} pages, which took {took:?}"),
    );
    assert!(sent < count / 2, "it waited for {sent} of {count} large ones");
}

/// The issues of one company follow each other; those of another company wait for none of them.
///
/// Rules: FAIR-6
#[on_each_database]
async fn large_invoices_of_one_company_do_not_delay_those_of_another(db: Database) {
    const PAGES: usize = 102;
    const COUNT: usize = 5;
    let world = World::new(db).await;
    let drafts = join_all((0..COUNT).map(|_| invoice_of_pages(&world.company, PAGES))).await;
    let (other, _) = world.another("Other", Plan::Team).await;
    let small = invoice_of_pages(&other, 17).await;
    let issued = AtomicUsize::new(0);
    let begun = Instant::now();
    let large = join_all(drafts.into_iter().map(async |draft| {
        world.company.invoices().issue(draft, None).await.unwrap();
        issued.fetch_add(1, Ordering::SeqCst);
    }));
    let beside = async {
        // Until the large ones wait for their turn.
        sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        other.invoices().issue(small, None).await.unwrap();
        (begun.elapsed(), issued.load(Ordering::SeqCst))
    };
    let (_, (elapsed, issued)) = tokio::join!(large, beside);
    let took = begun.elapsed();
    tell(
        "another company's invoice",
        &format_args!("{elapsed:?} beside {COUNT} of {PAGES} pages, which took {took:?}"),
    );
    assert!(issued < COUNT / 2, "it waited for {issued} of {COUNT} large ones");
}
