//! Pages that fill from top to bottom.
//!
//! A document is a sequence of strips: a heading, a row, a line of a paragraph. One that is kept with the next is never
//! left behind it, and none is torn, unless what is kept together is taller than a page: then the tallest of it is torn.
//! Only a list, which has no tall strip, goes on over the page between any two. What a strip says is not known here.

use std::rc::Rc;

use super::tags::NodeId;
use super::typeset::Line;

/// A4 in points (ISO 216).
pub(super) const PAGE: (f32, f32) = (595.28, 841.89);
/// Left edge of the text.
pub(super) const LEFT: f32 = 50.0;
/// Right edge of the text.
pub(super) const RIGHT: f32 = PAGE.0 - LEFT;
const TOP: f32 = 50.0;
const BOTTOM: f32 = PAGE.1 - 58.0;
/// No shorter strip is torn. A page of shorter ones is a list: a heading and a text have a taller one.
const TORN: f32 = (BOTTOM - TOP) / 10.0;
/// Less than the height of any line: so much less room leaves the last line of a strip over.
const LITTLE: f32 = 1.0;
/// Most room between what is repeated at the top of a page and the first strip.
const BELOW_REPEATED: f32 = 5.0;
/// No honest quote is longer, and a text of line breaks only must not fill the memory.
pub(super) const MAX_PAGES: usize = 2_000;

/// Colours by their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    /// What is said in passing.
    Muted,
    Accent,
    /// Lines between rows.
    Hairline,
}

/// A line of text in a strip; lengths from the strip's top left.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) x: f32,
    pub(super) top: f32,
    pub(super) height: f32,
    pub(super) baseline: f32,
    pub(super) line: Rc<Line>,
    pub(super) ink: Ink,
    /// Where it belongs in the structure; none for what is repeated only to be seen.
    pub(super) node: Option<NodeId>,
}

/// A filled rectangle in a strip: a rule, or a side of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) x: f32,
    pub(super) width: f32,
    pub(super) edge: Edge,
    pub(super) ink: Ink,
}

/// Where in its strip a mark stands, and how tall it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Edge {
    Top(f32),
    Bottom(f32),
    /// From the top to the bottom, in each part of a torn strip.
    Side,
}

/// What stays together.
#[derive(Debug, Clone, Default)]
pub(super) struct Strip {
    /// Room above, which the top of a page does not need.
    pub(super) gap: f32,
    pub(super) height: f32,
    /// Never the last on its page while there is a next.
    pub(super) keep: bool,
    /// From here on stands at the top of every further page.
    pub(super) repeats: bool,
    /// Each filled from its top; in reading order.
    pub(super) columns: Vec<Vec<Slot>>,
    pub(super) marks: Vec<Mark>,
    /// Room below the lowest slot, which a part of a torn strip has too.
    pub(super) padding: f32,
}

impl Strip {
    /// The strip as it is repeated: to be seen, but no part of the structure.
    fn repeated(mut strip: Self) -> Self {
        strip.columns.iter_mut().flatten().for_each(|slot| slot.node = None);
        Self { gap: 0.0, ..strip }
    }

    /// Tears the strip so that the first part is at most as tall as `room`. `None`, and it stays as it is, where a part
    /// would be without a line.
    fn tear(&mut self, room: f32) -> Option<Self> {
        let room = room.min(self.height - LITTLE);
        let fits =
            |column: &Vec<Slot>| column.partition_point(|slot| slot.top + slot.height + self.padding <= room);
        let taken: Vec<usize> = self.columns.iter().map(fits).collect();
        let whole = self.columns.iter().zip(&taken).all(|(column, taken)| column.len() == *taken);
        if whole || taken.iter().all(|taken| *taken == 0) {
            return None;
        }
        let mut first = Self { gap: self.gap, padding: self.padding, ..Self::default() };
        for (column, taken) in self.columns.iter_mut().zip(taken) {
            let rest = column.split_off(taken);
            first.columns.push(std::mem::replace(column, rest));
            let up = column.first().map_or(0.0, |slot| slot.top - self.padding);
            for slot in column {
                slot.top -= up;
                slot.baseline -= up;
            }
        }
        first.marks =
            self.marks.iter().filter(|mark| !matches!(mark.edge, Edge::Bottom(_))).copied().collect();
        self.marks.retain(|mark| !matches!(mark.edge, Edge::Top(_)));
        for part in [&mut first, &mut *self] {
            let ends =
                part.columns.iter().filter_map(|column| column.last()).map(|slot| slot.top + slot.height);
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
    pub(super) node: Option<NodeId>,
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

/// Where a strip, or a part of one, was placed: what the tests check page breaks with.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Its number in the order of the document.
    pub(super) strip: usize,
    pub(super) top: f32,
    pub(super) bottom: f32,
    pub(super) keep: bool,
    pub(super) repeated: bool,
}

/// What stands on a page, in reading order.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) texts: Vec<Text>,
    pub(super) rectangles: Vec<Rectangle>,
    #[cfg(test)]
    pub(super) extents: Vec<Extent>,
}

/// The document has more than [`MAX_PAGES`] pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// Pages that are being filled.
#[derive(Debug)]
pub(super) struct Flow {
    pages: Vec<Page>,
    y: f32,
    /// Nothing stands on the page yet but what is repeated.
    fresh: bool,
    /// Strips that wait for the one that they are kept with.
    waiting: Vec<Strip>,
    repeated: Option<Strip>,
    strips: usize,
}

impl Flow {
    pub(super) fn new() -> Self {
        let pages = vec![Page::default()];
        Self { pages, y: TOP, fresh: true, waiting: Vec::new(), repeated: None, strips: 0 }
    }

