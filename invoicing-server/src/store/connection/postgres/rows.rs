//! The rows that a transaction has still to write.
//!
//! They are sent together, each statement once. So an operation that is refused before
//! its rows were sent leaves no trace, and the operations of a group share the round trips.

use uuid::Uuid;

use crate::store::connection::arguments::{Cell, Column, PostgresQuery};
use crate::store::connection::write::{ReadSet, Write};

/// Size of the waiting texts from which on the rows are sent.
const MAX_BYTES: usize = 1024 * 1024;

/// Waiting rows.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    batches: Vec<RowBatch>,
    bytes: usize,
    /// The lengths of all columns, and the bytes, at the beginning of the present operation.
    before: Vec<Vec<usize>>,
    bytes_before: usize,
}

/// The waiting rows of a statement.
#[derive(Debug)]
pub(crate) struct RowBatch {
    statement: &'static str,
    writes: Vec<&'static Write>,
    columns: Vec<Column>,
}

impl Rows {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.iter().all(RowBatch::is_empty)
    }

    /// True if a statement may read waiting rows.
    pub(crate) fn concern(&self, reads: ReadSet) -> bool {
        match reads {
            ReadSet::Anything => !self.is_empty(),
            ReadSet::Nothing => false,
            ReadSet::Table(table) => self.batches.iter().any(|batch| batch.has_table(table)),
            ReadSet::Record(table, id) => self.batches.iter().any(|batch| batch.has(table, id)),
        }
    }

    /// True if a row can wait beside the others. One statement must not change a record twice, and
    /// two statements may be sent in another order than their rows came.
    pub(crate) fn have_room_for(&self, write: &'static Write, cells: &[&dyn Cell]) -> bool {
        let waits = |id| self.batches.iter().any(|batch| batch.has(write.table, id));
        self.bytes < MAX_BYTES && !id_of(cells).is_some_and(waits)
    }

    pub(crate) fn push(&mut self, write: &'static Write, cells: &[&dyn Cell]) {
        let place = self.batches.iter().position(|batch| batch.statement == write.postgres);
        let place = place.unwrap_or_else(|| {
            self.batches.push(RowBatch::new(write.postgres));
            self.batches.len() - 1
        });
        self.bytes += self.batches[place].push(write, cells);
    }

    /// Marks the beginning of an operation.
    pub(crate) fn begin_operation(&mut self) {
        self.before = self.batches.iter().map(RowBatch::lengths).collect();
        self.bytes_before = self.bytes;
    }

    /// True if rows of the present operation wait.
    pub(crate) fn has_own(&self) -> bool {
        let now = self.batches.iter().map(RowBatch::lengths);
        !now.eq(self.before.iter().cloned())
    }

    /// Drops the rows of the present operation.
    pub(crate) fn roll_back_operation(&mut self) {
        self.bytes = self.bytes_before;
        self.batches.truncate(self.before.len());
        for (batch, before) in self.batches.iter_mut().zip(&self.before) {
            batch.truncate(before);
        }
    }

    /// Takes all rows, by their statements.
    pub(crate) fn take(&mut self) -> Vec<RowBatch> {
        let mut batches = std::mem::take(self).batches;
        batches.retain(|batch| !batch.is_empty());
        batches
    }
}

impl RowBatch {
    fn new(statement: &'static str) -> Self {
        Self { statement, writes: Vec::new(), columns: Column::all_of(statement) }
    }

    /// The statement, which writes all rows.
    pub(crate) fn query(&self) -> PostgresQuery {
        self.columns.iter().fold(sqlx::query(self.statement), |query, column| column.bind(query))
    }

    /// The table with a record that was not replaced, if the statement has changed `changed` rows.
    pub(crate) fn outdated(&self, changed: u64) -> Option<&'static str> {
        let write = self.writes.iter().find(|write| write.refuses_newer_format)?;
        (usize::try_from(changed) != Ok(self.rows_of(write))).then_some(write.table)
    }

    /// Adds a row. Returns the size of its texts in bytes.
    fn push(&mut self, write: &'static Write, cells: &[&dyn Cell]) -> usize {
        if !self.writes.iter().any(|other| std::ptr::eq(*other, write)) {
            self.writes.push(write);
        }
        let columns = &mut self.columns[write.first..];
        debug_assert!(cells.len() <= columns.len(), "{}: an argument without a column", write.table);
        let mut bytes = 0;
        for (cell, column) in cells.iter().zip(columns) {
            cell.push_to(column);
            bytes += column.last_text_bytes();
        }
        bytes
    }

    fn rows_of(&self, write: &Write) -> usize {
        self.columns[write.first].len()
    }

    fn is_empty(&self) -> bool {
        self.columns.iter().all(|column| column.len() == 0)
    }

    fn has_table(&self, table: &str) -> bool {
        self.writes.iter().any(|write| write.table == table && self.rows_of(write) > 0)
    }

    fn has(&self, table: &str, id: Uuid) -> bool {
        let has = |write: &&Write| write.table == table && self.columns[write.first + 1].contains(id);
        self.writes.iter().any(has)
    }

    fn lengths(&self) -> Vec<usize> {
        self.columns.iter().map(Column::len).collect()
    }

    fn truncate(&mut self, lengths: &[usize]) {
        for (column, length) in self.columns.iter_mut().zip(lengths) {
            column.truncate(*length);
        }
    }
}

