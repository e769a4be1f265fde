//! The files that a PDF carries (ISO 32000-2, 7.11.4).

use hayro_syntax::Pdf;
use hayro_syntax::object::dict::keys::{EF, F, KIDS, NAMES};
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

/// Walks a name tree (7.9.6): leaves hold pairs of a name and a file specification.
fn collect(node: &Dict<'_>, depth: usize, found: &mut Vec<Attachment>) -> Result<(), String> {
    let deeper = depth.checked_sub(1).ok_or("the PDF's list of files has no end")?;
    for kid in node.get::<Array<'_>>(KIDS).iter().flat_map(Array::iter::<Dict<'_>>) {
        collect(&kid, deeper, found)?;
    }
    let Some(names) = node.get::<Array<'_>>(NAMES) else { return Ok(()) };
    let mut items = names.flex_iter();
    while let (Some(name), Some(file)) = (items.next::<PdfString<'_>>(), items.next::<Dict<'_>>()) {
        let stream = file.get::<Dict<'_>>(EF).and_then(|embedded| embedded.get::<Stream<'_>>(F));
        let stream = stream.ok_or("the PDF names a file that it does not carry")?;
        let bytes = stream.decoded().map_err(|error| format!("a file in the PDF is damaged: {error:?}"))?;
        let name = String::from_utf8_lossy(name.as_ref()).into_owned();
        found.push(Attachment { name, bytes: bytes.into_owned() });
    }
    Ok(())
}
