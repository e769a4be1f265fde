//! Lists that a statement takes as one argument: a JSON array in SQLite, an array of the type itself in PostgreSQL.

use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::{Database, Type};
use uuid::Uuid;

/// Row ids, or other numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids<'a>(pub(super) &'a [i64]);

/// Ids of records.
#[derive(Debug, Clone)]
pub(super) struct Uuids(pub(super) Vec<Uuid>);

/// Texts; `None` is null.
#[derive(Debug, Clone)]
pub(super) struct Texts(pub(super) Vec<Option<String>>);

impl Ids<'_> {
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self.0)
    }
}

impl Uuids {
    /// Hexadecimal texts, which a statement takes apart with `unhex`.
    fn json(&self) -> Result<String, serde_json::Error> {
        let simple: Vec<uuid::fmt::Simple> = self.0.iter().map(|id| id.simple()).collect();
        serde_json::to_string(&simple)
    }
}

impl Texts {
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&self.0)
    }
}

macro_rules! on_sqlite {
    ($($list:ty),*) => {$(
        impl Type<sqlx::Sqlite> for $list {
            fn type_info() -> <sqlx::Sqlite as Database>::TypeInfo {
                <String as Type<sqlx::Sqlite>>::type_info()
            }
        }

        impl Encode<'_, sqlx::Sqlite> for $list {
            fn encode_by_ref(
                &self,
                buffer: &mut <sqlx::Sqlite as Database>::ArgumentBuffer,
            ) -> Result<IsNull, BoxDynError> {
                <String as Encode<sqlx::Sqlite>>::encode(self.json()?, buffer)
            }
        }
    )*};
}

macro_rules! on_postgres {
    ($($list:ty as $array:ty),*) => {$(
        #[cfg(feature = "postgres")]
        impl Type<sqlx::Postgres> for $list {
            fn type_info() -> <sqlx::Postgres as Database>::TypeInfo {
                <$array as Type<sqlx::Postgres>>::type_info()
            }
        }

        #[cfg(feature = "postgres")]
        impl Encode<'_, sqlx::Postgres> for $list {
            fn encode_by_ref(
                &self,
                buffer: &mut <sqlx::Postgres as Database>::ArgumentBuffer,
            ) -> Result<IsNull, BoxDynError> {
                self.0.encode_by_ref(buffer)
            }
        }
    )*};
}

on_sqlite!(Ids<'_>, Uuids, Texts);
on_postgres!(Ids<'_> as Vec<i64>, Uuids as Vec<Uuid>, Texts as Vec<Option<String>>);