/// The id of the record of a row, if it has one.
pub(crate) fn id_of(cells: &[&dyn Cell]) -> Option<Uuid> {
    cells[1].alone().last_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: &str = "INSERT $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[]";
    static LETTER: Write =
        Write { table: "letter", sqlite: "", postgres: MANY, first: 0, refuses_newer_format: false };
    static STAMP: Write =
        Write { table: "stamp", sqlite: "", postgres: MANY, first: 3, refuses_newer_format: false };
    static UPDATE: Write = Write {
        table: "envelope",
        sqlite: "",
        postgres: "UPDATE $1::uuid[], $2::uuid[], $3::text[]",
        first: 0,
        refuses_newer_format: true,
    };
    static CLEAR: Write = Write {
        table: "envelope",
        sqlite: "",
        postgres: "CLEAR $1::uuid[], $2::uuid[]",
        first: 0,
        refuses_newer_format: false,
    };

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn push(rows: &mut Rows, write: &'static Write, number: u128) {
        let cells: [&dyn Cell; 3] = [&id(0), &id(number), &"text"];
        let columns = Column::all_of(write.postgres).len() - write.first;
        rows.push(write, &cells[..columns.min(3)]);
    }

    fn with(all: &[(&'static Write, u128)]) -> Rows {
        let mut rows = Rows::default();
        for (write, number) in all {
            push(&mut rows, write, *number);
        }
        rows
    }

    #[test]
    fn the_rows_of_a_statement_are_sent_together_and_counted() {
        let mut rows = with(&[(&LETTER, 1), (&UPDATE, 2), (&LETTER, 3), (&UPDATE, 4), (&STAMP, 5)]);
        let batches = rows.take();
        assert!(rows.is_empty());
        let lengths: Vec<_> = batches.iter().map(RowBatch::lengths).collect();
        assert_eq!(lengths, [vec![2, 2, 2, 1, 1], vec![2, 2, 2]]);
        let outdated: Vec<_> = batches.iter().map(|batch| batch.outdated(1)).collect();
        assert_eq!(outdated, [None, Some("envelope")]);
        assert_eq!(batches[1].outdated(2), None);
    }

    #[test]
    fn a_record_does_not_wait_twice() {
        let rows = with(&[(&LETTER, 1), (&UPDATE, 2)]);
        let have_room_for = |write, number| rows.have_room_for(write, &[&id(0), &id(number)]);
        assert!(have_room_for(&UPDATE, 3) && have_room_for(&LETTER, 2) && have_room_for(&CLEAR, 1));
        assert!(!have_room_for(&UPDATE, 2) && !have_room_for(&CLEAR, 2));
    }

    #[test]
    fn large_texts_do_not_wait_for_more() {
        let mut rows = Rows::default();
        rows.begin_operation();
        rows.push(&LETTER, &[&id(0), &id(1), &"x".repeat(MAX_BYTES)]);
        assert!(!rows.have_room_for(&LETTER, &[&id(0), &id(2)]));
        rows.roll_back_operation();
        assert!(rows.have_room_for(&LETTER, &[&id(0), &id(2)]));
    }

    #[test]
    fn a_read_waits_for_what_it_may_see() {
        let rows = with(&[(&LETTER, 1), (&UPDATE, 2)]);
        assert!(rows.concern(ReadSet::Anything) && !rows.concern(ReadSet::Nothing));
        assert!(rows.concern(ReadSet::Table("letter")) && !rows.concern(ReadSet::Table("stamp")));
        assert!(rows.concern(ReadSet::Record("letter", id(1))));
        assert!(!rows.concern(ReadSet::Record("letter", id(2))));
        assert!(!Rows::default().concern(ReadSet::Anything));
    }

    #[test]
    fn what_an_operation_leaves_is_dropped_with_it() {
        let mut rows = with(&[(&LETTER, 1)]);
        rows.begin_operation();
        assert!(!rows.has_own());
        for write in [&LETTER, &STAMP, &UPDATE] {
            push(&mut rows, write, 2);
        }
        assert!(rows.has_own());
        rows.roll_back_operation();
        assert!(!rows.has_own());
        assert!(rows.concern(ReadSet::Record("letter", id(1))));
        assert!(!rows.concern(ReadSet::Record("letter", id(2))));
        assert!(!rows.concern(ReadSet::Table("stamp")) && !rows.concern(ReadSet::Table("envelope")));
    }
}
