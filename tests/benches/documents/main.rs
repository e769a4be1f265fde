//! Documents: rendering a quote, against a limit in time and, for one page, in bytes (`quotes`); the XML of an invoice and
//! its issue (`invoices`). Exits with 1 if a limit is missed. `peers` compares the rendering with other programs.

mod invoices;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use invoicing_server::{DocumentRenderer, PdfRenderer};
use invoicing_tests::bench::{self, aside, float, limit, quantile};
use invoicing_tests::documents::{Paper, few_lines, many_lines};

/// One page: milliseconds and bytes.
const PAGE_MS: f64 = 20.0;
const PAGE_BYTES: f64 = 40.0 * 1024.0;
/// 500 lines: milliseconds.
const LONG_MS: f64 = 250.0;

fn main() -> ExitCode {
    bench::role();
    let mut within = Vec::new();
    if bench::wanted("quotes") {
        within.extend(quotes());
    }
    if bench::wanted("invoices") {
        within.extend(bench::block_on(invoices::within()));
    }
    if within.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Whether each limit is kept.
fn quotes() -> Vec<bool> {
    println!("quotes: median time and size, ratio to the limit");
    let (page_ms, page_bytes) = measure(&Paper::of(few_lines()), 101);
    let (long_ms, long_bytes) = measure(&Paper::of(many_lines(500)).retained(5), 15);
    let within = vec![
        limit("one page, ms", page_ms, PAGE_MS),
        limit("one page, bytes", page_bytes, PAGE_BYTES),
        limit("500 lines, ms", long_ms, LONG_MS),
    ];
    aside("500 lines, kB", &[long_bytes / 1024.0], "kB");
    let sent = PdfRenderer::new().render(&Paper::of(few_lines()).input()).expect("a document");
    let (signed_ms, signed_bytes) = measure(&Paper::of(few_lines()).signed(sent), 31);
    aside("signed, with the copy that was signed", &[signed_ms], "ms");
    aside("signed, with the copy that was signed", &[signed_bytes / 1024.0], "kB");
    let (max_ms, max_bytes) = measure(&Paper::of(many_lines(5_000)), 3);
    aside("5,000 lines", &[max_ms], "ms");
    aside("5,000 lines", &[max_bytes / 1024.0], "kB");
    within
}

/// Milliseconds of the median rendering, and the size of the document.
fn measure(paper: &Paper, rounds: usize) -> (f64, f64) {
    let renderer = PdfRenderer::new();
    let size = renderer.render(&paper.input()).expect("a document").len();
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            black_box(renderer.render(black_box(&paper.input())).expect("a document"));
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    (quantile(&times, 0.5), float(size))
}
