//! The detail of a quote or an invoice, unless its lines are large.

use super::rows::{JsonParts, LARGE_LINES};
use crate::records::StoredJson;

/// The parts of a quote or an invoice, without its lines if they are large.
#[derive(sqlx::FromRow)]
pub(super) struct SizedParts {
    #[sqlx(flatten)]
    parts: JsonParts,
    lines_bytes: i64,
}

impl SizedParts {
    pub(super) fn detail(&self) -> StoredJson {
        match usize::try_from(self.lines_bytes) {
            Ok(bytes) if bytes > LARGE_LINES => StoredJson::Large { bytes },
            _ => StoredJson::Whole(self.parts.detail()),
        }
    }
}
