//! The envelope of every list.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Items per page if the request names no `limit`.
pub const DEFAULT_PAGE_LIMIT: u32 = 50;
/// Maximum number of items per page.
pub const MAX_PAGE_LIMIT: u32 = 100;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items.
    pub data: Vec<T>,
    /// The position of the page in the list.
    pub pagination: Pagination,
    /// The company's last modification stamp in the same snapshot as the page. The first page's
    /// `asOf` is the next `since` of a reader that must not miss a change.
    pub as_of: Timestamp,
}

/// The position of a page in its list. There is no total, as counting would make every page cost
/// the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Maximum number of items that the page may have, 1 to 100.
    pub limit: u32,
    /// Number of items before the page.
    pub offset: u64,
    /// True if there is at least one item behind the page.
    pub has_more: bool,
}

#[cfg(test)]
mod tests;
