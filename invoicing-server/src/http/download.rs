//! A document as a download: conditional requests, and ranges for clients that go on where they were cut off.
//!
//! RFC 9110, sections 13 and 14. A document never changes, so its hash is a strong `ETag` for good; there is no date
//! of modification, so dates in conditions match nothing. Several ranges at once are answered with the whole, as is
//! whatever cannot be read. Which document it is, and that its bytes are the right ones, was decided before.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::error::ApiError;
use super::reply::Reply;
use crate::Error;
use crate::documents::{CONTENT_TYPE, ContentHash, content_disposition};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const BYTES: HeaderValue = HeaderValue::from_static("bytes");
const PDF: HeaderValue = HeaderValue::from_static(CONTENT_TYPE);

/// What a request asks of a document.
#[derive(Debug)]
pub(crate) struct Download<'r> {
    method: &'r Method,
    headers: &'r HeaderMap,
    etag: String,
}

impl<'r> Download<'r> {
    /// A request for the document with this hash.
    pub(crate) fn new(method: &'r Method, headers: &'r HeaderMap, sha256: ContentHash) -> Self {
        Self { method, headers, etag: format!("\"{sha256}\"") }
    }

    /// Whether the client says that it has these very bytes: then nothing need be read.
    pub(crate) fn is_known(&self) -> bool {
        let given = self.headers.get_all(header::IF_NONE_MATCH).iter();
        given
            .filter_map(|value| value.to_str().ok())
            .flat_map(|list| list.split(','))
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.etag)
    }

    /// 304: what the client has is still right.
    pub(crate) fn not_modified(&self) -> Result<Reply, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, value(&self.etag)?);
        Ok(Reply::file(StatusCode::NOT_MODIFIED, headers, Bytes::new()))
    }

    /// The bytes, or those that are asked for.
    pub(crate) fn reply(&self, document: Bytes, file_name: &str) -> Result<Reply, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, value(&self.etag)?);
        headers.insert(header::ACCEPT_RANGES, BYTES);
        let length = document.len();
        let range = match self.range(length) {
            Asked::Whole => None,
            Asked::Part(range) => Some(range),
            Asked::Nothing => {
                headers.insert(header::CONTENT_RANGE, value(&format!("bytes */{length}"))?);
                return Ok(Reply::file(StatusCode::RANGE_NOT_SATISFIABLE, headers, Bytes::new()));
            }
        };
        headers.insert(header::CONTENT_TYPE, PDF);
        headers.insert(header::CONTENT_DISPOSITION, value(&content_disposition(file_name))?);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        let Some(range) = range else { return Ok(Reply::file(StatusCode::OK, headers, document)) };
        let which = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        headers.insert(header::CONTENT_RANGE, value(&which)?);
        // A copy: a slice would keep the whole document for as long as its reader takes.
        let part = Bytes::copy_from_slice(&document[range]);
        Ok(Reply::file(StatusCode::PARTIAL_CONTENT, headers, part))
    }

    /// Ranges are for `GET`, and only of the version that the client has begun with.
    fn range(&self, length: usize) -> Asked {
        let same =
            self.headers.get(header::IF_RANGE).is_none_or(|tag| tag.as_bytes() == self.etag.as_bytes());
        let mut ranges = self.headers.get_all(header::RANGE).iter();
        match (ranges.next(), ranges.next()) {
            (Some(range), None) if same && self.method == Method::GET => {
                range.to_str().map_or(Asked::Whole, |range| asked(range, length))
            }
            _ => Asked::Whole,
        }
    }
}

fn value(text: &str) -> Result<HeaderValue, ApiError> {
    Ok(HeaderValue::from_str(text).map_err(Error::internal)?)
}

/// How much of a document is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Whole,
    /// Not empty, and within the document.
    Part(Range<usize>),
    /// Only what it does not have.
    Nothing,
}

