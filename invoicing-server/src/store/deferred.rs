//! Writes that wait for the end of their operation.
//!
//! An operation gives most of its writes without waiting for an answer. On PostgreSQL these are collected, and go to the
//! server in one call before the commit, or before a read that may concern them: one statement, whose arguments are
//! arrays with a cell for each row. So an operation that is refused before its writes were sent leaves no trace, and the
//! operations of a group share the call. On SQLite they run at once.

#[cfg(feature = "postgres")]
use sqlx::AssertSqlSafe;
use uuid::Uuid;

#[cfg(feature = "postgres")]
use super::arguments::{Cell, Column, PostgresQuery};

/// A write of a row that can wait. `$1` is the company, `$2` the id of the record.
///
/// On PostgreSQL several rows, of several companies, are written at once, with an array for each argument. For that,
/// `/* FROM rows */` or `/* rows, */` stands where their numbers come from.
#[derive(Debug)]
pub(super) struct Write {
    /// Writes that wait at the same time and have the same name are of one kind.
    pub(super) table: &'static str,
    /// That of both databases, unless there are others for PostgreSQL.
    pub(super) statement: &'static str,
    /// A statement for each table. They do not see each other's changes.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the form of a database that is left out")
    )]
    pub(super) postgres: &'static [&'static str],
    /// Whether it replaces a record, which must be there, and of no newer version.
    pub(super) replaces: bool,
}

/// What a statement reads, as far as it decides whether the writes that wait come first.
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

/// Size of the texts from which on writes wait no longer.
#[cfg(feature = "postgres")]
const MOST_BYTES: usize = 1024 * 1024;

/// The writes of a transaction that wait.
#[cfg(feature = "postgres")]
#[derive(Debug, Default)]
pub(super) struct Deferred {
    waiting: Vec<Rows>,
    bytes: usize,
    /// How many rows of each kind, and how many bytes, earlier operations have left.
    before: Vec<usize>,
    bytes_before: usize,
}

/// The rows of a kind.
#[cfg(feature = "postgres")]
#[derive(Debug)]
struct Rows {
    write: &'static Write,
    count: usize,
    columns: Vec<Column>,
}

/// How the arguments of a statement are given.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One row of each kind, which costs least.
    Scalars,
    /// For all kinds, however many rows: a form for each would make many statements to prepare.
    Arrays,
}

#[cfg(feature = "postgres")]
impl Form {
    fn of(waiting: &[Rows]) -> Self {
        if waiting.iter().all(|rows| rows.count == 1) { Self::Scalars } else { Self::Arrays }
    }
}

/// The writes that waited, as one statement.
#[cfg(feature = "postgres")]
pub(super) struct Statement {
    pub(super) query: PostgresQuery,
    /// The tables in which records are replaced, and how many: what the row that it answers has to say.
    pub(super) replaced: Vec<(&'static str, usize)>,
}

#[cfg(feature = "postgres")]
impl Deferred {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether a statement may read what waits.
    pub(super) fn concerns(&self, reads: Reads) -> bool {
        self.waiting.iter().any(|rows| match reads {
            Reads::Anything => true,
            Reads::Nothing => false,
            Reads::Table(table) => rows.write.table == table,
            Reads::Record(table, id) => rows.write.table == table && rows.has(id),
        })
    }

    /// Whether a write can wait beside the others: a statement changes no row twice.
    pub(super) fn has_room_for(&self, write: &'static Write, cells: &[&dyn Cell]) -> bool {
        let mut same_table = self.waiting.iter().filter(|rows| rows.write.table == write.table);
        self.bytes < MOST_BYTES
            && same_table.all(|rows| std::ptr::eq(rows.write, write) && !rows.have(cells[1]))
    }

    pub(super) fn push(&mut self, write: &'static Write, cells: &[&dyn Cell]) {
        let place = self.waiting.iter().position(|rows| std::ptr::eq(rows.write, write));
        let place = place.unwrap_or_else(|| {
            let columns = cells.iter().map(|_| Column::default()).collect();
            self.waiting.push(Rows { write, count: 0, columns });
            self.waiting.len() - 1
        });
        let rows = &mut self.waiting[place];
        rows.count += 1;
        for (cell, column) in cells.iter().zip(&mut rows.columns) {
            cell.push_to(column);
            self.bytes += column.last_text_bytes();
        }
    }

    /// Marks the begin of an operation.
    pub(super) fn begin_operation(&mut self) {
        self.before = self.waiting.iter().map(|rows| rows.count).collect();
        self.bytes_before = self.bytes;
    }

