//! The metadata that make a PDF a Factur-X file: one update at the end of the file.
//!
//! krilla writes the XMP metadata but takes no properties of others. They are added by an
//! incremental update (ISO 32000-1, 7.5.6), which replaces the one metadata stream and leaves every
//! byte before it unchanged. krilla writes this stream without a filter, as PDF/A recommends, and a
//! table of cross-references.

use std::fmt::Write;

use memchr::memmem;

use crate::documents::RenderError;

const PROPERTIES: [(&str, &str, &str); 4] = [
    ("DocumentFileName", "factur-x.xml", "Name of the embedded XML invoice file"),
    ("DocumentType", "INVOICE", "Type of the document, also of a credit note"),
    ("Version", "1.0", "Version of the XML schema of the invoice"),
    ("ConformanceLevel", "EN 16931", "Profile of the XML invoice"),
];
const NAMESPACE: &str = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

/// A PDF of krilla with the metadata of Factur-X.
///
/// # Errors
/// [`RenderError`] for a file of another structure than krilla's.
pub(crate) fn with_factur_x_metadata(mut pdf: Vec<u8>) -> Result<Vec<u8>, RenderError> {
    let update = update(&pdf).ok_or_else(|| RenderError::new("the PDF has no metadata to add to"))?;
    pdf.extend_from_slice(update.as_bytes());
    Ok(pdf)
}

/// The text to append: the new stream, its cross-reference, and a trailer.
fn update(pdf: &[u8]) -> Option<String> {
    let file = File::read(pdf)?;
    let catalog = file.object(number_after(file.trailer, b"/Root ")?)?;
    let number = number_after(catalog, b"/Metadata ")?;
    let xmp = extended(stream(file.object(number)?)?)?;
    let mut out = String::with_capacity(xmp.len() + 512);
    if !pdf.ends_with(b"\n") {
        out.push('\n');
    }
    let offset = pdf.len() + out.len();
    let length = xmp.len();
    write!(out, "{number} 0 obj\n<</Length {length}/Type/Metadata/Subtype/XML>>\nstream\n{xmp}\n").ok()?;
    out.push_str("endstream\nendobj\n");
    let (start, previous) = (pdf.len() + out.len(), file.start);
    let trailer = std::str::from_utf8(file.trailer.strip_suffix(b">>")?).ok()?;
    write!(out, "xref\n{number} 1\n{offset:010} 00000 n\r\n").ok()?;
    write!(out, "trailer\n{trailer}/Prev {previous}>>\nstartxref\n{start}\n%%EOF\n").ok()?;
    Some(out)
}

/// A file with one table of cross-references.
struct File<'p> {
    pdf: &'p [u8],
    /// Offset of the table.
    start: usize,
    /// The entries of the table: 20 bytes each.
    entries: &'p [u8],
    /// The dictionary of the trailer, `<<…>>`.
    trailer: &'p [u8],
}

impl<'p> File<'p> {
    fn read(pdf: &'p [u8]) -> Option<Self> {
        let end = memmem::rfind(pdf, b"startxref")?;
        let start = number_after(pdf.get(end..)?, b"startxref\n")?;
        let table = pdf.get(start..end)?.strip_prefix(b"xref\n0 ")?;
        let trailer = memmem::rfind(table, b"trailer\n")?;
        let (entries, trailer) = table.split_at(trailer);
        let entries = entries.get(memchr::memchr(b'\n', entries)? + 1..)?;
        let trailer = trailer.strip_prefix(b"trailer\n")?.trim_ascii_end();
        Some(Self { pdf, start, entries, trailer })
    }

    /// The bytes from an object on.
    fn object(&self, number: usize) -> Option<&'p [u8]> {
        const ENTRY: usize = 20;
        let entry = self.entries.get(number.checked_mul(ENTRY)?..)?;
        let object = self.pdf.get(leading_number(entry)?..)?;
        object.starts_with(format!("{number} 0 obj").as_bytes()).then_some(object)
    }
}

/// The text of an object's stream.
fn stream(object: &[u8]) -> Option<&str> {
    const STREAM: &[u8] = b"stream\n";
    let start = memmem::find(object, STREAM)?;
    let (dictionary, content) = object.split_at(start);
    if memmem::find(dictionary, b"/Filter").is_some() {
        return None;
    }
    let length = number_after(dictionary, b"/Length ")?;
    std::str::from_utf8(content.get(STREAM.len()..STREAM.len().checked_add(length)?)?).ok()
}

/// The metadata with the properties of Factur-X, described in the one list of extension schemas:
/// readers take no second list.
fn extended(xmp: &str) -> Option<String> {
    const LIST_END: &str = "</rdf:Bag></pdfaExtension:schemas>";
    const END: &str = "</rdf:RDF>";
    let end = xmp.rfind(END)?;
    let (list_end, before, after) = match xmp.find(LIST_END) {
        Some(place) => (place, "", ""),
        None => (end, NEW_LIST.0, NEW_LIST.1),
    };
    let schema = schema();
    let (head, rest, tail) = (&xmp[..list_end], &xmp[list_end..end], &xmp[end..]);
    Some([head, before, &schema, after, rest, &properties(), tail].concat())
}

/// The frame of a list of extension schemas, for metadata without one.
const NEW_LIST: (&str, &str) = (
    "<rdf:Description rdf:about=\"\" xmlns:pdfaExtension=\"http://www.aiim.org/pdfa/ns/extension/\" \
     xmlns:pdfaSchema=\"http://www.aiim.org/pdfa/ns/schema#\" \
     xmlns:pdfaProperty=\"http://www.aiim.org/pdfa/ns/property#\"><pdfaExtension:schemas><rdf:Bag>",
    "</rdf:Bag></pdfaExtension:schemas></rdf:Description>",
);

fn properties() -> String {
    let values = PROPERTIES.map(|(name, value, _)| format!("<fx:{name}>{value}</fx:{name}>")).concat();
    format!("<rdf:Description rdf:about=\"\" xmlns:fx=\"{NAMESPACE}\">{values}</rdf:Description>")
}

/// The description of the properties that PDF/A demands (ISO 19005-3, 6.6.2.3).
fn schema() -> String {
    let described = PROPERTIES.map(|(name, _, description)| {
        format!(
            "<rdf:li rdf:parseType=\"Resource\"><pdfaProperty:category>external</pdfaProperty:category>\
             <pdfaProperty:description>{description}</pdfaProperty:description>\
             <pdfaProperty:name>{name}</pdfaProperty:name>\
             <pdfaProperty:valueType>Text</pdfaProperty:valueType></rdf:li>"
        )
    });
    format!(
        "<rdf:li rdf:parseType=\"Resource\">\
         <pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>\
         <pdfaSchema:namespaceURI>{NAMESPACE}</pdfaSchema:namespaceURI>\
         <pdfaSchema:prefix>fx</pdfaSchema:prefix>\
         <pdfaSchema:property><rdf:Seq>{}</rdf:Seq></pdfaSchema:property></rdf:li>",
        described.concat()
    )
}

fn number_after(text: &[u8], key: &[u8]) -> Option<usize> {
    leading_number(text.get(memmem::find(text, key)? + key.len()..)?)
}

fn leading_number(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}
