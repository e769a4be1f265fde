//! Conditional requests and byte ranges for a document download (RFC 9110, sections 13 and 14).
//!
//! A document never changes, so its hash is a strong `ETag`. It has no modification date, so a date
//! in a condition never matches. Several ranges, or a range that cannot be read, are answered with
//! the whole document.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::time::timeout;

use super::byte_budget::{Holder, Proof};
use super::capacity::Capacity;
use super::error::ApiError;
use super::exchange::Exchange;
use super::headers::{has_etag, only_value};
use super::response::{ApiResult, with_headers};
use crate::documents::{BoundedStore, CONTENT_TYPE, ContentHash, StoredFile, content_disposition};
use crate::error::Error;

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const BYTES: HeaderValue = HeaderValue::from_static("bytes");
const PDF: HeaderValue = HeaderValue::from_static(CONTENT_TYPE);

/// Longest wait of a part of a document for the parts before it.
const PART_WAIT: Duration = Duration::from_secs(4);

/// Answers a request for a document, of a caller whose permission was checked. Its size is that of
/// its row, if that was read.
///
/// Bytes are read only if some are sent. A part is checked with the whole document, so the parts of
/// a document are read one after the other: callers who ask for a byte each take no more memory than
/// one document.
pub(crate) async fn download<C>(
    exchange: &Exchange<'_, C>,
    capacity: &Capacity,
    proof: Proof,
    (document, size): (&StoredFile, Option<u64>),
    mut store: BoundedStore<'_>,
) -> ApiResult {
    let (head, company) = (exchange.head, document.key.company);
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    // Waits before it counts as a download, of which a document has a few, and without a slot.
    let _turn = if download.asks_for_part() {
        let turn = timeout(PART_WAIT, capacity.parts.acquire((document.key, proof))).await;
        Some(turn.map_err(|_| ApiError::Overloaded)??)
    } else {
        None
    };
    let reservation = exchange.admit(Holder::Document(document.key, proof))?;
    let slot = || capacity.keyless_documents.try_acquire(company).ok_or(ApiError::Overloaded);
    let size = if let Some(size) = size {
        size
    } else {
        let _slot = slot()?;
        store.size(document.key).await.map_err(Error::from)?
    };
    let length = usize::try_from(size).map_err(Error::internal)?;
    if head.method == Method::HEAD {
        return download.head(length, &document.file_name);
    }
    let range = match download.range(length) {
        RequestedRange::Whole => None,
        RequestedRange::Part(range) => Some(range),
        RequestedRange::Unsatisfiable => return download.unsatisfiable(length),
    };
    let _slot = slot()?;
    // Reserved before the bytes are read, so that they never exceed their share.
    reservation.cover(length)?;
    let bytes = store.fetch(document).await.map_err(Error::from)?;
    match range {
        None => download.whole(bytes, &document.file_name),
        Some(range) => download.part(&bytes, range, &document.file_name),
    }
}

/// The conditions and the range of a download.
#[derive(Debug)]
struct Download<'r> {
    method: &'r Method,
    headers: &'r HeaderMap,
    etag: String,
}

impl<'r> Download<'r> {
    /// A request for the document with this hash.
    fn new(method: &'r Method, headers: &'r HeaderMap, sha256: ContentHash) -> Self {
        Self { method, headers, etag: format!("\"{sha256}\"") }
    }

    /// True if the client already has the document (`If-None-Match`, compared weakly), so that it
    /// need not be read.
    fn is_not_modified(&self) -> bool {
        has_etag(self.headers, &self.etag)
    }

    /// True if the response may be a part. `HEAD` has none.
    fn asks_for_part(&self) -> bool {
        self.method == Method::GET && self.headers.contains_key(header::RANGE)
    }

    /// The 304 response.
    fn not_modified(&self) -> ApiResult {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, value(&self.etag)?);
        Ok(with_headers(StatusCode::NOT_MODIFIED, headers, Bytes::new()))
    }

    /// The 416 response.
    fn unsatisfiable(&self, length: usize) -> ApiResult {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, value(&self.etag)?);
        headers.insert(header::ACCEPT_RANGES, BYTES);
        headers.insert(header::CONTENT_RANGE, value(&format!("bytes */{length}"))?);
        Ok(with_headers(StatusCode::RANGE_NOT_SATISFIABLE, headers, Bytes::new()))
    }

    /// The headers of a response with the document or a part of it.
    fn headers(&self, file_name: &str) -> Result<HeaderMap, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, value(&self.etag)?);
        headers.insert(header::ACCEPT_RANGES, BYTES);
        headers.insert(header::CONTENT_TYPE, PDF);
        headers.insert(header::CONTENT_DISPOSITION, value(&content_disposition(file_name))?);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        Ok(headers)
    }

    /// The response to `HEAD`.
    fn head(&self, length: usize, file_name: &str) -> ApiResult {
        let mut headers = self.headers(file_name)?;
        headers.insert(header::CONTENT_LENGTH, length.into());
        Ok(with_headers(StatusCode::OK, headers, Bytes::new()))
    }

    fn whole(&self, document: Bytes, file_name: &str) -> ApiResult {
        Ok(with_headers(StatusCode::OK, self.headers(file_name)?, document))
    }

    fn part(&self, document: &Bytes, range: Range<usize>, file_name: &str) -> ApiResult {
        let mut headers = self.headers(file_name)?;
        let which = format!("bytes {}-{}/{}", range.start, range.end - 1, document.len());
        headers.insert(header::CONTENT_RANGE, value(&which)?);
        let part = document.get(range).ok_or_else(|| Error::internal("the document has another size"))?;
        // A copy, as a slice would keep the whole document in memory until the client has read the
        // part.
        Ok(with_headers(StatusCode::PARTIAL_CONTENT, headers, Bytes::copy_from_slice(part)))
    }

    /// The requested range. It counts for `GET` only, and only if `If-Range`, if given, names this
    /// document.
    fn range(&self, length: usize) -> RequestedRange {
        let is_same =
            self.headers.get(header::IF_RANGE).is_none_or(|tag| tag.as_bytes() == self.etag.as_bytes());
        match only_value(self.headers, header::RANGE) {
            Some(range) if is_same && self.method == Method::GET => parse_range(range, length),
            _ => RequestedRange::Whole,
        }
    }
}

