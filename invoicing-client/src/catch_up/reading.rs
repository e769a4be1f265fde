//! One reading of a list, page after page. How the pages follow on one another is decided in [`walk`](super::walk).

use invoicing_core::{Pagination, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tracing::debug;

use super::error::ReadError;
use super::progress::Reporter;
use super::walk::Walk;
use crate::{List, Resource, Version};

/// A page as it is found: a server that is not quite this one may leave `asOf` out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: DeserializeOwned"))]
struct FoundPage<T> {
    data: Vec<T>,
    pagination: Pagination,
    #[serde(default)]
    as_of: Option<Timestamp>,
}

pub(super) struct Reading<R: Resource> {
    list: List<R>,
    reporter: Reporter,
    walk: Walk,
    bound: Option<Timestamp>,
    /// The latest stamp known before the first page was asked for.
    newest: Timestamp,
    in_order: bool,
    is_over: bool,
}

impl<R: Resource> Reading<R> {
    /// Begins to read a list that states its `since`. `newest` is a stamp known to be committed already.
    pub(super) fn new(list: List<R>, overlap: usize, newest: Timestamp, reporter: Reporter) -> Self {
        let walk = Walk::new(overlap);
        Self { list, reporter, walk, bound: None, newest, in_order: true, is_over: false }
    }

    /// Begins to read another list, that of what changed since this reading began.
    pub(super) fn begin_again(&mut self, list: List<R>, overlap: usize) {
        self.newest = self.newest.max(self.bound());
        (self.list, self.walk, self.bound, self.is_over) = (list, Walk::new(overlap), None, false);
    }

    /// Reads on: the versions that are new in this reading. `None` after the last page.
    pub(super) async fn next_page(&mut self) -> Result<Option<Vec<(Version, R::Item)>>, ReadError> {
        while !self.is_over {
            let list = self.list.clone().offset(self.walk.offset());
            let page: FoundPage<R::Item> = list.read().await?;
            let versions: Vec<_> = page.data.iter().map(R::version).collect();
            self.note(page.as_of, &versions);
            if !self.walk.follows(&versions) {
                debug!(resource = R::NAME, offset = self.walk.offset(), "the list moved; stepping back");
                self.walk.step_back()?;
                continue;
            }
            self.is_over = !page.pagination.has_more;
            let is_new = self.walk.advance(&versions, page.pagination.limit);
            let records = versions.into_iter().zip(page.data).zip(is_new);
            return Ok(Some(records.filter_map(|(record, is_new)| is_new.then_some(record)).collect()));
        }
        Ok(None)
    }

    /// Whatever is committed after the first page has a later stamp than this (or is late).
    ///
    /// That is the first page's `asOf`. Without one it is the latest stamp that was surely committed by then: one of
    /// that page, or of an earlier pass. One of a later page would not do: it may have been committed after a change
    /// that this reading had already passed by.
    pub(super) fn bound(&self) -> Timestamp {
        self.bound.unwrap_or(self.newest)
    }

    /// Whether all pages were in the contract's order.
    pub(super) fn in_order(&self) -> bool {
        self.in_order
    }

    fn note(&mut self, as_of: Option<Timestamp>, versions: &[Version]) {
        self.bound.get_or_insert_with(|| {
            as_of.unwrap_or_else(|| {
                versions.iter().map(|version| version.updated_at).fold(self.newest, Timestamp::max)
            })
        });
        self.in_order &= versions.is_sorted_by(|a, b| a > b);
        self.reporter.page();
    }
}