/// Reads `bytes=first-last`, `bytes=first-` or `bytes=-last ones`. Anything else asks for the whole.
fn asked(range: &str, length: usize) -> Asked {
    let Some((unit, range)) = range.split_once('=') else { return Asked::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return Asked::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Asked::Whole;
    }
    let range = match (position(first), position(last)) {
        (Position::At(first), Position::At(last)) if first > last => return Asked::Whole,
        (Position::At(first), Position::At(last)) => first..last.saturating_add(1).min(length),
        (Position::At(first), Position::Missing) => first..length,
        (Position::Missing, Position::At(suffix)) => length.saturating_sub(suffix)..length,
        _ => return Asked::Whole,
    };
    if range.is_empty() { Asked::Nothing } else { Asked::Part(range) }
}

enum Position {
    Missing,
    /// The largest number stands for all that are larger.
    At(usize),
    Unreadable,
}

fn position(text: &str) -> Position {
    match text {
        "" => Position::Missing,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Position::At(digits.parse().unwrap_or(usize::MAX))
        }
        _ => Position::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_read_as_the_rfc_says() {
        let part = |range| Asked::Part(range);
        for (range, expected) in [
            ("bytes=0-0", part(0..1)),
            ("bytes=0-9", part(0..10)),
            ("bytes=0-10", part(0..10)),
            ("bytes=9-", part(9..10)),
            ("bytes=3-5", part(3..6)),
            ("Bytes=003-5", part(3..6)),
            ("bytes= 3-5 ", part(3..6)),
            ("bytes=-1", part(9..10)),
            ("bytes=-10", part(0..10)),
            ("bytes=-11", part(0..10)),
            ("bytes=2-99999999999999999999999999", part(2..10)),
            ("bytes=-99999999999999999999999999", part(0..10)),
            ("bytes=10-", Asked::Nothing),
            ("bytes=10-20", Asked::Nothing),
            ("bytes=99999999999999999999999999-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=5-3", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("bytes=", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("bytes=0-1,", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("bytes=1--2", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes 0-1", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(asked(range, 10), expected, "{range}");
        }
        assert_eq!(asked("bytes=0-", 0), Asked::Nothing);
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn what_the_client_has_is_compared_weakly() {
        let hash = ContentHash::of(b"x");
        for (given, known) in [
            (format!("\"{hash}\""), true),
            (format!("W/\"{hash}\""), true),
            (format!("\"a\", \"{hash}\""), true),
            ("*".to_owned(), true),
            (hash.to_string(), false),
            ("\"a\"".to_owned(), false),
            (String::new(), false),
        ] {
            let headers = headers(header::IF_NONE_MATCH, &given);
            assert_eq!(Download::new(&Method::GET, &headers, hash).is_known(), known, "{given}");
        }
        assert!(!Download::new(&Method::GET, &HeaderMap::new(), hash).is_known());
    }

    #[test]
    fn a_part_is_only_of_what_the_client_has_begun_with() {
        let hash = ContentHash::of(b"x");
        for (given, expected) in [
            (format!("\"{hash}\""), Asked::Part(1..3)),
            (format!("W/\"{hash}\""), Asked::Whole),
            ("\"a\"".to_owned(), Asked::Whole),
            ("Mon, 14 Sep 2026 09:41:07 GMT".to_owned(), Asked::Whole),
        ] {
            let mut headers = headers(header::IF_RANGE, &given);
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-2"));
            assert_eq!(Download::new(&Method::GET, &headers, hash).range(10), expected, "{given}");
            assert_eq!(Download::new(&Method::HEAD, &headers, hash).range(10), Asked::Whole);
        }
    }

    proptest! {
        #[test]
        fn a_part_is_never_empty_and_always_within(
            range in "(bytes=)?[0-9]{0,3}-?[0-9]{0,3}|\\PC{0,20}", length in 0_usize..300,
        ) {
            if let Asked::Part(part) = asked(&range, length) {
                prop_assert!(part.start < part.end && part.end <= length);
            }
        }
    }
}
