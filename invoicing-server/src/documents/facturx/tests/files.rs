//! Whole Factur-X files: the page, the XML, and the metadata.

use invoicing_core::percent;

use super::fixtures::{Sample, invoice, invoice_of, new_line, person};
use super::samples::folder;
use crate::documents::{InvoiceRenderer, PdfRenderer};

/// Invoices and credit notes of one line to many.
fn documents() -> Vec<Sample> {
    let rates = [percent!(20), percent!(10), percent!(5.5), percent!(20)];
    let lines = |count: usize| -> Vec<_> {
        (0..count).map(|n| new_line(&format!("Ouvrage n° {n}"), rates[n % rates.len()])).collect()
    };
    let mut private = invoice();
    private.particulars.client = person();
    let plain = [1, 2, 5, 20, 40].map(|count| invoice_of(&lines(count), percent!(0)));
    let credited = [1, 3].map(|count| invoice_of(&lines(count), percent!(0)).credited());
    [invoice(), private, invoice().credited()].into_iter().chain(plain).chain(credited).collect()
}

fn render(document: &Sample) -> Vec<u8> {
    let xml = document.xml();
    PdfRenderer::new().render_invoice(&document.input(Some(xml.as_bytes()))).unwrap()
}

/// With `FACTURX_SAMPLES=<folder>` the files are written there, each with its XML beside it.
#[test]
fn a_file_is_the_same_whenever_it_is_made() {
    for (n, document) in documents().iter().enumerate() {
        let file = render(document);
        assert_eq!(file, render(document));
        if let Some(folder) = folder() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("file-{n}.pdf")), file).unwrap();
            std::fs::write(folder.join(format!("file-{n}.xml")), document.xml()).unwrap();
        }
    }
}
