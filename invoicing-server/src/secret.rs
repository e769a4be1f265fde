//! Secret texts that are shown once: API keys, webhook secrets, signing links.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::env::Env;

/// Prefixes of all secret texts.
const PREFIXES: [&str; 3] = [API_KEY, WEBHOOK, SIGNING_LINK];
pub(crate) const API_KEY: &str = "isk_";
pub(crate) const WEBHOOK: &str = "whsec_";
pub(crate) const SIGNING_LINK: &str = "sgn_";

/// A secret text. [`reveal`](Self::reveal) returns it. It has no `Display`, its `Debug` does not
/// show it, and its memory is wiped on drop.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A prefix and 43 base64url characters: 32 random bytes.
    pub(crate) fn generate(prefix: &str, env: &Env) -> Self {
        let bytes = Zeroizing::new(env.bytes::<32>());
        // Full capacity at once: a reallocation would leave a copy in memory that is not wiped.
        let mut text = Zeroizing::new(String::with_capacity(prefix.len() + 43));
        text.push_str(prefix);
        URL_SAFE_NO_PAD.encode_string(*bytes, &mut text);
        Self(text)
    }

    /// The text of the secret, to pass to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The stored form.
    pub(crate) fn sha256(&self) -> [u8; 32] {
        sha256(self.reveal())
    }
}

/// SHA-256 of a text: the stored form of keys and link tokens.
pub(crate) fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The end of the first prefix of a secret in a text. The case does not matter, as a text whose case
/// was changed still shows most of a secret.
pub(crate) fn prefix_end(text: &[u8]) -> Option<usize> {
    let end = |prefix: &&str| {
        let at = text.windows(prefix.len()).position(|part| part.eq_ignore_ascii_case(prefix.as_bytes()))?;
        Some(at + prefix.len())
    };
    PREFIXES.iter().filter_map(end).min()
}

/// True if a text has the form of a secret with this prefix: 43 base64url characters follow it.
pub(crate) fn has_form(prefix: &str, text: &str) -> bool {
    split_behind(prefix, text).is_some_and(|(_, rest)| rest.is_empty())
}

/// Splits a text behind the secret with which it begins, by the form of the secret alone.
pub(crate) fn split_behind<'t>(prefix: &str, text: &'t str) -> Option<(&'t str, &'t str)> {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let (secret, rest) = text.split_at_checked(prefix.len() + 43)?;
    secret.strip_prefix(prefix)?.bytes().all(is_base64url).then_some((secret, rest))
}

/// True if a text has the form of an API key.
pub(crate) fn is_api_key(text: &str) -> bool {
    has_form(API_KEY, text)
}

impl PartialEq for Secret {
    /// Compares in constant time for texts of equal length.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_secret_is_a_prefix_and_43_characters_and_has_no_debug_text() {
        let secret = Secret::generate(WEBHOOK, &Env::system());
        let random = secret.reveal().strip_prefix("whsec_").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(random).unwrap().len(), 32);
        assert_eq!(random.len(), 43);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_ne!(secret, Secret::generate(WEBHOOK, &Env::system()));
    }

    #[test]
    fn a_text_of_another_form_is_no_api_key() {
        let key = Secret::generate(API_KEY, &Env::system());
        let key = key.reveal();
        assert!(is_api_key(key));
        let with_last = |last: &str| format!("{}{last}", &key[..key.len() - 1]);
        let others = ["", "isk_", &key[4..], &key[1..], &with_last(""), &with_last("=="), &with_last("+")];
        for text in
            others.into_iter().chain([&*with_last("\u{e9}"), &*format!("{key}x"), &*key.to_uppercase()])
        {
            assert!(!is_api_key(text), "{text}");
        }
    }
}
