//! Checks that `Content-Type` is JSON in UTF-8.

use http::{HeaderMap, header};

use crate::http::headers::only_value;

/// True if the only `Content-Type` is `application/json`. Parameters are ignored, except a charset,
/// which must be UTF-8.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = only_value(headers, header::CONTENT_TYPE) else { return false };
    let mut parts = value.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    is_json && parts.filter_map(charset).all(|charset| charset.eq_ignore_ascii_case("utf-8"))
}

/// The value of a `charset` parameter.
fn charset(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    name.eq_ignore_ascii_case("charset").then(|| value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers<const N: usize>(values: [&str; N]) -> HeaderMap {
        values
            .map(|value| (header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap()))
            .into_iter()
            .collect()
    }

    #[test]
    fn json_is_accepted_with_parameters() {
        for value in [
            "application/json",
            "Application/JSON",
            "application/json;charset=utf-8",
            "application/json; charset=UTF-8",
            "application/json; Charset=\"utf-8\"",
            "application/json; profile=x",
            "application/json;",
        ] {
            assert!(is_json(&headers([value])), "{value}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for value in [
            "",
            "text/json",
            "application/jsonp",
            "application/vnd.api+json",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin1",
            "application/json; charset=utf-8; charset=utf-16",
            "*/*",
        ] {
            assert!(!is_json(&headers([value])), "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
        assert!(!is_json(&headers(["application/json", "application/json"])));
    }

    proptest! {
        #[test]
        fn any_value_is_checked_without_panic(value in "[ -~]{0,40}") {
            let _ = is_json(&headers([&value]));
        }
    }
}
