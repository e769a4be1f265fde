//! From a text to lines of glyphs.
//!
//! Owns shaping, the choice of a font for each cluster, direction and line breaking, all by way of parley. It knows
//! neither pages nor what a text means. A character that no font has is an error, never an empty box.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use krilla::text::GlyphId;
use parley::layout::{Alignment, AlignmentOptions, Layout, Run as ParleyRun};
use parley::style::{FontFamily, FontFeature, FontFeatures, OverflowWrap, StyleProperty};
use parley::{FontContext, LayoutContext};

use super::clean::{Rule, clean, unprintable};
use super::fonts::{BOLD, Fonts, REGULAR};

/// Texts up to this length are kept: units, rates and amounts come again and again.
const KEPT: usize = 48;

/// Inter draws `->` as an arrow and `2x4` as `2×4`; a document shows what was written.
const NO_SURPRISES: FontFeature = FontFeature::new(parley::setting::Tag::new(b"calt"), 0);
/// All figures are equally wide.
const TABULAR: FontFeature = FontFeature::new(parley::setting::Tag::new(b"tnum"), 1);

/// How a text is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// In points.
    pub(super) size: f32,
    pub(super) bold: bool,
    /// Figures stand below each other.
    pub(super) tabular: bool,
}

/// One line of a text.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The paragraph that the line is from.
    pub(super) text: Rc<str>,
    pub(super) runs: Vec<Run>,
    /// Where the line begins in the width that was given: not at 0 where it is written from the right.
    pub(super) x: f32,
    /// Without spaces at its end.
    pub(super) width: f32,
}

/// Glyphs of one font.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) face: usize,
    /// From the line's beginning.
    pub(super) x: f32,
    pub(super) size: f32,
    pub(super) glyphs: Vec<Glyph>,
}

/// A glyph. Lengths are in sizes of the font.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    id: u32,
    advance: f32,
    x: f32,
    /// Upwards from the baseline.
    pub(super) y: f32,
    /// What it stands for, in bytes of the paragraph.
    start: u32,
    end: u32,
}

impl krilla::text::Glyph for Glyph {
    fn glyph_id(&self) -> GlyphId {
        GlyphId::new(self.id)
    }

    fn text_range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    fn x_advance(&self, size: f32) -> f32 {
        self.advance * size
    }

    fn x_offset(&self, size: f32) -> f32 {
        self.x * size
    }

    fn y_offset(&self, size: f32) -> f32 {
        self.y * size
    }

    fn y_advance(&self, _: f32) -> f32 {
        0.0
    }

    fn location(&self) -> Option<krilla::surface::Location> {
        None
    }
}

/// Sets texts. One per document.
pub(super) struct Typesetter<'f> {
    fonts: &'f Fonts,
    context: FontContext,
    layouts: LayoutContext<()>,
    layout: Layout<()>,
    /// By size, width and flags, then by text.
    kept: HashMap<[u32; 3], HashMap<String, SharedLines>>,
}

/// The lines of a text; texts that are the same share them.
pub(super) type Lines = Vec<Rc<Line>>;
type SharedLines = Rc<[Rc<Line>]>;

impl<'f> Typesetter<'f> {
    pub(super) fn new(fonts: &'f Fonts) -> Self {
        Self {
            fonts,
            context: fonts.context(),
            layouts: LayoutContext::new(),
            layout: Layout::new(),
            kept: HashMap::new(),
        }
    }

