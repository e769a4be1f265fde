//! The PDF file: pages as PDF/A-3a and PDF/UA-1, with metadata and attachments.
//!
//! krilla's validators refuse a file that breaks either standard. The bytes depend on the input only, never on time or
//! chance.

use std::rc::Rc;

use chrono::{Datelike, Timelike};
use invoicing_core::{ProofParts, SignatureBlock, Timestamp};
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

use super::fonts::Fonts;
use super::pagination::{Ink, LEFT, PAGE, Page, RIGHT, Rectangle, Text};
use super::sanitize::sanitize;
use super::tags::Tags;
use super::typesetter::Line;
use crate::documents::{DocumentInput, RenderError, SignedCopy};

/// Red, green and blue of text, of secondary text, and of lines between rows.
const TEXT: [u8; 3] = [24, 28, 34];
const MUTED: [u8; 3] = [92, 101, 114];
const HAIRLINE: [u8; 3] = [214, 219, 225];

/// Baseline of the footer, in points from the page's top.
const FOOTER: f32 = PAGE.1 - 34.0;
/// The rule above the footer.
const FOOTER_RULE: Rectangle =
    Rectangle { x: LEFT, y: PAGE.1 - 49.0, width: RIGHT - LEFT, height: 0.5, ink: Ink::Hairline };

/// The footer of the pages.
pub(super) struct Footer {
    /// The same on every page.
    pub(super) text: Rc<Line>,
    /// `page 1 / 2`, one for each page.
    pub(super) numbers: Vec<Rc<Line>>,
}

/// Writes pages into a file.
pub(super) struct Writer<'a> {
    pub(super) fonts: &'a Fonts,
    pub(super) accent: [u8; 3],
    pub(super) tags: Tags,
}

impl Writer<'_> {
    /// The finished file.
    pub(super) fn write(
        mut self,
        input: &DocumentInput<'_>,
        pages: &[Page],
        footer: &Footer,
    ) -> Result<Vec<u8>, RenderError> {
        let configuration = ConfigurationBuilder::new()
            .with_archival_validator(Archival::A3_A)
            .with_accessibility_validator(Accessibility::UA1)
            .finish()
            .map_err(|error| RenderError::new(format!("{error:?}")))?;
        let mut document =
            Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
        let mut outline = Vec::new();
        for (index, page) in pages.iter().enumerate() {
            let size =
                PageSettings::from_wh(PAGE.0, PAGE.1).ok_or_else(|| RenderError::new("no page size"))?;
            let mut target = document.start_page_with(size);
            let mut surface = target.surface();
            self.page(&mut surface, page, index, &mut outline);
            self.footer(&mut surface, footer, index);
            surface.finish();
            target.finish();
        }
        document.set_outline(nested(outline));
        document.set_tag_tree(self.tags.tree());
        document.set_metadata(metadata(input));
        attach(&mut document, input)?;
        document.finish().map_err(|error| RenderError::new(format!("{error}: {error:?}")))
    }

    fn page(&mut self, surface: &mut Surface<'_>, page: &Page, index: usize, outline: &mut Vec<Entry>) {
        if !page.rectangles.is_empty() {
            surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)));
            for rectangle in &page.rectangles {
                self.rectangle(surface, rectangle);
            }
            surface.end_tagged();
        }
        for texts in page.texts.chunk_by(|a, b| a.node == b.node) {
            let Some(node) = texts[0].node else {
                surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(ArtifactType::Header)));
                for text in texts {
                    self.text(surface, text);
                }
                surface.end_tagged();
                continue;
            };
            let content = surface.start_tagged(ContentTag::Other);
            for text in texts {
                self.text(surface, text);
            }
            surface.end_tagged();
            if let Some((depth, title)) = self.tags.drawn(node, content) {
                let y = (texts[0].baseline - 24.0).max(0.0);
                outline.push(Entry { depth, title, page: index, y });
            }
        }
    }

    fn footer(&self, surface: &mut Surface<'_>, footer: &Footer, index: usize) {
        surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(ArtifactType::Footer)));
        self.rectangle(surface, &FOOTER_RULE);
        let mut x = LEFT;
        for line in [&footer.text, &footer.numbers[index]] {
            self.line(surface, line, x, FOOTER, Ink::Muted);
            x += line.width;
        }
        surface.end_tagged();
    }

    fn text(&self, surface: &mut Surface<'_>, text: &Text) {
        self.line(surface, &text.line, text.x, text.baseline, text.ink);
    }

    fn line(&self, surface: &mut Surface<'_>, line: &Line, x: f32, baseline: f32, ink: Ink) {
        surface.set_fill(Some(self.fill(ink)));
        for run in &line.runs {
            let start = Point::from_xy(x + run.x, baseline);
            surface.draw_glyphs(start, &run.glyphs, self.fonts.font(run.face), &line.text, run.size, false);
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
            Ink::Text => TEXT,
            Ink::Muted => MUTED,
            Ink::Accent => self.accent,
            Ink::Hairline => HAIRLINE,
        };
        Fill { paint: rgb::Color::new(red, green, blue).into(), ..Fill::default() }
    }
}

