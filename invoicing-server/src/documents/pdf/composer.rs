//! The tools that each part of a document uses: texts in columns, columns in blocks.

use std::rc::Rc;

use invoicing_core::{Invalid, Rule};
use krilla::tagging::{Tag, TagKind};

use super::Result;
use super::logo_images::LogoImages;
use super::pagination::{Block, BlockLine, Ink, LEFT, Paginator, RIGHT, Text};
use super::tags::{NodeId, Tags};
use super::typesetter::{Line, Lines, Style, Typesetter};
use crate::documents::RenderError;
use crate::documents::content::Field;
use crate::documents::content::sanitize::{Unfit, Unprintable};

/// Width of the text on a page.
pub(super) const WIDTH: f32 = RIGHT - LEFT;

/// Height of Inter's capitals, in sizes. Text is centred in its line by this height, as readers
/// see capitals first.
const CAPITALS: f32 = 0.727;

/// Maximum number of refused texts that are listed.
const MAX_REFUSED: usize = 100;

/// Look of the headings below the table, and the room above them.
pub(super) const HEADING: Look = Look::new(9.5).bold();
const ABOVE_HEADING: f32 = 16.0;

/// The look of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) style: Style,
    pub(super) ink: Ink,
    /// Distance from one line to the next, in sizes.
    pub(super) leading: f32,
}

impl Look {
    /// Text of a size in points.
    pub(super) const fn new(size: f32) -> Self {
        Self { style: Style { size, bold: false, tabular: false }, ink: Ink::Text, leading: 1.42 }
    }

    pub(super) const fn bold(self) -> Self {
        Self { style: Style { bold: true, ..self.style }, ..self }
    }

    /// The look for figures that stand below each other.
    pub(super) const fn figures(self) -> Self {
        Self { style: Style { tabular: true, ..self.style }, ..self }
    }

    pub(super) const fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }
}

/// The side of its column that a text is aligned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Texts below each other.
#[derive(Debug, Clone)]
pub(super) struct TextColumn {
    x: f32,
    width: f32,
    end: f32,
    slots: Vec<BlockLine>,
}

impl TextColumn {
    /// An empty column, in points from the page's left.
    pub(super) fn new(x: f32, width: f32) -> Self {
        Self { x, width, end: 0.0, slots: Vec::new() }
    }

    /// Leaves room below the lines so far.
    pub(super) fn space(&mut self, height: f32) {
        self.end += height;
    }

    /// Adds lines that were set in the column's width.
    pub(super) fn add(&mut self, lines: &[Rc<Line>], look: Look, side: Side, node: NodeId) {
        let height = look.style.size * look.leading;
        for line in lines {
            let x = match side {
                Side::Left => self.x + line.x,
                Side::Right => self.x + self.width - line.width,
            };
            let baseline = self.end + f32::midpoint(height, look.style.size * CAPITALS);
            let text = Text { x, baseline, line: Rc::clone(line), ink: look.ink, node: Some(node) };
            self.slots.push(BlockLine { top: self.end, height, text });
            self.end += height;
        }
    }
}

/// A block of columns beside each other, with some room above and below them.
pub(super) fn block(columns: impl IntoIterator<Item = TextColumn>, padding: f32) -> Block {
    let mut block = Block { padding, ..Block::default() };
    for column in columns {
        block.height = block.height.max(column.end);
        block.columns.push(column.slots);
    }
    for slot in block.columns.iter_mut().flatten() {
        slot.top += padding;
        slot.text.baseline += padding;
    }
    block.height += 2.0 * padding;
    block
}

/// A document that is being composed.
pub(super) struct Composer<'f> {
    pub(super) set: Typesetter<'f>,
    /// The texts that are refused so far. `None` if the first one ends the rendering.
    pub(super) refused: Option<Vec<Invalid>>,
    pub(super) pages: Paginator<'f>,
    pub(super) tags: Tags,
    pub(super) logos: &'f LogoImages,
}

