//! From a text to lines of glyphs.
//!
//! Owns shaping, the font of each cluster, direction and line breaking, all with parley. Knows neither pages nor the
//! meaning of a text. A character without a glyph in any font is an error, never an empty box.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use krilla::text::{Font, GlyphId, KrillaGlyph};
use parley::layout::{Alignment, AlignmentOptions, Layout, Run as ParleyRun};
use parley::style::{FontFamily, FontFeature, FontFeatures, OverflowWrap, StyleProperty};
use parley::{FontContext, LayoutContext};

use super::fonts::{BOLD, Fonts, REGULAR};
use crate::documents::content::sanitize::{Rule, sanitize, unprintable};

/// Texts up to this length in bytes are cached, because units, rates and amounts repeat in a quote.
const MAX_CACHED: usize = 48;

/// Switches contextual alternates off. Inter would draw `->` as an arrow and `2x4` as `2×4`, but a document shows the
/// text as entered.
const NO_CONTEXTUAL_ALTERNATES: FontFeature = FontFeature::new(parley::setting::Tag::new(b"calt"), 0);
/// Makes all figures equally wide.
const TABULAR: FontFeature = FontFeature::new(parley::setting::Tag::new(b"tnum"), 1);

/// How a text is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// In points.
    pub(super) size: f32,
    pub(super) bold: bool,
    /// Whether all figures have the same width, for columns of numbers.
    pub(super) tabular: bool,
}

/// One line of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// The paragraph that the line is from.
    pub(super) text: Rc<str>,
    pub(super) runs: Vec<Run>,
    /// Left edge within the given width. Not 0 for text from right to left.
    pub(super) x: f32,
    /// Without trailing spaces.
    pub(super) width: f32,
}

/// Glyphs of one font.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) font: Font,
    /// From the line's beginning.
    pub(super) x: f32,
    pub(super) size: f32,
    /// Each with its text as bytes of the paragraph.
    pub(super) glyphs: Vec<KrillaGlyph>,
}

/// Typesets texts. One per document.
pub(super) struct Typesetter<'f> {
    fonts: &'f Fonts,
    context: FontContext,
    layouts: LayoutContext<()>,
    layout: Layout<()>,
    /// Lines of short texts, by size, width and flags, then by text.
    cache: HashMap<[u32; 3], HashMap<String, Lines>>,
}

/// The lines of a text. Equal texts share them.
pub(super) type Lines = Vec<Rc<Line>>;

impl<'f> Typesetter<'f> {
    pub(super) fn new(fonts: &'f Fonts) -> Self {
        Self {
            fonts,
            context: fonts.context.clone(),
            layouts: LayoutContext::new(),
            layout: Layout::new(),
            cache: HashMap::new(),
        }
    }

    /// Breaks a text into lines of at most this width in points. Without a width, only line breaks of the text count.
    ///
    /// Several empty lines become one, and empty lines at the end are dropped.
    pub(super) fn lines(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Rule> {
        let mut lines = Vec::new();
        for paragraph in sanitize(text)?.trim_end().split('\n').map(str::trim_end) {
            if !paragraph.is_empty() {
                lines.extend(self.cached(paragraph, style, width)?);
            } else if lines.last().is_some_and(|line: &Rc<Line>| !line.runs.is_empty()) {
                lines.push(Rc::default());
            }
        }
        Ok(lines)
    }

    /// The lines of a paragraph, from the cache if it is short.
    fn cached(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Rule> {
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

    fn paragraph(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Rule> {
        self.lay_out(text, style, width);
        let paragraph: Rc<str> = text.into();
        let lines = self.layout.lines().map(|line| self.line(&line, &paragraph).map(Rc::new));
        let lines: Result<Lines, _> = lines.collect();
        lines.map_err(|cluster| unprintable(self.missing(&text[cluster], style)))
    }

    /// The line as it is drawn. `Err` is the range of text without a glyph.
    fn line(&self, line: &parley::layout::Line<'_, ()>, text: &Rc<str>) -> Result<Line, Range<usize>> {
        let metrics = line.metrics();
        let mut runs = Vec::new();
        let mut x = 0.0;
        for run in line.runs() {
            let begin = x;
            let glyphs = glyphs(&run, &mut x)?;
            if !glyphs.is_empty() {
                let font = self.fonts.faces[&run.font().data.id()].clone();
                runs.push(Run { font, x: begin, size: run.font_size(), glyphs });
            }
        }
        let width = metrics.advance - metrics.trailing_whitespace;
        Ok(Line { text: Rc::clone(text), runs, x: metrics.offset, width })
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
        // A word wider than its column breaks inside, or it would run into the next column.
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::Anywhere));
        builder.build_into(&mut self.layout, text);
        self.layout.break_all_lines(width);
        self.layout.align(Alignment::Start, AlignmentOptions::default());
    }

    /// The character of a cluster to report: the first without a glyph even alone. Otherwise the last one, which no font
    /// can combine with those before it.
    fn missing(&mut self, cluster: &str, style: Style) -> char {
        let mut alone = [0; 4];
        let lacking = cluster.chars().find(|c| {
            self.lay_out(c.encode_utf8(&mut alone), style, None);
            self.layout.lines().any(|line| line.runs().any(|run| glyphs(&run, &mut 0.0).is_err()))
        });
        lacking.or(cluster.chars().last()).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// The glyphs of a run from left to right; advances `x` to the end of the run. `Err` is the range of text without a
/// glyph.
fn glyphs(run: &ParleyRun<'_, ()>, x: &mut f32) -> Result<Vec<KrillaGlyph>, Range<usize>> {
    let size = run.font_size();
    let mut glyphs = Vec::<KrillaGlyph>::new();
    // From right to left, the continuations of a ligature come before its glyph: this is the end of its text.
    let mut ligature_end = None;
    for cluster in run.visual_clusters() {
        let mut text = cluster.text_range();
        // Each glyph must cover the text of its whole ligature, so that text copied from the file is complete.
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
            // Glyph 0 is the empty box of a font.
            if glyph.id == 0 {
                return Err(text);
            }
            *x += glyph.advance;
            // krilla takes lengths in sizes of the font, and y upwards; parley gives points, and y downwards.
            let [advance, x, y] = [glyph.advance, glyph.x, -glyph.y].map(|length| length / size);
            glyphs.push(KrillaGlyph::new(GlyphId::new(glyph.id), advance, x, y, 0.0, text.clone(), None));
        }
    }
    Ok(glyphs)
}
