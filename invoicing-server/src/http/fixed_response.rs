//! A response that is the same for every caller: bytes with an `ETag`, plain and compressed, made
//! once.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

use super::headers::{accepts_gzip, has_etag};
use super::response::{shared, with_headers};

/// A cache revalidates the bytes with their `ETag` before it uses them again.
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");
/// Any site may read the response: it is public, and depends on no cookie or other credential of a
/// browser.
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// A text as it is, and compressed.
#[derive(Debug)]
pub(crate) struct FixedResponse {
    plain: Representation,
    gzip: Representation,
}

/// Bytes, their headers and their `ETag`.
#[derive(Debug)]
struct Representation {
    bytes: Bytes,
    /// The value of the header, with its quotes.
    etag: String,
    headers: HeaderMap,
}

impl FixedResponse {
    /// A text with these headers, beside those of the cache.
    pub(crate) fn new(text: String, mut headers: HeaderMap) -> Self {
        headers.insert(header::CACHE_CONTROL, NO_CACHE);
        headers.insert(header::VARY, ACCEPT_ENCODING);
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
        let gzip = compressed(text.as_bytes());
        let plain = Representation::new(text.into(), headers.clone());
        headers.insert(header::CONTENT_ENCODING, GZIP);
        Self { plain, gzip: Representation::new(gzip.into(), headers) }
    }

    /// The bytes, or 304 to a caller that has them.
    pub(crate) fn answer(&self, asked: &HeaderMap) -> Response<Bytes> {
        let Representation { bytes, etag, headers } =
            if accepts_gzip(asked) { &self.gzip } else { &self.plain };
        if has_etag(asked, etag) {
            let mut headers = headers.clone();
            headers.remove(header::CONTENT_TYPE);
            headers.remove(header::CONTENT_ENCODING);
            return with_headers(StatusCode::NOT_MODIFIED, headers, Bytes::new());
        }
        shared(with_headers(StatusCode::OK, headers.clone(), bytes.clone()))
    }
}

impl Representation {
    fn new(bytes: Bytes, mut headers: HeaderMap) -> Self {
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes)));
        let value = HeaderValue::from_str(&etag).expect("hexadecimal digits in quotes are a header value");
        headers.insert(header::ETAG, value);
        Self { bytes, etag, headers }
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("bytes are written to memory")
}
