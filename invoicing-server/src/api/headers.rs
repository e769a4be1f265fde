//! Reads headers.

use http::{HeaderMap, HeaderName};

/// The text of a header that is given exactly once.
pub(super) fn only_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}
