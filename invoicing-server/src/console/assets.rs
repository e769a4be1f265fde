//! The style, the script and the logo, served under the hash of their bytes: a browser keeps them
//! for good.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

use super::settings::Theme;
use crate::http::error::ApiError;
use crate::http::response::shared;
use crate::http::response::with_headers;

const STYLE: &str = include_str!("console.css");
const SCRIPT: &str = include_str!("console.js");
/// A sheet with two lines, in the colour of a tab that is neither light nor dark.
const ICON: &str = include_str!("icon.svg");

const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Keeps a picture that is opened as a page from running scripts.
const INERT: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// A file and its name, which holds its hash.
#[derive(Debug)]
pub(super) struct Asset {
    pub(super) name: String,
    content_type: HeaderValue,
    bytes: Bytes,
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: HeaderValue, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let hash = hex::encode(&Sha256::digest(&bytes)[..8]);
        Self { name: format!("{stem}-{hash}{extension}"), content_type, bytes }
    }
}

/// All files of a console.
#[derive(Debug)]
pub(super) struct Assets {
    pub(super) style: Asset,
    pub(super) script: Asset,
    pub(super) icon: Asset,
    pub(super) logo: Option<Asset>,
}

impl Assets {
    pub(super) fn new(theme: &Theme) -> Self {
        let colors = format!(
            ":root {{ --accent: {}; }}\n@media (prefers-color-scheme: dark) {{ :root {{ --accent: {}; }} }}\n",
            theme.accent, theme.accent_dark,
        );
        let logo = theme.logo.as_ref().and_then(|logo| {
            let content_type = HeaderValue::from_str(&logo.content_type).ok()?;
            Some(Asset::new("logo", "", content_type, logo.bytes.clone()))
        });
        Self {
            style: Asset::new("console", ".css", CSS, format!("{STYLE}\n{colors}")),
            script: Asset::new("console", ".js", JAVASCRIPT, SCRIPT),
            icon: Asset::new("icon", ".svg", SVG, ICON),
            logo,
        }
    }

    /// The file with this name.
    pub(super) fn get(&self, name: &str) -> Result<Response<Bytes>, ApiError> {
        let all = [Some(&self.style), Some(&self.script), Some(&self.icon), self.logo.as_ref()];
        let asset = all.into_iter().flatten().find(|asset| asset.name == name).ok_or(ApiError::NOT_FOUND)?;
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, asset.content_type.clone()),
            (header::CACHE_CONTROL, FOREVER),
            (header::X_CONTENT_TYPE_OPTIONS, NOSNIFF),
            (header::CONTENT_SECURITY_POLICY, INERT),
        ]);
        Ok(shared(with_headers(StatusCode::OK, headers, asset.bytes.clone())))
    }
}
