//! Golden documents: what they say, read back by tools that know nothing of how they were made, and that their bytes
//! are the same in every process.
//!
//! `UPDATE_GOLDEN=1` writes the golden files anew. The bytes depend on the input, the fonts and the crates of the
//! renderer (krilla, parley and what compresses for them), and change with them; what was frozen stays as it is.
//! Without poppler's `pdftotext` and without `qpdf` the tests say so and pass, unless `REQUIRE_PDF_TOOLS` is set. The
//! documents stay in `CARGO_TARGET_TMPDIR`, to be looked at.

use std::path::{Path, PathBuf};
use std::process::Command;

use invoicing_core::sha256_hex;
use invoicing_server::{DocumentRenderer, PdfRenderer};
use invoicing_test_databases::tool::PDF_TOOLS;
use invoicing_tests::documents::{Paper, few_lines, line, many_lines};
use sha2::{Digest, Sha256};

/// The output of a tool that has nothing to complain about; `None` if the tool is missing and need not be there.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            PDF_TOOLS.is_missing(&format!("{tool}: {error}"));
            return None;
        }
    };
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{tool} {arguments:?}: {messages}");
    Some(output.stdout)
}

/// Columns stay apart, but by how much differs between versions of the tool; hashes change with every byte elsewhere.
fn narrowed(layout: &str) -> String {
    let mut out = String::new();
    for row in layout.lines().map(str::trim_end) {
        let indent = if row.starts_with("  ") { "  " } else { "" };
        let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if !cells.is_empty() {
            let cells: Vec<_> = cells.into_iter().map(without_hash).collect();
            out.extend([indent, &cells.join("  "), "\n"]);
        }
    }
    out.replace('\u{c}', "---- page ----\n")
}

fn without_hash(cell: &str) -> &str {
    let digits = cell.rsplit(':').next().unwrap_or(cell);
    let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { "(SHA-256)" } else { cell }
}

fn check(name: &str, paper: &Paper, pages: std::ops::RangeInclusive<usize>) -> PathBuf {
    let bytes = PdfRenderer::new().render(&paper.input()).unwrap();
    let again = PdfRenderer::new().render(&paper.clone().input()).unwrap();
    assert_eq!(Sha256::digest(&bytes), Sha256::digest(&again), "the same input, other bytes");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pdf"));
    std::fs::write(&file, &bytes).unwrap();
    let path = file.to_str().unwrap();
    if let Some(report) = run("qpdf", &["--check", path]) {
        let report = String::from_utf8_lossy(&report).into_owned();
        assert!(report.contains("No syntax or stream encoding errors"), "{report}");
    }
    if let Some(count) = run("qpdf", &["--show-npages", path]) {
        let count = String::from_utf8_lossy(&count).trim().parse::<usize>().unwrap();
        assert!(pages.contains(&count), "{count} pages");
    }
    if let Some(facts) = run("pdfinfo", &[path]) {
        let facts = String::from_utf8_lossy(&facts).into_owned();
        assert!(facts.lines().any(|line| line.split_whitespace().eq(["Tagged:", "yes"])), "{facts}");
    }
    if let Some(text) = run("pdftotext", &["-layout", path, "-"]) {
        compare(&format!("{name}.txt"), &narrowed(&String::from_utf8(text).unwrap()));
    }
    compare(&format!("{name}.sha256"), &format!("{}\n", sha256_hex(&bytes)));
    file
}

fn compare(name: &str, text: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    let differs = text.lines().zip(expected.lines()).find(|(is, expected)| is != expected);
    assert!(
        text == expected,
        "{} differs, first in {differs:?}; if a change of the layout, the fonts or a crate of the renderer is meant to do \
         that, UPDATE_GOLDEN=1 writes it anew",
        golden.display()
    );
}

fn one_page() -> Paper {
    Paper::of(few_lines())
}

#[test]
fn a_quote_of_one_page() {
    check("one_page", &one_page(), 1..=1);
}

#[test]
fn eight_pages_with_lots_and_sections() {
    let mut paper = Paper::of(many_lines(130)).retained(5);
    paper.facts.parties.buyer.phone = Some("06 12 34 56 78".to_owned());
    paper.facts.work_site =
        Some("Résidence des Lilas, bâtiment B\n8 impasse du Moulin\n44300 Nantes".to_owned());
    check("eight_pages", &paper, 8..=8);
}

#[test]
fn a_signed_quote_carries_the_copy_that_was_signed_and_the_proof() {
    let sent = PdfRenderer::new().render(&one_page().input()).unwrap();
    let paper = one_page().signed(sent.clone());
    let file = check("signed", &paper, 1..=2);
    let attachment =
        |name: &str| run("qpdf", &[&format!("--show-attachment={name}"), file.to_str().unwrap()]);
    let Some(copy) = attachment("DEV-2026-0042.pdf") else { return };
    assert!(copy == sent, "the copy is not the one that was signed");
    let proof: serde_json::Value = serde_json::from_slice(&attachment("proof.json").unwrap()).unwrap();
    let signature = paper.quote.detail.signature.unwrap();
    assert_eq!(proof["proofFingerprint"], signature.proof_fingerprint);
    assert_eq!(proof["documentSha256"], sha256_hex(&sent));
    // Anyone can compute the fingerprint from the other members, in their order.
    let serde_json::Value::Object(mut parts) = proof else { panic!("not an object") };
    parts.remove("proofFingerprint");
    let canonical = serde_json::to_vec(&parts).unwrap();
    assert_eq!(signature.proof_fingerprint, format!("sha256:{}", sha256_hex(&canonical)));
}

