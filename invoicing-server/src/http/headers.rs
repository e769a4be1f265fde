//! Reads headers.

use http::{HeaderMap, HeaderName, header};

/// The text of a header that is given exactly once.
pub(crate) fn only_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

/// True if the client already has the bytes of this `ETag` (`If-None-Match`, compared weakly).
pub(crate) fn has_etag(headers: &HeaderMap, etag: &str) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter();
    tags.filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// True if the client takes a response that is compressed with gzip (`Accept-Encoding`).
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in codings.flat_map(|list| list.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let is_accepted = weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0));
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return is_accepted;
        }
        any |= name == "*" && is_accepted;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_to_those_that_take_it() {
        for (asked, expected) in [
            (None, false),
            (Some(""), false),
            (Some("identity"), false),
            (Some("gzip"), true),
            (Some("br, GZIP;q=0.5, deflate"), true),
            (Some("gzip;q=0"), false),
            (Some("gzip; q=0.000, *"), false),
            (Some("gzip;q=high"), false),
            (Some("*"), true),
            (Some("*;q=0"), false),
        ] {
            let headers = asked.map(|asked| (header::ACCEPT_ENCODING, asked.parse().unwrap()));
            assert_eq!(accepts_gzip(&HeaderMap::from_iter(headers)), expected, "{asked:?}");
        }
    }
}
