//! Walking over a list by offsets while it moves, without leaving anything out. Pure: no page is fetched here.
//!
//! # Why nothing is left out
//!
//! A record that stays as it is keeps its place relative to others that stay as they are; edits and new records only
//! change how many stand before it.
//!
//! *In the contract's order* (last modified first) a change takes a record to the front. So what stays only moves
//! towards the end, that is towards pages not yet read: it may come twice, it cannot be jumped over. The pages need no
//! overlap.
//!
//! *In another order* a record may leave its place towards the end (last modified last, or no order at all), or leave
//! the list. Then all that stood behind it move up by one, and the first of the next page slips onto the page before,
//! which has been read. With an overlap the next page begins `overlap` places early, and it must prove that it follows
//! on what was read, by a record that it shares with it in the same version, an *anchor*: all unread records that stay
//! as they are stood behind the anchor when it was read, so they still do, and so they are on this page or a later
//! one. A page without an anchor is not used. The walk goes back until it finds one, at last to the beginning, and
//! overlaps more from then on. So an overlap of `n` bears `n` records moving up between two requests, and of more it
//! takes notice.
//!
//! *Ties.* A server may put records with one stamp into another order at every request. An anchor then says nothing
//! about the unread records with its own stamp. It is only trusted where the page begins with another stamp: all
//! records with the anchor's stamp then stand on this page or behind. Where the whole overlap has one stamp, the page
//! must begin exactly as the last one ended; that holds for ties that keep an order of their own, and for others as
//! long as there are no more of them than the overlap.
//!
//! *Not seen by any of this:* ties of another sort key than `updatedAt` that change their order between requests.

use std::collections::HashSet;

use invoicing_core::MAX_PAGE_LIMIT;

use super::error::ReadError;
use crate::Version;

/// At least half of each page must be new, or the walk would not get on.
pub(super) const MAX_OVERLAP: usize = MAX_PAGE_LIMIT as usize / 2;

/// How often a walk may go back before it gives up: enough to double from 1 to the beginning of any list, and then to
/// lose its way a few times more.
const MAX_STEPS_BACK: u32 = 64;

/// Where a pass stands in its list.
#[derive(Debug)]
pub(super) struct Walk {
    offset: u64,
    overlap: usize,
    /// Every version on the pages that were used; without an overlap nobody asks for them.
    read: HashSet<Version>,
    /// The end of the last page: what the next one begins with if nothing moved.
    tail: Vec<Version>,
    /// How far the last step back was; 0 after a page that was used.
    back: u64,
    steps_back: u32,
}

impl Walk {
    pub(super) fn new(overlap: usize) -> Self {
        Self { offset: 0, overlap, read: HashSet::new(), tail: Vec::new(), back: 0, steps_back: 0 }
    }

    /// Where to read next.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the page read at [`offset`](Self::offset) surely leaves nothing out between what was read and itself.
    pub(super) fn follows(&self, page: &[Version]) -> bool {
        if self.overlap == 0 || self.offset == 0 {
            return true;
        }
        let Some(first) = page.first() else { return false };
        let is_anchor =
            |version: &Version| version.updated_at != first.updated_at && self.read.contains(version);
        page.iter().any(is_anchor) || (!self.tail.is_empty() && page.starts_with(&self.tail))
    }

    /// The page did not follow: reads again from further before, twice as far each time.
    pub(super) fn step_back(&mut self) -> Result<(), ReadError> {
        self.steps_back += 1;
        if self.steps_back > MAX_STEPS_BACK {
            return Err(ReadError::Unsettled { steps_back: MAX_STEPS_BACK });
        }
        self.overlap = (self.overlap * 2).min(MAX_OVERLAP);
        self.back = (self.back * 2).max(self.overlap as u64);
        self.offset = self.offset.saturating_sub(self.back);
        self.tail.clear();
        Ok(())
    }

    /// The page was used: which of its versions are new as far as that is known, and on to the next.
    ///
    /// An empty page that is not the last would lead back to itself, so its whole width is passed over.
    pub(super) fn advance(&mut self, page: &[Version], width: u32) -> Vec<bool> {
        let step = match page.len() {
            0 => u64::from(width.max(1)),
            received => received.saturating_sub(self.overlap).max(1) as u64,
        };
        self.offset = self.offset.saturating_add(step);
        self.back = 0;
        self.tail = page.iter().skip(usize::try_from(step).unwrap_or(usize::MAX)).copied().collect();
        page.iter().map(|version| self.overlap == 0 || self.read.insert(*version)).collect()
    }
}

#[cfg(test)]
mod tests;
