//! The arguments of a statement.
//!
//! A list is one argument: a JSON array in SQLite, an array of the type itself in PostgreSQL. Any
//! other argument is also a *cell*: when several rows are written at once on PostgreSQL, the cells
//! of a column go to the server as an array.

use chrono::NaiveDate;
use invoicing_core::{
    ClientId, CompanyId, CreditNoteId, DeliveryStatus, EventId, InvoiceId, InvoiceStatus, KeyId, Money,
    PaymentId, Percent, ProjectId, QuoteId, QuoteStatus, Timestamp, WebhookId,
};
use sqlx::sqlite::SqliteArguments;
use sqlx::types::Json;
use uuid::Uuid;

pub(crate) type SqliteQuery = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;
#[cfg(feature = "postgres")]
pub(crate) type PostgresQuery = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// An argument of a statement. `Sync`, as futures hold references to it.
pub(crate) trait Argument: Sync {
    fn bind_sqlite(&self, query: SqliteQuery) -> SqliteQuery;
    #[cfg(feature = "postgres")]
    fn bind_postgres(&self, query: PostgresQuery) -> PostgresQuery;
}

/// An argument that can be one of a column.
pub(crate) trait Cell: Argument {
    #[cfg(feature = "postgres")]
    fn push_to(&self, column: &mut Column);

    /// A column of this cell alone.
    #[cfg(feature = "postgres")]
    fn alone(&self) -> Column;
}

/// The cells of a column, one for each row.
#[cfg(feature = "postgres")]
#[derive(Debug)]
pub(crate) enum Column {
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Dates(Vec<Option<NaiveDate>>),
    Uuids(Vec<Option<Uuid>>),
}

/// Implements `Argument` for types, with one value for both databases, or one for SQLite and one
/// for PostgreSQL.
macro_rules! argument {
    ($($type:ty)|+ => |$value:ident| $column:expr) => {
        argument!($($type)|+ => |$value| $column, $column);
    };
    ($($type:ty)|+ => |$value:ident| $sqlite:expr, $postgres:expr) => {$(
        impl Argument for $type {
            fn bind_sqlite(&self, query: SqliteQuery) -> SqliteQuery {
                let $value = self;
                query.bind($sqlite)
            }

            #[cfg(feature = "postgres")]
            fn bind_postgres(&self, query: PostgresQuery) -> PostgresQuery {
                let $value = self;
                query.bind($postgres)
            }
        }
    )+};
}

/// As `argument!`, for types that can be cells: also takes the kind of their column, and the cell
/// if its value differs.
macro_rules! cell {
    ($kind:ident: $($type:ty)|+ => |$value:ident| $argument:expr) => {
        cell!($kind: $($type)|+ => |$value| $argument, $argument);
    };
    ($kind:ident: $($type:ty)|+ => |$value:ident| $argument:expr, $cell:expr) => {
        argument!($($type)|+ => |$value| $argument);
        $(impl_cell!($kind: $type => |$value| $cell);)+
    };
}

macro_rules! impl_cell {
    ($kind:ident: $type:ty => |$value:ident| $cell:expr) => {
        impl Cell for $type {
            #[cfg(feature = "postgres")]
            fn push_to(&self, column: &mut Column) {
                let $value = self;
                let Column::$kind(cells) = column else { unreachable!("a column has one type") };
                cells.push(Option::from($cell));
            }

            #[cfg(feature = "postgres")]
            fn alone(&self) -> Column {
                let mut column = Column::$kind(Vec::new());
                self.push_to(&mut column);
                column
            }
        }
    };
}

