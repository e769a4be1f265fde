//! The reference page: the description of the API as one page of HTML without script, rendered once
//! and served as bytes.
//!
//! [`document`] reads the OpenAPI document, [`page`] lays it out, [`operations`], [`events`],
//! [`failures`], [`records`] and [`errors`] render its parts, [`markdown`] its descriptions.
//! [`snippets`](super::snippets) are regions of programs that the tests run.

mod code;
mod content;
mod document;
mod errors;
mod events;
mod failures;
mod markdown;
mod operations;
mod page;
mod records;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

use super::openapi;
use crate::config::Settings;
use crate::http::fixed_response::FixedResponse;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// The style of the page, which is part of it.
const STYLE: &str = include_str!("reference/style.css");

/// The page of a service with these settings.
pub(super) fn render(settings: &Settings) -> FixedResponse {
    let html = page::render(&openapi::compose(settings));
    FixedResponse::new(html, headers())
}

/// The headers of the page. They allow no script, no other source, and no style but that of the
/// page, which is named by its hash.
fn headers() -> HeaderMap {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy).expect("a base64 digest is a header value");
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, HTML),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, NOSNIFF),
        (header::REFERRER_POLICY, NO_REFERRER),
    ])
}
