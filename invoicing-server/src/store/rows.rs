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

/// What stands between the summary of a quote or an invoice and its lines.
pub(super) const LINES: &str = ",\"lines\":";

/// A quote or an invoice in the three parts in which it is stored, so that an answer copies text and parses nothing.
#[derive(sqlx::FromRow)]
pub(crate) struct JsonParts {
    /// The object of a list item without its closing brace.
    pub(crate) summary: String,
    /// The array of lines; their size in bytes where they are large and left out.
    pub(crate) lines: String,
    /// The rest of the detail's object without its opening brace.
    pub(crate) detail: String,
    /// Of the shape: see `StoredRecord`.
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

    /// The whole detail, unless the lines are left out.
    pub(super) fn detail_unless_large(&self) -> Detail {
        let whole = |_| Detail::Whole { json: self.detail(), version: self.version };
        self.lines.parse().map_or_else(whole, |bytes| Detail::Large { bytes })
    }
}

/// The detail of a quote or an invoice, as it is read first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The object.
    Whole {
        /// As it is stored.
        json: Vec<u8>,
        /// Of the shape.
        version: i64,
    },
    /// Its lines are large. Room for them is to be reserved before they are read.
    Large {
        /// Size of the lines.
        bytes: usize,
    },
}
