//! Page breaks.
//!
//! A document is a sequence of blocks: a heading, a table row, a line of a paragraph. A block may
//! have to stay on one page with the next one. Such a chain moves to the next page as a whole.
//!
//! A chain that is taller than a page has to break. It begins on the first page with enough room.
//! Then its tallest block is split between two lines. A chain of short blocks only is a list, and
//! breaks between two of them.

use std::rc::Rc;

use invoicing_core::{Invalid, Rule};
use krilla::image::Image;

use super::Result;
use super::tags::NodeId;
use super::typesetter::Line;
use crate::documents::RenderDeadline;

/// A4 in points (ISO 216).
pub(super) const PAGE: (f32, f32) = (595.28, 841.89);
/// Left edge of the text.
pub(super) const LEFT: f32 = 50.0;
/// Right edge of the text.
pub(super) const RIGHT: f32 = PAGE.0 - LEFT;
pub(super) const TOP: f32 = 50.0;
const BOTTOM: f32 = PAGE.1 - 58.0;
/// Shorter blocks are never split. A chain that fills a page with shorter ones is a list, and
/// breaks between two.
const MIN_SPLIT_HEIGHT: f32 = (BOTTOM - TOP) / 10.0;
/// A height below that of any line. A block that would fit whole gets this much less room, which
/// moves its last line on.
const LESS_THAN_A_LINE: f32 = 1.0;
/// Largest gap between a repeated block at the top of a page and the first block below it.
const BELOW_REPEATED: f32 = 5.0;
/// Rows of a list for which a page must have room so that the list begins on it.
const MIN_ROWS: usize = 3;
/// Maximum number of pages of a document, far more than any real quote has. Bounds the memory that
/// a text of line breaks can take.
const MAX_PAGES: usize = 2_000;

/// Colours by their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    /// Secondary text.
    Muted,
    Accent,
    /// Lines between rows.
    Hairline,
}

/// A line of text in a block. Heights count from the top of the block.
#[derive(Debug, Clone)]
pub(super) struct BlockLine {
    pub(super) top: f32,
    pub(super) height: f32,
    pub(super) text: Text,
}

/// A filled rectangle in a block: a horizontal rule, or a side of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRule {
    pub(super) x: f32,
    pub(super) width: f32,
    pub(super) edge: Edge,
    pub(super) ink: Ink,
}

/// An image in a block. Its top counts from the top of the block.
#[derive(Debug, Clone)]
pub(super) struct BlockImage {
    pub(super) x: f32,
    pub(super) top: f32,
    /// Width and height in points.
    pub(super) size: (f32, f32),
    pub(super) image: Image,
    pub(super) node: NodeId,
}

/// The edge of the block that a rule lies on, with the rule's thickness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Edge {
    Top(f32),
    Bottom(f32),
    /// A side from the top to the bottom, in each part of a split block.
    Side,
}

/// A part of a document that stays on one page if it can.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    /// Room above the block. Dropped at the top of a page.
    pub(super) gap: f32,
    pub(super) height: f32,
    /// True if the block stays on one page with the next block, if there is one.
    pub(super) keeps_with_next: bool,
    /// True if the block is repeated at the top of every page that follows, until the repetition is
    /// ended.
    pub(super) repeats: bool,
    /// The block at the top of every page that follows, below the repeated block, until another
    /// block runs on: the name of a lot whose lines go on.
    pub(super) runs_on: Option<Box<Self>>,
    /// The columns in reading order, each with its lines from top to bottom.
    pub(super) columns: Vec<Vec<BlockLine>>,
    pub(super) marks: Vec<BlockRule>,
    pub(super) image: Option<BlockImage>,
    /// Room below the lowest line, in each part of a split block too.
    pub(super) padding: f32,
}

impl Block {
    /// The block with a line across, from one place to another.
    pub(super) fn rule(mut self, (x, end): (f32, f32), edge: Edge, ink: Ink) -> Self {
        self.marks.push(BlockRule { x, width: end - x, edge, ink });
        self
    }

