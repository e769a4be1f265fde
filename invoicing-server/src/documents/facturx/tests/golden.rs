//! Golden documents: the bytes of each file and of its XML stay the same.
//!
//! `UPDATE_GOLDEN=1` writes them anew. The bytes of a PDF depend on the input, the fonts and the
//! crates of the renderer, and change with them; frozen documents stay as they are.

use std::fmt::Write;
use std::path::Path;

use invoicing_core::sha256_hex;

use super::files::{documents, render};

/// Documents whose XML is kept as text.
const TEXTS: [&str; 2] = ["invoice", "rest"];

fn compare(name: &str, text: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/documents/facturx/tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    let differs = text.lines().zip(expected.lines()).find(|(is, expected)| is != expected);
    assert!(
        text == expected,
        "{} differs, first in {differs:?}; UPDATE_GOLDEN=1 writes it anew",
        golden.display()
    );
}

#[test]
fn documents_have_the_bytes_of_the_golden_ones() {
    let mut digests = String::new();
    for (name, document) in documents() {
        let (xml, pdf) = (document.xml(), render(&document));
        writeln!(digests, "{}  {name}.xml\n{}  {name}.pdf", sha256_hex(xml.as_bytes()), sha256_hex(&pdf))
            .unwrap();
        if TEXTS.contains(&name) {
            // One element a line, so that a difference is found.
            compare(&format!("{name}.xml"), &(xml.replace("><", ">\n<") + "\n"));
        }
    }
    compare("sha256", &digests);
}
