//! Sealing: a secret that has to be read again is stored encrypted, with a key that the host supplies.
//!
//! Owns the keys, the form of a sealed value, and what it is bound to. Reads and writes no rows: that is the store's
//! affair. What never has to be read again (API keys, tokens of signing links) is not sealed: of that only a hash is
//! stored, which gives away less than any encryption.
//!
//! Sealing keeps a secret from whoever reads the database, a backup or the disk. It does not keep somebody who can
//! *write* to the database from putting a secret of his own, in clear, in the place of another.

mod keys;
mod sealed;

use std::sync::Arc;

use invoicing_core::{CompanyId, WebhookId};
use parking_lot::RwLock;
use zeroize::Zeroizing;

use crate::Error;
use crate::env::Env;
pub(crate) use keys::is_id;
pub use keys::{SealingKey, SealingKeyError, SealingKeys};
pub(crate) use sealed::{is_sealed, key_id};

/// Where a value is stored. A sealed value is bound to its place: copied to another it does not open.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    table: &'static str,
    column: &'static str,
    /// `None` for what belongs to no company.
    company: Option<CompanyId>,
    row: String,
}

impl Place {
    pub(crate) fn webhook_secret(company: CompanyId, id: WebhookId) -> Self {
        Self { table: "webhook", column: "secret", company: Some(company), row: id.to_string() }
    }

    pub(crate) fn setting(name: &str) -> Self {
        Self { table: "setting", column: "value", company: None, row: name.to_owned() }
    }

    /// The error of a value in this place that cannot be read.
    pub(crate) fn bad_row(&self, cause: impl std::fmt::Display) -> Error {
        Error::bad_row(self.table, self.column, &self.row, cause)
    }
}

/// Why a sealed value does not open. Says nothing of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotOpened {
    /// The key with this id was not given.
    #[error("it is sealed with the key {0}, which was not given")]
    NoKey(String),
    /// The host has declared the key with this id lost.
    #[error("it is sealed with the key {0}, which is lost")]
    Lost(String),
    /// It is damaged, or was sealed for another place.
    #[error("it is damaged, or was sealed for another row")]
    Damaged,
}

/// Why keys cannot be taken into use. The service goes on with those that it has, if any.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealingError {
    /// Secrets in the database are sealed with keys that were not given: their ids. While the service runs, also the
    /// key that was current until now.
    #[error("secrets are sealed with keys that were not given: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A key has the id of another that was used in this database: its bytes are wrong.
    #[error("the sealing key {0} is not the one that has this id in the database")]
    WrongKey(String),
    /// Two keys have the same id, or a key is both given and lost.
    #[error("the id {0} is given to two sealing keys")]
    SameId(String),
    /// What the database holds could not be read or written.
    #[error("the sealing keys cannot be checked")]
    Store(#[source] Error),
}

/// Seals and opens values with the keys in use. Without keys it stores in clear.
pub(crate) struct Sealer {
    keys: RwLock<Option<Arc<SealingKeys>>>,
    env: Env,
}

impl Sealer {
    /// One without keys, until it is given some.
    pub(crate) fn new(env: Env) -> Self {
        Self { keys: RwLock::default(), env }
    }

    /// From now on, these keys.
    pub(crate) fn set_keys(&self, keys: Arc<SealingKeys>) {
        *self.keys.write() = Some(keys);
    }

    pub(crate) fn keys(&self) -> Option<Arc<SealingKeys>> {
        self.keys.read().clone()
    }

    /// The text to store: sealed with the current key, or the clear text where there is no key.
    pub(crate) fn seal_text(&self, place: &Place, clear: &str) -> Zeroizing<String> {
        let sealed = self.seal(place, clear.as_bytes());
        Zeroizing::new(sealed.unwrap_or_else(|| clear.to_owned()))
    }

    /// The value sealed with the current key; `None` where there is no key.
    pub(crate) fn seal(&self, place: &Place, clear: &[u8]) -> Option<String> {
        let keys = self.keys()?;
        sealed::seal(keys.current(), place, &self.env.bytes(), clear)
    }

    /// The text that was stored with [`seal_text`](Self::seal_text), now or by an earlier version.
    pub(crate) fn open_text(&self, place: &Place, stored: &str) -> Result<Zeroizing<String>, NotOpened> {
        if !is_sealed(stored) {
            return Ok(Zeroizing::new(stored.to_owned()));
        }
        let clear = self.open(place, stored)?;
        let text = std::str::from_utf8(&clear).map_err(|_| NotOpened::Damaged)?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// What [`seal`](Self::seal) was given.
    pub(crate) fn open(&self, place: &Place, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotOpened> {
        let id = key_id(sealed).ok_or(NotOpened::Damaged)?;
        let keys = self.keys().ok_or_else(|| NotOpened::NoKey(id.to_owned()))?;
        match keys.find(id) {
            Some(key) => sealed::open(key, place, sealed).ok_or(NotOpened::Damaged),
            None if keys.is_lost(id) => Err(NotOpened::Lost(id.to_owned())),
            None => Err(NotOpened::NoKey(id.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
