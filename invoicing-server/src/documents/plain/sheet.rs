//! Pages to fill from top to bottom, and the PDF file that they become.
//!
//! A sheet knows cells, rows and page breaks; what is written in them it does not know. Content streams stay
//! uncompressed and ASCII stays legible in them, so that a document can be searched with simple tools.

use pdf_writer::{Content, Pdf, Rect, Ref, Str, TextStr};

use super::font::Font;
use super::win_ansi;
use crate::documents::RenderError;

/// A4 in points (ISO 216).
const PAGE: (f32, f32) = (595.28, 841.89);
/// Blank at the left and right, in points.
pub(super) const MARGIN: f32 = 45.0;
/// Where the text ends at the right.
pub(super) const RIGHT: f32 = PAGE.0 - MARGIN;
const TOP: f32 = PAGE.1 - MARGIN;
const BOTTOM: f32 = 62.0;
const FOOTER: f32 = 36.0;
/// Distance between two lines of text, in sizes.
const LEADING: f32 = 1.3;
/// Rows up to this many lines stay on one page.
const KEPT_LINES: u8 = 4;
/// Room for a heading, a second one and a row that stays on one page, in points.
pub(super) const HEADING_ROOM: f32 = 85.0;
/// No honest document is longer; a text of line breaks only must not fill the memory.
const MAX_PAGES: usize = 10_000;

/// How a cell is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// From the left; broken into several lines where needed.
    Left,
    /// To the right, on one line; printed smaller where needed. For figures.
    Right,
}

/// A text in its place in a row.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    x: f32,
    width: f32,
    align: Align,
    font: Font,
    size: f32,
    text: Vec<u8>,
}

impl Cell {
    /// A cell from `x`, as wide as `width`, in points.
    pub(super) fn new(x: f32, width: f32, text: &str) -> Self {
        Self { x, width, align: Align::Left, font: Font::Regular, size: 9.0, text: win_ansi::encode(text) }
    }

    /// The cell as a column for figures.
    pub(super) fn right(self) -> Self {
        Self { align: Align::Right, ..self }
    }

    /// The cell in bold.
    pub(super) fn bold(self) -> Self {
        Self { font: Font::Bold, ..self }
    }

    /// The cell in another size, in points.
    pub(super) fn size(self, size: f32) -> Self {
        Self { size, ..self }
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        match self.align {
            Align::Left => self.font.wrap(&self.text, self.size, self.width),
            Align::Right => vec![self.text.iter().copied().filter(|byte| *byte != b'\n').collect()],
        }
    }

    /// Writes one line of the cell with its base at `y`.
    fn draw(&self, content: &mut Content, y: f32, line: &[u8]) {
        let natural = self.font.width(line, self.size);
        let (x, size) = match self.align {
            Align::Left => (self.x, self.size),
            Align::Right if natural <= self.width => (self.x + self.width - natural, self.size),
            Align::Right => (self.x, self.size * self.width / natural),
        };
        content.begin_text().set_font(self.font.resource(), size).next_line(hundredths(x), hundredths(y));
        {
            let mut show = content.show_positioned();
            let mut items = show.items();
            // pdf-writer writes a string in hex as soon as one byte is not ASCII.
            for run in line.chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
                items.show(Str(run));
            }
        }
        content.end_text();
    }
}

/// Long fractions make large files.
fn hundredths(points: f32) -> f32 {
    (points * 100.0).round() / 100.0
}

/// Pages that fill from top to bottom.
pub(super) struct Sheet {
    pages: Vec<Content>,
    y: f32,
    repeated: Option<Vec<Cell>>,
}

impl Sheet {
    /// One empty page.
    pub(super) fn new() -> Self {
        Self { pages: vec![Content::new()], y: TOP, repeated: None }
    }

    /// Writes this row now and at the top of every page that follows, until `None` is given.
    pub(super) fn repeat(&mut self, row: Option<Vec<Cell>>) -> Result<(), RenderError> {
        self.repeated = None;
        if let Some(cells) = &row {
            self.head(cells)?;
        }
        self.repeated = row;
        Ok(())
    }

