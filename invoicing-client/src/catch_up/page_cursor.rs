//! [`PageCursor`]: reads a changing list by offsets without skipping records. No I/O.
//!
//! # Why nothing is skipped
//!
//! Records that do not change keep their relative order. Changes and new records only alter how many precede them.
//!
//! *In the contract's order*, last modified first, a change moves a record to the front. Unchanged records only move
//! towards the end, to pages not read yet. They may be repeated but cannot be skipped, so no overlap is necessary.
//!
//! *In other orders* a record may move towards the end or leave the list. The records behind it move up by one, and the
//! first record of the next page moves to the page before, which has been read. With an overlap, the next page begins
//! `overlap` places early, and must contain an *anchor*: a record in the same version as on an earlier page. All
//! unread, unchanged records were behind the anchor when it was read. They still are, so they are on this page or a
//! later one. A page without an anchor is not used. The cursor steps back until it finds one, if necessary to the
//! beginning, and increases the overlap. An overlap of `n` tolerates `n` records moving up between two requests, and
//! detects more.
//!
//! *Equal stamps.* A server may change the order of records with equal stamps at every request. An anchor then proves
//! nothing about unread records with its own stamp. It is valid only if the page begins with another stamp: all
//! records with the anchor's stamp are then on this page or behind it. If the whole overlap has one stamp, the page must
//! begin exactly as the previous one ended. That covers ties in a stable order, and others up to the size of the overlap.
//!
//! *Not detected:* an unstable order of ties of another sort key than `updatedAt`.

use std::collections::HashSet;

use invoicing_core::MAX_PAGE_LIMIT;

use super::error::ReadError;
use crate::RecordVersion;

/// At least half of each page must be new, which guarantees progress.
pub(super) const MAX_OVERLAP: usize = MAX_PAGE_LIMIT as usize / 2;

/// Enough to double from 1 back to the beginning of any list, with a few failures more.
const MAX_STEPS_BACK: u32 = 64;

/// Position of a pass in its list.
#[derive(Debug)]
pub(super) struct PageCursor {
    offset: u64,
    overlap: usize,
    /// Every version on the used pages. Empty without an overlap.
    read: HashSet<RecordVersion>,
    /// The end of the last page. The next page begins with it if nothing moved.
    tail: Vec<RecordVersion>,
    /// Distance of the last step back. 0 after a used page.
    last_step_back: u64,
    steps_back: u32,
}

impl PageCursor {
    pub(super) fn new(overlap: usize) -> Self {
        Self { offset: 0, overlap, read: HashSet::new(), tail: Vec::new(), last_step_back: 0, steps_back: 0 }
    }

    /// The offset of the next page.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// True if the page at [`offset`](Self::offset) provably continues the pages read so far.
    pub(super) fn follows(&self, page: &[RecordVersion]) -> bool {
        if self.overlap == 0 || self.offset == 0 {
            return true;
        }
        let Some(first) = page.first() else { return false };
        let is_anchor =
            |version: &RecordVersion| version.updated_at != first.updated_at && self.read.contains(version);
        page.iter().any(is_anchor) || (!self.tail.is_empty() && page.starts_with(&self.tail))
    }

    /// Moves back after a page that does not follow. The distance doubles each time.
    pub(super) fn step_back(&mut self) -> Result<(), ReadError> {
        self.steps_back += 1;
        if self.steps_back > MAX_STEPS_BACK {
            return Err(ReadError::UnstableList { steps_back: MAX_STEPS_BACK });
        }
        self.overlap = (self.overlap * 2).min(MAX_OVERLAP);
        self.last_step_back = (self.last_step_back * 2).max(self.overlap as u64);
        self.offset = self.offset.saturating_sub(self.last_step_back);
        self.tail.clear();
        Ok(())
    }

    /// Moves past a used page. Returns which of its versions are new; without an overlap, all of them.
    ///
    /// An empty page counts with its limit, as the same page would be read again otherwise.
    pub(super) fn advance(&mut self, page: &[RecordVersion], limit: u32) -> Vec<bool> {
        let step = match page.len() {
            0 => u64::from(limit.max(1)),
            received => received.saturating_sub(self.overlap).max(1) as u64,
        };
        self.offset = self.offset.saturating_add(step);
        self.last_step_back = 0;
        self.tail = page.iter().skip(usize::try_from(step).unwrap_or(usize::MAX)).copied().collect();
        page.iter().map(|version| self.overlap == 0 || self.read.insert(*version)).collect()
    }
}

#[cfg(test)]
mod tests;