/// Rules: DOCUMENT-30
#[test]
fn every_page_names_the_document() {
    const TITLE: &str = "Devis DEV-2026-0042 — Martin Peinture";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("running.pdf");
    let mut of_notices_alone = 0;
    for (lines, notices) in (1..=5).flat_map(|lines| (1..=10).map(move |notices| (lines * 7, notices * 18))) {
        let mut paper = Paper::of(many_lines(lines)).retained(5);
        paper.facts.parties.seller.identity.terms = Some("Mention de la page\n".repeat(notices));
        std::fs::write(&file, PdfRenderer::new().render(&paper.input()).unwrap()).unwrap();
        let Some(text) = run("pdftotext", &["-layout", file.to_str().unwrap(), "-"]) else { return };
        let text = String::from_utf8(text).unwrap();
        let pages: Vec<_> = text.split_terminator('\u{c}').collect();
        for (index, page) in pages.iter().enumerate() {
            let lines: Vec<_> = page.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let [first, body @ .., last] = &lines[..] else { panic!("an empty page") };
            assert_eq!(*last, format!("{TITLE} — page {} / {}", index + 1, pages.len()));
            assert_eq!(*first == TITLE, index > 0, "{first}");
            of_notices_alone += usize::from(body.iter().all(|line| *line == "Mention de la page"));
        }
    }
    assert!(of_notices_alone > 0);
}

/// Rules: DOCUMENT-21
#[test]
fn a_name_that_no_font_has_is_a_row_of_boxes() {
    let sent = PdfRenderer::new().render(&one_page().input()).unwrap();
    let mut paper = one_page().signed(sent);
    paper.quote.detail.signature.as_mut().unwrap().signed_by_name = "Անահիտ 電気 Léa".to_owned();
    check("boxes", &paper, 1..=2);
}

/// Rules: DOCUMENT-12, DOCUMENT-20
#[test]
fn lots_that_go_on_and_a_line_taller_than_a_page() {
    let tall = (1..=70).map(|n| format!("Étape {n} du procès-verbal")).collect::<Vec<_>>().join("\n");
    let place = |n: usize| match n {
        12..30 => ("Lot 2 Peinture", "Murs"),
        30..34 => ("Lot 2 Peinture", "Sols"),
        34..38 => ("", ""),
        _ => ("Lot 1 Gros œuvre", ""),
    };
    let mut lines: Vec<_> = (0..42)
        .map(|n| line(&format!("Poste {n}, gaine ⌀ 20 ㎜, 12 ㎡, ∠ 45°"), ("1", "u"), ("30", "20"), place(n)))
        .collect();
    lines.insert(6, line(&tall, ("1", "forfait"), ("10", "20"), place(6)));
    check("lots", &Paper::of(lines), 4..=6);
}

#[test]
fn the_worst_that_can_be_entered() {
    let unbroken = "Anticonstitutionnellement".repeat(11)[..255].to_owned();
    let tall = "Étape suivante du procès-verbal\n".repeat(62);
    let mut lines = vec![
        line("Émoji 🏠🔧👩\u{200d}🔧 ☎ ⚠", ("0", "u"), ("0", "0"), ("", "")),
        line("עבודות צבע בסלון, 42 m², שתי שכבות", ("3", "יח׳"), ("12.5", "20"), ("", "")),
        line("طلاء الجدران بطبقتين في غرفة الجلوس", ("2.75", "م²"), ("19.99", "5.5"), ("", "")),
        line(
            "Прокладка кабеля, Ηλεκτρολογικά, Łódź, e\u{301}te\u{301}, ﬁn, ½ ⅓ ≥ → ✓ ☐",
            ("-4", "h"),
            ("35.1234", "10"),
            ("", ""),
        ),
        line(
            "100\u{202e}000 € \u{2066}isolé\u{2069}\u{200b}, tab\tici, a->b, 2x4, (c)",
            ("1", ""),
            ("1", "20"),
            ("", ""),
        ),
        line(&tall, ("1", "forfait"), ("10", "20"), ("Lot long", "Section longue")),
        line("Montant à douze chiffres", ("10", &unbroken), ("98765432101", "20"), (&unbroken, &unbroken)),
        line(
            "Quantité à beaucoup de chiffres",
            ("123456789.123", "m²"),
            ("0.0001", "20"),
            (&unbroken, &unbroken),
        ),
    ];
    let rates = (1..=30).map(|rate| format!("{rate}.{rate:02}"));
    lines.extend(rates.map(|rate| line("Un taux de plus", ("1", "u"), ("3", &rate), ("Taux", ""))));
    let mut paper = Paper::of(lines).retained(5);
    paper.facts.parties.seller.name.clone_from(&unbroken);
    paper.quote.summary.client_name = "ג׳ון כהן \u{202e}nhoJ".to_owned();
    paper.facts.parties.buyer.address = Some("🏡 12 rue de l’Élan\r\n\r\n\r\n44000 Nantes".to_owned());
    paper.facts.work_site = Some(unbroken);
    check("worst", &paper, 5..=8);
}
