//! From a text to lines of glyphs.
//!
//! Owns shaping, the font of each cluster, direction and line breaking, all with parley. Has
//! neither pages nor the meaning of a text. A character without a glyph in any font is printed with
//! plainer ones of the same meaning. If there are none, it is an error, or a box stands for it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use krilla::text::{Font, GlyphId, KrillaGlyph};
use parley::layout::{Alignment, AlignmentOptions, Cluster, Layout, Run as ParleyRun};
use parley::style::{FontFamily, FontFeature, FontFeatures, OverflowWrap, StyleProperty};
use parley::{FontContext, LayoutContext};

use super::fonts::{BOLD, Fonts, REGULAR};
use crate::documents::content::sanitize::{BOX, Unfit, Unprintable, plainer, sanitize, sanitize_any};

/// Texts up to this length in bytes are cached, because units, rates and amounts repeat in a quote.
const MAX_CACHED: usize = 48;

/// Switches contextual alternates off. Inter would draw `->` as an arrow and `2x4` as `2×4`, but a
/// document shows the text as entered.
const NO_CONTEXTUAL_ALTERNATES: FontFeature = FontFeature::new(parley::setting::Tag::new(b"calt"), 0);
/// Makes all figures equally wide.
const TABULAR: FontFeature = FontFeature::new(parley::setting::Tag::new(b"tnum"), 1);

/// The style in which a text is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// Size in points.
    pub(super) size: f32,
    pub(super) bold: bool,
    /// True if all figures have the same width, for columns of numbers.
    pub(super) tabular: bool,
}

/// One line of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// The paragraph that the line is from.
    pub(super) text: Rc<str>,
    pub(super) runs: Vec<TextRun>,
    /// Left edge within the given width. It is not 0 for text from right to left.
    pub(super) x: f32,
    /// Width without trailing spaces.
    pub(super) width: f32,
    /// True if a box stands for a character of the paragraph.
    pub(super) has_box: bool,
}

/// Glyphs of one font.
#[derive(Debug, Clone)]
pub(super) struct TextRun {
    pub(super) font: Font,
    /// Left edge, from the line's beginning.
    pub(super) x: f32,
    pub(super) size: f32,
    /// Glyphs, each with the range of its text in the bytes of the paragraph.
    pub(super) glyphs: Vec<KrillaGlyph>,
}

/// Typesets texts. One per document.
pub(super) struct Typesetter<'f> {
    fonts: &'f Fonts,
    pub(super) unprintable: Unprintable,
    context: FontContext,
    layouts: LayoutContext<()>,
    layout: Layout<()>,
    /// Lines of short texts, by size, width and flags, then by text.
    cache: HashMap<[u32; 3], HashMap<String, Lines>>,
}

/// The lines of a text. Equal texts share them.
pub(super) type Lines = Vec<Rc<Line>>;

impl<'f> Typesetter<'f> {
    pub(super) fn new(fonts: &'f Fonts, unprintable: Unprintable) -> Self {
        Self {
            fonts,
            unprintable,
            context: fonts.context.clone(),
            layouts: LayoutContext::new(),
            layout: Layout::new(),
            cache: HashMap::new(),
        }
    }