fn value(text: &str) -> Result<HeaderValue, ApiError> {
    Ok(HeaderValue::from_str(text).map_err(Error::internal)?)
}

/// The requested part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    /// A range within the document, not empty.
    Part(Range<usize>),
    /// A range beyond the end of the document.
    Unsatisfiable,
}

/// Parses `bytes=first-last`, `bytes=first-` and `bytes=-count`. Any other range means the whole
/// document.
fn parse_range(range: &str, length: usize) -> RequestedRange {
    let Some((unit, range)) = range.split_once('=') else { return RequestedRange::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return RequestedRange::Whole };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !unit.trim().eq_ignore_ascii_case("bytes") || !is_number(first) || !is_number(last) {
        return RequestedRange::Whole;
    }
    // Saturates at the largest number.
    let number = |text: &str| text.parse().unwrap_or(usize::MAX);
    let range = match (first, last) {
        ("", "") => return RequestedRange::Whole,
        ("", suffix) => length.saturating_sub(number(suffix))..length,
        (first, "") => number(first)..length,
        (first, last) if number(first) > number(last) => return RequestedRange::Whole,
        (first, last) => number(first)..number(last).saturating_add(1).min(length),
    };
    if range.is_empty() { RequestedRange::Unsatisfiable } else { RequestedRange::Part(range) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_parsed_as_in_rfc_9110() {
        let part = |range| RequestedRange::Part(range);
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
            ("bytes=10-", RequestedRange::Unsatisfiable),
            ("bytes=10-20", RequestedRange::Unsatisfiable),
            ("bytes=99999999999999999999999999-", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=5-3", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("bytes=0-1,", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("bytes=1--2", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("bytes 0-1", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("", RequestedRange::Whole),
        ] {
            assert_eq!(parse_range(range, 10), expected, "{range}");
        }
        assert_eq!(parse_range("bytes=0-", 0), RequestedRange::Unsatisfiable);
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn if_none_match_is_compared_weakly() {
        let hash = ContentHash::of(b"x");
        for (given, matches) in [
            (format!("\"{hash}\""), true),
            (format!("W/\"{hash}\""), true),
            (format!("\"a\", \"{hash}\""), true),
            ("*".to_owned(), true),
            (hash.to_string(), false),
            ("\"a\"".to_owned(), false),
            (String::new(), false),
        ] {
            let headers = headers(header::IF_NONE_MATCH, &given);
            assert_eq!(Download::new(&Method::GET, &headers, hash).is_not_modified(), matches, "{given}");
        }
        assert!(!Download::new(&Method::GET, &HeaderMap::new(), hash).is_not_modified());
    }

    #[test]
    fn a_range_counts_only_where_if_range_matches() {
        let hash = ContentHash::of(b"x");
        for (given, expected) in [
            (format!("\"{hash}\""), RequestedRange::Part(1..3)),
            (format!("W/\"{hash}\""), RequestedRange::Whole),
            ("\"a\"".to_owned(), RequestedRange::Whole),
            ("Mon, 14 Sep 2026 09:41:07 GMT".to_owned(), RequestedRange::Whole),
        ] {
            let mut headers = headers(header::IF_RANGE, &given);
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-2"));
            assert_eq!(Download::new(&Method::GET, &headers, hash).range(10), expected, "{given}");
            assert_eq!(Download::new(&Method::HEAD, &headers, hash).range(10), RequestedRange::Whole);
        }
    }

    proptest! {
        #[test]
        fn a_part_is_not_empty_and_within_the_document(
            range in "(bytes=)?[0-9]{0,3}-?[0-9]{0,3}|\\PC{0,20}", length in 0_usize..300,
        ) {
            if let RequestedRange::Part(part) = parse_range(&range, length) {
                prop_assert!(part.start < part.end && part.end <= length);
            }
        }
    }
}
