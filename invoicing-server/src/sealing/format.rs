//! The form of a sealed value: `v1.<key id>.<base64url of nonce, ciphertext and tag>`.
//!
//! The cipher is XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03). Its nonce of 24 random bytes
//! needs no counter, for any number of values under one key. The authenticated data holds the key's
//! id and the parts of [`AssociatedData`].

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::AssociatedData;
use super::keys::{SealingKey, is_id};

/// Begins every sealed value, and no secret in clear text.
const PREFIX: &str = "v1.";
/// Length of a nonce in bytes.
const NONCE: usize = 24;
/// Separates sealed values from other uses of the same key.
const DOMAIN: &[u8] = b"invoicing/sealed/v1";

/// True if a stored text is sealed, damaged or not.
pub(crate) fn is_sealed(stored: &str) -> bool {
    stored.starts_with(PREFIX)
}

/// The id of the key that a value is sealed with; `None` for a value of another form.
pub(crate) fn key_id(sealed: &str) -> Option<&str> {
    parts(sealed).map(|(id, _)| id)
}

fn parts(sealed: &str) -> Option<(&str, &str)> {
    sealed.strip_prefix(PREFIX)?.split_once('.').filter(|(id, _)| is_id(id))
}

/// Seals a value. `None` only for one of more than 256 GiB.
pub(super) fn seal(
    key: &SealingKey,
    data: &AssociatedData,
    nonce: &[u8; NONCE],
    clear: &[u8],
) -> Option<String> {
    let aad = encode(key.id(), data);
    let payload = Payload { msg: clear, aad: &aad };
    let ciphertext = cipher(key).encrypt(&XNonce::from(*nonce), payload).ok()?;
    let sealed = [&nonce[..], &ciphertext].concat();
    Some(format!("{PREFIX}{}.{}", key.id(), URL_SAFE_NO_PAD.encode(sealed)))
}

/// Opens a value that was sealed with this key and these associated data; `None` for any other.
pub(super) fn open(key: &SealingKey, data: &AssociatedData, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (id, text) = parts(sealed)?;
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE>()?;
    let aad = encode(id, data);
    let payload = Payload { msg: ciphertext, aad: &aad };
    cipher(key).decrypt(&XNonce::from(*nonce), payload).ok().map(Zeroizing::new)
}

fn cipher(key: &SealingKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new((&*key.bytes).into())
}

/// The bytes that are authenticated. Each part follows its length, so that no two sets of parts
/// give the same bytes.
fn encode(key_id: &str, data: &AssociatedData) -> Vec<u8> {
    let company = data.company.as_ref().map_or(&[][..], |company| company.0.as_bytes());
    let (table, column, row) = (data.table.as_bytes(), data.column.as_bytes(), data.row.as_bytes());
    let mut bytes = Vec::with_capacity(160);
    for part in [DOMAIN, key_id.as_bytes(), table, column, company, row] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}