    /// Splits off a first part that is at most as tall as `room`, and keeps the rest. `None` if
    /// either part would have no line; the block is unchanged then.
    fn split_first(&mut self, room: f32) -> Option<Self> {
        let room = room.min(self.height - LESS_THAN_A_LINE);
        let fits = |column: &Vec<BlockLine>| {
            column.partition_point(|line| line.top + line.height + self.padding <= room)
        };
        let taken: Vec<usize> = self.columns.iter().map(fits).collect();
        let whole = self.columns.iter().zip(&taken).all(|(column, taken)| column.len() == *taken);
        if whole || taken.iter().all(|taken| *taken == 0) {
            return None;
        }
        let image = self.image.take();
        let mut first = Self { gap: self.gap, padding: self.padding, image, ..Self::default() };
        for (column, taken) in self.columns.iter_mut().zip(taken) {
            first.columns.push(column.drain(..taken).collect());
            // The rest starts at the top of its new block.
            let up = column.first().map_or(0.0, |line| line.top - self.padding);
            for line in column {
                line.top -= up;
                line.text.baseline -= up;
            }
        }
        // The rule on top stays with the first part, the one at the bottom with the rest; sides go
        // with both.
        first.marks =
            self.marks.iter().filter(|mark| !matches!(mark.edge, Edge::Bottom(_))).copied().collect();
        self.marks.retain(|mark| !matches!(mark.edge, Edge::Top(_)));
        for part in [&mut first, &mut *self] {
            let ends =
                part.columns.iter().filter_map(|column| column.last()).map(|line| line.top + line.height);
            part.height = ends.fold(0.0, f32::max) + part.padding;
        }
        self.gap = 0.0;
        Some(first)
    }
}

/// A line of text on a page.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) x: f32,
    pub(super) baseline: f32,
    pub(super) line: Rc<Line>,
    pub(super) ink: Ink,
    /// The element of the structure with this text; `None` for a repeated line, which is not read
    /// aloud again.
    pub(super) node: Option<NodeId>,
}

/// An image on a page.
#[derive(Debug)]
pub(super) struct PlacedImage {
    pub(super) x: f32,
    pub(super) y: f32,
    /// Width and height in points.
    pub(super) size: (f32, f32),
    pub(super) image: Image,
    pub(super) node: NodeId,
}

/// A filled rectangle on a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) ink: Ink,
}

/// The content of a page, in reading order.
#[derive(Debug, Default)]
pub(super) struct PdfPage {
    pub(super) texts: Vec<Text>,
    pub(super) rectangles: Vec<Rectangle>,
    pub(super) images: Vec<PlacedImage>,
    /// The blocks and parts of blocks, each with its index in the document and its top. For tests
    /// of page breaks.
    #[cfg(test)]
    pub(super) blocks: Vec<(usize, f32, Block)>,
}

/// Fills pages with blocks, from top to bottom.
#[derive(Debug)]
pub(super) struct Paginator<'d> {
    pages: Vec<PdfPage>,
    y: f32,
    /// True if the page has no block yet, apart from a repeated one.
    page_is_empty: bool,
    /// The chain so far: blocks that wait for the next one, with which they share a page.
    chain: Vec<Block>,
    repeated: Option<Block>,
    runs_on: Option<Block>,
    blocks: usize,
    deadline: RenderDeadline<'d>,
}

impl<'d> Paginator<'d> {
    pub(super) fn new(deadline: RenderDeadline<'d>) -> Self {
        let pages = vec![PdfPage::default()];
        Self {
            pages,
            y: TOP,
            page_is_empty: true,
            chain: Vec::new(),
            repeated: None,
            runs_on: None,
            blocks: 0,
            deadline,
        }
    }

    /// Adds a block below the others.
    pub(super) fn push(&mut self, block: Block) -> Result<()> {
        let keeps_with_next = block.keeps_with_next;
        self.chain.push(block);
        if keeps_with_next { Ok(()) } else { self.place_chain() }
    }

    /// Ends the repetition of a block, for pages that start from now on.
    pub(super) fn end_repetition(&mut self) -> Result<()> {
        self.place_chain()?;
        (self.repeated, self.runs_on) = (None, None);
        Ok(())
    }

    /// Replaces the block at the top of the pages that follow, unless a chain has begun, whose
    /// blocks do so.
    pub(super) fn run_on(&mut self, block: Option<Block>) {
        if self.chain.is_empty() {
            self.runs_on = block.map(unread);
        }
    }

    /// The filled pages.
    pub(super) fn finish(&mut self) -> Result<Vec<PdfPage>> {
        self.place_chain()?;
        Ok(std::mem::take(&mut self.pages))
    }

    fn place_chain(&mut self) -> Result<()> {
        let mut chain = std::mem::take(&mut self.chain);
        // A chain that fits a page is never broken. A taller one begins on this page if enough of
        // it fits.
        if !self.page_is_empty
            && self.count_fitting(&mut chain) < chain.len()
            && (self.fits_a_page(&chain) || !self.can_begin(&mut chain))
        {
            self.next_page()?;
        }
        while self.count_fitting(&mut chain) < chain.len() {
            self.fill_page(&mut chain);
            self.next_page()?;
        }
        for block in chain {
            self.place(block);
        }
        Ok(())
    }

    /// The number of blocks that the page has room for.
    fn count_fitting(&self, chain: &mut [Block]) -> usize {
        // A gap at the top of a page is wasted room. A gap below a repeated block sets the first
        // block off.
        if let (true, Some(first)) = (self.page_is_empty, chain.first_mut()) {
            first.gap = if self.repeated.is_some() { first.gap.min(BELOW_REPEATED) } else { 0.0 };
        }
        let mut end = self.y;
        let fits = |block: &&Block| {
            end += block.gap + block.height;
            end <= BOTTOM
        };
        chain.iter().take_while(fits).count()
    }