    fn head(&mut self, cells: &[Cell]) -> Result<(), RenderError> {
        self.row(cells)?;
        self.rule();
        Ok(())
    }

    /// Writes cells beside each other, from one top line, and goes below the longest.
    pub(super) fn row(&mut self, cells: &[Cell]) -> Result<(), RenderError> {
        let leading = LEADING * cells.iter().map(|cell| cell.size).fold(0.0, f32::max);
        let lines: Vec<_> = cells.iter().map(Cell::lines).collect();
        let count = lines.iter().map(Vec::len).max().unwrap_or(0);
        if let Ok(count @ ..=KEPT_LINES) = u8::try_from(count) {
            self.keep(leading * f32::from(count))?;
        }
        for index in 0..count {
            self.keep(leading)?;
            self.y -= leading;
            for (cell, lines) in cells.iter().zip(&lines) {
                if let (Some(line), Some(page)) = (lines.get(index), self.pages.last_mut()) {
                    cell.draw(page, self.y, line);
                }
            }
        }
        Ok(())
    }

    /// Leaves some room, in points.
    pub(super) fn gap(&mut self, height: f32) {
        self.y -= height;
    }

    /// Draws a line across the page.
    pub(super) fn rule(&mut self) {
        self.y -= 4.0;
        let y = hundredths(self.y);
        if let Some(page) = self.pages.last_mut() {
            page.set_line_width(0.5).move_to(MARGIN, y).line_to(hundredths(RIGHT), y).stroke();
        }
    }

    /// Goes to the next page unless this much is left on this one, in points.
    pub(super) fn keep(&mut self, height: f32) -> Result<(), RenderError> {
        if self.y - height >= BOTTOM {
            return Ok(());
        }
        if self.pages.len() >= MAX_PAGES {
            return Err(RenderError::new(format!("the document has more than {MAX_PAGES} pages")));
        }
        self.pages.push(Content::new());
        self.y = TOP;
        // The row that is repeated fits any page; without `take` it could ask for another one.
        if let Some(cells) = self.repeated.take() {
            self.head(&cells)?;
            self.repeated = Some(cells);
        }
        Ok(())
    }

    /// The file. `title` names it in a reader's window, `footer` stands on every page beside the page's number.
    pub(super) fn finish(self, title: &str, footer: &str) -> Vec<u8> {
        let mut next = Ref::new(1);
        let (catalog, tree, info) = (next.bump(), next.bump(), next.bump());
        let fonts = Font::ALL.map(|font| (font, next.bump()));
        let pages: Vec<_> = self.pages.into_iter().map(|page| (next.bump(), next.bump(), page)).collect();
        let count = pages.len();

        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree).lang(TextStr("fr-FR"));
        pdf.document_info(info).title(TextStr(title));
        for (font, id) in fonts {
            pdf.type1_font(id)
                .base_font(font.base())
                .encoding_predefined(pdf_writer::Name(b"WinAnsiEncoding"));
        }
        {
            let mut tree = pdf.pages(tree);
            tree.kids(pages.iter().map(|(page, ..)| *page)).count(i32::try_from(count).unwrap_or(i32::MAX));
            let mut resources = tree.resources();
            let mut names = resources.fonts();
            for (font, id) in fonts {
                names.pair(font.resource(), id);
            }
        }
        for (index, (id, content_id, mut content)) in pages.into_iter().enumerate() {
            let number =
                Cell::new(RIGHT - 100.0, 100.0, &format!("Page {} / {count}", index + 1)).right().size(8.0);
            number.draw(&mut content, FOOTER, &number.text);
            let footer = Cell::new(MARGIN, 380.0, footer).size(8.0);
            footer.draw(&mut content, FOOTER, &footer.lines().swap_remove(0));
            pdf.page(id).media_box(Rect::new(0.0, 0.0, PAGE.0, PAGE.1)).parent(tree).contents(content_id);
            pdf.stream(content_id, &content.finish());
        }
        pdf.finish()
    }
}
