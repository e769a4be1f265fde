//! The detail of a quote or an invoice, unless its lines are large.

use std::fmt::Display;

use super::rows::{JsonParts, LARGE_LINES};
use super::versions::{StoredRecord, in_todays_shape};
use crate::Error;
use crate::records::StoredJson;

/// The parts of a quote or an invoice, without its lines if they are large.
#[derive(sqlx::FromRow)]
pub(super) struct SizedParts {
    #[sqlx(flatten)]
    parts: JsonParts,
    lines_bytes: i64,
}

impl SizedParts {
    /// The parts after a change of their detail.
    pub(super) fn completed(self, complete: impl FnOnce(JsonParts) -> JsonParts) -> Self {
        Self { parts: complete(self.parts), ..self }
    }

    /// The detail in today's shape. `T` is its summary.
    pub(super) fn detail<T: StoredRecord>(&self, id: impl Display) -> Result<StoredJson, Error> {
        match usize::try_from(self.lines_bytes) {
            Ok(bytes) if bytes > LARGE_LINES => Ok(StoredJson::Large { bytes }),
            _ => in_todays_shape::<T>(self.parts.detail(), self.parts.version, id).map(StoredJson::Whole),
        }
    }
}
