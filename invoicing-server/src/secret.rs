//! Secrets that are shown once: API keys, webhook secrets, signing links.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::env::Env;

/// A secret text. `Debug` does not show it; the memory is wiped on drop.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A prefix and 43 base64url characters: 32 random bytes.
    pub(crate) fn generate(prefix: &str, env: &Env) -> Self {
        let bytes = Zeroizing::new(env.bytes::<32>());
        // With room for all of it, so that growing leaves no copy behind.
        let mut text = Zeroizing::new(String::with_capacity(prefix.len() + 43));
        text.push_str(prefix);
        URL_SAFE_NO_PAD.encode_string(*bytes, &mut text);
        Self(text)
    }

    /// The secret itself, to hand it to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn sha256(&self) -> [u8; 32] {
        sha256(self.reveal())
    }
}

/// What is stored of a key or a link.
pub(crate) fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// What `Debug` shows of a URL: scheme, host and port. The rest may be a permission: tokens of receivers stand in paths
/// and queries, passwords before the host.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "..".to_owned() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/..")
}

impl PartialEq for Secret {
    /// In constant time for texts of one length.
    fn eq(&self, other: &Self) -> bool {
        self.reveal().as_bytes().ct_eq(other.reveal().as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