    /// True if an empty page holds all blocks of a chain.
    fn fits_a_page(&self, chain: &[Block]) -> bool {
        let repeated = [&self.repeated, &self.runs_on].into_iter().flatten();
        let repeated: f32 = repeated.map(|block| block.height + BELOW_REPEATED).sum();
        let below: f32 = chain.iter().skip(1).map(|block| block.gap).sum();
        let height: f32 = chain.iter().map(|block| block.height).sum();
        repeated + below + height <= BOTTOM - TOP
    }

    /// True if the page has room for the beginning of a chain that is taller than any page: some
    /// lines of the block that is split, or some rows of a list.
    fn can_begin(&self, chain: &mut [Block]) -> bool {
        let fitting = self.count_fitting(chain);
        match tallest_first(chain, fitting).first() {
            Some(at) => self.room(chain, *at) >= MIN_SPLIT_HEIGHT,
            None => fitting >= MIN_ROWS,
        }
    }

    /// The height of the page that is left for a block of a chain, below the blocks above it.
    fn room(&self, chain: &[Block], at: usize) -> f32 {
        let above: f32 = chain[..at].iter().map(|block| block.gap + block.height).sum();
        BOTTOM - self.y - above - chain[at].gap
    }

    /// Fills the rest of a page from a chain that is taller than it.
    fn fill_page(&mut self, chain: &mut Vec<Block>) {
        let fitting = self.count_fitting(chain);
        let split = tallest_first(chain, fitting).into_iter().find_map(|at| {
            let room = self.room(chain, at);
            chain[at].split_first(room).map(|part| (at, part))
        });
        // Without a split the chain is a list, and breaks at the end of the page. At least one
        // block goes on the page: a block that fits on no page would otherwise never be placed.
        let whole = split.as_ref().map_or(fitting.max(1), |(at, _)| *at);
        for block in chain.drain(..whole) {
            self.place(block);
        }
        if let Some((_, part)) = split {
            self.draw(&part);
        }
    }

    fn place(&mut self, block: Block) {
        self.draw(&block);
        self.page_is_empty = false;
        self.blocks += 1;
        if block.repeats {
            self.repeated = Some(unread(Block { gap: 0.0, ..block }));
        } else if let Some(block) = block.runs_on {
            self.runs_on = Some(unread(*block));
        }
    }

    fn draw(&mut self, block: &Block) {
        let top = self.y + block.gap;
        let bottom = top + block.height;
        let Some(page) = self.pages.last_mut() else { return };
        page.texts.extend(
            block
                .columns
                .iter()
                .flatten()
                .map(|line| Text { baseline: top + line.text.baseline, ..line.text.clone() }),
        );
        page.rectangles.extend(block.marks.iter().map(|mark| {
            let (y, height) = match mark.edge {
                Edge::Top(height) => (top, height),
                Edge::Bottom(height) => (bottom - height, height),
                Edge::Side => (top, block.height),
            };
            Rectangle { x: mark.x, y, width: mark.width, height, ink: mark.ink }
        }));
        page.images.extend(block.image.clone().map(|BlockImage { x, top: below, size, image, node }| {
            PlacedImage { x, y: top + below, size, image, node }
        }));
        #[cfg(test)]
        page.blocks.push((self.blocks, top, block.clone()));
        self.y = bottom;
    }

    fn next_page(&mut self) -> Result<()> {
        self.deadline.check()?;
        if self.pages.len() == MAX_PAGES {
            return Err(Invalid::new("lines", Rule::TooManyPages { max: MAX_PAGES }).into());
        }
        self.pages.push(PdfPage::default());
        (self.y, self.page_is_empty) = (TOP, true);
        for block in [self.repeated.clone(), self.runs_on.clone()].into_iter().flatten() {
            self.draw(&block);
        }
        Ok(())
    }
}

/// A block that is visible on further pages, but no part of the structure again.
fn unread(mut block: Block) -> Block {
    block.columns.iter_mut().flatten().for_each(|line| line.text.node = None);
    block
}

/// The blocks of a chain that may be split, up to the first that does not fit, which is the last
/// one that can be reached on this page. Splitting the tallest loses the least: the others, such as
/// a heading and its row, stay whole.
fn tallest_first(chain: &[Block], fitting: usize) -> Vec<usize> {
    let mut tall: Vec<usize> = (0..=fitting).filter(|at| chain[*at].height > MIN_SPLIT_HEIGHT).collect();
    tall.sort_by(|a, b| chain[*b].height.total_cmp(&chain[*a].height));
    tall
}
