//! The files that a PDF carries (ISO 32000-2, 7.11.4).

use hayro_syntax::Pdf;
use hayro_syntax::object::dict::keys::{EF, F, KIDS, NAMES, UF};
use hayro_syntax::object::{Array, Dict, Stream, String as PdfString};

/// Deepest name tree that is followed: far more than any real one, so that a tree that bites its tail ends.
const DEPTH: usize = 16;

/// An embedded file: its name, and its bytes as they were before they were compressed.
pub(crate) struct Attachment {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Every file that the PDF carries.
pub(crate) fn attachments(pdf: Vec<u8>) -> Result<Vec<Attachment>, String> {
    let pdf = Pdf::new(pdf).map_err(|error| format!("not a PDF that can be read: {error:?}"))?;
    let root = pdf.xref().root_id();
    let catalog: Dict<'_> = pdf.xref().get(root).ok_or("the PDF has no catalog")?;
    let mut found = Vec::new();
    let tree = catalog.get::<Dict<'_>>(NAMES).and_then(|names| names.get::<Dict<'_>>(b"EmbeddedFiles"));
    if let Some(tree) = tree {
        collect(&tree, DEPTH, &mut found)?;
    }
    Ok(found)
}

fn contents(embedded: &Dict<'_>, entry: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let stream: Option<Stream<'_>> = embedded.get(entry);
    let bytes = stream.map(|stream| stream.decoded().map(std::borrow::Cow::into_owned)).transpose();
    bytes.map_err(|error| format!("a file in the PDF is damaged: {error:?}"))
}

/// Walks a name tree (7.9.6): leaves hold pairs of a name and a file specification.
fn collect(node: &Dict<'_>, depth: usize, found: &mut Vec<Attachment>) -> Result<(), String> {
    let deeper = depth.checked_sub(1).ok_or("the PDF's list of files has no end")?;
    for kid in node.get::<Array<'_>>(KIDS).iter().flat_map(Array::iter::<Dict<'_>>) {
        collect(&kid, deeper, found)?;
    }
    let Some(names) = node.get::<Array<'_>>(NAMES) else { return Ok(()) };
    let mut items = names.flex_iter();
    while let (Some(name), Some(file)) = (items.next::<PdfString<'_>>(), items.next::<Dict<'_>>()) {
        let embedded: Dict<'_> = file.get(EF).ok_or("the PDF names a file that it does not carry")?;
        let name = String::from_utf8_lossy(name.as_ref()).into_owned();
        let bytes = contents(&embedded, F)?.ok_or("the PDF names a file that it does not carry")?;
        // There may be two entries, and readers differ in which one they open.
        if contents(&embedded, UF)?.is_some_and(|other| other != bytes) {
            return Err(format!("the PDF carries two different files as {name}"));
        }
        found.push(Attachment { name, bytes });
    }
    Ok(())
}
