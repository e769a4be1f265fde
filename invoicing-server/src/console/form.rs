//! Reads a form: fields by name, as a browser encodes them.

use bytes::Bytes;
use http::{HeaderMap, header};

use crate::http::error::ApiError;

/// Maximum number of fields that are read.
pub(super) const MAX_FIELDS: usize = 100;

/// The fields of a form or of a query. Unknown ones are ignored, as browsers and extensions add
/// their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// The body of a request.
    pub(super) fn read(headers: &HeaderMap, body: &Bytes) -> Result<Self, ApiError> {
        let content_type =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(ApiError::bad_request("A form must be application/x-www-form-urlencoded"));
        }
        Ok(Self::parse(body))
    }

    /// The form with this value in a field.
    pub(super) fn with(mut self, name: String, value: String) -> Self {
        self.0.retain(|(field, _)| *field != name);
        self.0.push((name, value));
        self
    }

    /// The query of an address.
    pub(super) fn query(query: &str) -> Self {
        Self::parse(query.as_bytes())
    }

    fn parse(bytes: &[u8]) -> Self {
        // No form has more fields. Each takes more memory than its bytes, so the rest is not read.
        Self(
            form_urlencoded::parse(bytes)
                .take(MAX_FIELDS)
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The text of a field without white space around it; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.values(name).next().unwrap_or_default()
    }

    /// The text of a field; `None` if it is empty or missing.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// The values of a field that may be there several times, such as check boxes.
    pub(super) fn values<'f, 'n>(&'f self, name: &'n str) -> impl Iterator<Item = &'f str> + use<'f, 'n> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.trim())
    }
}
