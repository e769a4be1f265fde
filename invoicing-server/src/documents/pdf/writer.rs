//! The PDF file: pages as PDF/A-3a and PDF/UA-1, with metadata and attachments.
//!
//! krilla's validators refuse a file that breaks either standard. The bytes depend on the input
//! only, never on time or chance.

use std::rc::Rc;

use chrono::{Datelike, NaiveTime, Timelike};
use invoicing_core::{ProofParts, QuoteId};
use krilla::color::rgb;
use krilla::configure::{Accessibility, Archival, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::{DateTime, Metadata};
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::tagging::{Artifact, ArtifactType, ContentTag};
use krilla::{Document, SerializeSettings};
use serde::Serialize;

use super::Result;
use super::pagination::{Ink, LEFT, PAGE, PdfPage, PlacedImage, RIGHT, Rectangle, Text};
use super::tags::Tags;
use super::typesetter::Line;
use crate::documents::RenderError;
use crate::documents::content::header;
use crate::documents::content::sanitize::sanitize_any;
use crate::documents::content::view::{DocumentView, Offer};
use crate::documents::facturx::with_factur_x_metadata;

/// Baselines of the running head and of the footer, in points from the page's top.
const HEAD: f32 = 35.0;
const FOOTER: f32 = PAGE.1 - 34.0;
/// The rules below the head and above the footer.
const HEAD_RULE: Rectangle = rule(42.0);
const FOOTER_RULE: Rectangle = rule(PAGE.1 - 49.0);

const fn rule(y: f32) -> Rectangle {
    Rectangle { x: LEFT, y, width: RIGHT - LEFT, height: 0.5, ink: Ink::Hairline }
}

/// The lines in the margins of the pages.
pub(super) struct Running {
    /// The head of each page but the first, which begins with the title.
    pub(super) head: Rc<Line>,
    /// The footer of each page, up to the number of the page.
    pub(super) footer: Rc<Line>,
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
        view: &DocumentView<'_>,
        pages: &[PdfPage],
        running: &Running,
    ) -> Result<Vec<u8>> {
        let configuration = ConfigurationBuilder::new()
            .with_archival_validator(Archival::A3_A)
            .with_accessibility_validator(Accessibility::UA1)
            .finish()
            .map_err(|error| RenderError::new(format!("{error:?}")))?;
        let mut document =
            Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
        for (index, page) in pages.iter().enumerate() {
            view.deadline.check()?;
            let size =
                PageSettings::from_wh(PAGE.0, PAGE.1).ok_or_else(|| RenderError::new("no page size"))?;
            let mut target = document.start_page_with(size);
            let mut surface = target.surface();
            if index > 0 {
                let head = [(&running.head, Ink::Text)];
                self.margin(&mut surface, ArtifactType::Header, &HEAD_RULE, (HEAD, &head));
            }
            self.page(&mut surface, page, index);
            let footer = [(&running.footer, Ink::Muted), (&running.numbers[index], Ink::Muted)];
            self.margin(&mut surface, ArtifactType::Footer, &FOOTER_RULE, (FOOTER, &footer));
            surface.finish();
            target.finish();
        }
        let mut outline = Outline::new();
        self.outline.into_iter().for_each(|entry| outline.push_child(entry));
        document.set_outline(outline);
        document.set_tag_tree(self.tags.tree());
        document.set_metadata(metadata(view));
        attach(&mut document, view)?;
        let pdf = document.finish().map_err(|error| RenderError::new(format!("{error}: {error:?}")))?;
        let pdf = without_suspects(pdf);
        let has_xml = view.issued.is_some_and(|issued| issued.factur_x.is_some());
        if has_xml { with_factur_x_metadata(pdf) } else { Ok(pdf) }
    }

    fn page(&mut self, surface: &mut Surface<'_>, page: &PdfPage, index: usize) {
        if !page.rectangles.is_empty() {
            surface.start_tagged(artifact(ArtifactType::Layout));
            for rectangle in &page.rectangles {
                self.rectangle(surface, rectangle);
            }
            surface.end_tagged();
        }
        for image in &page.images {
            self.image(surface, image);
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

    fn image(&mut self, surface: &mut Surface<'_>, placed: &PlacedImage) {
        let Some(size) = Size::from_wh(placed.size.0, placed.size.1) else { return };
        let content = surface.start_tagged(ContentTag::Other);
        surface.push_transform(&Transform::from_translate(placed.x, placed.y));
        surface.draw_image(placed.image.clone(), size);
        surface.pop();
        surface.end_tagged();
        self.tags.drawn(placed.node, content);
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

    /// Draws a rule and a line of texts in a margin.
    fn margin(
        &self,
        surface: &mut Surface<'_>,
        kind: ArtifactType,
        rule: &Rectangle,
        (baseline, texts): (f32, &[(&Rc<Line>, Ink)]),
    ) {
        surface.start_tagged(artifact(kind));
        self.rectangle(surface, rule);
        let mut x = LEFT;
        for (line, ink) in texts {
            self.text(surface, &Text { x, baseline, line: Rc::clone(line), ink: *ink, node: None });
            x += line.width;
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

/// A text of the metadata, sanitized like printed text, so that the title in a viewer's window
/// cannot mislead either.
fn tidy(text: &str) -> String {
    sanitize_any(text).replace('\n', " ")
}

fn metadata(view: &DocumentView<'_>) -> Metadata {
    Metadata::new()
        .title(tidy(&header::title(view)))
        .language("fr-FR".to_owned())
        .authors(vec![tidy(&view.company.name)])
        .document_id(view.id.to_string())
        .creation_date(created(view))
}

/// The creation date: the instant of the signature, of sending, or the start of the document's day.
fn created(view: &DocumentView<'_>) -> DateTime {
    let utc = match view.created_at {
        Some(instant) => instant.to_chrono(),
        None => view.issued_on.and_time(NaiveTime::MIN).and_utc(),
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

/// Embeds the files that belong to the document.
fn attach(document: &mut Document, view: &DocumentView<'_>) -> Result<()> {
    let mut files = view.offer.map_or(Ok(Vec::new()), |offer| evidence(view, &offer))?;
    files.extend(view.issued.and_then(|issued| issued.factur_x).map(factur_x));
    for file in files {
        let file = EmbeddedFile { modification_date: Some(created(view)), ..file };
        document.embed_file(file).ok_or_else(|| RenderError::new("two attachments have one name"))?;
    }
    Ok(())
}

/// The content of `proof.json`: the parts of the signature and their fingerprint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proof<'a> {
    #[serde(flatten)]
    parts: ProofParts<'a>,
    proof_fingerprint: &'a str,
}

/// The sent copy and the proof of its signature; no files before the signature.
fn evidence(view: &DocumentView<'_>, offer: &Offer<'_>) -> Result<Vec<EmbeddedFile>> {
    let (Some(signature), Some(copy)) = (offer.signature, offer.sent_copy) else { return Ok(Vec::new()) };
    let sha256 = copy.sha256.to_string();
    let parts = ProofParts::of(QuoteId(view.id), view.number, signature, &sha256);
    let proof = Proof { parts, proof_fingerprint: &signature.proof_fingerprint };
    let proof = serde_json::to_vec_pretty(&proof).map_err(RenderError::new)?;
    let (sent, about) = (copy.bytes.to_vec(), "Le devis tel qu’il a été signé");
    Ok(vec![
        file(copy.file_name, "application/pdf", about, AssociationKind::Source, sent),
        file("proof.json", "application/json", "La preuve de la signature", AssociationKind::Data, proof),
    ])
}

/// The same invoice as XML, under the name that Factur-X demands.
fn factur_x(xml: &[u8]) -> EmbeddedFile {
    file("factur-x.xml", "text/xml", "Factur-X", AssociationKind::Alternative, xml.to_vec())
}

fn file(
    name: &str,
    mime_type: &str,
    description: &str,
    association_kind: AssociationKind,
    bytes: Vec<u8>,
) -> EmbeddedFile {
    EmbeddedFile {
        path: name.to_owned(),
        mime_type: MimeType::new(mime_type),
        description: Some(description.to_owned()),
        association_kind,
        data: bytes.into(),
        modification_date: None,
        compress: Some(true),
        location: None,
    }
}
