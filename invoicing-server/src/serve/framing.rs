//! Requests that hyper lets through, but of which a proxy in front may have seen another end or another host.
//!
//! hyper itself refuses what cannot be read, two lengths that differ, and a `Transfer-Encoding` that does not end in
//! `chunked`; where there are a length and `chunked`, it drops the length and closes after the answer.

use http::uri::Authority;
use http::{HeaderMap, Request, Version, header};

use crate::http::error::ApiError;

/// Whether a request may be served.
///
/// # Errors
/// `bad_request` and `expectation_failed`. Nothing that follows on the connection is to be read then.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), ApiError> {
    if request.version() < Version::HTTP_2 {
        host(request)?;
        transfer_encoding(request.headers())?;
    }
    expectation(request.headers())
}

/// Exactly one, of a form that could be a host (RFC 9112, section 3.2); HTTP/1.0 may leave it out.
fn host<B>(request: &Request<B>) -> Result<(), ApiError> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let right = match (hosts.next(), hosts.next()) {
        (None, _) => request.version() < Version::HTTP_11,
        (Some(host), None) => {
            let host = host.as_bytes();
            host.is_empty() || (!host.contains(&b'@') && Authority::try_from(host).is_ok())
        }
        (Some(_), Some(_)) => false,
    };
    if right {
        Ok(())
    } else {
        Err(ApiError::bad_request("A request has one header Host, with a host in it"))
    }
}

/// None, or `chunked` once: nothing else is understood.
fn transfer_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(()),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(ApiError::bad_request("The only Transfer-Encoding that is understood is chunked")),
    }
}

fn expectation(headers: &HeaderMap) -> Result<(), ApiError> {
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
    fn http_1_1_has_one_host() {
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
    fn only_chunked_is_understood() {
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
    fn one_expectation_is_known() {
        for (value, expected) in [("100-continue", None), ("100-Continue", None), ("x", Some(417))] {
            assert_eq!(status(Version::HTTP_11, &[("host", "x"), ("expect", value)]), expected);
        }
    }
}
