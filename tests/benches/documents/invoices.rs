//! The XML of an invoice, measured in the renderer of a service, and an issue beside the sending of a quote.

use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use invoicing_core::{NewLine, NewQuote};
use invoicing_server::{
    DocumentInput, DocumentKind, DocumentRenderer, PdfRenderer, RenderDeadline, RenderError, factur_x,
};
use invoicing_tests::bench::{aside, float, limit, quantile};
use invoicing_tests::documents::many_lines;
use invoicing_tests::{Database, World, business_client, legal_identity};

/// XML and embedding of an invoice of 20 lines: microseconds, and percent of its rendering.
const XML_US: f64 = 500.0;
const SLOW_XML_US: f64 = 2_000.0;
const XML_PERCENT: f64 = 5.0;
/// The XML of 5,000 lines: milliseconds.
const LONG_XML_MS: f64 = 60.0;
/// An issue, in percent of sending the same lines as a quote.
const ISSUE_PERCENT: f64 = 110.0;

/// Whether each limit is kept.
pub(crate) async fn within() -> Vec<bool> {
    println!("invoices: time of the XML and of an issue, ratio to the limit");
    let page = measured(20, 301).await;
    let (plain, xml) = (quantile(&page.plain, 0.5), quantile(&page.xml, 0.5));
    let embedding = quantile(&page.embedding, 0.5);
    aside("20 lines, rendering without XML", &[plain], "ms");
    aside("20 lines, embedding, by difference", &[embedding * 1e3], "µs");
    let mut within = vec![
        limit("20 lines, XML and embedding, µs", (xml + embedding) * 1e3, XML_US),
        limit("20 lines, the slowest XML of 100, µs", quantile(&page.xml, 0.99) * 1e3, SLOW_XML_US),
        limit("20 lines, XML and embedding, % of rendering", (xml + embedding) / plain * 1e2, XML_PERCENT),
    ];
    let pages = measured(130, 41).await;
    aside("130 lines on eight pages, rendering without XML", &[quantile(&pages.plain, 0.5)], "ms");
    aside("130 lines on eight pages, XML", &[quantile(&pages.xml, 0.5)], "ms");
    let long = measured(5_000, 3).await;
    aside("5,000 lines, rendering without XML", &[quantile(&long.plain, 0.5)], "ms");
    aside("5,000 lines, XML", &[long.xml_bytes / 1024.0], "kB");
    within.push(limit("5,000 lines, XML, ms", quantile(&long.xml, 0.5), LONG_XML_MS));
    within.push(issue_beside_send().await);
    within
}

/// Milliseconds of each round.
#[derive(Default)]
struct Figures {
    xml: Vec<f64>,
    xml_bytes: f64,
    plain: Vec<f64>,
    /// Rendering with the XML, less rendering without it.
    embedding: Vec<f64>,
}

/// Renders as `PdfRenderer` does, and measures it in some rounds if it is no quote.
struct Measured {
    rounds: usize,
    figures: Mutex<Figures>,
}

impl DocumentRenderer for Measured {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        let renderer = PdfRenderer::new();
        if input.record.kind() == DocumentKind::Quote {
            return renderer.render(input);
        }
        let mut with = *input;
        with.deadline = RenderDeadline::NONE;
        let mut without = with;
        without.factur_x = None;
        let mut figures = self.figures.lock().expect("no panic");
        figures.xml_bytes = float(with.factur_x.map_or(0, <[u8]>::len));
        for _ in 0..self.rounds {
            let xml = timed(|| drop(black_box(factur_x(black_box(&with)))));
            let plain = timed(|| drop(black_box(renderer.render(black_box(&without)))));
            let whole = timed(|| drop(black_box(renderer.render(black_box(&with)))));
            figures.xml.push(xml);
            figures.plain.push(plain);
            figures.embedding.push(whole - plain);
        }
        renderer.render(input)
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// The figures of an invoice of so many lines.
async fn measured(lines: usize, rounds: usize) -> Figures {
    let renderer = Arc::new(Measured { rounds, figures: Mutex::default() });
    let given = Arc::clone(&renderer);
    let world = World::new(Database::Sqlite).await;
    let world = world.reopen_with(|builder| builder.renderer(given)).await;
    let content = content(&world, lines).await;
    let draft = world.company.invoices().create_direct(&content).await.expect("a draft").summary.id;
    world.company.invoices().issue(draft, None).await.expect("an issue");
    drop(world);
    std::mem::take(&mut renderer.figures.lock().expect("no panic"))
}

/// A company that sends electronic invoices, and the content of a quote of so many lines for a business.
async fn content(world: &World, lines: usize) -> NewQuote {
    world.company.set_identity(&legal_identity()).await.expect("an identity");
    let client = world.company.clients().create(&business_client()).await.expect("a client").id;
    many_lines(lines).into_iter().fold(NewQuote::empty(client), |quote, line| {
        let mut new = NewLine::new(line.description, line.quantity, line.unit_price, line.tva_rate);
        (new.unit, new.lot, new.section) = (line.unit, line.lot, line.section);
        quote.line(new)
    })
}

/// An issue with XML beside the sending of the same lines as a quote, in turns.
async fn issue_beside_send() -> bool {
    let world = World::new(Database::Sqlite).await;
    let content = content(&world, 20).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let (mut sent, mut issued, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        let quote = quotes.create(&content).await.expect("a quote").summary.id;
        let draft = invoices.create_direct(&content).await.expect("a draft").summary.id;
        let begun = Instant::now();
        quotes.send(quote, None).await.expect("it is sent");
        let of_quote = begun.elapsed().as_secs_f64() * 1e3;
        let begun = Instant::now();
        invoices.issue(draft, None).await.expect("it is issued");
        let of_invoice = begun.elapsed().as_secs_f64() * 1e3;
        sent.push(of_quote);
        issued.push(of_invoice);
        ratios.push(of_invoice / of_quote);
    }
    aside("sending a quote of 20 lines", &[quantile(&sent, 0.5)], "ms");
    aside("issuing it as an invoice with XML", &[quantile(&issued, 0.5)], "ms");
    limit("issuing, % of sending", quantile(&ratios, 0.5) * 1e2, ISSUE_PERCENT)
}
