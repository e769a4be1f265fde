//! The envelope of every list.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Items per page where the request names no `limit`.
pub const DEFAULT_PAGE_LIMIT: u32 = 50;
/// Most items per page.
pub const MAX_PAGE_LIMIT: u32 = 100;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items.
    pub data: Vec<T>,
    /// Where the page stands in the list.
    pub pagination: Pagination,
    /// The company's last modification stamp in the same snapshot as the page. The first page's `asOf` is the next
    /// `since` of a reader that wants to miss nothing.
    pub as_of: Timestamp,
}

/// Where a page stands in its list. There is no total: counting would make every page cost the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Most items that the page may have, 1 to 100.
    pub limit: u32,
    /// How many items come before the page.
    pub offset: u64,
    /// Whether there is at least one item behind the page.
    pub has_more: bool,
}

#[cfg(test)]
mod tests;
