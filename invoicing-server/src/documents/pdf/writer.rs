//! The PDF file: pages as PDF/A-3a and PDF/UA-1, with metadata and attachments.
//!
//! krilla's validators refuse a file that breaks either standard. The bytes depend on the input
//! only, never on time or chance.

use std::rc::Rc;

use chrono::{Datelike, NaiveTime, Timelike};
use invoicing_core::ProofParts;
use krilla::color::rgb;
use krilla::configure::{Accessibility, Archival, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::metadata::{DateTime, Metadata};
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::tagging::{Artifact, ArtifactType, ContentTag};
use krilla::{Document, SerializeSettings};
use serde::Serialize;

use super::Result;
use super::pagination::{Ink, LEFT, PAGE, PdfPage, RIGHT, Rectangle, Text};
use super::tags::Tags;
use super::typesetter::Line;
use crate::documents::content::header::TITLE;
use crate::documents::content::sanitize::sanitize_any;
use crate::documents::{DocumentInput, RenderError};

/// Baseline of the footer, in points from the page's top.
const FOOTER: f32 = PAGE.1 - 34.0;
/// The rule above the footer.
const FOOTER_RULE: Rectangle =
    Rectangle { x: LEFT, y: PAGE.1 - 49.0, width: RIGHT - LEFT, height: 0.5, ink: Ink::Hairline };

/// The footer of the pages.
pub(super) struct Footer {
    /// The text, which is the same on every page.
    pub(super) text: Rc<Line>,
    /// `page 1 / 2`, one for each page.
    pub(super) numbers: Vec<Rc<Line>>,
}

/// Writes pages into a file.
pub(super) struct Writer {
    pub(super) accent: [u8; 3],
    pub(super) tags: Tags,
    /// The outline so far: the entry of the document's title, and below it all others.
    pub(super) outline: Option<OutlineNode>,
}

impl Writer {
    /// The finished file.
    pub(super) fn write(
        mut self,
        input: &DocumentInput<'_>,
        pages: &[PdfPage],
        footer: &Footer,
    ) -> Result<Vec<u8>> {
        let configuration = ConfigurationBuilder::new()
            .with_archival_validator(Archival::A3_A)
            .with_accessibility_validator(Accessibility::UA1)
            .finish()
            .map_err(|error| RenderError::new(format!("{error:?}")))?;
        let mut document =
            Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
        for (index, page) in pages.iter().enumerate() {
            input.deadline.check()?;
            let size =
                PageSettings::from_wh(PAGE.0, PAGE.1).ok_or_else(|| RenderError::new("no page size"))?;
            let mut target = document.start_page_with(size);
            let mut surface = target.surface();
            self.page(&mut surface, page, index);
            self.footer(&mut surface, footer, index);
            surface.finish();
            target.finish();
        }
        let mut outline = Outline::new();
        self.outline.into_iter().for_each(|entry| outline.push_child(entry));
        document.set_outline(outline);
        document.set_tag_tree(self.tags.tree());
        document.set_metadata(metadata(input));
        attach(&mut document, input)?;
        let pdf = document.finish().map_err(|error| RenderError::new(format!("{error}: {error:?}")))?;
        Ok(without_suspects(pdf))
    }

    fn page(&mut self, surface: &mut Surface<'_>, page: &PdfPage, index: usize) {
        if !page.rectangles.is_empty() {
            surface.start_tagged(artifact(ArtifactType::Layout));
            for rectangle in &page.rectangles {
                self.rectangle(surface, rectangle);
            }
            surface.end_tagged();
        }
        for texts in page.texts.chunk_by(|a, b| a.node == b.node) {
            let node = texts[0].node;
            let tag = node.map_or_else(|| artifact(ArtifactType::Header), |_| ContentTag::Other);
            let content = surface.start_tagged(tag);
            for text in texts {
                self.text(surface, text);
            }
            surface.end_tagged();
            if let Some(title) = node.and_then(|node| self.tags.drawn(node, content)) {
                let top = Point::from_xy(0.0, (texts[0].baseline - 24.0).max(0.0));
                self.list(&title, XyzDestination::new(index, top));
            }
        }
    }

    /// Adds an entry to the outline.
    fn list(&mut self, title: &str, destination: XyzDestination) {
        let entry = OutlineNode::new(tidy(title), destination).with_open(true);
        match &mut self.outline {
            Some(root) => root.push_child(entry),
            // The title of the document is drawn first.
            None => self.outline = Some(entry),
        }
    }

    fn footer(&self, surface: &mut Surface<'_>, footer: &Footer, index: usize) {
        surface.start_tagged(artifact(ArtifactType::Footer));
        self.rectangle(surface, &FOOTER_RULE);
        let mut x = LEFT;
        for line in [&footer.text, &footer.numbers[index]] {
            let (line, width) = (Rc::clone(line), line.width);
            self.text(surface, &Text { x, baseline: FOOTER, line, ink: Ink::Muted, node: None });
            x += width;
        }
        surface.end_tagged();
    }

    fn text(&self, surface: &mut Surface<'_>, Text { x, baseline, line, ink, .. }: &Text) {
        surface.set_fill(Some(self.fill(*ink)));
        for run in &line.runs {
            let start = Point::from_xy(x + run.x, *baseline);
            surface.draw_glyphs(start, &run.glyphs, run.font.clone(), &line.text, run.size, false);
        }
    }

    fn rectangle(&self, surface: &mut Surface<'_>, rectangle: &Rectangle) {
        let Rectangle { x, y, width, height, ink } = *rectangle;
        let mut path = PathBuilder::new();
        if let Some(rect) = Rect::from_xywh(x, y, width, height) {
            path.push_rect(rect);
        }
        if let Some(path) = path.finish() {
            surface.set_fill(Some(self.fill(ink)));
            surface.draw_path(&path);
        }
    }

    fn fill(&self, ink: Ink) -> Fill {
        let [red, green, blue] = match ink {
            Ink::Text => [24, 28, 34],
            Ink::Muted => [92, 101, 114],
            Ink::Accent => self.accent,
            Ink::Hairline => [214, 219, 225],
        };
        Fill { paint: rgb::Color::new(red, green, blue).into(), ..Fill::default() }
    }
}

/// Blanks the `/Suspects false` out that krilla writes into the catalog.
///
/// Up to version 25.11, poppler reports it as an error. It is the default (ISO 32000-1, table 321),
/// and PDF/UA-1 refuses `true` only. Blanks keep each offset of the file in place.
fn without_suspects(mut pdf: Vec<u8>) -> Vec<u8> {
    // The catalog is the last object. Before the entry it holds no text that was entered.
    const CATALOG: &[u8] = b"\n<</Type/Catalog";
    const ENTRY: &[u8] = b"/Suspects false";
    let catalog = pdf.windows(CATALOG.len()).rposition(|window| window == CATALOG);
    let rest = catalog.map_or(&mut [][..], |start| &mut pdf[start..]);
    if let Some(start) = rest.windows(ENTRY.len()).position(|window| window == ENTRY) {
        rest[start..start + ENTRY.len()].fill(b' ');
    }
    pdf
}

/// Content that a screen reader leaves out.
fn artifact(kind: ArtifactType) -> ContentTag<'static> {
    ContentTag::Artifact(Artifact::with_kind(kind))
}

