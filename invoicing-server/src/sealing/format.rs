//! The form of a sealed value: `v1.<key id>.<base64url of nonce, ciphertext and tag>`.
//!
//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): with 24 random bytes a nonce needs no counter, however many values
//! one key seals. The associated data covers the key's id and the place, each part after its length, so that no two
//! places look alike.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::Place;
use super::keys::{SealingKey, is_id};

/// What every sealed value begins with. No secret of ours does in clear.
const PREFIX: &str = "v1.";
/// Bytes of a nonce.
const NONCE: usize = 24;
/// Separates these values from any others that might be sealed with the same key.
const DOMAIN: &[u8] = b"invoicing/sealed/v1";

/// Whether a stored text is sealed, damaged or not.
pub(crate) fn is_sealed(stored: &str) -> bool {
    stored.starts_with(PREFIX)
}

/// The id of the key that a value is sealed with; `None` for what is no sealed value.
pub(crate) fn key_id(sealed: &str) -> Option<&str> {
    parts(sealed).map(|(id, _)| id)
}

fn parts(sealed: &str) -> Option<(&str, &str)> {
    sealed.strip_prefix(PREFIX)?.split_once('.').filter(|(id, _)| is_id(id))
}

/// Seals a value. `None` only for one of more than 256 GiB.
pub(super) fn seal(key: &SealingKey, place: &Place, nonce: &[u8; NONCE], clear: &[u8]) -> Option<String> {
    let aad = associated_data(key.id(), place);
    let payload = Payload { msg: clear, aad: &aad };
    let ciphertext = cipher(key).encrypt(&XNonce::from(*nonce), payload).ok()?;
    let sealed = [&nonce[..], &ciphertext].concat();
    Some(format!("{PREFIX}{}.{}", key.id(), URL_SAFE_NO_PAD.encode(sealed)))
}

/// Opens a value that was sealed with this key for this place; `None` for any other.
pub(super) fn open(key: &SealingKey, place: &Place, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (id, text) = parts(sealed)?;
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE>()?;
    let aad = associated_data(id, place);
    let payload = Payload { msg: ciphertext, aad: &aad };
    cipher(key).decrypt(&XNonce::from(*nonce), payload).ok().map(Zeroizing::new)
}

fn cipher(key: &SealingKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.bytes().into())
}

fn associated_data(key_id: &str, place: &Place) -> Vec<u8> {
    let company = place.company.as_ref().map_or(&[][..], |company| company.0.as_bytes());
    let (table, column, row) = (place.table.as_bytes(), place.column.as_bytes(), place.row.as_bytes());
    let mut data = Vec::with_capacity(160);
    for part in [DOMAIN, key_id.as_bytes(), table, column, company, row] {
        data.extend((part.len() as u64).to_be_bytes());
        data.extend(part);
    }
    data
}