/// An entry of the outline.
struct Entry {
    depth: usize,
    title: String,
    page: usize,
    y: f32,
}

/// The outline, two levels deep.
fn nested(entries: Vec<Entry>) -> Outline {
    let mut roots = Vec::<OutlineNode>::new();
    for Entry { depth, title, page, y } in entries {
        let node =
            OutlineNode::new(tidy(&title), XyzDestination::new(page, Point::from_xy(0.0, y))).with_open(true);
        match roots.last_mut() {
            Some(root) if depth > 0 => root.push_child(node),
            _ => roots.push(node),
        }
    }
    let mut outline = Outline::new();
    for root in roots {
        outline.push_child(root);
    }
    outline
}

/// The title under which a reader lists the document.
pub(super) fn title(number: &str) -> String {
    format!("Devis {number}")
}

/// Sanitized like printed text, so that the title in a viewer's window cannot mislead either.
fn tidy(text: &str) -> String {
    sanitize(text).map_or_else(|_| text.to_owned(), |text| text.replace('\n', " "))
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
    match signed.or(input.quote.summary.sent_at) {
        Some(instant) => date_time(instant),
        None => day(DateTime::new(u16::try_from(input.issued_on.year()).unwrap_or(0)), &input.issued_on)
            .hour(0)
            .minute(0)
            .second(0)
            .utc_offset_hour(0),
    }
}

fn date_time(instant: Timestamp) -> DateTime {
    let utc = instant.to_chrono();
    let small = |value: u32| u8::try_from(value).unwrap_or(0);
    day(DateTime::new(u16::try_from(utc.year()).unwrap_or(0)), &utc)
        .hour(small(utc.hour()))
        .minute(small(utc.minute()))
        .second(small(utc.second()))
        .utc_offset_hour(0)
}

fn day(year: DateTime, date: &impl Datelike) -> DateTime {
    let small = |value: u32| u8::try_from(value).unwrap_or(0);
    year.month(small(date.month())).day(small(date.day()))
}

/// The content of `proof.json`: the parts of the signature and their fingerprint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proof<'a> {
    #[serde(flatten)]
    parts: ProofParts<'a>,
    proof_fingerprint: &'a str,
}

/// Embeds the signed copy and its proof.
fn attach(document: &mut Document, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let (Some(signature), Some(copy)) = (&input.quote.detail.signature, &input.signed_copy) else {
        return Ok(());
    };
    let proof = proof(input, signature, copy)?;
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

fn proof(
    input: &DocumentInput<'_>,
    signature: &SignatureBlock,
    copy: &SignedCopy<'_>,
) -> Result<Vec<u8>, RenderError> {
    let proof = Proof {
        parts: ProofParts {
            accepted_text: &signature.accepted_text,
            document_sha256: &copy.sha256.to_string(),
            number: &input.quote.summary.number,
            quote_id: input.quote.summary.id,
            signed_at: signature.signed_at,
            signed_by_email: &signature.signed_by_email,
            signed_by_name: &signature.signed_by_name,
        },
        proof_fingerprint: &signature.proof_fingerprint,
    };
    serde_json::to_vec_pretty(&proof).map_err(RenderError::new)
}