    /// Whether the present operation has left any.
    pub(super) fn has_own(&self) -> bool {
        self.waiting.len() > self.before.len()
            || self.waiting.iter().zip(&self.before).any(|(rows, before)| rows.count > *before)
    }

    /// Drops what the present operation has left.
    pub(super) fn roll_back_operation(&mut self) {
        self.bytes = self.bytes_before;
        self.waiting.truncate(self.before.len());
        for (rows, before) in self.waiting.iter_mut().zip(&self.before) {
            rows.count = *before;
            rows.columns.iter_mut().for_each(|column| column.truncate(*before));
        }
    }

    /// Takes all as one statement.
    pub(super) fn take(&mut self) -> Statement {
        let mut waiting = std::mem::take(self).waiting;
        // In one order, so that few statements have to be prepared.
        waiting.sort_by_key(|rows| rows.write.table);
        let form = Form::of(&waiting);
        let query = sqlx::query(AssertSqlSafe(text(&waiting, form)));
        let query = waiting.iter().fold(query, |query, rows| {
            rows.columns.iter().fold(query, |query, column| column.bind(query, form == Form::Scalars))
        });
        let replaced = waiting.iter().filter(|rows| rows.write.replaces);
        let replaced = replaced.map(|rows| (rows.write.table, rows.count)).collect();
        Statement { query, replaced }
    }
}

#[cfg(feature = "postgres")]
impl Rows {
    fn has(&self, id: Uuid) -> bool {
        self.columns[1].contains(id)
    }

    fn have(&self, id: &dyn Cell) -> bool {
        let mut column = Column::default();
        id.push_to(&mut column);
        matches!(column, Column::Uuids(ids) if ids.iter().flatten().any(|id| self.has(*id)))
    }

    fn statements(&self) -> &[&'static str] {
        let Write { statement, postgres, .. } = &self.write;
        if postgres.is_empty() { std::slice::from_ref(statement) } else { postgres }
    }

    /// A statement for these rows, whose `$1` is the argument after the first ones.
    fn part(&self, statement: &str, first: usize, form: Form) -> String {
        let mut pieces = statement.split('$');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = piece.split_at(digits);
            let number: usize = number.parse().expect("the number of an argument");
            text += &self.argument(number, first, form);
            text += rest;
        }
        if form == Form::Arrays {
            // The planner expects few rows of `unnest`, so it finds those of the table by their index.
            let rows = format!("unnest({}) WITH ORDINALITY AS rows (cell, row_number)", self.array(1, first));
            text = text
                .replace("/* FROM rows */", &format!("FROM {rows}"))
                .replace("/* rows, */", &format!("{rows},"));
        }
        if self.write.replaces { text + " RETURNING 1" } else { text }
    }

    fn argument(&self, number: usize, first: usize, form: Form) -> String {
        match form {
            Form::Scalars => format!("${}", number + first),
            Form::Arrays => format!("({})[row_number]", self.array(number, first)),
        }
    }

    fn array(&self, number: usize, first: usize) -> String {
        format!("${}::{}[]", number + first, self.columns[number - 1].type_name())
    }
}