impl Composer<'_> {
    /// The lines of a text, broken at a width if one is given.
    pub(super) fn lines(
        &mut self,
        field: Field,
        text: &str,
        style: Style,
        width: Option<f32>,
    ) -> Result<Lines> {
        let unfit = match self.try_lines(text, style, width) {
            Ok(lines) => return Ok(lines),
            Err(unfit) => unfit,
        };
        let refusal = Invalid::new(field.to_string(), unfit.rule(field.entered(text)));
        let Some(refused) = &mut self.refused else { return Err(refusal.into()) };
        // A text of the template can be printed, unless it repeats an entered text that has been
        // refused.
        let is_known = matches!(field, Field::Own) || refused.contains(&refusal);
        if !is_known && refused.len() < MAX_REFUSED {
            refused.push(refusal);
        }
        self.set.unprintable = Unprintable::Boxed;
        let lines = self.try_lines(text, style, width);
        self.set.unprintable = Unprintable::Refused;
        lines.map_err(|unfit| RenderError::new(unfit.rule(text)))
    }

    fn try_lines(&mut self, text: &str, style: Style, width: Option<f32>) -> Result<Lines, Unfit> {
        let lines = self.set.lines(text, style, width)?;
        // A text of invisible characters only is refused: an entered text must not vanish from the
        // document.
        let is_empty = lines.iter().all(|line| line.runs.is_empty()) && !text.trim().is_empty();
        if is_empty && self.set.unprintable == Unprintable::Refused {
            return Err(Unfit::Text(Rule::Invisible));
        }
        Ok(lines)
    }

    /// Adds a text to a column.
    pub(super) fn put(
        &mut self,
        column: &mut TextColumn,
        (field, text): (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<()> {
        let lines = self.lines(field, text, look.style, Some(column.width))?;
        column.add(&lines, look, Side::Left, node);
        Ok(())
    }

    /// Adds a figure to a column: right-aligned, on one line, in a smaller size if it is too wide.
    pub(super) fn put_figure(
        &mut self,
        column: &mut TextColumn,
        (field, text): (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<()> {
        let mut lines = self.lines(field, text, look.style, None)?;
        let mut look = look;
        let width = widest(&lines);
        if width > column.width {
            let factor = column.width / width;
            let size = look.style.size * factor;
            // The line height stays the same, so that all figures of a row share a baseline.
            look = Look { style: Style { size, ..look.style }, leading: look.leading / factor, ..look };
            lines = self.lines(field, text, look.style, None)?;
        }
        column.add(&lines, look, Side::Right, node);
        Ok(())
    }

    /// Adds a text to a column, as a separate paragraph.
    pub(super) fn put_in(
        &mut self,
        column: &mut TextColumn,
        text: (Field, &str),
        look: Look,
        parent: NodeId,
    ) -> Result<()> {
        let node = self.tags.add(Some(parent), Tag::P);
        self.put(column, text, look, node)
    }

    /// A heading across the page.
    pub(super) fn heading(&mut self, text: &str) -> Result<()> {
        let heading = self.heading_in(TextColumn::new(LEFT, WIDTH), text, HEADING)?;
        self.pages.push(heading_block([heading], 2.0))
    }

    /// A heading in a column, and its entry in the outline.
    pub(super) fn heading_in(
        &mut self,
        mut column: TextColumn,
        text: &str,
        look: Look,
    ) -> Result<TextColumn> {
        let node = self.tags.add(None, heading(2, text));
        self.tags.outline(node, text.to_owned());
        self.put(&mut column, (Field::Own, text), look, node)?;
        Ok(column)
    }

    /// A text across the page. No page ends with its first line only, or begins with its last line
    /// only.
    pub(super) fn paragraph(&mut self, text: (Field, &str), look: Look, gap: f32) -> Result<()> {
        let node = self.tags.add(None, Tag::P);
        let lines = self.lines(text.0, text.1, look.style, Some(WIDTH))?;
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate() {
            let mut column = TextColumn::new(LEFT, WIDTH);
            column.add(std::slice::from_ref(line), look, Side::Left, node);
            let gap = if index == 0 { gap } else { 0.0 };
            let keeps_with_next = last > 0 && (index == 0 || index + 1 == last);
            self.pages.push(Block { gap, keeps_with_next, ..block([column], 0.0) })?;
        }
        Ok(())
    }
}

/// A block of a heading and the columns beside it. It stays with the next block.
pub(super) fn heading_block(columns: impl IntoIterator<Item = TextColumn>, padding: f32) -> Block {
    Block { gap: ABOVE_HEADING, keeps_with_next: true, ..block(columns, padding) }
}

/// A heading's element.
pub(super) fn heading(level: u16, title: &str) -> TagKind {
    let level = std::num::NonZeroU16::new(level).unwrap_or(std::num::NonZeroU16::MIN);
    Tag::Hn(level, Some(title.to_owned())).into()
}

/// The width of the widest line.
pub(super) fn widest(lines: &[Rc<Line>]) -> f32 {
    lines.iter().map(|line| line.width).fold(0.0, f32::max)
}
