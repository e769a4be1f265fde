//! [`PageReader`]: reads a list from its first page to its last, at the offsets of a [`PageCursor`].

use invoicing_core::{Pagination, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tracing::debug;

use super::error::ReadError;
use super::page_cursor::PageCursor;
use super::progress::ProgressReporter;
use crate::{List, RecordVersion, Resource};

/// A page whose `asOf` is optional, for servers that do not state it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: DeserializeOwned"))]
struct ReceivedPage<T> {
    data: Vec<T>,
    pagination: Pagination,
    #[serde(default)]
    as_of: Option<Timestamp>,
}

pub(super) struct PageReader<R: Resource> {
    list: List<R>,
    reporter: ProgressReporter,
    cursor: PageCursor,
    bound: Option<Timestamp>,
    /// The latest stamp known before the request for the first page.
    latest_stamp: Timestamp,
    in_order: bool,
    is_complete: bool,
}

impl<R: Resource> PageReader<R> {
    /// Reads a list with `since`. `latest_stamp` is a stamp that is known to be committed.
    pub(super) fn new(
        list: List<R>,
        overlap: usize,
        latest_stamp: Timestamp,
        reporter: ProgressReporter,
    ) -> Self {
        let cursor = PageCursor::new(overlap);
        Self { list, reporter, cursor, bound: None, latest_stamp, in_order: true, is_complete: false }
    }

    /// Starts over with another list: the changes since the beginning of this read.
    pub(super) fn restart(&mut self, list: List<R>, overlap: usize) {
        self.latest_stamp = self.latest_stamp.max(self.bound());
        (self.list, self.cursor, self.bound, self.is_complete) =
            (list, PageCursor::new(overlap), None, false);
    }

    /// Reads the next page and returns the versions that are new in this read. `None` after the last page.
    pub(super) async fn next_page(&mut self) -> Result<Option<Vec<(RecordVersion, R::Item)>>, ReadError> {
        while !self.is_complete {
            let mut list = self.list.clone().offset(self.cursor.offset());
            let page: ReceivedPage<R::Item> = list.read().await?;
            self.list = list;
            let versions: Vec<_> = page.data.iter().map(R::version).collect();
            self.record(page.as_of, &versions);
            if !self.cursor.follows(&versions) {
                debug!(
                    resource = R::NAME,
                    offset = self.cursor.offset(),
                    "page does not follow, stepping back"
                );
                self.cursor.step_back()?;
                continue;
            }
            self.is_complete = !page.pagination.has_more;
            let is_new = self.cursor.advance(&versions, page.pagination.limit);
            let records = versions.into_iter().zip(page.data).zip(is_new);
            return Ok(Some(records.filter_map(|(record, is_new)| is_new.then_some(record)).collect()));
        }
        Ok(None)
    }

    /// A change committed after the first page has a later stamp than this, unless it is committed late.
    ///
    /// This is the `asOf` of the first page. Without one, it is the latest stamp that was certainly committed by then:
    /// one on that page or of an earlier pass. A stamp on a later page may be later than that of a change which this read
    /// has passed already.
    pub(super) fn bound(&self) -> Timestamp {
        self.bound.unwrap_or(self.latest_stamp)
    }

    /// True if all pages were in the order of the API contract.
    pub(super) fn in_order(&self) -> bool {
        self.in_order
    }

    fn record(&mut self, as_of: Option<Timestamp>, versions: &[RecordVersion]) {
        self.bound.get_or_insert_with(|| {
            as_of.unwrap_or_else(|| {
                versions.iter().map(|version| version.updated_at).fold(self.latest_stamp, Timestamp::max)
            })
        });
        self.in_order &= versions.is_sorted_by(|a, b| a > b);
        self.reporter.page();
    }
}
