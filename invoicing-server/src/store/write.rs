//! Writes whose answer no operation waits for.
//!
//! An operation gives most of its writes without waiting for an answer. On PostgreSQL their rows are collected
//! (`session/rows`), and sent before the commit, or before a statement that may read them: one statement for the rows of all
//! operations of a group. On SQLite each runs at once.

use uuid::Uuid;

use super::arguments::Type;

/// A write of a row. Its arguments are the company, the id of the record, and others.
#[derive(Debug)]
pub(super) struct Write {
    /// Where the row is written.
    pub(super) table: &'static str,
    /// For one row: `$1` is the company, `$2` the id of the record.
    pub(super) sqlite: &'static str,
    /// For many rows, also of others of the same statement.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a form that is left out"))]
    pub(super) postgres: &'static Many,
    /// How many arguments of that statement come before those of this one.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a form that is left out"))]
    pub(super) first: usize,
    /// Whether it replaces a record, which must be there, and of no newer version.
    pub(super) replaces: bool,
}

/// A statement of PostgreSQL that writes many rows: each argument is an array.
#[derive(Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a form that is left out"))]
pub(super) struct Many {
    pub(super) text: &'static str,
    /// The types of its arguments: an array may be empty.
    pub(super) columns: &'static [Type],
}

/// What a statement reads, as far as it decides whether rows that wait are sent first.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "no write waits on SQLite"))]
pub(super) enum Reads {
    /// Whatever there is.
    Anything,
    /// Nothing that a write changes.
    #[cfg(feature = "postgres")]
    Nothing,
    /// This table only.
    Table(&'static str),
    /// The record of this id in this table only.
    Record(&'static str, Uuid),
}