/// The title under which a reader lists the document.
pub(super) fn title(number: &str) -> String {
    format!("{TITLE} {number}")
}

/// A text of the metadata, sanitized like printed text, so that the title in a viewer's window
/// cannot mislead either.
fn tidy(text: &str) -> String {
    sanitize_any(text).replace('\n', " ")
}

fn metadata(input: &DocumentInput<'_>) -> Metadata {
    let head = &input.quote.summary;
    Metadata::new()
        .title(tidy(&title(&head.number)))
        .language("fr-FR".to_owned())
        .authors(vec![tidy(&input.company.name)])
        .document_id(head.id.to_string())
        .creation_date(created(input))
}

/// The creation date: the instant of the signature, of sending, or the start of the document's day.
fn created(input: &DocumentInput<'_>) -> DateTime {
    let signed = input.quote.detail.signature.as_ref().map(|signature| signature.signed_at);
    let utc = match signed.or(input.quote.summary.sent_at) {
        Some(instant) => instant.to_chrono(),
        None => input.issued_on.and_time(NaiveTime::MIN).and_utc(),
    };
    let small = |value: u32| u8::try_from(value).unwrap_or(0);
    DateTime::new(u16::try_from(utc.year()).unwrap_or(0))
        .month(small(utc.month()))
        .day(small(utc.day()))
        .hour(small(utc.hour()))
        .minute(small(utc.minute()))
        .second(small(utc.second()))
        .utc_offset_hour(0)
}

/// The content of `proof.json`: the parts of the signature and their fingerprint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proof<'a> {
    #[serde(flatten)]
    parts: Option<ProofParts<'a>>,
    proof_fingerprint: &'a str,
}

/// Embeds the sent copy and the proof of its signature.
fn attach(document: &mut Document, input: &DocumentInput<'_>) -> Result<()> {
    let (Some(signature), Some(copy)) = (&input.quote.detail.signature, &input.sent_copy) else {
        return Ok(());
    };
    let proof = serde_json::to_vec_pretty(&Proof {
        parts: input.quote.proof_parts(&copy.sha256.to_string()),
        proof_fingerprint: &signature.proof_fingerprint,
    });
    let proof = proof.map_err(RenderError::new)?;
    let files = [
        (copy.file_name, "application/pdf", "Le devis tel qu’il a été signé", copy.bytes.to_vec()),
        ("proof.json", "application/json", "La preuve de la signature", proof),
    ];
    let kinds = [AssociationKind::Source, AssociationKind::Data];
    for ((name, mime_type, description, bytes), association_kind) in files.into_iter().zip(kinds) {
        let file = EmbeddedFile {
            path: name.to_owned(),
            mime_type: MimeType::new(mime_type),
            description: Some(description.to_owned()),
            association_kind,
            data: bytes.into(),
            modification_date: Some(created(input)),
            compress: Some(true),
            location: None,
        };
        document.embed_file(file).ok_or_else(|| RenderError::new("two attachments have one name"))?;
    }
    Ok(())
}
