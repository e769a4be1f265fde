//! The entries of a signer in an address: sealed, for one link and one hour.
//!
//! Browsers ask for the second look again when people go back, so that its address holds the name
//! and the e-mail. Addresses end up in histories and in the logs of proxies, hence the seal.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::LinkedQuote;
use crate::env::Env;
use crate::sealing::{AssociatedData, Sealer, SealingKey, SealingKeys};

/// Validity of sealed entries, in milliseconds.
const VALID_MS: i64 = 60 * 60 * 1_000;
/// Separates the key from other uses of the key that it is derived from.
const DOMAIN: &[u8] = b"invoicing/signer-entries/v1";

/// A sealer for entries, with a key that every node derives from this one.
pub(crate) fn entry_sealer(key: &[u8; 32], env: Env) -> Sealer {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    let derived = mac.chain_update(DOMAIN).finalize().into_bytes();
    let key = SealingKey::new("1", derived.into()).expect("a digit is an id");
    let sealer = Sealer::new(env);
    sealer.set_keys(Arc::new(SealingKeys::new(key)));
    sealer
}

impl LinkedQuote {
    /// Seals name, e-mail and the hash of the document that was shown.
    /// `None` only for entries that are too large for a seal.
    pub(crate) fn seal_entries(&self, entries: [&str; 3]) -> Option<String> {
        let until = self.company.env().now().plus_millis(VALID_MS).as_millis();
        let clear = serde_json::to_vec(&(until, entries)).ok()?;
        self.company.services.entry_sealer.seal(&self.entry_place(), &clear)
    }

    /// The entries that [`seal_entries`](Self::seal_entries) has sealed for this link, unless it
    /// was more than an hour ago.
    pub(crate) fn open_entries(&self, sealed: &str) -> Option<[String; 3]> {
        let clear = self.company.services.entry_sealer.open(&self.entry_place(), sealed).ok()?;
        let (until, entries): (i64, [String; 3]) = serde_json::from_slice(&clear).ok()?;
        (self.company.env().now().as_millis() <= until).then_some(entries)
    }

    fn entry_place(&self) -> AssociatedData {
        AssociatedData::signer_entries(self.company.id(), &self.token_hash)
    }
}