    /// Breaks a text into lines of at most this width in points. Without a width, only line breaks
    /// of the text count.
    ///
    /// Several empty lines become one, and empty lines at the end are dropped.
    pub(super) fn lines(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Unfit> {
        let clean = match self.unprintable {
            Unprintable::Refused => sanitize(text)?,
            Unprintable::Boxed => sanitize_any(text),
        };
        let mut lines = Vec::new();
        for paragraph in clean.trim_end().split('\n').map(str::trim_end) {
            if !paragraph.is_empty() {
                let set = self.cached(paragraph, style, width);
                lines.extend(set.map_err(Unfit::Character)?);
            } else if lines.last().is_some_and(|line: &Rc<Line>| !line.runs.is_empty()) {
                lines.push(Rc::default());
            }
        }
        Ok(lines)
    }

    /// The lines of a paragraph, from the cache if it is short. `Err` is a character without a
    /// glyph.
    fn cached(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, char> {
        if text.len() > MAX_CACHED {
            return self.paragraph(text, style, width);
        }
        // Bit patterns, because a float is not a key.
        let flags = u32::from(style.bold) | u32::from(style.tabular) << 1;
        let style_key = [style.size.to_bits(), width.unwrap_or(f32::MAX).to_bits(), flags];
        if let Some(lines) = self.cache.get(&style_key).and_then(|lines| lines.get(text)) {
            return Ok(lines.clone());
        }
        let lines = self.paragraph(text, style, width)?;
        self.cache.entry(style_key).or_default().insert(text.to_owned(), lines.clone());
        Ok(lines)
    }

    fn paragraph(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, char> {
        let (mut text, mut has_box) = (Cow::Borrowed(text), false);
        loop {
            self.lay_out(&text, style, width);
            let missing = self.missing_clusters();
            if missing.is_empty() {
                break;
            }
            // The loop ends: plain characters have no plainer ones, and each box takes the place of
            // at least one other character.
            let mut printable = String::with_capacity(text.len());
            let mut end = 0;
            for cluster in missing {
                printable += &text[end..cluster.start];
                end = cluster.end;
                let plain = self.replace(&text[cluster], style)?;
                has_box |= plain.contains(BOX);
                printable += &plain;
            }
            printable += &text[end..];
            text = Cow::Owned(printable);
        }
        let paragraph: Rc<str> = text.as_ref().into();
        Ok(self.layout.lines().map(|line| Rc::new(self.line(&line, &paragraph, has_box))).collect())
    }

    /// The text of the clusters without a glyph, in order.
    fn missing_clusters(&self) -> Vec<Range<usize>> {
        let mut missing = Vec::new();
        for line in self.layout.lines() {
            line.runs().for_each(|run| missing.extend(missing_clusters(&run)));
        }
        missing.sort_by_key(|cluster| cluster.start);
        missing.dedup();
        missing
    }

    /// The text to print for a cluster without a glyph. `Err` is its character to report.
    fn replace(&mut self, cluster: &str, style: Style) -> Result<String, char> {
        if cluster.chars().any(|c| plainer(c).is_some()) {
            return Ok(cluster.chars().map(|c| plainer(c).unwrap_or_else(|| c.into())).collect());
        }
        match self.unprintable {
            Unprintable::Refused => Err(self.missing(cluster, style)),
            // Ends the layout of a box without a glyph. No font of the host takes this glyph away,
            // but no text may cause an endless layout.
            Unprintable::Boxed if cluster.starts_with(BOX) => Ok(String::new()),
            Unprintable::Boxed => Ok(BOX.into()),
        }
    }

    /// The line for drawing.
    fn line(&self, line: &parley::layout::Line<'_, ()>, text: &Rc<str>, has_box: bool) -> Line {
        let metrics = line.metrics();
        let mut runs = Vec::new();
        let mut x = 0.0;
        for run in line.runs() {
            let begin = x;
            let glyphs = glyphs(&run, &mut x);
            if !glyphs.is_empty() {
                let font = self.fonts.faces[&run.font().data.id()].clone();
                runs.push(TextRun { font, x: begin, size: run.font_size(), glyphs });
            }
        }
        let width = metrics.advance - metrics.trailing_whitespace;
        Line { text: Rc::clone(text), runs, x: metrics.offset, width, has_box }
    }

    fn lay_out(&mut self, text: &str, style: Style, width: Option<f32>) {
        let features: &[FontFeature] =
            if style.tabular { &[NO_CONTEXTUAL_ALTERNATES, TABULAR] } else { &[NO_CONTEXTUAL_ALTERNATES] };
        let families = FontFamily::List(Cow::Borrowed(&self.fonts.families));
        let mut builder = self.layouts.ranged_builder(&mut self.context, text, 1.0, false);
        builder.push_default(StyleProperty::FontFamily(families));
        builder.push_default(StyleProperty::FontSize(style.size));
        builder.push_default(StyleProperty::FontWeight(if style.bold { BOLD } else { REGULAR }));
        builder.push_default(StyleProperty::FontFeatures(FontFeatures::List(Cow::Borrowed(features))));
        // A word wider than its column breaks inside, as it would otherwise run into the next
        // column.
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::Anywhere));
        builder.build_into(&mut self.layout, text);
        self.layout.break_all_lines(width);
        self.layout.align(Alignment::Start, AlignmentOptions::default());
    }

    /// The character of a cluster to report: the first without a glyph even alone. Otherwise the
    /// last one, which no font can combine with those before it.
    fn missing(&mut self, cluster: &str, style: Style) -> char {
        let mut alone = [0; 4];
        let lacking = cluster.chars().find(|c| {
            self.lay_out(c.encode_utf8(&mut alone), style, None);
            !self.missing_clusters().is_empty()
        });
        lacking.or(cluster.chars().last()).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// The text of the clusters of a run that its font has no glyph for. Glyph 0 is the empty box of a
/// font.
fn missing_clusters(run: &ParleyRun<'_, ()>) -> impl Iterator<Item = Range<usize>> {
    let is_missing = |cluster: &Cluster<'_, ()>| {
        !cluster.is_ligature_continuation() && cluster.glyphs().any(|glyph| glyph.id == 0)
    };
    run.clusters().filter(is_missing).map(|cluster| cluster.text_range())
}

/// The glyphs of a run from left to right; advances `x` to the end of the run.
fn glyphs(run: &ParleyRun<'_, ()>, x: &mut f32) -> Vec<KrillaGlyph> {
    let size = run.font_size();
    let mut glyphs = Vec::<KrillaGlyph>::new();
    // From right to left, the continuations of a ligature come before its glyph: this is the end of
    // its text.
    let mut ligature_end = None;
    for cluster in run.visual_clusters() {
        let mut text = cluster.text_range();
        // Each glyph must cover the text of its whole ligature, so that text copied from the file
        // is complete.
        if cluster.is_ligature_continuation() {
            if run.is_rtl() {
                ligature_end = ligature_end.max(Some(text.end));
            } else if let Some(first) = glyphs.last().map(|glyph| glyph.text_range.start) {
                let ligature = glyphs.iter_mut().rev().take_while(|glyph| glyph.text_range.start == first);
                ligature.for_each(|glyph| glyph.text_range.end = text.end);
            }
            continue;
        }
        text.end = ligature_end.take().unwrap_or(text.end);
        for glyph in cluster.glyphs() {
            *x += glyph.advance;
            // krilla takes lengths in sizes of the font, and y upwards; parley gives points, and y
            // downwards.
            let [advance, x, y] = [glyph.advance, glyph.x, -glyph.y].map(|length| length / size);
            glyphs.push(KrillaGlyph::new(GlyphId::new(glyph.id), advance, x, y, 0.0, text.clone(), None));
        }
    }
    glyphs
}
