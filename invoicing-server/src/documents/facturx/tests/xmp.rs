//! The metadata of a Factur-X file.

use std::path::Path;
use std::process::Command;

use invoicing_test_databases::tool::PDF_TOOLS;

use crate::documents::facturx::with_factur_x_metadata;
use crate::documents::pdf::tests as pdf;
use crate::documents::{ContentHash, DocumentRef, DocumentRenderer, PdfRenderer, SentCopy};

/// A PDF of our renderer with an attachment that imitates metadata.
fn rendered() -> Vec<u8> {
    let (facts, mut quote) = (pdf::offer_facts(pdf::company()), pdf::quote());
    quote.detail.signature = Some(pdf::signature());
    let bytes = b"<</Type/Metadata/Subtype/XML>>stream\n</rdf:RDF>";
    let copy = SentCopy { file_name: "factur-x.xml", sha256: ContentHash::of(bytes), bytes };
    let signed = DocumentRef::Quote { quote: &quote, sent_copy: Some(copy) };
    PdfRenderer::new().render(&pdf::input(&facts, signed)).unwrap()
}

/// The output of a tool; `None` if it is missing and may be.
fn output(tool: &str, arguments: &[&str], file: &Path) -> Option<String> {
    match Command::new(tool).args(arguments).arg(file).output() {
        Ok(output) => {
            assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) => {
            PDF_TOOLS.is_missing(&format!("{tool}: {error}"));
            None
        }
    }
}

#[test]
fn the_update_leaves_the_file_before_it_unchanged() {
    let before = rendered();
    let after = with_factur_x_metadata(before.clone()).unwrap();
    assert_eq!(after[..before.len()], before);
    assert_eq!(after, with_factur_x_metadata(before.clone()).unwrap());
    assert!(after.len() < before.len() + 12_000);
}

/// dolibarr-community-modules#590: a second list of schemas made the metadata unreadable.
#[test]
fn the_metadata_have_one_list_of_schemas_and_four_properties() {
    let before = rendered();
    let after = with_factur_x_metadata(before.clone()).unwrap();
    let update = String::from_utf8(after[before.len()..].to_vec()).unwrap();
    assert_eq!(update.matches("<pdfaExtension:schemas>").count(), 1);
    assert_eq!(update.matches("</rdf:RDF>").count(), 1);
    for property in [
        "<fx:DocumentType>INVOICE<",
        "<fx:DocumentFileName>factur-x.xml<",
        "<fx:Version>1.0<",
        "<fx:ConformanceLevel>EN 16931<",
        "<pdfaid:part>3<",
        "<pdfuaid:part>1<",
        "<rdf:li xml:lang=\"x-default\">Devis DEV-2026-0042<",
    ] {
        assert_eq!(update.matches(property).count(), 1, "{property}");
    }
}

#[test]
fn the_file_with_the_update_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("facture.pdf");
    std::fs::write(&file, with_factur_x_metadata(rendered()).unwrap()).unwrap();
    let Some(check) = output("qpdf", &["--check"], &file) else { return };
    assert!(check.contains("No syntax or stream encoding errors found"), "{check}");
    let attachments = output("qpdf", &["--list-attachments"], &file).unwrap_or_default();
    assert!(attachments.contains("factur-x.xml"), "{attachments}");
    let metadata = output("pdfinfo", &["-meta"], &file).unwrap_or_default();
    assert!(metadata.is_empty() || metadata.contains("<fx:ConformanceLevel>EN 16931<"), "{metadata}");
}

#[test]
fn another_file_is_refused() {
    let whole = rendered();
    let cut = &whole[..whole.len() / 2];
    for file in [b"".as_slice(), b"%PDF-1.7\nstartxref\n0\n%%EOF", b"startxref\n99999", cut] {
        assert!(with_factur_x_metadata(file.to_vec()).is_err());
    }
}