cell!(Integers: i64 | Option<i64> => |value| *value);
cell!(Integers: u32 | i32 => |count| i64::from(*count));
cell!(Integers: Money => |amount| amount.cents());
cell!(Integers: Percent => |rate| rate.basis_points());
cell!(Integers: Timestamp => |at| at.as_millis());
cell!(Integers: Option<Timestamp> => |at| at.map(Timestamp::as_millis));
cell!(Dates: NaiveDate | Option<NaiveDate> => |value| *value);
cell!(Uuids: Uuid => |value| *value);
cell!(Uuids: Option<QuoteId> => |id| id.map(|id| id.0));
cell!(
    Uuids: ClientId | CompanyId | CreditNoteId | EventId | InvoiceId | KeyId | PaymentId | ProjectId | QuoteId
        | WebhookId => |id| id.0
);
cell!(Texts: &str => |text| *text, text.to_string());
cell!(Texts: Option<&str> => |text| *text, text.map(str::to_owned));
cell!(Texts: String | Option<String> => |text| text, text.clone());
cell!(
    Texts: QuoteStatus | InvoiceStatus | DeliveryStatus => |status| status.as_str(), status.as_str().to_owned()
);
argument!(bool => |value| *value);
argument!(Option<Uuid> => |id| *id);
argument!(Vec<u8> => |value| value);
argument!([u8; 32] => |hash| hash.as_slice());
argument!(&[i64] | Vec<i64> => |numbers| Json(numbers), numbers);
// Hexadecimal texts, which a statement takes apart with `unhex`.
argument!(Vec<Uuid> => |ids| Json(ids.iter().map(Uuid::as_simple).collect::<Vec<_>>()), ids);
// PostgreSQL has no array of lists of different lengths, so each list is a text.
impl_cell!(Texts: Vec<Uuid> => |ids| to_array(ids));
impl_cell!(Texts: Vec<i64> => |numbers| to_array(numbers));

#[cfg(feature = "postgres")]
fn to_array<T: ToString>(values: &[T]) -> String {
    format!("{{{}}}", values.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}
argument!(&[[u8; 32]] => |hashes| Json(hashes.iter().map(hex::encode).collect::<Vec<_>>()), to_vecs(hashes));
argument!(Vec<Option<String>> => |texts| Json(texts), texts);

#[cfg(feature = "postgres")]
impl Column {
    /// The columns of a statement, by the casts of its arguments.
    pub(crate) fn all_of(statement: &str) -> Vec<Self> {
        (1..).map_while(|argument| Self::of(statement, argument)).collect()
    }

    /// The column of an argument, which is counted from 1. `None` if the statement has no such one.
    fn of(statement: &str, argument: usize) -> Option<Self> {
        let (_, cast) = statement.split_once(&format!("${argument}::"))?;
        match cast.split_once("[]")?.0 {
            "bigint" => Some(Self::Integers(Vec::new())),
            "text" => Some(Self::Texts(Vec::new())),
            "date" => Some(Self::Dates(Vec::new())),
            "uuid" => Some(Self::Uuids(Vec::new())),
            _ => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
            Self::Dates(cells) => cells.len(),
            Self::Uuids(cells) => cells.len(),
        }
    }

    /// Drops the cells after the first ones.
    pub(crate) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Integers(cells) => cells.truncate(rows),
            Self::Texts(cells) => cells.truncate(rows),
            Self::Dates(cells) => cells.truncate(rows),
            Self::Uuids(cells) => cells.truncate(rows),
        }
    }

    /// Binds the column as one argument.
    pub(crate) fn bind(&self, query: PostgresQuery) -> PostgresQuery {
        match self {
            Self::Integers(cells) => query.bind(cells),
            Self::Texts(cells) => query.bind(cells),
            Self::Dates(cells) => query.bind(cells),
            Self::Uuids(cells) => query.bind(cells),
        }
    }

    /// Size of the last cell, if it is a text.
    pub(crate) fn last_text_bytes(&self) -> usize {
        match self {
            Self::Texts(cells) => cells.last().and_then(Option::as_ref).map_or(0, String::len),
            _ => 0,
        }
    }

    pub(crate) fn contains(&self, id: Uuid) -> bool {
        matches!(self, Self::Uuids(cells) if cells.contains(&Some(id)))
    }

    /// The last cell, if that is an id.
    pub(crate) fn last_id(&self) -> Option<Uuid> {
        match self {
            Self::Uuids(cells) => cells.last().copied().flatten(),
            _ => None,
        }
    }
}

#[cfg(feature = "postgres")]
fn to_vecs(hashes: &[[u8; 32]]) -> Vec<Vec<u8>> {
    hashes.iter().map(|hash| hash.to_vec()).collect()
}