/// `WITH w0 AS (…), w1 AS (…) SELECT …`, with the arguments of the parts one after the other. Answers how many records
/// were replaced.
#[cfg(feature = "postgres")]
fn text(waiting: &[Rows], form: Form) -> String {
    let (mut parts, mut counts, mut arguments) = (Vec::new(), Vec::new(), 0);
    for rows in waiting {
        debug_assert!(!rows.write.replaces || rows.statements().len() == 1, "a count for each kind");
        for statement in rows.statements() {
            let name = format!("w{}", parts.len());
            parts.push(format!("{name} AS ({})", rows.part(statement, arguments, form)));
            if rows.write.replaces {
                counts.push(format!("(SELECT count(*) FROM {name})"));
            }
        }
        arguments += rows.columns.len();
    }
    format!("WITH {} SELECT {}", parts.join(", "), counts.join(", "))
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    static INSERT: Write = Write {
        table: "letter",
        statement: "",
        postgres: &[
            "INSERT INTO letter SELECT $1, $2, $3 /* FROM rows */",
            "SELECT 1 FROM /* rows, */ f($2)",
        ],
        replaces: false,
    };
    static UPDATE: Write = Write {
        table: "envelope",
        statement: "UPDATE envelope SET text = $3 /* FROM rows */ WHERE id = $2",
        postgres: &[],
        replaces: true,
    };
    static CLEAR: Write = Write {
        table: "envelope",
        statement: "UPDATE envelope SET text = NULL /* FROM rows */ WHERE id = $2",
        postgres: &[],
        replaces: false,
    };

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn with(rows: &[(&'static Write, u128)]) -> Deferred {
        let mut deferred = Deferred::default();
        for (write, number) in rows {
            deferred.push(write, &[&id(0), &id(*number), &"text"]);
        }
        deferred
    }

    #[test]
    fn the_parts_of_a_statement_have_arguments_of_their_own_in_one_order() {
        let mut deferred = with(&[(&INSERT, 1), (&UPDATE, 2), (&INSERT, 3)]);
        deferred.waiting.sort_by_key(|rows| rows.write.table);
        let envelopes = "unnest($1::uuid[]) WITH ORDINALITY AS rows (cell, row_number)";
        let rows = "unnest($4::uuid[]) WITH ORDINALITY AS rows (cell, row_number)";
        assert_eq!(
            text(&deferred.waiting, Form::of(&deferred.waiting)),
            format!(
                "WITH w0 AS (UPDATE envelope SET text = ($3::text[])[row_number] FROM {envelopes} \
                 WHERE id = ($2::uuid[])[row_number] RETURNING 1), \
                 w1 AS (INSERT INTO letter \
                 SELECT ($4::uuid[])[row_number], ($5::uuid[])[row_number], ($6::text[])[row_number] FROM {rows}), \
                 w2 AS (SELECT 1 FROM {rows}, f(($5::uuid[])[row_number])) SELECT (SELECT count(*) FROM w0)"
            )
        );
        assert_eq!(deferred.take().replaced, [("envelope", 1)]);
        assert!(deferred.is_empty());
        let single = with(&[(&UPDATE, 2)]);
        assert_eq!(
            text(&single.waiting, Form::of(&single.waiting)),
            "WITH w0 AS (UPDATE envelope SET text = $3 /* FROM rows */ WHERE id = $2 RETURNING 1) \
             SELECT (SELECT count(*) FROM w0)"
        );
    }

    #[test]
    fn a_statement_changes_no_record_twice() {
        let deferred = with(&[(&INSERT, 1), (&UPDATE, 2)]);
        let has_room_for = |write, number| deferred.has_room_for(write, &[&id(0), &id(number)]);
        assert!(has_room_for(&UPDATE, 3) && has_room_for(&INSERT, 4));
        assert!(!has_room_for(&UPDATE, 2), "the record waits already");
        assert!(!has_room_for(&CLEAR, 3), "another write of the same table waits");
    }

    #[test]
    fn large_texts_do_not_wait_for_more() {
        let mut deferred = Deferred::default();
        deferred.begin_operation();
        deferred.push(&INSERT, &[&id(0), &id(1), &"x".repeat(MOST_BYTES)]);
        assert!(!deferred.has_room_for(&INSERT, &[&id(0), &id(2)]));
        deferred.roll_back_operation();
        assert!(deferred.has_room_for(&INSERT, &[&id(0), &id(2)]));
    }

    #[test]
    fn a_read_waits_for_what_it_may_see() {
        let deferred = with(&[(&INSERT, 1), (&UPDATE, 2)]);
        assert!(deferred.concerns(Reads::Anything) && !deferred.concerns(Reads::Nothing));
        assert!(deferred.concerns(Reads::Table("letter")) && !deferred.concerns(Reads::Table("stamp")));
        assert!(deferred.concerns(Reads::Record("letter", id(1))));
        assert!(!deferred.concerns(Reads::Record("letter", id(2))));
        assert!(!Deferred::default().concerns(Reads::Anything));
    }

    #[test]
    fn what_an_operation_leaves_is_dropped_with_it() {
        let mut deferred = with(&[(&INSERT, 1)]);
        deferred.begin_operation();
        assert!(!deferred.has_own());
        deferred.push(&INSERT, &[&id(0), &id(2), &"text"]);
        deferred.push(&UPDATE, &[&id(0), &id(3), &"text"]);
        assert!(deferred.has_own());
        deferred.roll_back_operation();
        assert!(!deferred.has_own());
        assert_eq!(deferred.waiting.len(), 1);
        assert!(deferred.concerns(Reads::Record("letter", id(1))));
        assert!(!deferred.concerns(Reads::Record("letter", id(2))));
    }
}
