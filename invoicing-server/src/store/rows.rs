//! Reading and writing the JSON of a record.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// A record as JSON. The types of this crate always have a JSON form.
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

/// Text between the summary of a document and its lines.
pub(super) const LINES: &str = ",\"lines\":";

/// Lines of more bytes are large. Statements contain the number, too.
pub(crate) const LARGE_LINES: usize = 8 * 1024;

/// A document in the three parts in which it is stored, so that an answer copies text
/// and parses nothing.
#[derive(sqlx::FromRow)]
pub(crate) struct JsonParts {
    /// The object of a list item without its closing brace.
    pub(crate) summary: String,
    /// The array of lines.
    pub(crate) lines: String,
    /// The rest of the detail's object without its opening brace.
    pub(crate) detail: String,
    /// Version of the shape: see `StoredRecord`.
    pub(super) version: i64,
}

/// The part of a row that a list item shows.
pub(super) fn summary_to_json(summary: &impl Serialize) -> Result<String, Error> {
    let mut json = to_json(summary)?;
    json.pop();
    Ok(json)
}

/// The part of a row that only the detail shows.
pub(super) fn detail_to_json(detail: &impl Serialize) -> Result<String, Error> {
    let mut json = to_json(detail)?;
    json.remove(0);
    Ok(json)
}

impl JsonParts {
    /// The whole detail.
    pub(crate) fn detail(&self) -> Vec<u8> {
        [&self.summary, LINES, &self.lines, ",", &self.detail].concat().into_bytes()
    }
}
