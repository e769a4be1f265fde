//! What a statement takes as arguments.
//!
//! A list is one argument: a JSON array in SQLite, an array of the type itself in PostgreSQL.

use chrono::NaiveDate;
use invoicing_core::{
    ClientId, CompanyId, DeliveryStatus, EventId, InvoiceId, InvoiceStatus, KeyId, PaymentId, ProjectId,
    QuoteId, QuoteStatus, Timestamp, WebhookId,
};
use sqlx::sqlite::SqliteArguments;
use sqlx::types::Json;
use uuid::Uuid;

pub(super) type SqliteQuery = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;
#[cfg(feature = "postgres")]
pub(super) type PostgresQuery = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// An argument of a statement. `Sync`, as futures hold references to it.
pub(super) trait Argument: Sync {
    fn bind_sqlite(&self, query: SqliteQuery) -> SqliteQuery;
    #[cfg(feature = "postgres")]
    fn bind_postgres(&self, query: PostgresQuery) -> PostgresQuery;
}

/// Types, and the value that both databases take for them, or that of SQLite and that of PostgreSQL.
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

argument!(bool | i32 | i64 | Uuid | NaiveDate | Option<NaiveDate> => |value| *value);
argument!(u32 => |count| i64::from(*count));
argument!(Timestamp => |at| at.as_millis());
argument!(Option<Timestamp> => |at| at.map(Timestamp::as_millis));
argument!(&str | Option<&str> => |text| *text);
argument!(String | Option<String> | Vec<u8> => |value| value);
argument!([u8; 32] => |hash| hash.as_slice());
argument!(QuoteStatus | InvoiceStatus | DeliveryStatus => |status| status.as_str());
argument!(
    ClientId | CompanyId | EventId | InvoiceId | KeyId | PaymentId | ProjectId | QuoteId | WebhookId => |id| id.0
);
argument!(&[i64] | Vec<i64> => |numbers| Json(numbers), numbers);
// Hexadecimal texts, which a statement takes apart with `unhex`.
argument!(Vec<Uuid> => |ids| Json(ids.iter().map(Uuid::as_simple).collect::<Vec<_>>()), ids);
argument!(&[[u8; 32]] => |hashes| Json(hashes.iter().map(hex::encode).collect::<Vec<_>>()), to_vecs(hashes));
argument!(Vec<Option<String>> => |texts| Json(texts), texts);

#[cfg(feature = "postgres")]
fn to_vecs(hashes: &[[u8; 32]]) -> Vec<Vec<u8>> {
    hashes.iter().map(|hash| hash.to_vec()).collect()
}
