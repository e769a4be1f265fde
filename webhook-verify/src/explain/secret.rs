//! The changes that copying and configuration make to a secret, and their reversal.

use alloc::vec::Vec;
use core::fmt;

/// The difference between a secret and the one that signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretChange {
    /// The secret has white space around it, such as the line break at the end of a file.
    Padded,
    /// The secret has quotation marks around it.
    Quoted,
    /// Its `whsec_` was taken away.
    PrefixRemoved,
    /// A `whsec_` was put before it.
    PrefixAdded,
    /// The secret was decoded from base64.
    Decoded,
}

impl fmt::Display for SecretChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Padded => "it has white space around it, such as a line break; trim it",
            Self::Quoted => "it has quotation marks around it; take them away",
            Self::PrefixRemoved => "its prefix `whsec_` is missing; the whole string is the key",
            Self::PrefixAdded => "it has a `whsec_` that the key does not have",
            Self::Decoded => "it was decoded from base64; the string itself is the key, not what it encodes",
        })
    }
}

const PREFIX: &[u8] = b"whsec_";

/// The secrets that may have signed, each with the change that turns it into the given secret.
pub(super) fn undone(secret: &[u8]) -> impl Iterator<Item = (SecretChange, Vec<u8>)> {
    let trimmed = secret.trim_ascii();
    let bare = unquoted(trimmed).unwrap_or(trimmed);
    [
        Some((SecretChange::Padded, trimmed.to_vec())),
        unquoted(trimmed).map(|bare| (SecretChange::Quoted, bare.to_vec())),
        Some((SecretChange::PrefixRemoved, [PREFIX, bare].concat())),
        bare.strip_prefix(PREFIX).map(|rest| (SecretChange::PrefixAdded, rest.to_vec())),
        Some((SecretChange::Decoded, [PREFIX, &base64url(secret)].concat())),
        Some((SecretChange::Decoded, base64url(secret))),
    ]
    .into_iter()
    .flatten()
}

fn unquoted(secret: &[u8]) -> Option<&[u8]> {
    let inside = |quote: &[u8]| Some(secret.strip_prefix(quote)?.strip_suffix(quote)?.trim_ascii());
    inside(b"\"").or_else(|| inside(b"'")).or_else(|| inside(b"`"))
}

/// Base64 in the alphabet of URLs, without padding, as in secrets.
fn base64url(bytes: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let sextets = |chunk: &[u8]| {
        let group = (0..3).fold(0, |group, at| group << 8 | usize::from(chunk.get(at).copied().unwrap_or(0)));
        [18, 12, 6, 0].map(|shift| ALPHABET[group >> shift & 63]).into_iter().take(chunk.len() + 1)
    };
    bytes.chunks(3).flat_map(sextets).collect()
}

#[cfg(test)]
mod tests {
    use super::base64url;

    #[test]
    fn base64url_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64url(bytes.as_bytes()), text.as_bytes());
        }
        assert_eq!(base64url(b"\xfb\xff\xbf"), b"-_-_");
    }
}
