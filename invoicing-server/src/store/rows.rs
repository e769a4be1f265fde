//! Reading and writing the JSON of a record.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// A record as JSON. Our own types always have a JSON form.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::internal)
}

/// A record from the JSON that an earlier call of [`to_json`] made.
pub(crate) fn from_json<T: DeserializeOwned>(
    json: impl AsRef<[u8]>,
    table: &'static str,
    id: impl std::fmt::Display,
) -> Result<T, Error> {
    serde_json::from_slice(json.as_ref()).map_err(|cause| Error::bad_row(table, "record", id, cause))
}

/// A quote or an invoice in the three parts in which it is stored, so that an answer copies text and parses nothing.
#[derive(sqlx::FromRow)]
pub(crate) struct JsonParts {
    /// The object of a list item without its closing brace.
    pub(crate) summary: String,
    /// The array of lines.
    pub(crate) lines: String,
    /// The rest of the detail's object without its opening brace.
    pub(crate) detail: String,
}

impl JsonParts {
    pub(super) fn of(
        summary: &impl Serialize,
        lines: &impl Serialize,
        detail: &impl Serialize,
    ) -> Result<Self, Error> {
        let mut summary = to_json(summary)?;
        summary.pop();
        let mut detail = to_json(detail)?;
        detail.remove(0);
        Ok(Self { summary, lines: to_json(lines)?, detail })
    }

    /// The whole detail.
    pub(crate) fn detail(&self) -> Vec<u8> {
        [self.summary.as_str(), ",\"lines\":", &self.lines, ",", &self.detail].concat().into_bytes()
    }
}
