//! Pages that fill from top to bottom.
//!
//! A document is a sequence of strips: a heading, a row, a line of a paragraph. A strip is never torn unless it is
//! taller than a page; one that is kept with the next is never left behind it. What a strip says is not known here.

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
    pub(super) height: f32,
    pub(super) from: Edge,
    pub(super) ink: Ink,
}

/// Which edge of its strip a mark keeps its distance from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Edge {
    Top(f32),
    Bottom(f32),
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
    fn untagged(mut strip: Self) -> Self {
        strip.columns.iter_mut().flatten().for_each(|slot| slot.node = None);
        strip
    }

    /// Tears the strip so that the first part is at most as tall as `room`. Takes at least a line of some column.
    fn tear(&mut self, room: f32) -> Self {
        let mut first = Self { padding: self.padding, ..Self::default() };
        let fits =
            |column: &[Slot]| column.partition_point(|slot| slot.top + slot.height + self.padding <= room);
        let none = self.columns.iter().all(|column| fits(column) == 0);
        let taken: Vec<usize> =
            self.columns.iter().map(|column| fits(column).max(usize::from(none)).min(column.len())).collect();
        for (column, taken) in self.columns.iter_mut().zip(taken) {
            let rest = column.split_off(taken);
            let end = column.last().map_or(0.0, |slot| slot.top + slot.height);
            first.height = first.height.max(end + self.padding);
            first.columns.push(std::mem::replace(column, rest));
            let up = column.first().map_or(0.0, |slot| slot.top - self.padding);
            for slot in column {
                slot.top -= up;
                slot.baseline -= up;
            }
        }
        let (above, below) = self.marks.iter().partition(|mark| matches!(mark.from, Edge::Top(_)));
        (first.marks, self.marks) = (above, below);
        let end = |column: &Vec<Slot>| column.last().map_or(0.0, |slot| slot.top + slot.height);
        self.height = self.columns.iter().map(end).fold(0.0, f32::max) + self.padding;
        self.gap = 0.0;
        first
    }

    fn is_empty(&self) -> bool {
        self.columns.iter().all(Vec::is_empty)
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
        let chain = std::mem::take(&mut self.waiting);
        let height: f32 = chain.iter().map(|strip| strip.gap + strip.height).sum();
        if !self.fresh && self.y + height > BOTTOM {
            self.next_page()?;
        }
        chain.into_iter().try_for_each(|strip| self.place(strip))
    }

    fn place(&mut self, mut strip: Strip) -> Result<(), TooLong> {
        if self.fresh {
            strip.gap = self.fresh_gap(&strip);
        }
        while self.y + strip.gap + strip.height > BOTTOM {
            let whole =
                BOTTOM - TOP - self.repeated.as_ref().map_or(0.0, |strip| strip.height + BELOW_REPEATED);
            if strip.height <= whole {
                self.next_page()?;
                strip.gap = self.fresh_gap(&strip);
                break;
            }
            self.y += strip.gap;
            let part = strip.tear(BOTTOM - self.y);
            self.put(&part);
            if strip.is_empty() {
                break;
            }
            self.next_page()?;
        }
        if !strip.is_empty() || !strip.marks.is_empty() {
            self.y += strip.gap;
            self.put(&strip);
        }
        self.fresh = false;
        self.strips += 1;
        if strip.repeats {
            self.repeated = Some(Strip::untagged(strip));
        }
        Ok(())
    }

    /// The room above the first strip of a page: none at the very top, a little below what is repeated.
    fn fresh_gap(&self, strip: &Strip) -> f32 {
        if self.repeated.is_some() { strip.gap.min(BELOW_REPEATED) } else { 0.0 }
    }

    fn put(&mut self, strip: &Strip) {
        let (top, bottom) = (self.y, self.y + strip.height);
        let Some(page) = self.pages.last_mut() else { return };
        page.texts.extend(strip.columns.iter().flatten().map(|slot| Text {
            x: slot.x,
            baseline: top + slot.baseline,
            line: Rc::clone(&slot.line),
            ink: slot.ink,
            node: slot.node,
        }));
        page.rectangles.extend(strip.marks.iter().map(|mark| {
            let y = match mark.from {
                Edge::Top(distance) => top + distance,
                Edge::Bottom(distance) => bottom - distance - mark.height,
            };
            Rectangle { x: mark.x, y, width: mark.width, height: mark.height, ink: mark.ink }
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
