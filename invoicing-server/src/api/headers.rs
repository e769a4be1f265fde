//! Reads headers.

use http::{HeaderMap, HeaderName, header};

/// The text of a header that is given exactly once.
pub(super) fn only_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

/// Whether the client already has what this `ETag` names (`If-None-Match`, compared weakly).
pub(super) fn has_etag(headers: &HeaderMap, etag: &str) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter();
    tags.filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
