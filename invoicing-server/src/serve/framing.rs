//! Checks against request smuggling: requests that hyper accepts, but that a proxy in front may
//! read with another end or another host.
//!
//! hyper itself refuses malformed requests, two lengths that differ, and a `Transfer-Encoding` that
//! does not end in `chunked`. For a length together with `chunked` it ignores the length and closes
//! after the response.

use http::uri::Authority;
use http::{HeaderMap, Request, Version, header};

use crate::http::error::ApiError;

/// Checks the framing of a request.
///
/// # Errors
/// `bad_request` and `expectation_failed`. The caller must not read the rest of the connection
/// then.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), ApiError> {
    if request.version() < Version::HTTP_2 {
        check_host(request)?;
        check_transfer_encoding(request.headers())?;
    }
    check_expectation(request.headers())
}

/// Exactly one well-formed `Host` (RFC 9112, section 3.2). HTTP/1.0 may omit it.
fn check_host<B>(request: &Request<B>) -> Result<(), ApiError> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_host =
        |host: &[u8]| host.is_empty() || (!host.contains(&b'@') && Authority::try_from(host).is_ok());
    match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 => Ok(()),
        (Some(host), None) if is_host(host.as_bytes()) => Ok(()),
        _ => Err(ApiError::bad_request("A request has one header Host, with a host in it")),
    }
}

/// No `Transfer-Encoding`, or `chunked` once.
fn check_transfer_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(()),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(ApiError::bad_request("The only Transfer-Encoding that is understood is chunked")),
    }
}

fn check_expectation(headers: &HeaderMap) -> Result<(), ApiError> {
    let is_known = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    let mut expected = headers.get_all(header::EXPECT).iter();
    if expected.all(is_known) { Ok(()) } else { Err(ApiError::ExpectationFailed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(version: Version, headers: &[(&str, &str)]) -> Request<()> {
        let request = headers.iter().fold(Request::builder().version(version), |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(()).unwrap()
    }

    fn status(version: Version, headers: &[(&str, &str)]) -> Option<u16> {
        check(&head(version, headers)).err().and_then(|error| error.code().status())
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        for host in ["", "x", "x:80", "127.0.0.1:8080", "[::1]:80", "api.example.fr"] {
            assert_eq!(status(Version::HTTP_11, &[("host", host)]), None, "{host}");
        }
        for host in ["a b", "a/b", "a@b", "a, b", "a?b"] {
            assert_eq!(status(Version::HTTP_11, &[("host", host)]), Some(400), "{host}");
        }
        assert_eq!(status(Version::HTTP_11, &[]), Some(400));
        assert_eq!(status(Version::HTTP_11, &[("host", "x"), ("host", "x")]), Some(400));
        assert_eq!(status(Version::HTTP_10, &[]), None);
        assert_eq!(status(Version::HTTP_2, &[]), None);
    }

    #[test]
    fn only_the_encoding_chunked_is_accepted() {
        let with = |values: &[&'static str]| {
            let mut headers = vec![("host", "x")];
            headers.extend(values.iter().map(|value| ("transfer-encoding", *value)));
            status(Version::HTTP_11, &headers)
        };
        for values in [&[] as &[&str], &["chunked"], &["Chunked"]] {
            assert_eq!(with(values), None, "{values:?}");
        }
        for values in [
            &["identity, chunked"] as &[&str],
            &["gzip, chunked"],
            &["chunked, chunked"],
            &["chunked", "chunked"],
            &["identity", "chunked"],
            &["chunked;x=1"],
            &[""],
        ] {
            assert_eq!(with(values), Some(400), "{values:?}");
        }
    }

    #[test]
    fn only_100_continue_may_be_expected() {
        for (value, expected) in [("100-continue", None), ("100-Continue", None), ("x", Some(417))] {
            assert_eq!(status(Version::HTTP_11, &[("host", "x"), ("expect", value)]), expected);
        }
    }
}
