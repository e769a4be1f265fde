//! A response that is the same for every caller: bytes with an `ETag`, made once.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

use super::headers::has_etag;
use super::response::with_headers;

/// A cache asks with the `ETag` before it uses the bytes again.
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// Marks a response whose bytes are the same for all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared;

/// Bytes, their headers and their `ETag`.
#[derive(Debug)]
pub(super) struct FixedResponse {
    bytes: Bytes,
    /// As in the header.
    etag: String,
    headers: HeaderMap,
}

impl FixedResponse {
    /// Bytes with these headers, beside those of the cache.
    pub(super) fn new(text: String, mut headers: HeaderMap) -> Self {
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(&text)));
        let value = HeaderValue::from_str(&etag).expect("hexadecimal digits in quotes are a header value");
        headers.insert(header::ETAG, value);
        headers.insert(header::CACHE_CONTROL, NO_CACHE);
        Self { bytes: text.into(), etag, headers }
    }

    /// The bytes, or 304 to a caller that has them.
    pub(super) fn answer(&self, asked: &HeaderMap) -> Response<Bytes> {
        if has_etag(asked, &self.etag) {
            let mut headers = self.headers.clone();
            headers.remove(header::CONTENT_TYPE);
            return with_headers(StatusCode::NOT_MODIFIED, headers, Bytes::new());
        }
        let mut response = with_headers(StatusCode::OK, self.headers.clone(), self.bytes.clone());
        response.extensions_mut().insert(Shared);
        response
    }
}