    /// Breaks a text into lines of at most this width, in points; without one only where the text itself breaks.
    ///
    /// Of several empty lines one is kept, and none at the end.
    pub(super) fn lines(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Rule> {
        let mut lines = Vec::new();
        for paragraph in clean(text)?.trim_end().split('\n').map(str::trim_end) {
            if !paragraph.is_empty() {
                lines.extend(self.kept(paragraph, style, width)?.iter().map(Rc::clone));
            } else if lines.last().is_some_and(|line: &Rc<Line>| !line.runs.is_empty()) {
                lines.push(Rc::new(Line { text: "".into(), runs: Vec::new(), x: 0.0, width: 0.0 }));
            }
        }
        Ok(lines)
    }

    /// The lines of a paragraph; those of a short one are kept.
    fn kept(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<SharedLines, Rule> {
        if text.len() > KEPT {
            return Ok(self.paragraph(text, style, width)?.into());
        }
        let flags = u32::from(style.bold) | u32::from(style.tabular) << 1;
        let style_key = [style.size.to_bits(), width.unwrap_or(f32::MAX).to_bits(), flags];
        if let Some(lines) = self.kept.get(&style_key).and_then(|kept| kept.get(text)) {
            return Ok(Rc::clone(lines));
        }
        let lines: SharedLines = self.paragraph(text, style, width)?.into();
        self.kept.entry(style_key).or_default().insert(text.to_owned(), Rc::clone(&lines));
        Ok(lines)
    }

    fn paragraph(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Rule> {
        self.lay_out(text, style, width);
        let paragraph: Rc<str> = text.into();
        let lines = self.layout.lines().map(|line| self.line(&line, &paragraph).map(Rc::new));
        match lines.collect() {
            Ok(lines) => Ok(lines),
            Err(cluster) => Err(unprintable(self.missing(&text[cluster], style))),
        }
    }

    /// The line as it is drawn. `Err` is the text that has no glyph.
    fn line(&self, line: &parley::layout::Line<'_, ()>, text: &Rc<str>) -> Result<Line, Range<usize>> {
        let metrics = line.metrics();
        let mut runs = Vec::new();
        let mut x = 0.0;
        for run in line.runs() {
            let begin = x;
            let glyphs = glyphs(&run, &mut x)?;
            if !glyphs.is_empty() {
                let face = self.fonts.face(run.font().data.id()).expect("a registered font");
                runs.push(Run { face, x: begin, size: run.font_size(), glyphs });
            }
        }
        let width = metrics.advance - metrics.trailing_whitespace;
        Ok(Line { text: Rc::clone(text), runs, x: metrics.offset, width })
    }

    fn lay_out(&mut self, text: &str, style: Style, width: Option<f32>) {
        let features: &[FontFeature] = if style.tabular { &[NO_SURPRISES, TABULAR] } else { &[NO_SURPRISES] };
        let families = FontFamily::List(Cow::Borrowed(self.fonts.families()));
        let mut builder = self.layouts.ranged_builder(&mut self.context, text, 1.0, false);
        builder.push_default(StyleProperty::FontFamily(families));
        builder.push_default(StyleProperty::FontSize(style.size));
        builder.push_default(StyleProperty::FontWeight(if style.bold { BOLD } else { REGULAR }));
        builder.push_default(StyleProperty::FontFeatures(FontFeatures::List(Cow::Borrowed(features))));
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::Anywhere));
        builder.build_into(&mut self.layout, text);
        self.layout.break_all_lines(width);
        self.layout.align(Alignment::Start, AlignmentOptions::default());
    }

    /// Which character of a cluster is to blame: the first that has no glyph even alone, otherwise the last, which no
    /// font has together with the ones before it.
    fn missing(&mut self, cluster: &str, style: Style) -> char {
        let mut alone = [0; 4];
        let lacking = cluster.chars().find(|c| {
            self.lay_out(c.encode_utf8(&mut alone), style, None);
            self.layout.lines().any(|line| line.runs().any(|run| glyphs(&run, &mut 0.0).is_err()))
        });
        lacking.or(cluster.chars().last()).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// The glyphs of a run from left to right; `x` goes to its end. `Err` is the text that has no glyph.
fn glyphs(run: &ParleyRun<'_, ()>, x: &mut f32) -> Result<Vec<Glyph>, Range<usize>> {
    let size = run.font_size();
    let mut glyphs = Vec::<Glyph>::new();
    // The end of a ligature whose glyph is still to come, as in text from right to left.
    let mut ligature_end = None;
    for cluster in run.visual_clusters() {
        let text = cluster.text_range();
        let (start, end) = (offset(text.start), offset(text.end));
        if cluster.is_ligature_continuation() {
            if run.is_rtl() {
                ligature_end = ligature_end.max(Some(end));
            } else if let Some(first) = glyphs.last().map(|glyph| glyph.start) {
                glyphs
                    .iter_mut()
                    .rev()
                    .take_while(|glyph| glyph.start == first)
                    .for_each(|glyph| glyph.end = end);
            }
            continue;
        }
        let end = ligature_end.take().unwrap_or(end);
        for glyph in cluster.glyphs() {
            if glyph.id == 0 {
                return Err(start as usize..end as usize);
            }
            *x += glyph.advance;
            // Upwards here, downwards in the layout.
            let [advance, x, y] = [glyph.advance, glyph.x, -glyph.y].map(|length| length / size);
            glyphs.push(Glyph { id: glyph.id, advance, x, y, start, end });
        }
    }
    Ok(glyphs)
}

/// A place in a paragraph; `clean` has bounded its length.
fn offset(byte: usize) -> u32 {
    u32::try_from(byte).unwrap_or(u32::MAX)
}
