//! JSON of the API, as it is stored.

use invoicing_core::Timestamp;

/// The JSON of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredJson {
    Whole(Vec<u8>),
    /// It has large lines, so memory for it is to be reserved before it is read.
    Large {
        /// The size of the JSON.
        bytes: usize,
    },
}

/// The JSON of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredPage {
    Whole(Vec<u8>),
    /// It has large lines, so memory for it is to be reserved before it is read.
    Large {
        /// The size of the JSON, and of the item that shows whether there is a next page.
        bytes: usize,
        /// The state of the company that has this size.
        as_of: Timestamp,
    },
}

/// Reads of a page with large lines, if the company keeps changing meanwhile.
pub(crate) const MAX_PAGE_READS: usize = 8;

/// The lines of the items of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// A page with large lines gives its size instead, so that memory can be reserved.
    UnlessLarge,
    /// All lines, if the company has not changed since its page had this stamp: then it has the size
    /// that is reserved.
    AsOf(Timestamp),
}