    /// Adds a strip below the others.
    pub(super) fn push(&mut self, strip: Strip) -> Result<(), TooLong> {
        let keep = strip.keep;
        self.waiting.push(strip);
        if keep { Ok(()) } else { self.release() }
    }

    /// Nothing is repeated any more at the top of the pages that begin from now on.
    pub(super) fn repeat_no_more(&mut self) -> Result<(), TooLong> {
        self.release()?;
        self.repeated = None;
        Ok(())
    }

    /// The filled pages.
    pub(super) fn finish(mut self) -> Result<Vec<Page>, TooLong> {
        self.release()?;
        Ok(self.pages)
    }

    fn release(&mut self) -> Result<(), TooLong> {
        let mut chain = std::mem::take(&mut self.waiting);
        if !self.fresh && self.fitting(&mut chain) < chain.len() {
            self.next_page()?;
        }
        while self.fitting(&mut chain) < chain.len() {
            self.fill(&mut chain);
            self.next_page()?;
        }
        for strip in chain {
            self.place(strip);
        }
        Ok(())
    }

    /// How many strips the page has room for.
    fn fitting(&self, chain: &mut [Strip]) -> usize {
        // None above the first at the very top, a little below what is repeated.
        if let (true, Some(first)) = (self.fresh, chain.first_mut()) {
            first.gap = if self.repeated.is_some() { first.gap.min(BELOW_REPEATED) } else { 0.0 };
        }
        let mut end = self.y;
        let fits = |strip: &&Strip| {
            end += strip.gap + strip.height;
            end <= BOTTOM
        };
        chain.iter().take_while(fits).count()
    }

    /// Fills the fresh page from a chain that is taller.
    fn fill(&mut self, chain: &mut Vec<Strip>) {
        let fitting = self.fitting(chain);
        let mut tall: Vec<usize> = (0..=fitting).filter(|at| chain[*at].height > TORN).collect();
        tall.sort_by(|a, b| chain[*b].height.total_cmp(&chain[*a].height));
        let torn = tall.into_iter().find_map(|at| {
            let above: f32 = chain[..at].iter().map(|strip| strip.gap + strip.height).sum();
            let room = BOTTOM - self.y - above - chain[at].gap;
            chain[at].tear(room).map(|part| (at, part))
        });
        let whole = torn.as_ref().map_or(fitting.max(1), |(at, _)| *at);
        for strip in chain.drain(..whole) {
            self.place(strip);
        }
        if let Some((_, part)) = torn {
            self.put(&part);
        }
    }

    fn place(&mut self, strip: Strip) {
        self.put(&strip);
        self.fresh = false;
        self.strips += 1;
        if strip.repeats {
            self.repeated = Some(Strip::repeated(strip));
        }
    }

    fn put(&mut self, strip: &Strip) {
        let top = self.y + strip.gap;
        let bottom = top + strip.height;
        let Some(page) = self.pages.last_mut() else { return };
        page.texts.extend(strip.columns.iter().flatten().map(|slot| Text {
            x: slot.x,
            baseline: top + slot.baseline,
            line: Rc::clone(&slot.line),
            ink: slot.ink,
            node: slot.node,
        }));
        page.rectangles.extend(strip.marks.iter().map(|mark| {
            let (y, height) = match mark.edge {
                Edge::Top(height) => (top, height),
                Edge::Bottom(height) => (bottom - height, height),
                Edge::Side => (top, strip.height),
            };
            Rectangle { x: mark.x, y, width: mark.width, height, ink: mark.ink }
        }));
        #[cfg(test)]
        page.extents.push(Extent {
            strip: self.strips,
            top,
            bottom,
            keep: strip.keep,
            repeated: strip.columns.iter().flatten().all(|slot| slot.node.is_none()),
        });
        self.y = bottom;
    }

    fn next_page(&mut self) -> Result<(), TooLong> {
        if self.pages.len() == MAX_PAGES {
            return Err(TooLong);
        }
        self.pages.push(Page::default());
        (self.y, self.fresh) = (TOP, true);
        if let Some(strip) = self.repeated.take() {
            self.put(&strip);
            self.repeated = Some(strip);
        }
        Ok(())
    }
}
