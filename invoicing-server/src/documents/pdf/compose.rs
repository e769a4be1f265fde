//! What the parts of a document are made with: texts in columns, columns in strips.

use std::fmt;
use std::rc::Rc;

use invoicing_core::Invalid;
use krilla::tagging::Tag;
use krilla::tagging::TagKind;

use super::clean::Rule;
use super::flow::{Edge, Flow, Ink, LEFT, MAX_PAGES, Mark, RIGHT, Slot, Strip, TooLong};
use super::tags::{NodeId, Tags};
use super::typeset::{Line, Lines, Style, Typesetter};
use crate::documents::RenderError;

/// Width of the text on a page.
pub(super) const WIDTH: f32 = RIGHT - LEFT;

/// Height of Inter's capitals, in sizes: what the eye takes for the height of a line.
const CAPITALS: f32 = 0.727;

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) style: Style,
    pub(super) ink: Ink,
    /// From one line to the next, in sizes.
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

    /// For figures that stand below each other.
    pub(super) const fn figures(self) -> Self {
        Self { style: Style { tabular: true, ..self.style }, ..self }
    }

    pub(super) const fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }
}

/// Where a text was entered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    /// Nowhere: it is the document's own.
    Own,
    /// In a field of the quote, the company or the client.
    Named(&'static str),
    /// In a field of this line.
    Line(usize, &'static str),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("document"),
            Self::Named(name) => f.write_str(name),
            Self::Line(index, name) => write!(f, "lines[{index}].{name}"),
        }
    }
}

/// Which side of its column a text keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Texts below each other.
#[derive(Debug, Clone)]
pub(super) struct Column {
    x: f32,
    width: f32,
    end: f32,
    slots: Vec<Slot>,
}

impl Column {
    /// An empty column, in points from the page's left.
    pub(super) fn new(x: f32, width: f32) -> Self {
        Self { x, width, end: 0.0, slots: Vec::new() }
    }

    /// Leaves some room below what there is.
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
            self.slots.push(Slot {
                x,
                top: self.end,
                height,
                baseline,
                line: Rc::clone(line),
                ink: look.ink,
                node: Some(node),
            });
            self.end += height;
        }
    }
}

/// A strip of columns beside each other, with some room above and below them.
pub(super) fn strip(columns: impl IntoIterator<Item = Column>, padding: f32) -> Strip {
    let mut strip = Strip { padding, ..Strip::default() };
    for column in columns {
        strip.height = strip.height.max(column.end);
        strip.columns.push(column.slots);
    }
    for slot in strip.columns.iter_mut().flatten() {
        slot.top += padding;
        slot.baseline += padding;
    }
    strip.height += 2.0 * padding;
    strip
}

impl Strip {
    pub(super) fn gap(self, gap: f32) -> Self {
        Self { gap, ..self }
    }

    /// Not the last on its page.
    pub(super) fn kept(self) -> Self {
        Self { keep: true, ..self }
    }

    /// A line across, from one place to another.
    pub(super) fn rule(mut self, (x, end): (f32, f32), edge: Edge, ink: Ink) -> Self {
        self.marks.push(Mark { x, width: end - x, edge, ink });
        self
    }
}

/// A document that is being composed.
pub(super) struct Composer<'f> {
    pub(super) set: Typesetter<'f>,
    pub(super) flow: Flow,
    pub(super) tags: Tags,
}

impl Composer<'_> {
    /// The lines of a text, in a width or however wide they are.
    pub(super) fn lines(
        &mut self,
        field: Field,
        text: &str,
        style: Style,
        width: Option<f32>,
    ) -> Result<Lines, RenderError> {
        let refused = |rule| RenderError::Text(Invalid::new(field.to_string(), rule));
        let lines = self.set.lines(text, style, width).map_err(refused)?;
        // Nothing but characters that cannot be seen: what is entered must not vanish.
        if lines.iter().all(|line| line.runs.is_empty()) && !text.trim().is_empty() {
            return Err(refused(Rule::Borrowed("has nothing that can be seen")));
        }
        Ok(lines)
    }

    /// Adds a text to a column.
    pub(super) fn put(
        &mut self,
        column: &mut Column,
        (field, text): (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<(), RenderError> {
        let lines = self.lines(field, text, look.style, Some(column.width))?;
        column.add(&lines, look, Side::Left, node);
        Ok(())
    }

    /// Adds a figure to a column: at the right, on one line, smaller where it is too wide.
    pub(super) fn put_figure(
        &mut self,
        column: &mut Column,
        (field, text): (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<(), RenderError> {
        let mut lines = self.lines(field, text, look.style, None)?;
        let mut look = look;
        let width = lines.iter().map(|line| line.width).fold(0.0, f32::max);
        if width > column.width {
            let factor = column.width / width;
            let size = look.style.size * factor;
            // The line stays as tall, so that all figures of a row stand on one.
            look = Look { style: Style { size, ..look.style }, leading: look.leading / factor, ..look };
            lines = self.lines(field, text, look.style, None)?;
        }
        column.add(&lines, look, Side::Right, node);
        Ok(())
    }

    /// Adds an element of its own and a text in it to a column.
    pub(super) fn put_in(
        &mut self,
        column: &mut Column,
        text: (Field, &str),
        look: Look,
        parent: NodeId,
        kind: impl Into<TagKind>,
    ) -> Result<(), RenderError> {
        let node = self.tags.add(Some(parent), kind);
        self.put(column, text, look, node)
    }

    /// Adds a strip to the pages.
    pub(super) fn push(&mut self, strip: Strip) -> Result<(), RenderError> {
        self.flow.push(strip).map_err(too_long)
    }

    /// A heading that stays with what follows, and its entry in the outline.
    pub(super) fn heading(&mut self, text: &str, gap: f32, look: Look) -> Result<(), RenderError> {
        let node = self.tags.add(None, heading(2, text));
        self.tags.outline(node, 1, text.to_owned());
        let mut column = Column::new(LEFT, WIDTH);
        self.put(&mut column, (Field::Own, text), look, node)?;
        self.push(strip([column], 2.0).gap(gap).kept())
    }

    /// A text across the page, of which no single line is left at the foot or the top of a page.
    pub(super) fn paragraph(&mut self, text: (Field, &str), look: Look, gap: f32) -> Result<(), RenderError> {
        let node = self.tags.add(None, Tag::P);
        let lines = self.lines(text.0, text.1, look.style, Some(WIDTH))?;
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate() {
            let mut column = Column::new(LEFT, WIDTH);
            column.add(std::slice::from_ref(line), look, Side::Left, node);
            let strip = strip([column], 0.0).gap(if index == 0 { gap } else { 0.0 });
            let keep = last > 0 && (index == 0 || index + 1 == last);
            self.push(if keep { strip.kept() } else { strip })?;
        }
        Ok(())
    }
}

/// A heading's element.
pub(super) fn heading(level: u16, title: &str) -> TagKind {
    let level = std::num::NonZeroU16::new(level).unwrap_or(std::num::NonZeroU16::MIN);
    Tag::Hn(level, Some(title.to_owned())).into()
}

pub(super) fn too_long(_: TooLong) -> RenderError {
    RenderError::Text(Invalid::new("lines", format!("fill more than {MAX_PAGES} pages")))
}
