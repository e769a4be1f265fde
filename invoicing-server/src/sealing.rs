//! Sealing: secrets that must be read again are stored encrypted, with a key that the host
//! supplies.
//!
//! This module owns the keys, the format of a sealed value, and its associated data. The store
//! reads and writes the rows. Secrets that are never read again (API keys, tokens of signing links)
//! are not sealed: only their hash is stored, which reveals less than any encryption.
//!
//! Sealing protects a secret from readers of the database, a backup or the disk. It does not
//! protect against *writing* to the database: a secret may be replaced by another one in clear
//! text.

mod format;
mod keys;

use std::sync::Arc;

use invoicing_core::{CompanyId, ConflictReason, WebhookId};
use parking_lot::RwLock;
use zeroize::Zeroizing;

use crate::env::Env;
use crate::error::Error;
pub(crate) use format::{is_sealed, key_id};
pub(crate) use keys::is_id;
pub use keys::{SealingKey, SealingKeyError, SealingKeys};

/// The associated data of a sealed value: the table, column, company and row of its storage. A
/// sealed value that is copied to another row does not open there.
#[derive(Debug, Clone)]
pub(crate) struct AssociatedData {
    table: &'static str,
    column: &'static str,
    /// `None` for settings of the whole service.
    company: Option<CompanyId>,
    row: String,
}

impl AssociatedData {
    pub(crate) fn webhook_secret(company: CompanyId, id: WebhookId) -> Self {
        Self { table: "webhook", column: "secret", company: Some(company), row: id.to_string() }
    }

    pub(crate) fn previous_webhook_secret(company: CompanyId, id: WebhookId) -> Self {
        Self { column: "previous_secret", ..Self::webhook_secret(company, id) }
    }

    /// Of no table: entries of the signer behind a link, in an address.
    #[cfg(feature = "console")]
    pub(crate) fn signer_entries(company: CompanyId, token_hash: &[u8; 32]) -> Self {
        let row = hex::encode(token_hash);
        Self { table: "signing_link", column: "entries", company: Some(company), row }
    }

    pub(crate) fn setting(name: &str) -> Self {
        Self { table: "setting", column: "value", company: None, row: name.to_owned() }
    }

    /// The error for a value of this row that cannot be read.
    pub(crate) fn bad_row(&self, cause: impl std::fmt::Display) -> Error {
        Error::bad_row(self.table, self.column, &self.row, cause)
    }
}

/// The reason why a sealed value does not open. It reveals nothing about the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotOpened {
    /// The key with this id was not given.
    #[error("the value is sealed with the key {0}, which was not given")]
    NoKey(String),
    /// The host has declared the key with this id lost.
    #[error("the value is sealed with the key {0}, which is lost")]
    Lost(String),
    /// It is damaged, or was sealed for another row.
    #[error("the value is damaged, or was sealed for another row")]
    Damaged,
}

/// The reason why keys cannot be taken into use. The service keeps the keys that it has, if any.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealingError {
    /// Secrets in the database are sealed with keys that were not given; the value holds the ids of
    /// these keys. While the service runs, this includes the key that was current until now.
    #[error("secrets are sealed with keys that were not given: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A key has the id of another key that was used in this database, but other bytes.
    #[error("the sealing key {0} is not the one that has this id in the database")]
    WrongKey(String),
    /// Two keys have the same id, or a key is both given and lost.
    #[error("the id {0} is given to two sealing keys")]
    SameId(String),
    /// The sealed values in the database could not be read or written.
    #[error("the sealing keys cannot be checked")]
    Store(#[source] Error),
}

/// Seals and opens values with the keys in use. Without keys, values are stored in clear text.
pub(crate) struct Sealer {
    keys: RwLock<Option<Arc<SealingKeys>>>,
    env: Env,
}

impl Sealer {
    /// A sealer without keys, until they are set.
    pub(crate) fn new(env: Env) -> Self {
        Self { keys: RwLock::default(), env }
    }

    /// Replaces the keys in use.
    pub(crate) fn set_keys(&self, keys: Arc<SealingKeys>) {
        *self.keys.write() = Some(keys);
    }

    pub(crate) fn keys(&self) -> Option<Arc<SealingKeys>> {
        self.keys.read().clone()
    }

    /// The id of the key to seal with.
    pub(crate) fn current_id(&self) -> Result<String, Error> {
        let keys = self.keys().ok_or(ConflictReason::NoSealingKey)?;
        Ok(keys.current().id().to_owned())
    }

    /// The text to store: sealed with the current key, or in clear without one.
    pub(crate) fn seal_text(&self, data: &AssociatedData, clear: &str) -> Zeroizing<String> {
        let sealed = self.seal(data, clear.as_bytes());
        Zeroizing::new(sealed.unwrap_or_else(|| clear.to_owned()))
    }

    /// The value sealed with the current key; `None` without keys.
    pub(crate) fn seal(&self, data: &AssociatedData, clear: &[u8]) -> Option<String> {
        let keys = self.keys()?;
        format::seal(keys.current(), data, &self.env.bytes(), clear)
    }

    /// The text that [`seal_text`](Self::seal_text) has stored.
    pub(crate) fn open_text(
        &self,
        data: &AssociatedData,
        stored: &str,
    ) -> Result<Zeroizing<String>, NotOpened> {
        // Stored before the host supplied keys.
        if !is_sealed(stored) {
            return Ok(Zeroizing::new(stored.to_owned()));
        }
        let clear = self.open(data, stored)?;
        let text = std::str::from_utf8(&clear).map_err(|_| NotOpened::Damaged)?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// The value that [`seal`](Self::seal) has sealed.
    pub(crate) fn open(&self, data: &AssociatedData, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotOpened> {
        let id = key_id(sealed).ok_or(NotOpened::Damaged)?;
        let keys = self.keys().ok_or_else(|| NotOpened::NoKey(id.to_owned()))?;
        match keys.find(id) {
            Some(key) => format::open(key, data, sealed).ok_or(NotOpened::Damaged),
            None if keys.is_lost(id) => Err(NotOpened::Lost(id.to_owned())),
            None => Err(NotOpened::NoKey(id.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
