//! Writes whose answer no operation waits for.
//!
//! An operation issues most of its writes without waiting for an answer. On PostgreSQL their rows
//! are collected (`postgres/rows`), and sent before the commit, or before a statement that may read
//! them: one statement for the rows of all operations of a group. On SQLite each runs at once.

use uuid::Uuid;

/// A write of a row. Its arguments are the company, the id of the record, and others.
#[derive(Debug)]
pub(crate) struct Write {
    /// The table of the row.
    pub(crate) table: &'static str,
    /// The statement for one row: `$1` is the company, `$2` the id of the record.
    pub(crate) sqlite: &'static str,
    /// The statement for many rows, also of other writes with the same statement: each argument is
    /// an array, whose type its cast names (`$1::uuid[]`), as an array may be empty.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a form that is left out"))]
    pub(crate) postgres: &'static str,
    /// Number of arguments of that statement before those of this write.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a form that is left out"))]
    pub(crate) first: usize,
    /// True if the write replaces a record. It must exist, and must not have been written by a newer
    /// version of the service, whose fields this one would drop.
    pub(crate) refuses_newer_format: bool,
}

/// The rows that a statement reads. They decide if waiting rows are sent before it.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "no write waits on SQLite"))]
pub(crate) enum ReadSet {
    /// Any row.
    Anything,
    /// No row that a write changes.
    #[cfg(feature = "postgres")]
    Nothing,
    /// Rows of this table only.
    Table(&'static str),
    /// The record of this id in this table only.
    Record(&'static str, Uuid),
}
